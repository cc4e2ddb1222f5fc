"""Compilation is noticed."""

from typing import Any, cast


def test_compilation_is_noticed_once() -> None:
    from numba import njit

    from projbandits.simulation.kernels.notice import on_compile

    def double(x: int) -> int:
        return 2 * x

    told: list[str] = []
    with on_compile(lambda: told.append("compiling")):
        fresh: Any = njit(cast(Any, double))
        fresh(1)
        fresh(1.5)
    assert told == ["compiling"]
    with on_compile(lambda: told.append("again")):
        fresh(2)
    assert told == ["compiling"]
