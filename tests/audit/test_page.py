"""The page for the person who signs, and the audit as JSON."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from jsonschema import ValidationError, validate

import projbandits as pb
from projbandits.audit.schema import schema
from tests.audit import fooled
from tests.films import played
from tests.pages import Page

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def evil() -> Any:
    """An audit of what users may call columns, segments, groups and labels."""
    columns = ["a", EVIL, "'\"><img src=x>"]
    subspace = pb.Subspace.without(columns[2], columns=columns)
    decider = pb.Decider(pb.GENTRY(), subspace=subspace, seed=0)
    rng = np.random.default_rng(0)
    items = pd.DataFrame(rng.normal(size=(60, 3)), columns=columns)
    for t in range(60):
        decision = decider.ask(items.iloc[rng.permutation(60)[:6]], meta={EVIL: f"<b>{t % 2}"})
        decider.tell(decision.id, float(rng.normal()))
    return decider.audit(attributes=items.assign(**{"</style>": "<i>&amp;"}), by=EVIL)


def test_what_users_wrote_is_shown_and_never_obeyed(evil: Any) -> None:
    page = Page(evil.to_html())
    assert not {"script", "b", "i"} & {*page.tags}
    assert page.tags.count("img") == 1  # the figure
    assert page.tags.count("style") == 1
    for text in (EVIL, "<b>0", "<i>&amp;", "</style>"):
        assert text in page.text


def test_a_page_holds_what_it_needs(tmp_path: Path) -> None:
    audit = played().audit()
    text = audit.to_html(tmp_path / "audit.html")
    assert (tmp_path / "audit.html").read_text(encoding="utf-8") == text
    shown = Page(text).text
    outcome, _, reason = audit.verdict.partition(": ")
    assert outcome in shown
    assert reason in shown or reason[0].upper() + reason[1:] in shown
    for question in ("scores", "choices", "leak", "exposure"):
        assert " ".join(getattr(audit, question).verdict.split()) in shown
    assert f"up to position {audit.about.position:,}" in shown
    assert "What was not tested" in shown
    assert "nine of ten such logs" in shown
    assert re.search(r"20\d\d-\d\d-\d\d \d\d:\d\d UTC", shown)
    assert audit.about.key in shown
    assert "data:image/png;base64," in text
    assert not re.search(r"(src|href)\s*=\s*['\"](https?:|//|file:)", text)


@pytest.mark.parametrize(
    ("strategy", "seed", "outcome", "kind"),
    [
        (pb.ProjectedTS(), 0, "Cleared", "yes"),
        (pb.EIIDS(), 1, "Cleared for scores, exploration affected", "open"),
        (pb.ProjectedUE(), 0, "Not cleared", "no"),
        (pb.CURSE(), 0, "Not cleared", "no"),
    ],
)
def test_only_what_is_cleared_is_green(strategy: Any, seed: int, outcome: str, kind: str) -> None:
    page = fooled.honest(strategy, seed).audit().to_html()
    found = re.search(r'verdict.><span class="mark (\w+)">([^<]*)<', page)
    assert found is not None
    assert found[1] == kind
    assert found[2].startswith(outcome)


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
@pytest.mark.parametrize(
    ("width", "height", "exploring"), [(1280, 900, False), (390, 844, False), (390, 844, True)]
)
def test_a_page_fits_its_screen(
    evil: Any, tmp_path: Path, width: int, height: int, exploring: bool
) -> None:
    audit = fooled.honest(pb.EIIDS(), 1, steps=100).audit() if exploring else evil
    assert (audit.influence == "exploration") == exploring  # which has the longest outcome
    audit.to_html(tmp_path / "audit.html")
    # The page may run no script; one beside it in a frame would see nothing. So its width is
    # read off a picture: what is wider than the window would have moved the right margin.
    shot = tmp_path / "shot.png"
    subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
         f"--user-data-dir={tmp_path / 'profile'}", f"--window-size={width},{height}",
         f"--screenshot={shot}", (tmp_path / "audit.html").as_uri()],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    import matplotlib.image

    picture = matplotlib.image.imread(shot)[:, :, :3]
    assert picture.shape[1] == width
    assert np.ptp(picture[:, -8:], axis=(0, 1)).max() == 0  # the margin is empty
    assert np.ptp(picture) > 0.5


@pytest.mark.parametrize(
    "decider",
    [
        lambda: fooled.honest(pb.GENTRY(), steps=40),
        lambda: fooled.honest(pb.CURSE(), steps=40),
        lambda: fooled.honest(pb.REGRET(), steps=3),
        lambda: fooled.product(60),
        lambda: played(pb.ProjectedTS(), steps=5),
    ],
)
def test_the_json_of_an_audit_follows_its_schema(decider: Any) -> None:
    validate(decider().audit().to_dict(), schema())


def test_names_that_users_chose_are_in_the_json(evil: Any) -> None:
    validate(evil.to_dict(), schema())
    assert EVIL in evil.to_json()
    broken = {**evil.to_dict(), "influence": "no"}
    with pytest.raises(ValidationError, match="'no' is not one of"):
        validate(broken, schema())
