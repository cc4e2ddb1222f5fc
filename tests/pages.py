"""Pages of HTML as tests read them."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """The elements and the text of a page, each element of which must be closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self._open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.images: list[str] = []
        self.targets: set[str] = set()
        self.words: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    @property
    def text(self) -> str:
        """All that is read, in one line."""
        return " ".join("".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.tags.append(tag)
        if "id" in values:
            self.ids.append(str(values["id"]))
        if tag == "image":
            self.images.append(str(values["href"]))
        if tag in ("a", "use"):
            self.targets.add(str(values["href"]).removeprefix("#"))
        if tag not in ("meta", "link", "img", "br"):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if self._open[-1:] == [tag]:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1:] != ["style"]:
            self.words.append(data)
