"""What is believed of some arms: means, and how what one arm shows moves what another is worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from projbandits._checks import Array


@dataclass(frozen=True, eq=False)
class Belief:
    """A Gaussian belief about what K arms are worth and what they would return.

    What is wanted of arm j is <target_j, theta> + own_j, and what it returns is, up to what is
    known for certain, <seen_j, theta> + own_j plus noise. theta has the covariance below; the
    own_j are independent of it and of each other.

    Parameters
    ----------
    mean : ndarray of shape (K,)
        The mean of what is wanted of each arm.
    target, seen : ndarray of shape (K, d)
        How theta enters what is wanted and what is seen.
    covariance : ndarray of shape (d, d)
        The covariance of theta, sigma^2 V^-1.
    own : ndarray of shape (K,)
        The variance of own_j: what an arm has beyond its features; zero without arm effects.
    noise : float
        sigma, the standard deviation of the noise.
    """

    mean: Array
    target: Array
    seen: Array
    covariance: Array
    own: Array
    noise: float

    @property
    def spread(self) -> Array:
        """The variance of what each arm returns on average: of <seen_j, theta> + own_j."""
        turned = np.einsum("ij,jk->ik", self.seen, self.covariance)
        spread: Array = np.einsum("ij,ij->i", turned, self.seen)
        return spread + self.own
