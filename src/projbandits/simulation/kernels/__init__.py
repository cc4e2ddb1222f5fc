"""Compiled loops; the only part of the package that imports numba."""
