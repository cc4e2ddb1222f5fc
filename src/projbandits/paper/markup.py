"""Pieces of HTML that the report is made of."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from html import escape

from projbandits._html import bullets as bullets
from projbandits._html import details as details
from projbandits._html import table as table
from projbandits.paper.verdicts import FAILS, HOLDS, UNDECIDED

MARKS = {HOLDS: "yes", FAILS: "no", UNDECIDED: "open"}
"""The style of each outcome; the words stand beside it, so colour is never alone."""


def mark(outcome: str) -> str:
    """Return an outcome as a coloured word."""
    return f'<span class="mark {MARKS[outcome]}">{outcome}</span>'


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

    def __iter__(self) -> Iterable[str]:
        return iter(self._files)

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
