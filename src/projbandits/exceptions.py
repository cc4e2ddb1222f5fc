"""Errors that callers may want to handle, each a subclass of the built-in error nearest to it.

Arguments of the wrong type or value raise `TypeError` and `ValueError` themselves.

Examples
--------
An outcome is told once; to correct it, amend it.

>>> import numpy as np
>>> import projbandits as pb
>>> decider = pb.Decider(subspace=pb.Subspace.coordinates(keep=[0], d=2))
>>> decision = decider.ask(np.array([[1.0, 0.0], [0.0, 1.0]]), request_id="visit-1")
>>> decider.tell(decision, 1.0)
>>> try:
...     decider.tell("visit-1", 0.0)
... except pb.exceptions.ConflictError:
...     decider.amend("visit-1", 0.0)

Every error is also one of the built-in kinds.

>>> try:
...     decider.tell("visit-2", 1.0)
... except KeyError as error:
...     print(type(error).__name__)
UnknownDecisionError
"""

from __future__ import annotations

__all__ = [
    "ConflictError",
    "DamagedError",
    "ReentrantError",
    "UnavailableError",
    "UnknownDecisionError",
    "UnknownIdentityError",
    "VersionError",
]


class ConflictError(ValueError):
    """A call contradicts what is stored, such as a second outcome for one decision.

    The store is unchanged.
    """


class DamagedError(ValueError):
    """Stored bytes differ from those that were written: restore a backup."""


class ReentrantError(RuntimeError):
    """A function that decides inside a transaction began another one on the same ledger."""


class UnavailableError(OSError):
    """The store or the service cannot be reached now.

    After the remedy in the message, repeat the call with the same id: calls are idempotent.

    Parameters
    ----------
    message : str
        The store, the fault, and the remedy.
    lost : bool
        Whether a connection was lost, so that a new one may succeed.
    """

    def __init__(self, message: str, *, lost: bool = False) -> None:
        super().__init__(message)
        self.lost = lost


class UnknownDecisionError(KeyError):
    """No decision has this id, or no ledger this name."""

    def __str__(self) -> str:
        # KeyError shows the repr of its argument, with quotes around the sentence.
        return str(self.args[0])


class UnknownIdentityError(ValueError):
    """An object holds a value without comparable content, such as an open file or a lock.

    Caches refuse such objects: they cannot tell whether two of them are equal.
    """


class VersionError(ValueError):
    """The store was written by another version of the library."""
