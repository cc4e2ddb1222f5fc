"""Problems and strategies as text: `GENTRY(alpha=2)` on a command line, or tables in a TOML file.

A text names one of the public strategies or problems and gives its parameters as literals; nothing
else of it is executed. The label of a strategy is such a text.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import tomllib
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_type_hints

from projbandits import arms, problems, strategies
from projbandits._validation import did_you_mean, one_of, short
from projbandits.arms import DecisionSet
from projbandits.problems import Drift, Noise, Problem
from projbandits.strategies import Strategy
from projbandits.subspace import Subspace

Makers = Mapping[str, Callable[..., Any]]


def _public(module: ModuleType, wanted: Callable[[Any], bool]) -> Makers:
    named = {name: getattr(module, name) for name in module.__all__}
    return {name: value for name, value in named.items() if wanted(value)}


def _concrete(base: type) -> Callable[[Any], bool]:
    def wanted(value: Any) -> bool:
        return isinstance(value, type) and issubclass(value, base) and not inspect.isabstract(value)

    return wanted


PROBLEMS = _public(problems, inspect.isfunction)
STRATEGIES = _public(strategies, lambda v: dataclasses.is_dataclass(v) and _concrete(Strategy)(v))
NOISE_MAKERS = _public(problems, lambda v: dataclasses.is_dataclass(v) and hasattr(v, "observe"))
DRIFTS = _public(problems, lambda v: dataclasses.is_dataclass(v) and hasattr(v, "moved"))
SET_MAKERS = _public(arms, _concrete(DecisionSet))
SUBSPACE_MAKERS = {
    name: getattr(Subspace, name)
    for name, value in vars(Subspace).items()
    if isinstance(value, classmethod) and not name.startswith("_")
}
MAKERS_OF: dict[Any, Makers] = {
    Noise: NOISE_MAKERS,
    Drift: DRIFTS,
    DecisionSet: SET_MAKERS,
    Subspace: SUBSPACE_MAKERS,
    Problem: PROBLEMS,
}
"""Parameters of these types are written like problems: as a call, or as a table with a name."""

TOO_DEEP = (MemoryError, RecursionError)
"""What Python's parser raises of thousands of brackets or signs, one in another."""
LONGEST_TEXT = 100_000
LARGEST_FILE = 1_000_000
REQUIRED = ("problem", "strategies")
OPTIONS = ("trials", "horizon", "seed", "engine", "checkpoints")


@dataclass(frozen=True)
class Plan:
    """What a TOML file asks for: a problem, strategies, and those options of `simulate` it sets."""

    problem: Problem
    strategies: tuple[Strategy, ...]
    options: Mapping[str, Any]


def problem(text: str) -> Problem:
    """Return the problem that a text names.

    Examples
    --------
    >>> from projbandits import specs
    >>> specs.problem("random_arms(d=4, u=2, noise=Uniform(scale=0.1))")
    RandomArms(d=4, arms=45, u=2, noise=Uniform(scale=0.1), subspace='random')
    """
    made: Problem = _make("problem", text, PROBLEMS, Path())
    return made


def strategy(text: str) -> Strategy:
    """Return the strategy that a text names.

    Examples
    --------
    >>> from projbandits import specs
    >>> specs.strategy("GENTRY"), specs.strategy("GENTRY(alpha=2, basis='first')")
    (GENTRY(), GENTRY(alpha=2.0, basis='first'))
    """
    made: Strategy = _make("strategy", text, STRATEGIES, Path())
    return made


def read(path: Path) -> Plan:
    """Read a TOML file; files that it names are looked for beside it."""
    with path.open("rb") as file:
        content = file.read(LARGEST_FILE + 1)  # a device may have no end
    if len(content) > LARGEST_FILE:
        raise ValueError(
            f"{path.name} must have at most {LARGEST_FILE:,} bytes: put many arms into a CSV file "
            "beside it"
        )
    try:
        table = tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:  # also what is not UTF-8
        raise ValueError(f"{path.name} must be a TOML file: {error}") from error
    for key in table:
        if key not in (*REQUIRED, *OPTIONS):
            raise ValueError(_takes(path.name, (*REQUIRED, *OPTIONS), key))
    for key in REQUIRED:
        if key not in table:
            raise ValueError(f"{path.name} must have {' and '.join(REQUIRED)}, it has no {key}")
    listed = table["strategies"]
    if not isinstance(listed, list):
        raise TypeError(
            f"{path.name}: strategies must be a list of [[strategies]] tables, or of texts such as "
            f"'GENTRY(alpha=2)', got {short(listed)}"
        )
    return Plan(
        _make(f"{path.name}: problem", table["problem"], PROBLEMS, path.parent),
        tuple(
            _make(f"{path.name}: strategy {i}", entry, STRATEGIES, path.parent)
            for i, entry in enumerate(listed, start=1)
        ),
        {key: table[key] for key in OPTIONS if key in table},
    )


