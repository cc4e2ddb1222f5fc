"""Decide online: `Decider` asks, tells, explains and saves."""

from projbandits.deciding.decider import Decider
from projbandits.decisions.decision import Decision

__all__ = ["Decider", "Decision"]
