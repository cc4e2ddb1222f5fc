"""Decide online: `Decider` asks, tells, explains and saves; `replay` judges from its log."""

from projbandits.online.decider import Decider
from projbandits.online.decision import Decision
from projbandits.online.offpolicy import Replay
from projbandits.online.replaying import replay

__all__ = ["Decider", "Decision", "Replay", "replay"]
