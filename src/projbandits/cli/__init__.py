"""The command line: parse, call, print."""

from projbandits.cli import stopping

__all__ = ["main"]


def main() -> None:
    """Run the command line; from here on Ctrl-C ends it with one line."""
    stopping.listen()
    from projbandits.cli.app import app  # which takes a second

    app()
