"""Find U, the part that counts, from side information: attributes, pairs or groups."""

from projbandits.finding.estimate import Found
from projbandits.finding.find import SideInformation, find_subspace

__all__ = ["Found", "SideInformation", "find_subspace"]
