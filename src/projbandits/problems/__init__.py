"""Worlds to learn in: the paper's settings, the wine data, one given world, changing offers."""

from projbandits.problems.base import Problem, World
from projbandits.problems.estimated import EstimatedSubspace, estimated_subspace
from projbandits.problems.groups import Groups, GroupWorld, groups
from projbandits.problems.instance import Instance, instance
from projbandits.problems.noise import Bernoulli, Gaussian, Noise, Uniform
from projbandits.problems.offers import Drift, Jump, OfferedWorld, Offers, Wander, offers
from projbandits.problems.synthetic import (
    EntropyBallWorlds,
    RandomArms,
    RandomTheta,
    entropy_ball,
    random_arms,
    random_theta,
)
from projbandits.problems.wine import Wine, wine

__all__ = [
    "Bernoulli",
    "Drift",
    "EntropyBallWorlds",
    "EstimatedSubspace",
    "Gaussian",
    "GroupWorld",
    "Groups",
    "Instance",
    "Jump",
    "Noise",
    "OfferedWorld",
    "Offers",
    "Problem",
    "RandomArms",
    "RandomTheta",
    "Uniform",
    "Wander",
    "Wine",
    "World",
    "entropy_ball",
    "estimated_subspace",
    "groups",
    "instance",
    "offers",
    "random_arms",
    "random_theta",
    "wine",
]
