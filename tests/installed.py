"""What an installed package must do, whatever lies beside it: run from any folder by any Python.

`tests/test_release.py` runs it on the wheel with the dependencies of the tests, and `make release`
in an empty environment with those of the registry.
"""

import subprocess
import sys
from pathlib import Path

import projbandits as pb

COMMAND = str(Path(sys.executable).parent / "projbandits")


def main() -> None:
    """Use the command line, a simulation, a decider on SQLite, and the quick reproduction."""
    here = Path.cwd()
    assert not Path(pb.__file__).is_relative_to(here), "run it elsewhere than in the package"
    listed = subprocess.run([COMMAND, "list"], capture_output=True, text=True, check=True).stdout
    assert "GENTRY" in listed

    result = pb.simulate(
        pb.problems.random_arms(), [pb.GENTRY(), pb.UE()], trials=2, horizon=20, progress=False
    )
    assert result.regret.shape[:2] == (2, 2)

    U = pb.Subspace.coordinates([0, 1], d=3)
    url = f"sqlite:///{here}/installed.db"
    decider = pb.Decider(subspace=U, store=url, name="films")
    arms = [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    decider.tell(decider.ask(arms).id, 1.0)
    assert pb.Decider.open(url, "films").ridge.n == 1

    subprocess.run([COMMAND, "reproduce", "--quick", "--out", "reproduced"], check=True)
    assert (here / "reproduced" / "report.html").exists()
    print("installed", pb.__version__, "on Python", sys.version.split()[0])


if __name__ == "__main__":
    main()
