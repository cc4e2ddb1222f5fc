"""Files and stores from before there was an intercept: refused by their version."""

import shutil
from pathlib import Path

import pytest

import projbandits as pb
from projbandits.exceptions import VersionError

BEFORE = Path(__file__).parent.parent / "data" / "format2"


def test_what_was_written_before_is_refused_by_its_version(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must be a decider saved in format 3, .* has format 2"):
        pb.Decider.load(BEFORE / "plain.decider")
    shutil.copy(BEFORE / "store.db", tmp_path)
    with pytest.raises(VersionError, match=r"has layout 1, .* reads layout 2 alone"):
        pb.Decider.open(f"sqlite:///{tmp_path}/store.db", "films")