def _make(what: str, given: Any, known: Makers, folder: Path) -> Any:
    """Return what a call or a table stands for; `what` says in errors where it was written."""
    table = _parsed(what, given) if isinstance(given, str) else given
    if not isinstance(table, Mapping) or "name" not in table:
        raise TypeError(
            f"{what} must be a text such as {next(iter(known))!r}, or a table with a name and its "
            f"parameters, got {short(given)}"
        )
    name = one_of(what, table["name"], tuple(known))
    maker = known[name]
    parameters = inspect.signature(maker).parameters
    values = {key: value for key, value in table.items() if key != "name"}
    for key in values:
        if key not in parameters:
            raise ValueError(_takes(f"{what} {name}", tuple(parameters), key))
    for key, parameter in parameters.items():
        if key not in values and parameter.default is parameter.empty:
            raise ValueError(f"{what} {name} must have {key}, it has none")
    hints = get_type_hints(maker) if inspect.isfunction(maker) else {}
    values = {
        key: _part(f"{what} {name}: {key}", value, hints.get(key), folder)
        for key, value in values.items()
    }
    try:
        return maker(**values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} {name}: {error}") from error


def _part(what: str, value: Any, hint: Any, folder: Path) -> Any:
    """Return a parameter's value, made first if its type is one of those that have names."""
    kinds = [kind for kind in MAKERS_OF if kind in (hint, *get_args(hint))]
    if not kinds or not isinstance(value, str | Mapping):
        return value
    if kinds == [DecisionSet] and isinstance(value, str) and value.endswith(".csv"):
        import pandas as pd

        return pd.read_csv(folder / value)
    return _make(what, value, MAKERS_OF[kinds[0]], folder)


def _parsed(what: str, text: str) -> dict[str, Any]:
    text = text.strip()
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"{what} must have at most {LONGEST_TEXT:,} characters, got {len(text):,}")
    node: ast.expr | None = None
    with suppress(SyntaxError, ValueError, *TOO_DEEP), warnings.catch_warnings(action="ignore"):
        node = ast.parse(text, mode="eval").body
    return _table(what, text, node)


def _table(what: str, text: str, node: ast.expr | None) -> dict[str, Any]:
    """Return a call as the table that says the same; `node` is a part of the text."""
    if isinstance(node, ast.Name):
        return {"name": node.id}
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError(
            f"{what} must be a name, or a call such as 'name(key=2)', got {_quoted(text, node)}"
        )
    table: dict[str, Any] = {"name": node.func.id}
    if node.args or any(keyword.arg in (None, *table) for keyword in node.keywords):
        raise ValueError(
            f"{what} must name its parameters, as in 'name(key=2)', got {_quoted(text, node)}"
        )
    for keyword in node.keywords:
        assert keyword.arg is not None
        if keyword.arg in table:
            raise ValueError(f"{what} must give each parameter once, got {_quoted(text, node)}")
        table[keyword.arg] = _value(f"{what}: {keyword.arg}", text, keyword.value)
    return table


def _value(what: str, text: str, node: ast.expr) -> Any:
    if isinstance(node, ast.Call):
        return _table(what, text, node)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"{what} must be a number, a text in quotes, a list or None, got "
            f"{(ast.get_source_segment(text, node) or '')[:60]}"
        ) from error


def _quoted(text: str, node: ast.expr | None) -> str:
    return short(text if node is None else ast.get_source_segment(text, node))


def _takes(what: str, allowed: tuple[str, ...], key: str) -> str:
    return f"{what} takes {', '.join(allowed)}, got {short(key)}{did_you_mean(key, allowed)}"
