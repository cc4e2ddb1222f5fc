"""The reference: every public name is in it, with its parameters and a tested example."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import projbandits as pb
from projbandits import arms
from projbandits.strategies import seeking
from tests.everyone import everyone

PAGE = (Path(__file__).parent.parent / "docs" / "reference" / "index.md").read_text()
MODULES = (pb, arms, pb.plots, pb.problems, pb.schedules, pb.strategies, pb.testing, pb.theory)
PUBLIC = {
    getattr(module, name): f"{module.__name__}.{name}"
    for module in reversed(MODULES)
    for name in module.__all__
    if callable(getattr(module, name))
} | {seeking.SeekingGENTRY: "projbandits.strategies.seeking.SeekingGENTRY"}
ERRORS = {f"projbandits.exceptions.{name}" for name in pb.exceptions.__all__}
DOCUMENTED = re.compile(r"^Parameters\n-+\n(.*?)(?:\n\n|\Z)", re.MULTILINE | re.DOTALL)


def documented(value: Any) -> set[str]:
    """The parameters that a docstring explains, those of the classes above included."""
    names: set[str] = set()
    for each in inspect.getmro(value) if inspect.isclass(value) else [value]:
        found = DOCUMENTED.search(inspect.cleandoc(each.__doc__ or ""))
        heads = re.findall(r"^(\w[\w, ]*)(?: :|$)", found[1], re.MULTILINE) if found else []
        names.update(name for head in heads for name in head.split(", "))
    return names


def parameters(value: Any) -> set[str]:
    """What a call of it may pass; nobody makes an object of a protocol."""
    if getattr(value, "_is_protocol", False):
        return set()
    return {name for name in inspect.signature(value).parameters if not name.startswith("_")}


@pytest.mark.parametrize("value", PUBLIC, ids=PUBLIC.values())
def test_a_public_name_has_its_parameters_and_an_example(value: Any) -> None:
    doc = inspect.cleandoc(value.__doc__)
    assert parameters(value) <= documented(value)
    assert re.search(r"^Examples\n--------\n(.*\n)*>>> ", doc, re.MULTILINE)


def test_the_reference_has_every_public_name_and_nothing_else() -> None:
    listed = set()
    for module, names in re.findall(r"currentmodule:: (\S+)\n(.*?)```", PAGE, re.DOTALL):
        listed |= {f"{module}.{name}" for name in re.findall(r"^   (\w+)$", names, re.MULTILINE)}
    assert listed == set(PUBLIC.values()) | ERRORS


@pytest.mark.parametrize("strategy", everyone(), ids=repr)
def test_a_strategy_states_its_rule_and_where_it_is_from(strategy: pb.Strategy) -> None:
    before, _, _ = str(type(strategy).__doc__).partition("Parameters\n---")
    assert "theta-hat" in before
    assert re.search(r"::\n\n    \S", before)
    assert re.search(r"equation \d|Algorithm \d|docs/\w+.md|`EIIDS`", before)
