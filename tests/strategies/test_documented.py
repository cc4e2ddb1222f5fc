"""Parameters are documented once, in the class that has them, and shown by every class below."""

import dataclasses
import inspect
import re

import pytest

import projbandits as pb
from projbandits.strategies import LinearStrategy
from projbandits.strategies.documented import with_inherited_parameters
from tests.everyone import everyone


def documented(kind: type) -> list[str]:
    """The names in the docstring's section of parameters, in their order."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?:\n\n|\Z)", str(kind.__doc__), re.M | re.S)
    assert section is not None
    heads = re.findall(r"^(\w[\w, ]*) : ", section[1], re.MULTILINE)
    return [name for head in heads for name in head.split(", ")]


@pytest.mark.parametrize("strategy", everyone(), ids=repr)
def test_every_field_of_a_strategy_is_documented_once_and_its_own_come_first(
    strategy: LinearStrategy,
) -> None:
    kind = type(strategy)
    names = documented(kind)
    assert sorted(names) == sorted(field.name for field in dataclasses.fields(strategy))
    classes = [inspect.get_annotations(base) for base in kind.__mro__]
    owners = [next(i for i, own in enumerate(classes) if name in own) for name in names]
    assert owners == sorted(owners)
    assert str(kind.__doc__).count("Parameters\n---") == 1


class Parent:
    """A parent.

    Parameters
    ----------
    one : int
        Of the parent.
    two, three : float
        Of both.

    Examples
    --------
    >>> 1 + 1
    2
    """


class Child(Parent):
    """A child.

    More about it.

    Parameters
    ----------
    four : str
        Of the child.
    one : bool
        As the child has it.

    Notes
    -----
    None.
    """


def test_the_own_parameters_come_first_and_the_parents_examples_stay_with_the_parent() -> None:
    assert with_inherited_parameters(Child) == (
        "A child.\n\nMore about it.\n\n"
        "Parameters\n----------\n"
        "four : str\n    Of the child.\n"
        "one : bool\n    As the child has it.\n"
        "two, three : float\n    Of both.\n\n"
        "Notes\n-----\nNone."
    )


def test_parameters_stand_before_examples_where_a_class_has_none_of_its_own() -> None:
    class Heir(Parent):
        """An heir.

        Examples
        --------
        >>> 2 + 2
        4
        """

    shown = with_inherited_parameters(Heir)
    assert shown is not None
    assert shown.index("An heir.") < shown.index("one : int") < shown.index("two, three")
    assert shown.endswith("Of both.\n\nExamples\n--------\n>>> 2 + 2\n4")
    assert shown.count("Examples") == 1


def test_a_class_without_a_docstring_stays_without() -> None:
    class Bare(pb.GENTRY):
        pass

    assert Bare.__doc__ is None
    assert with_inherited_parameters(Bare) is None
