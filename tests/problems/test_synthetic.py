"""Settings a and b as the paper draws them."""

import math

import numpy as np

import projbandits as pb


def test_setting_a_is_drawn_as_the_paper_says() -> None:
    worlds = [pb.problems.random_arms().world(np.random.default_rng(i)) for i in range(200)]
    arms = [w.arms for w in worlds]
    X = np.concatenate([a.vectors for a in arms if isinstance(a, pb.FiniteArms)])
    theta = np.array([w.theta for w in worlds])
    assert X.shape == (200 * 45, 10)
    for sample in (X, theta):
        # U(-1, 1): mean 0, variance 1/3; within five standard errors.
        assert np.abs(sample).max() <= 1
        assert abs(sample.mean()) <= 5 * math.sqrt(1 / 3 / sample.size)
        assert abs((sample**2).mean() - 1 / 3) <= 5 * math.sqrt(4 / 45 / sample.size)
    assert {w.subspace.dim for w in worlds} == {5}
    mean_projection = np.mean([w.subspace.matrix for w in worlds], axis=0)
    # A random subspace favours no axis: P averages u/d on the diagonal.
    np.testing.assert_allclose(np.diag(mean_projection), 0.5, atol=0.08)


def test_setting_b_keeps_the_first_coordinates() -> None:
    world = pb.problems.random_arms(subspace="coordinates").world(np.random.default_rng(0))
    assert (world.subspace.matrix == np.diag([1.0] * 5 + [0.0] * 5)).all()
