"""The report: every figure and claim in one page that fetches nothing."""

from html.parser import HTMLParser
from pathlib import Path

from projbandits.paper import CLAIMS, FIGURES, Reproduction, reproduce
from tests.reproductions import SMALL


def test_every_claim_is_checked_when_everything_is_run(everything: Reproduction) -> None:
    assert [claim.name for claim in everything.verdicts] == [claim.name for claim in CLAIMS]
    assert len({claim.name for claim in CLAIMS}) == len(CLAIMS)
    page = everything.report.read_text(encoding="utf-8")
    parsed = _Page()
    parsed.feed(page)
    assert parsed.open == []
    assert [name for name in parsed.ids if name in FIGURES] == list(FIGURES)
    assert [name for name in parsed.ids if name.startswith("picture-")] == [
        f"picture-{name}" for name in FIGURES
    ]
    assert {name.removeprefix("claim-") for name in parsed.ids} >= {c.name for c in CLAIMS}
    assert all(source.startswith("data:image/png;base64,") for source in parsed.sources)
    assert parsed.targets <= set(parsed.ids)
    assert "http://" not in page
    assert "https://" not in page


def test_the_figures_of_a_claim_need_all_that_it_is_checked_on() -> None:
    for claim in CLAIMS:
        run = {x for name in claim.figures for x in FIGURES[name].experiments}
        assert set(claim.experiments) <= run, claim.name


def test_the_command_of_a_claim_makes_it_again(tmp_path: Path) -> None:
    claim = next(claim for claim in CLAIMS if claim.name == "best-a")
    done = reproduce(claim.figures, out=tmp_path, **SMALL)
    assert claim in done.verdicts
    page = done.report.read_text(encoding="utf-8")
    sizes = "--trials 4 --horizon 60 --seed 0"
    assert f"projbandits reproduce fig-a fig-alpha-a {sizes}" in page


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.sources: list[str] = []
        self.targets: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if "id" in values:
            self.ids.append(str(values["id"]))
        if tag == "image":
            self.sources.append(str(values["href"]))
        if tag in ("a", "use"):
            self.targets.add(str(values["href"]).removeprefix("#"))
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
