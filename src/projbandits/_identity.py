"""What an object is: a digest of everything it is made of, its numbers and its code.

The digest of an object covers what a copy in another process would be made of, so all of its
attributes. Code of installed packages counts by its name; the user's own code counts with its
instructions, its constants, and the functions and values that it refers to.
"""

from __future__ import annotations

import copyreg
import dis
import hashlib
import inspect
import sys
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from projbandits.exceptions import UnknownIdentityError

HOOK = "__identity__"
"""A class may have a method of this name, which returns what its objects are made of.

It holds for that class alone: a subclass may add attributes, so it needs a method of its own.
"""
PLAIN_TYPES = (type(None), type(...), bool, float, complex, str, bytes)
CONTAINERS = (tuple, list, set, frozenset)
MEMBERS = (FunctionType, staticmethod, classmethod, property, cached_property)
CODE = (
    *("co_code", "co_consts", "co_names", "co_varnames", "co_freevars", "co_cellvars"),
    *("co_flags", "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_exceptiontable"),
)
"""The attributes that determine what code does; its place in a file is not among them."""


def identity(value: Any) -> str:
    """Return a digest of everything an object is made of.

    Raises
    ------
    UnknownIdentityError
        If it holds something that cannot be copied to another process.

    Examples
    --------
    >>> import projbandits as pb
    >>> from projbandits._identity import identity
    >>> identity(pb.GENTRY(alpha=2)) == identity(pb.GENTRY(alpha=2.0))
    True
    >>> identity(pb.FiniteArms([[1.0, 2.0]])) == identity(pb.FiniteArms([[1.0, 3.0]]))
    False
    """
    return _Walk().digest(value).hex()


class _Walk:
    """A walk through everything that an object is made of, each part visited once."""

    def __init__(self) -> None:
        # The value is kept too, so that its id is not reused meanwhile.
        self.known: dict[int, tuple[Any, bytes]] = {}
        self.above: dict[int, int] = {}

    def digest(self, value: Any) -> bytes:
        kind = type(value)
        if kind in PLAIN_TYPES:
            return _hash(kind.__name__, repr(value).encode())
        if kind is int:
            return _hash("int", hex(value).encode())
        if kind is np.ndarray and not value.dtype.hasobject:
            about = f"{value.dtype!r} {value.shape}".encode()
            return _hash("array", about, np.ascontiguousarray(value).tobytes())
        key = id(value)
        if key in self.above:  # a function that calls itself, a class that its methods name
            return _hash("above", b"%d" % (len(self.above) - self.above[key]))
        if key not in self.known:
            self.above[key] = len(self.above)
            name, parts = _made_of(value)
            digests = [self.digest(part) for part in parts]
            if kind in (set, frozenset):
                digests.sort()
            del self.above[key]
            self.known[key] = value, _hash(name, *digests)
        return self.known[key][1]


def _hash(kind: str, *parts: bytes) -> bytes:
    whole = hashlib.sha256(b"%s\0" % kind.encode())
    for part in parts:
        whole.update(b"%d\0" % len(part))
        whole.update(part)
    return whole.digest()


def _made_of(value: Any) -> tuple[str, Iterable[Any]]:
    """Return what kind of thing a value is, and its parts."""
    kind = type(value)
    if kind in CONTAINERS:
        return kind.__name__, value
    if kind is dict:
        return "dict", [part for pair in value.items() for part in pair]
    if kind is np.ndarray:
        return "objects", [value.shape, value.ravel().tolist()]
    if isinstance(value, np.generic):
        return "number", [np.array(value)]
    if kind is ModuleType:
        return "module", [value.__name__]
    if isinstance(value, type | FunctionType):
        module, name = value.__module__, value.__qualname__
        if _is_named(value, module, name):
            return "name", [module, name]
    if isinstance(value, type):
        return "class", [value.__bases__, _namespace(value)]
    if kind is FunctionType:
        cells = [_content(cell) for cell in value.__closure__ or ()]
        referred = dict(_referred(value.__code__, value.__globals__))
        defaults = (value.__defaults__, value.__kwdefaults__)
        return "function", [value.__code__, defaults, cells, referred, vars(value)]
    if kind is CodeType:
        return "code", [getattr(value, name) for name in CODE]
    if isinstance(value, staticmethod | classmethod):
        return kind.__name__, [value.__func__]
    if kind is property:
        return "property", [value.fget, value.fset, value.fdel]
    if kind is cached_property:
        return "property", [value.func]
    about = [kind.__module__, kind.__qualname__]
    if HOOK in vars(kind):
        return "object", [*about, getattr(value, HOOK)()]
    if kind.__module__.startswith(("functools", "numba.")) and hasattr(value, "__wrapped__"):
        return "wrapped", [*about, value.__wrapped__, getattr(value, "targetoptions", None)]
    if _installed(kind.__module__):
        for name, other in getattr(sys.modules.get(kind.__module__), "__dict__", {}).items():
            if other is value:  # such as the generator that numpy.random falls back on
                return "name", [*about, name]
    return "object", _copied(value)


