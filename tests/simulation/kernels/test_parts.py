"""A part of a kernel is compiled within the kernel, and not by itself."""

from typing import Any

import numpy as np


def test_a_part_computes_within_its_kernel_and_has_no_machine_code_of_its_own() -> None:
    from numba import njit

    from projbandits.simulation.kernels.common import inner
    from projbandits.simulation.kernels.parts import Unfinished

    def largest(values: Any) -> Any:
        most = values[0]
        for value in values:
            most = max(most, value)
        return most

    def span(values: Any) -> Any:
        return part(values) - -part(-values)

    part: Any = inner(largest)
    kernel: Any = njit(span)
    values = np.array([3.0, -1.5, 2.0])
    assert kernel(values) == 4.5
    (compiled,) = part.overloads.values()
    assert isinstance(compiled.library, Unfinished)
    assert compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name) == 0
