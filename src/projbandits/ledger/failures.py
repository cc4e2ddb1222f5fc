"""What can be wrong with a store, as a caller may want to handle it."""

from __future__ import annotations


class Unavailable(OSError):  # noqa: N818
    """The store cannot be used now. After the remedy, the same call with the same id is harmless.

    Parameters
    ----------
    message : str
        Which store, what is wrong, and what to do.
    lost : bool
        Whether a connection was lost, so that a new one may do.
    """

    def __init__(self, message: str, *, lost: bool = False) -> None:
        super().__init__(message)
        self.lost = lost


class WrongVersion(ValueError):  # noqa: N818
    """The store was written by another version of the library."""
