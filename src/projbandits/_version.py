"""The version, in the one place that the package and its build both read."""

__version__ = "0.2.0"
