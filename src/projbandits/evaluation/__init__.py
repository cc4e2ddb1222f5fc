"""Logs of any origin, and what another policy would have been worth: `replay` follows a log."""

from projbandits.evaluation.log import Log
from projbandits.evaluation.predictable import Replay
from projbandits.evaluation.replay import replay

__all__ = ["Log", "Replay", "replay"]
