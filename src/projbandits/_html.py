"""Pieces of HTML: tables, and the card in which a notebook shows an object."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any, ClassVar

CARD_STYLE = """
.projbandits { --accent: #2f6fb3; --line: rgba(128, 128, 128, .35); color: inherit;
  font: 13px/1.45 system-ui, sans-serif; max-width: 52em; padding: .2em 0; }
@media (prefers-color-scheme: dark) { .projbandits { --accent: #79b8ff; } }
[data-jp-theme-light=true] .projbandits { --accent: #2f6fb3; }
[data-jp-theme-light=false] .projbandits { --accent: #79b8ff; }
.projbandits p { margin: 0 0 .4em; }
.projbandits .kind { color: var(--accent); font-weight: 600; margin-right: .5em; }
.projbandits dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1em;
  margin: .2em 0; }
.projbandits dt, .projbandits th { opacity: .7; font-weight: normal; }
.projbandits dd { margin: 0; overflow-wrap: anywhere; }
.projbandits ul { margin: .2em 0; padding-left: 1.3em; }
.projbandits .scroll { overflow-x: auto; }
.projbandits table { border-collapse: collapse; margin: .3em 0; color: inherit;
  font-size: inherit; }
.projbandits tr { background: none; }
.projbandits th, .projbandits td { padding: .1em .8em .1em 0; text-align: left; border: 0;
  border-bottom: 1px solid var(--line); vertical-align: middle; }
.projbandits .n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.projbandits .bar { display: inline-block; width: 8em; height: .6em; }
.projbandits .bar i { display: block; height: 100%; min-width: 1px; background: var(--accent); }
"""
"""Text and lines take the colours around them, so that it suits any theme, by day and by night."""

MANY_ROWS = 10
"""How many rows or names a card shows."""


class Shown:
    """What a notebook shows by a function of `notebook`, whose name is given as `by`."""

    __slots__ = ()
    _shown_by: ClassVar[str]

    def __init_subclass__(cls, by: str | None = None) -> None:
        if by is not None:
            cls._shown_by = by

    def _repr_html_(self) -> str:
        # By name and only now: no object depends on how a notebook shows it.
        show = getattr(importlib.import_module("projbandits.notebook"), self._shown_by)
        return str(show(self))


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


def card(kind: str, headline: str, *parts: str) -> str:
    """Return what a notebook shows of an object; all but the kind is HTML already."""
    head = f"<p><span class='kind'>{escape(kind)}</span>{headline}</p>"
    return f"<div class='projbandits'><style>{CARD_STYLE}</style>{head}{''.join(parts)}</div>"


def facts(pairs: Mapping[str, str]) -> str:
    """Return names with their values, which are HTML already."""
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{value}</dd>" for name, value in pairs.items())
    return f"<dl>{listed}</dl>"


def text(value: Any) -> str:
    """Return anything as text, with nothing in it that a browser would take for HTML."""
    return escape(str(value))


def number(value: Any) -> str:
    """Return a number with four digits; a dash stands for one that is unknown."""
    return "-" if value is None or math.isnan(value) else f"{value:.4g}"


def percent(share: float) -> str:
    """Return a share in percent; a dash stands for one that is unknown."""
    return "-" if math.isnan(share) else f"{share:.1%}"


def bar(share: float) -> str:
    """Return a bar of a length between 0 and 1."""
    width = 100 * min(max(share, 0.0), 1.0) if math.isfinite(share) else 0.0
    return f"<span class='bar'><i style='width:{width:.1f}%'></i></span>"


def more(size: int) -> str:
    """Return how many rows of a table of this size are not shown."""
    return f"<p>and {size - MANY_ROWS:,} more</p>" if size > MANY_ROWS else ""
