"""Measurements: accuracy and speed, each printed as a table by one command."""
