"""The folder of a reproduction: ours to write to, or left alone."""

import json
import shutil
from pathlib import Path

import pytest

from projbandits._locks import locked
from projbandits.paper import folder, reproduce
from projbandits.simulation import memory
from projbandits.simulation.sources import CODE
from tests.reproductions import SMALL, Tired


def test_another_run_in_the_folder_is_left_alone(finished: Path) -> None:
    before = {path: path.read_bytes() for path in finished.rglob("*") if path.is_file()}
    with pytest.raises(ValueError, match="holds another run: its seed is 0, not 1; nothing was"):
        reproduce(["fig-a"], out=finished, seed=1, **SMALL)
    assert before == {path: path.read_bytes() for path in finished.rglob("*") if path.is_file()}


def test_a_run_of_other_code_is_left_alone_and_both_codes_are_named(
    finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "CODE", "0.2.0-edited")
    with pytest.raises(ValueError, match=rf"its code is '{CODE}', not '0\.2\.0-edited'; nothing"):
        reproduce(["fig-a"], out=finished, **SMALL)


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(ValueError, match="holds other files; nothing was changed"):
        reproduce(["fig-a"], out=tmp_path, **SMALL)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_too_little_disk_is_told_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = shutil.disk_usage(tmp_path)._replace(free=10)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: full)
    with pytest.raises(OSError, match="are needed and 0 MB are free; nothing was simulated"):
        reproduce(["fig-a"], out=tmp_path / "out", **SMALL)


def test_too_little_memory_is_told_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "physical", lambda: 1e6)
    with pytest.raises(ValueError, match="trials must be fewer: the results of 30 would take"):
        reproduce(["fig-a", "fig-b"], out=tmp_path, trials=60, executor=Tired(0))


def test_a_few_steps_are_enough(tmp_path: Path) -> None:
    done = reproduce(["fig-a"], trials=2, horizon=3, out=tmp_path, progress=False)
    assert done.results["setting-a"].steps.tolist() == [1, 2, 3]


def test_the_time_of_each_experiment_is_kept(finished: Path) -> None:
    manifest = json.loads((finished / "reproduction.json").read_text())
    assert manifest["seconds"]["setting-a"] > 0
    for name in ("Python", "numpy", "numba", "projbandits"):
        assert f"{name} " in manifest["made_with"]["setting-a"]


def test_a_damaged_manifest_is_named(finished: Path, tmp_path: Path) -> None:
    written = (finished / "reproduction.json").read_text()
    (tmp_path / "out").mkdir()
    manifest = tmp_path / "out" / "reproduction.json"
    for content in ("", "[]", "{}", written.replace("numpy", "numpi")):
        manifest.write_text(content)
        with pytest.raises(ValueError, match=r"be read: .*reproduction\.json' .*; delete it and"):
            reproduce(["fig-a"], out=manifest.parent, **SMALL)


def test_a_run_killed_at_its_beginning_leaves_a_folder_that_can_be_used(tmp_path: Path) -> None:
    (tmp_path / ".unfinished-reproduction.json-123").write_text("{")
    assert reproduce(["fig-a"], out=tmp_path, **SMALL).report.is_file()
    (tmp_path / "data" / ".unfinished-setting-b.parquet-123").write_text("")
    reproduce(["fig-a"], out=tmp_path, **SMALL)
    assert not list(tmp_path.rglob(".unfinished-*"))


def test_a_folder_that_another_run_writes_to_is_refused(tmp_path: Path) -> None:
    with (
        locked(tmp_path, "out"),
        pytest.raises(ValueError, match=r"out '.*' is in use by another run"),
    ):
        reproduce(["fig-a"], out=tmp_path, **SMALL)
    assert not list(tmp_path.iterdir())
