"""Locked folders."""

import threading
from pathlib import Path

import pytest

from projbandits import _locks
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


def test_a_folder_is_waited_for_as_long_as_it_takes(tmp_path: Path) -> None:
    folder, told = tmp_path / "folder", []
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with locked(folder, "store"):
            inside.set()
            leave.wait(10)
            folder.rmdir()  # what is waited for may be removed

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(10)
    threading.Timer(3 * _locks.PAUSE, leave.set).start()
    with locked(folder, "store", lambda: told.append(leave.is_set())) as held:
        assert held
        assert len(told) >= 2
        assert leave.is_set()
        assert folder.is_dir()
        with (
            pytest.raises(ValueError, match="in use by another run"),
            locked(folder, "store", told.clear),  # it would wait for itself
        ):
            pass
    thread.join()
    assert told[0] is False
