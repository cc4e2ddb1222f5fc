"""Parameters are documented once, in the class that has them, and shown by every class below."""

from __future__ import annotations

import inspect
import re

PARAMETERS_HEADING = "Parameters\n----------\n"


def with_inherited_parameters(kind: type) -> str | None:
    """Return the docstring of a class with the parameters that its parents document.

    Examples
    --------
    >>> import projbandits as pb
    >>> "penalty : float" in pb.GENTRY.__doc__
    True
    """
    if kind.__doc__ is None:
        return None
    before, entries, after = _parts(kind.__doc__)
    for parent in kind.__mro__[1:]:
        for name, entry in _parts(parent.__doc__ or "")[1].items():
            entries.setdefault(name, entry)
    shown = PARAMETERS_HEADING + "".join(entries.values()) if entries else ""
    return "\n\n".join(part.strip() for part in (before, shown, after) if part)


def _parts(doc: str) -> tuple[str, dict[str, str], str]:
    """Return the text before the parameters, the parameters by name, and the text after them."""
    doc = inspect.cleandoc(doc)
    before, found, rest = doc.partition(PARAMETERS_HEADING)
    if not found:
        before, examples, after = doc.partition("Examples\n--------\n")
        return before, {}, examples + after
    section, _, after = rest.partition("\n\n")
    entries = re.split(r"^(?=\w[\w, ]* : )", section + "\n", flags=re.MULTILINE)[1:]
    return before, {entry.split(" : ")[0]: entry for entry in entries}, after
