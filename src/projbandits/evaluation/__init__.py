"""What another strategy would have been worth: `replay` follows a log."""

from projbandits.evaluation.offpolicy import Replay
from projbandits.evaluation.replaying import replay

__all__ = ["Replay", "replay"]
