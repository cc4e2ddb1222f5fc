"""The wheel, in an environment of its own, and the types that a user's checker sees."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

SCRIPT = """
import numpy as np
import projbandits as pb

U = pb.Subspace.coordinates(keep=range(2), d=3)
kept: np.ndarray = U.project(np.ones(3))
problem = pb.problems.random_arms()
result: pb.Result = pb.simulate(problem, [pb.GENTRY(), pb.UE()], trials=2, horizon=5)
regret: float = float(result.regret.mean())
decider = pb.Decider(pb.EIIDS(), subspace=U, seed=0)
decision: pb.Decision = decider.ask(np.eye(3))
several: list[pb.Decision] = decider.ask(np.eye(3), count=2)
decider.tell(decision.id, 1.0)
chosen: int | None = decision.index  # none where the set is infinite
fitted = pb.ProjectedRidge(U).fit(np.eye(3), [1.0, 2.0, 3.0])
values: np.ndarray = fitted.predict(np.eye(3))
mean, error = fitted.predict(np.eye(3), return_std=True)
spread: np.ndarray = error
print(kept, regret, chosen, several, values, mean, spread)
"""


def test_the_wheel_works_outside_of_the_checkout(tmp_path: Path) -> None:
    # The dependencies are those of this environment, the package is that of the wheel.
    tree, elsewhere = tmp_path / "tree", tmp_path / "elsewhere"
    shutil.copytree(ROOT / "src", tree / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, tree)
    build = f"import setuptools.build_meta as b; b.build_wheel({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=tree, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    venv.create(elsewhere, with_pip=False)
    python = elsewhere / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", str(wheel)], check=True)
    (packages,) = elsewhere.glob("lib/*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    kernels = Path("projbandits", "simulation", "kernels", "__pycache__")
    for kept in (ROOT / "src" / kernels).glob("*.nbc"):  # compiled by other tests
        shutil.copy(kept, packages / kernels)
    work = tmp_path / "work"
    work.mkdir()
    done = subprocess.run(
        [python, ROOT / "tests" / "installed.py"],
        cwd=work,
        env={"PATH": os.environ["PATH"], "HOME": str(work), "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    assert "installed" in done.stdout


def test_a_users_script_is_typed_without_a_cast(tmp_path: Path) -> None:
    # The settings and the cache are those of the lint step, or else it would take a minute.
    pytest.importorskip("mypy", reason="the oldest versions are tested without the lint step")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith("Success"), done.stdout
