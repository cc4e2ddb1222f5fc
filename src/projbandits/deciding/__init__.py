"""Decide online: `Decider` asks, tells, explains and saves."""

from projbandits.deciding.decider import Decider
from projbandits.ledger.decision import Decision

__all__ = ["Decider", "Decision"]
