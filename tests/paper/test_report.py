"""The report: every figure and claim in one page that fetches nothing."""

import re
from pathlib import Path

import numpy as np

from projbandits.paper import CLAIMS, FIGURES, Claim, Condition, Origin, Reproduction, reproduce
from projbandits.paper.folder import Folder
from projbandits.paper.report import render
from projbandits.statistics import Estimate
from tests.pages import Page
from tests.paper.made_up import A, made_up
from tests.reproductions import SMALL


def test_every_claim_is_checked_when_everything_is_run(everything: Reproduction) -> None:
    assert [claim.name for claim in everything.verdicts] == [claim.name for claim in CLAIMS]
    assert len({claim.name for claim in CLAIMS}) == len(CLAIMS)
    page = everything.report.read_text(encoding="utf-8")
    parsed = Page(page)
    assert [name for name in parsed.ids if name in FIGURES] == list(FIGURES)
    assert [name for name in parsed.ids if name.startswith("picture-")] == [
        f"picture-{name}" for name in FIGURES
    ]
    assert {name.removeprefix("claim-") for name in parsed.ids} >= {c.name for c in CLAIMS}
    assert all(source.startswith("data:image/png;base64,") for source in parsed.images)
    assert parsed.targets <= set(parsed.ids)
    assert "http://" not in page
    assert "https://" not in page


def test_the_figures_of_a_claim_need_all_that_it_is_checked_on() -> None:
    for claim in CLAIMS:
        run = {x for name in claim.figures for x in FIGURES[name].experiments}
        assert set(claim.experiments) <= run, claim.name


def test_a_claim_stands_with_those_of_its_origin(tmp_path: Path) -> None:
    # Every reading of every claim fails; the mixed one holds in its first.
    results = {"x": made_up(A.strategies, np.ones((2, 3, 2)))}
    good = Condition("good", Estimate(1, 1, 1), least=0.0, brief="GENTRY 1")
    bad = Condition("bad", Estimate(-1, -1, -1), least=0.0, brief="UE -1")
    claims = [
        Claim(
            name=f"claim-{origin.name}",
            text=f"Said {origin.value}.",
            source="Fig. 9" if origin is Origin.PAPER else "",
            experiments=(A,),
            readings=(("given", lambda _: [good]), ("tuned", lambda _: [bad])),
            origin=origin,
        )
        for origin in Origin
    ]
    folder = Folder(tmp_path, {"trials": 1, "horizon": 1, "seed": 0})
    page = render({}, {claim: claim.check(results) for claim in claims}, {}, folder, {})
    lead = re.sub("<[^>]*>", "", page.split('class="lead">')[1].split("</p>")[0])
    assert "1 claimed by the paper: mixed 1; 1 left open by the paper: mixed 1" in lead
    assert "1 not in the paper: mixed 1" in lead
    groups = page.split("and found not to hold as read:")
    for origin, group in zip(Origin, groups[1:], strict=True):
        assert f"Said {origin.value}." in group
        assert sum(f"Said {other.value}." in group for other in Origin) == 1


def test_the_command_of_a_claim_makes_it_again(tmp_path: Path) -> None:
    claim = next(claim for claim in CLAIMS if claim.name == "best-a")
    done = reproduce(claim.figures, out=tmp_path, **SMALL)
    assert claim in done.verdicts
    page = done.report.read_text(encoding="utf-8")
    sizes = "--trials 4 --horizon 60 --seed 0"
    assert f"projbandits reproduce fig-a fig-alpha-a {sizes}" in page
