"""What needs an extra says so, and the rest works without any."""

import subprocess
import sys
import tomllib
from pathlib import Path

from tests.extras import HIDDEN, NEEDS

ROOT = Path(__file__).parent.parent


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    hide = f"import sys; sys.modules.update(dict.fromkeys({HIDDEN!r}))\n"
    path = f"sys.path.insert(0, {str(ROOT)!r})\n"
    return subprocess.run(
        [sys.executable, "-c", hide + path + code], cwd=folder, capture_output=True, text=True
    )


def test_whatever_needs_an_extra_names_it(tmp_path: Path) -> None:
    code = "from tests.extras import silent; print(*silent(), sep='\\n', end='')"
    done = run(code, tmp_path)
    assert (done.stdout, done.returncode) == ("", 0), done.stderr
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {*project["optional-dependencies"]} - {"bench", "dev", "docs", "test"}
    named = {extra for extra, _ in NEEDS.values()}
    assert extras == named


def test_a_decider_and_a_simulation_need_no_extra(tmp_path: Path) -> None:
    done = run(
        "import projbandits as pb\n"
        "decider = pb.Decider(subspace=pb.Subspace.coordinates([0], d=2), seed=0)\n"
        "decider.tell(decider.ask([[1.0, 0.0], [0.0, 1.0]]).id, 1.0)\n"
        "decider.audit(), decider.save('films.decider')\n"
        "pb.simulate(pb.problems.random_arms(), pb.GENTRY(), trials=1, horizon=5)\n",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
