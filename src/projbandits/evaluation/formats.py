"""Logs of Vowpal Wabbit in JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from projbandits._validation import Array, short
from projbandits.evaluation.ledger_log import ChunkPiece
from projbandits.evaluation.schema import Chunk

SUM_ROUNDED = 1e-4
"""How far Vowpal Wabbit's probabilities may be from adding up to one: it writes six digits."""
LINES_AT_ONCE = 4096
"""How many lines are read together."""
MOST_FEATURES = 1000
"""How many features are found in a file at most; of more, some must be named."""


class VowpalRows:
    """The lines of a log of Vowpal Wabbit in JSON (`--dsjson`).

    Parameters
    ----------
    path : Path
        The file.
    features : tuple of str or None
        Names of features; by default all that its actions have.
    """

    rows: int | None = None

    def __init__(self, path: Path, features: tuple[str, ...] | None) -> None:
        if not path.is_file():
            raise FileNotFoundError(f"log must be a file of lines of JSON, {str(path)!r} is none")
        self._path = path
        self.names = features or self._found()

    def _found(self) -> tuple[str, ...]:
        names: dict[str, None] = {}
        for row, line in self._lines():
            for action in _actions(line, row):
                names |= dict.fromkeys(_flat(action))
            if len(names) > MOST_FEATURES:
                raise ValueError(
                    f"features must be named, the actions up to row {row} have more than "
                    f"{MOST_FEATURES}: pass features=[...]"
                )
        if not names:
            raise ValueError(f"log must have actions with features, {str(self._path)!r} has none")
        return tuple(sorted(names))

    def _lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        with self._path.open(encoding="utf-8") as file:
            row = 0
            for text in file:
                if not text.strip():
                    continue
                try:
                    line = json.loads(text)
                except ValueError as error:
                    said = f"log must be lines of JSON, row {row} is not: {error}"
                    raise ValueError(said) from error
                if not isinstance(line, dict):
                    raise ValueError(f"log must have an object in each line, row {row} has none")
                yield row, line
                row += 1

    def pieces(self) -> Iterator[ChunkPiece]:
        """Yield some thousand lines at a time."""
        lines = self._lines()
        while some := list(islice(lines, LINES_AT_ONCE)):
            yield ChunkPiece(self._chunk(some))

    def _chunk(self, lines: list[tuple[int, dict[str, Any]]]) -> Chunk:
        at = {name: j for j, name in enumerate(self.names)}
        vectors, starts, chances, places = list[Array](), [0], list[Array](), list[int]()
        costs, contexts = list[float](), list[dict[str, Any]]()
        for row, line in lines:
            actions = _actions(line, row)
            X = np.zeros((len(actions), len(at)))
            for i, action in enumerate(actions):
                for name, number in _flat(action).items():
                    if name in at:
                        X[i, at[name]] = number
            p, place = _chosen(line, len(actions), row)
            vectors.append(X)
            starts.append(starts[-1] + len(X))
            chances.append(p)
            places.append(place)
            costs.append(_number(line, "_label_cost", row))
            shared = {key: value for key, value in line["c"].items() if key != "_multi"}
            contexts.append(_plain(shared))
        n, widest = len(lines), max(map(len, chances))
        offered = np.full((n, widest), -1, dtype=np.int64)
        stated = np.zeros((n, widest))
        for t, p in enumerate(chances):
            offered[t, : len(p)] = np.arange(starts[t], starts[t + 1])
            stated[t, : len(p)] = p
        positions = np.array(places)
        names = dict.fromkeys(name for context in contexts for name in context)
        context = {}
        for name in names:
            context[name] = np.empty(n, dtype=object)
            context[name][:] = [each.get(name) for each in contexts]
        rows = np.arange(n)
        return Chunk(
            lines[0][0],
            np.concatenate(vectors),
            offered[rows, positions],
            -np.array(costs),
            stated[rows, positions],
            stated,
            offered,
            positions,
            context,
        )


def _actions(line: dict[str, Any], row: int) -> list[Any]:
    actions = line["c"].get("_multi") if isinstance(line.get("c"), dict) else None
    if not isinstance(actions, list) or not actions:
        raise ValueError(f"log must have actions in row {row}, column 'c._multi', got none")
    return actions


def _chosen(line: dict[str, Any], count: int, row: int) -> tuple[Array, int]:
    """Return the probabilities in the order of the actions, and the place of the chosen one."""
    order, p = line.get("a"), line.get("p")
    numbers = sorted(map(str, range(1, count + 1)))
    if not isinstance(order, list) or sorted(map(str, order)) != numbers:
        raise ValueError(
            f"log must number its {count} actions from 1 in row {row}, column 'a', got "
            f"{short(order)}"
        )
    if not _probabilities(p, count):
        raise ValueError(
            f"log must have {count} probabilities that add up to one in row {row}, column 'p', got "
            f"{short(p)}"
        )
    if line.get("pdrop"):
        raise ValueError(
            f"log must have every decision, row {row}, column 'pdrop' says that some were dropped"
        )
    chances = np.empty(count)
    rounded = np.array(p, dtype=np.float64)
    chances[np.array(order) - 1] = rounded / rounded.sum()
    place = int(_number(line, "_label_Action", row)) - 1
    if not 0 <= place < count or chances[place] <= 0:
        raise ValueError(
            f"log must have an action with a probability in row {row}, column '_label_Action', got "
            f"{place + 1}"
        )
    return chances, place


def _probabilities(p: Any, count: int) -> bool:
    """Tell whether some numbers are the probabilities of the actions."""
    if not isinstance(p, list) or len(p) != count:
        return False
    if not all(isinstance(each, int | float) for each in p):
        return False
    return abs(sum(p) - 1) <= SUM_ROUNDED and min(p) >= 0


def _number(line: dict[str, Any], name: str, row: int) -> float:
    value = line.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        raise ValueError(
            f"log must have a number in row {row}, column {name!r}, got {short(value)}"
        )
    return float(value)


def _flat(features: Any, prefix: str = "") -> dict[str, float]:
    """Return features as names and numbers: a text is a feature of its own, lists are numbered."""
    found: dict[str, float] = {}
    if isinstance(features, dict):
        for key, value in features.items():
            found |= _flat(value, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(features, list):
        for i, value in enumerate(features):
            found |= _flat(value, f"{prefix}.{i}" if not isinstance(value, dict) else prefix)
    elif isinstance(features, str):
        found[f"{prefix}={features}"] = 1.0
    elif isinstance(features, int | float):
        found[prefix] = float(features)
    return found


def _plain(features: Any, prefix: str = "") -> dict[str, Any]:
    """Return the features of a context by name, as they are."""
    if not isinstance(features, dict):
        return {prefix: tuple(features) if isinstance(features, list) else features}
    found: dict[str, Any] = {}
    for key, value in features.items():
        found |= _plain(value, f"{prefix}.{key}" if prefix else str(key))
    return found
