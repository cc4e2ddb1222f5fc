"""Every test of figures begins without any."""

import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def _close_figures() -> None:
    plt.close("all")
