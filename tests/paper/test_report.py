"""The report: every figure and claim in one page that fetches nothing."""

from html.parser import HTMLParser
from pathlib import Path

from projbandits.paper import CLAIMS, FIGURES, reproduce
from tests.reproductions import SMALL


def test_every_claim_is_checked_when_everything_is_run(tmp_path: Path) -> None:
    done = reproduce(out=tmp_path, **SMALL)
    assert [claim.name for claim in done.verdicts] == [claim.name for claim in CLAIMS]
    assert len({claim.name for claim in CLAIMS}) == len(CLAIMS)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    parsed = _Page()
    parsed.feed(page)
    assert parsed.open == []
    assert [name for name in parsed.ids if name in FIGURES] == list(FIGURES)
    assert {name.removeprefix("claim-") for name in parsed.ids} >= {c.name for c in CLAIMS}
    assert all(source.startswith("data:image/png;base64,") for source in parsed.sources)
    assert parsed.targets <= set(parsed.ids)
    assert "http://" not in page
    assert "https://" not in page


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
        if "src" in values:
            self.sources.append(str(values["src"]))
        if tag == "a":
            self.targets.add(str(values["href"]).removeprefix("#"))
        if tag not in ("meta", "link", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
