"""Pages of HTML that open anywhere, with nothing to fetch: the frame, the style, and the pieces."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from html import escape
from importlib.resources import files

PAGE_STYLE = files("projbandits").joinpath("templates", "page.css").read_text(encoding="utf-8")


def page(title: str, body: str, style: str = "", after: str = "") -> str:
    """Return a whole page.

    Parameters
    ----------
    title : str
        Plain text.
    body, after : str
        What is shown, and what follows it unseen; HTML already.
    style : str
        Rules beside those of all pages.
    """
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
<style>{PAGE_STYLE}{style}</style>
</head>
<body><main>
{body}
</main>{after}</body>
</html>
"""


def mark(text: str, kind: str) -> str:
    """Return a word with the colour of its kind: yes, no or open; the word says it too."""
    return f'<span class="mark {kind}">{escape(text)}</span>'


class Pictures:
    """The figures as pictures that the page holds once and shows wherever they are wanted.

    Parameters
    ----------
    files : mapping of str to bytes
        PNG files by the figure's name.
    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files

    def __contains__(self, name: str) -> bool:
        return name in self._files

    def show(self, name: str, alt: str) -> str:
        """Return the element that shows a figure."""
        width, height = _size(self._files[name])
        return (
            f"<svg class='picture' data-figure='{name}' viewBox='0 0 {width} {height}' role='img' "
            f"aria-label='{escape(alt, quote=True)}'><use href='#picture-{name}'/></svg>"
        )

    def definitions(self) -> str:
        """Return the element that holds all pictures; it takes no room."""
        images = []
        for name, content in self._files.items():
            width, height = _size(content)
            data = base64.b64encode(content).decode()
            images.append(
                f"<image id='picture-{name}' width='{width}' height='{height}' "
                f"href='data:image/png;base64,{data}'/>"
            )
        return f"<svg class='store' aria-hidden='true'><defs>{''.join(images)}</defs></svg>"


def _size(png: bytes) -> tuple[int, int]:
    """Return width and height, which the first chunk of a PNG file holds."""
    return int.from_bytes(png[16:20]), int.from_bytes(png[20:24])


def details(head: str, body: str, *, name: str = "", kind: str = "") -> str:
    """Return what opens when its head is clicked; both are HTML already."""
    about = (f" id='{name}'" if name else "") + (f" class='{kind}'" if kind else "")
    return f"<details{about}><summary>{head}</summary>{body}</details>"


def bullets(items: Iterable[str]) -> str:
    """Return a list of items that are HTML already."""
    return f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"


def table(head: Iterable[str], rows: Iterable[Iterable[str]], numeric: set[int]) -> str:
    """Return a table; its cells are HTML already, and some columns hold numbers."""

    def cells(values: Iterable[str], tag: str) -> str:
        scope = " scope=col" if tag == "th" else ""
        return "".join(
            f"<{tag}{' class=n' if i in numeric else ''}{scope}>{value}</{tag}>"
            for i, value in enumerate(values)
        )

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return (
        f"<div class='scroll'><table><thead><tr>{cells(head, 'th')}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )
