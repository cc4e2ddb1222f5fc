"""The noise eta_t: zero mean and sub-Gaussian with the stated parameter (Assumption 2)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from projbandits._validation import not_negative, positive


@runtime_checkable
class Noise(Protocol):
    """How a return scatters around its mean.

    Each call of `observe` takes exactly one draw from the generator, so that strategies that
    meet the same stream meet the same noise at the same step.

    Examples
    --------
    Any object with these two is one.

    >>> import numpy as np, projbandits as pb
    >>> class Coin:
    ...     scale = 1.0
    ...     def observe(self, mean, rng):
    ...         return mean + (1.0 if rng.random() < 0.5 else -1.0)
    >>> isinstance(Coin(), pb.problems.Noise)
    True
    >>> Coin().observe(5.0, np.random.default_rng(0))
    4.0
    """

    @property
    def scale(self) -> float:
        """The sub-Gaussian parameter, the paper's vartheta."""
        ...

    def observe(self, mean: float, rng: np.random.Generator) -> float:
        """Return one observation of a return with the given mean."""
        ...


@dataclass(frozen=True)
class Gaussian:
    """Normal noise.

    Parameters
    ----------
    scale : float
        Its standard deviation.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits.problems import Gaussian
    >>> Gaussian(0.0).observe(3.0, np.random.default_rng(0))
    3.0
    """

    scale: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", not_negative("noise", self.scale))

    def observe(self, mean: float, rng: np.random.Generator) -> float:
        """Return one observation of a return with the given mean."""
        return mean + self.scale * rng.standard_normal()


@dataclass(frozen=True)
class Uniform:
    """Noise uniform on [-a, a] with a = sqrt(3) scale.

    Its moment generating function sinh(a xi) / (a xi) is at most exp(a^2 xi^2 / 6), so it is
    sub-Gaussian with its own standard deviation as the parameter.

    Parameters
    ----------
    scale : float
        Its standard deviation.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits.problems import Uniform
    >>> rng = np.random.default_rng(0)
    >>> drawn = [Uniform(1.0).observe(0.0, rng) for _ in range(1000)]
    >>> round(float(np.std(drawn)), 1), max(drawn) < 3**0.5
    (1.0, True)
    """

    scale: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", not_negative("noise", self.scale))

    def observe(self, mean: float, rng: np.random.Generator) -> float:
        """Return one observation of a return with the given mean."""
        return mean + self.scale * math.sqrt(3.0) * (2.0 * rng.random() - 1.0)


@dataclass(frozen=True)
class Bernoulli:
    """Returns that take one of two values 2 * scale apart, like clicks.

    The mean m lies between two multiples of 2 * scale; the return is the upper one with the
    probability that makes its mean m. With the default scale of 0.5 and means in [0, 1] these are
    clicks: 1 with probability m, else 0. Noise within an interval of length 2 * scale is
    sub-Gaussian with parameter `scale` (Hoeffding's lemma).

    Parameters
    ----------
    scale : float
        Half of the distance between the two values.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits.problems import Bernoulli
    >>> rng = np.random.default_rng(0)
    >>> [Bernoulli().observe(0.3, rng) for _ in range(6)]
    [0.0, 1.0, 1.0, 1.0, 0.0, 0.0]
    """

    scale: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("noise", self.scale))

    def observe(self, mean: float, rng: np.random.Generator) -> float:
        """Return one observation of a return with the given mean."""
        width = 2.0 * self.scale
        lower = math.floor(mean / width)
        above = rng.random() < mean / width - lower
        return width * (lower + above)


def as_noise(noise: Any) -> Noise:
    """Return a noise: a number is the standard deviation of a Gaussian."""
    if isinstance(noise, Noise) and not isinstance(noise, type):
        return noise
    return Gaussian(noise)
