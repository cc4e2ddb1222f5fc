"""Find U, the part that counts, from side information: attributes, pairs or groups."""

from projbandits.finding.estimate import SubspaceEstimate
from projbandits.finding.find import SideInformation, find_subspace

__all__ = ["SideInformation", "SubspaceEstimate", "find_subspace"]
