"""One thread for linear algebra while trials are played."""

import threadpoolctl

from projbandits._blas import single_threaded_blas


def test_overlapping_simulations_leave_the_threads_as_they_were() -> None:
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        first, second = single_threaded_blas(), single_threaded_blas()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert _threads() == {1}
        second.__exit__(None, None, None)
        assert _threads() == {2}


def _threads() -> set[int]:
    return {
        part["num_threads"]
        for part in threadpoolctl.threadpool_info()
        if part["user_api"] == "blas"
    }
