"""Find U, the part that counts, from side information: attributes, pairs or groups."""

from projbandits.finding.find import SideInformation, find_subspace
from projbandits.finding.found import Found

__all__ = ["Found", "SideInformation", "find_subspace"]
