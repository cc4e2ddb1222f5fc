"""The command line: parse, call, print."""

from projbandits.cli.app import main

__all__ = ["main"]
