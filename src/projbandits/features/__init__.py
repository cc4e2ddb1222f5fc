"""Raw columns become feature vectors."""

from projbandits.features.features import Features

__all__ = ["Features"]
