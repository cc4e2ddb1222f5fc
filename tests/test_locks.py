"""Locked folders."""

from pathlib import Path

import pytest

from projbandits._locks import locked


def test_a_locked_folder_is_locked_for_this_process_too_and_left_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    for _ in range(2):
        with locked(folder, "store") as held:
            assert held
            with (
                pytest.raises(ValueError, match=r"store '.*folder' is in use by another run: wait"),
                locked(folder, "store"),
            ):
                pass
    assert not list(folder.iterdir())
    with pytest.raises(KeyError), locked(folder, "store"):
        raise KeyError  # whatever ends a run lets go of the lock
    with locked(folder, "store") as held:
        assert held


def test_what_cannot_be_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with (
            pytest.raises(
                ValueError, match=r"out must be a folder that can be written to, got .*fil"
            ),
            locked(place, "out"),
        ):
            pass
