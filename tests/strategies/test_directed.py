"""Directed information: its formulas against slow twins."""

import math

import numpy as np
import pytest

import projbandits as pb
from projbandits.strategies.belief import Moments
from projbandits.strategies.directed import directed
from tests.beliefs import some_belief


@pytest.mark.parametrize("effects", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_directed_information_is_the_log_of_how_a_pull_shrinks_the_widest(
    seed: int, effects: bool
) -> None:
    belief = some_belief(seed, effects)
    K, h, radius = 7, int(belief.mean.argmax()), 1.5
    # The own parts as further coordinates of theta.
    wanted, seen = (np.hstack([M, np.eye(K)]) for M in (belief.target, belief.seen))
    C = np.zeros((4 + K, 4 + K))
    C[:4, :4] = belief.covariance
    C[4:, 4:] = np.diag(belief.own)
    beyond = wanted - wanted[h]
    s = np.sqrt(np.einsum("ij,jk,ik->i", beyond, C, beyond))
    above = belief.mean - belief.mean[h] + radius * s
    plausible = [y for y in range(K) if above[y] >= 0]
    w = beyond[max(plausible, key=lambda y: s[y])]
    found = directed(belief, radius)
    np.testing.assert_allclose(found.gaps, above.max() + belief.mean[h] - belief.mean)
    for z in range(K):
        x = seen[z]
        after = C - np.outer(C @ x, C @ x) / (x @ C @ x + belief.noise**2)
        assert found.info[z] == pytest.approx(math.log((w @ C @ w) / (w @ after @ w)), rel=1e-8)


def test_the_published_radius_is_the_formula() -> None:
    strategy = pb.DirectedIDS(radius="published", bound=3.0, noise=0.5, penalty=2.0)
    arms = pb.FiniteArms([[1.0, 0.0], [0.0, 2.0]])
    state = strategy.init(arms, pb.Subspace.coordinates([0], d=2))
    for i in (0, 1, 1):
        state = strategy.update(state, arms.arm(i), 1.0)
    det = (2 + 1) * (2 + 8) / 2**2
    expected = math.sqrt(2 * math.log(4**2) + math.log(det)) + math.sqrt(2) * 3 / 0.5
    assert strategy.reach(state) == pytest.approx(expected)
    assert pb.DirectedIDS().reach(state) == pytest.approx(math.sqrt(math.log(4) / 2))


def test_before_anything_is_seen_the_published_radius_is_that_of_the_prior() -> None:
    # log det V - d log lambda is zero then, and may round to less.
    for d in range(1, 11):
        for ridge in (0.1, 0.3, 0.7, 3.0):
            strategy = pb.DirectedIDS(radius="published", noise=1.0, penalty=ridge)
            state = strategy.init(pb.FiniteArms(np.eye(d)), pb.Subspace.coordinates([0], d=d))
            assert strategy.reach(state) == pytest.approx(math.sqrt(ridge), abs=1e-6)


def test_an_arm_that_is_not_plausible_is_not_the_widest() -> None:
    # Arm 2 is by far the widest, and so far behind that it cannot be better.
    belief = Moments(
        mean=np.array([0.0, -1.0, -50.0]),
        target=np.diag([1.0, 1.0, 10.0]),
        seen=np.eye(3),
        covariance=np.eye(3),
        own=np.zeros(3),
        noise=1.0,
    )
    assert directed(belief, 2.0).info[2] == 0.0
    assert directed(belief, 2.0).info[1] > 0.0
    assert directed(belief, 20.0).info[2] > directed(belief, 20.0).info[1]
