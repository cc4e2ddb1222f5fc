"""A value that is computed once, without a lock."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from functools import cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801
        """`functools.cached_property` as it is from Python 3.12 on.

        Before, one lock serves all objects of a class. A child that is forked while another thread
        holds it waits for it for ever. Without it, two threads may compute a value twice.

        Examples
        --------
        >>> from functools import cached_property
        >>> class Square:
        ...     @cached_property
        ...     def area(self):
        ...         print("computed")
        ...         return 9
        >>> square = Square()
        >>> square.area + square.area
        computed
        18
        """

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None or self.attrname is None:
                return super().__get__(instance, owner)
            value = instance.__dict__[self.attrname] = self.func(instance)
            return value


__all__ = ["cached_property"]
