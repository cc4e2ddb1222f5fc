"""Results and machine code that outlive the code that made them are known by all of its files."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import projbandits
from projbandits.simulation.sources import digest

PACKAGE = Path(projbandits.__file__).parent


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the package that a test may edit."""
    target = tmp_path / "projbandits"
    return Path(
        shutil.copytree(PACKAGE, target, ignore=shutil.ignore_patterns("__pycache__", "static"))
    )


def edit(package: Path, file: str, before: str, after: str) -> None:
    text = (package / file).read_text()
    assert text.count(before) == 1
    (package / file).write_text(text.replace(before, after))


def fresh(package: Path, script: str, *arguments: str, warn: str = "error") -> str:
    """Return what a new process that imports a package prints."""
    quick = {} if package == PACKAGE else {"NUMBA_OPT": "1"}  # which compiles more quickly
    done = subprocess.run(
        [sys.executable, "-W", warn, "-c", script, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(package.parent), "OMP_NUM_THREADS": "1", **quick},
        cwd=package.parent,
    )
    assert not done.returncode, done.stderr
    return done.stdout + done.stderr


RUN = """
import sys
import projbandits as pb
engine, *store = sys.argv[1:]
problem = pb.problems.random_theta(pb.FiniteArms([[1.0, 0.0], [0.5, 2.0], [0.0, 1.0]]), u=1)
result = pb.simulate(problem, pb.GENTRY(), trials=2, horizon=20, engine=engine,
                     cache_dir=store[0] if store else None, progress=False)
print(result.regret[0, 0, -1])
"""


def regret(said: str) -> float:
    return float(said.splitlines()[0])


def test_trials_of_other_code_are_not_used_and_a_note_says_so(copied: Path, tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    first = fresh(copied, RUN, "reference", store)
    assert fresh(copied, RUN, "reference", store) == first
    before = {path.name: path.read_bytes() for path in (tmp_path / "store").glob("part-*")}
    edit(copied, "problems/synthetic.py", "(-1, 1, size=self.arms.d)", "(-2, 2, size=self.arms.d)")
    second = fresh(copied, RUN, "reference", store, warn="default")
    assert "store' was last written by other code of projbandits (" in second
    assert regret(second) == regret(fresh(copied, RUN, "reference"))
    assert regret(second) != regret(first)
    assert fresh(copied, RUN, "reference", store) == f"{regret(second)}\n"
    after = {path.name: path.read_bytes() for path in (tmp_path / "store").glob("part-*")}
    assert after.items() > before.items()
    edit(copied, "problems/synthetic.py", "(-2, 2, size=self.arms.d)", "(-1, 1, size=self.arms.d)")
    assert regret(fresh(copied, RUN, "reference", store, warn="default")) == regret(first)


LOADED = """
import sys
import projbandits as pb
from projbandits.simulation.sources import FOLDER, module_of, sources
problem = pb.problems.random_arms(d=4, arms=9, u=2)
for engine in ("auto", "compiled", "reference"):
    pb.simulate(problem, [pb.GENTRY()], trials=1, horizon=2, engine=engine, progress=False)
known = {module_of(file, FOLDER) for file in sources(FOLDER)}
print(sorted(name for name in sys.modules if name.startswith("projbandits") and name not in known))
"""


def test_whatever_a_simulation_loads_is_among_the_sources() -> None:
    assert fresh(PACKAGE, LOADED) == "[]\n"


def test_a_pattern_that_no_source_matches_is_named(copied: Path) -> None:
    shutil.rmtree(copied / "simulation" / "kernels")
    with pytest.raises(FileNotFoundError, match=r"must have simulation/kernels/\*\.py, got none"):
        digest(copied)


OFFERED = """
import projbandits as pb
problem = pb.problems.offers(4, 2, d=2, u=1, drift=pb.problems.Wander(rate=1.0))
for engine in ("compiled", "reference"):
    result = pb.simulate(problem, pb.GENTRY(), trials=1, horizon=30, engine=engine, progress=False)
    print(result.regret[0, 0, -1])
"""


def test_machine_code_of_other_code_is_not_used(copied: Path) -> None:
    """After an edit of a constant that a kernel takes from elsewhere."""
    compiled, reference = map(float, fresh(copied, OFFERED).split())
    assert compiled == pytest.approx(reference)
    edit(copied, "problems/offers.py", "SPREAD = ", "SPREAD = 3.0 * ")
    edited, reference = map(float, fresh(copied, OFFERED).split())
    assert edited == pytest.approx(reference)
    assert edited != compiled
