"""Worlds to learn in: the paper's settings, the wine data, or one given world."""

from projbandits.problems.base import Problem, World
from projbandits.problems.estimated import EstimatedSubspace, estimated_subspace
from projbandits.problems.instance import Instance, instance
from projbandits.problems.noise import Bernoulli, Gaussian, Noise, Uniform
from projbandits.problems.synthetic import (
    EntropyBallWorlds,
    RandomArms,
    RandomTheta,
    entropy_ball,
    random_arms,
    random_theta,
)
from projbandits.problems.turns import Groups, GroupWorld, groups
from projbandits.problems.wine import Wine, wine

__all__ = [
    "Bernoulli",
    "EntropyBallWorlds",
    "EstimatedSubspace",
    "Gaussian",
    "GroupWorld",
    "Groups",
    "Instance",
    "Noise",
    "Problem",
    "RandomArms",
    "RandomTheta",
    "Uniform",
    "Wine",
    "World",
    "entropy_ball",
    "estimated_subspace",
    "groups",
    "instance",
    "random_arms",
    "random_theta",
    "wine",
]