def _copied(value: Any) -> Iterable[Any]:
    """Return what a copy of an object in another process would be made of."""
    kind = type(value)
    try:
        registered: Any = copyreg.dispatch_table.get(kind)
        reduced = value.__reduce_ex__(4) if registered is None else registered(value)
        if isinstance(reduced, str):  # a built-in goes by its name
            return [kind.__qualname__, _home(value, reduced), reduced]
    except Exception as error:
        raise UnknownIdentityError(
            f"a {kind.__module__}.{kind.__qualname__} cannot be told from another by its content: "
            f"give the class that holds it a method {HOOK} that returns what counts"
        ) from error
    make, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
    if isinstance(state, dict):
        state = _without_caches(kind, state)
    elif isinstance(state, tuple) and len(state) == 2 and isinstance(state[0], dict):  # with slots
        state = (_without_caches(kind, state[0]), state[1])
    return [make, arguments, state, [*(items or ())], [*(pairs or ())]]


def _without_caches(kind: type, state: dict[str, Any]) -> dict[str, Any]:
    """Return attributes without those that are computed from others when they are asked for."""
    return {
        name: value
        for name, value in state.items()
        if not isinstance(inspect.getattr_static(kind, str(name), None), cached_property)
    }


def _namespace(kind: type) -> dict[str, Any]:
    """Return what a class of one's own defines: its methods and its attributes."""
    return {
        name: value
        for name, value in sorted(vars(kind).items())
        if isinstance(value, MEMBERS)
        or not (name.startswith(("__", "_abc_")) or inspect.isdatadescriptor(value))
    }


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return "empty"


def _referred(code: CodeType, names: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the global names that code refers to, with what they stand for.

    For a module of the user's own, what the code takes from it.
    """
    steps = [*dis.get_instructions(code)]
    for i, step in enumerate(steps):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME") and step.argval in names:
            name, value = step.argval, names[step.argval]
            for later in steps[i + 1 :]:
                if not isinstance(value, ModuleType) or _installed(value.__name__):
                    break
                if later.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
                    break
                name, value = f"{name}.{later.argval}", getattr(value, later.argval, None)
            yield name, value
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _referred(constant, names)


def _home(value: Any, name: str) -> str:
    """Return the installed package that has something under a name, the first of several."""
    modules = [*sys.modules.items()]
    found = {key for key, module in modules if getattr(module, "__dict__", {}).get(name) is value}
    own = getattr(value, "__module__", None)
    homes = {key for key in found if _installed(key)}
    return own if own in homes else min(key.partition(".")[0] for key in homes)


def _is_named(value: Any, module: str, name: str) -> bool:
    """Tell whether something is what a name stands for in an installed module."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is value and _installed(module)


def _installed(module: str) -> bool:
    """Tell whether a module is part of Python, of this library or of an installed package."""
    root = module.partition(".")[0]
    if root in sys.stdlib_module_names or root == __name__.partition(".")[0]:
        return True
    at = getattr(sys.modules.get(root), "__file__", None) if root != "__main__" else None
    return at is not None and not {"site-packages", "dist-packages"}.isdisjoint(Path(at).parts)
