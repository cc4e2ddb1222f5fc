"""How a part of a kernel is compiled: translated where it stands, optimised where it is used.

numba optimises every function by itself, with all that it calls, and turns it into machine code.
A kernel is made of dozens of functions that only it calls, several levels deep: their code would be
optimised once for every level, and machine code made that nothing runs.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class Unfinished(JITCodeLibrary):
    """The code of a part, as it was translated; the kernel that it becomes part of is optimised."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True

    @property
    def codegen(self) -> Unfinished:
        """What numba gives each function's environment to; see `set_env`."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Leave out the environment: it holds objects of Python, and a part uses none."""

    def get_pointer_to_function(self, name: str) -> int:
        """Return that there is no machine code."""
        self._ensure_finalized()  # type: ignore[no-untyped-call]
        return 0


class Part(Compiler):
    """numba's compiler, for functions that only kernels call."""

    def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:
        library = Unfinished(target.codegen(), "part")  # type: ignore[no-untyped-call]
        super().__init__(typing, target, library, *rest)  # type: ignore[no-untyped-call]
