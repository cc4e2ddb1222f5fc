"""How tables are printed: for readers on a terminal, for programs elsewhere."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

PERCENT_COLUMNS = ("found_best", "better")
"""Columns that are shown as percentages."""


def show(frame: pd.DataFrame, *, as_json: bool, title: str = "") -> None:
    """Print a table with its index: JSON, a rich table, or tab-separated columns.

    Only the rich table rounds numbers and puts an interval after its mean; the other forms carry
    every digit. Missing values are left empty; in JSON they are null, and so are infinite ones.
    """
    from rich.console import Console

    console = Console()
    table = frame.reset_index()
    if as_json:
        print(json.dumps([_plain(row) for row in table.to_dict("records")], indent=2))
    elif console.is_terminal:
        _print(console, table, title)
    else:
        for line in (list(table.columns), *table.astype(object).to_numpy().tolist()):
            print(*("" if value != value else value for value in line), sep="\t")


def number(value: Any, *, share: bool = False) -> str:
    """Return a value in a few characters.

    Examples
    --------
    >>> from projbandits.cli.output import number
    >>> [number(v) for v in (12345.6, 45.0, 3.14159, 0.000123, float("nan"), float("inf"), True)]
    ['12,346', '45', '3.14', '0.000123', '', 'infinite', 'yes']
    >>> number(0.875, share=True)
    '88 %'
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return str(value)
    if math.isnan(value):
        return ""
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    if share:
        return f"{value:.0%}".replace("%", " %")
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.3g}"


def _plain(row: dict[Any, Any]) -> dict[str, Any]:
    lost = {k: v for k, v in row.items() if isinstance(v, float) and not math.isfinite(v)}
    return {str(key): None if key in lost else value for key, value in row.items()}


def _print(console: Console, frame: pd.DataFrame, title: str) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    columns = _columns(frame)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    needed = 2 * len(columns)
    for heading, (cells, counts) in columns.items():
        solid = counts or not any(" " in cell for cell in cells)
        words = [*heading.split("\n"), *(cells if solid else " ".join(cells).split())]
        needed += max(map(len, words))
        justify: Literal["left", "right"] = "right" if counts else "left"
        table.add_column(heading, justify=justify, no_wrap=solid)
    for row in zip(*(cells for cells, _ in columns.values()), strict=True):
        table.add_row(*map(Text, row))
    if title:
        console.print(Text(title, style="bold"))
    # On a narrow terminal lines wrap: a truncated number would be a different number.
    console.width = max(console.width, needed)
    console.print(table)


def _columns(frame: pd.DataFrame) -> dict[str, tuple[list[str], bool]]:
    """Return, for each heading, the cells as text and whether they are numbers.

    The ends of an interval follow the value that they enclose.
    """
    columns: dict[str, tuple[list[str], bool]] = {}
    lows: list[str] = []
    for name, values in frame.items():
        entries = values.tolist()
        cells = [number(entry, share=name in PERCENT_COLUMNS) for entry in entries]
        if str(name).endswith("low"):
            lows = cells
        elif str(name).endswith("high"):
            heading, (middles, _) = columns.popitem()
            ends = zip(middles, lows, cells, strict=True)
            cells = [f"{m} ({low} to {high})" if high else m for m, low, high in ends]
            columns[f"{heading}\n(95 % interval)"] = (cells, True)
        else:
            counts = any(isinstance(entry, int | float) for entry in entries)
            columns[str(name).replace("_", "\n")] = (cells, counts)
    return columns
