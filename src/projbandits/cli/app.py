"""The command `projbandits`: its parts, and what it says when something is wrong."""

from __future__ import annotations

import errno
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from projbandits._version import __version__
from projbandits.cli.asking import list_names, theory
from projbandits.cli.reproducing import reproduce
from projbandits.cli.simulating import compare, simulate

BAD_INPUT, FAILED, INTERRUPTED = 2, 1, 130
WRONG_PATHS = (FileNotFoundError, FileExistsError, NotADirectoryError, IsADirectoryError)
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Commands(TyperGroup):
    """Commands whose errors are told in a line; `python -X dev` shows where they come from."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command and turn what the library raises into a message and an exit code."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise _told(INTERRUPTED, str(error) or "stopped") from error
        except BrokenPipeError:
            raise  # the reader of the output has seen enough: typer ends quietly
        except (ValueError, TypeError, PermissionError, *WRONG_PATHS) as error:
            raise _told(BAD_INPUT, str(error)) from error
        except OSError as error:
            hint = ""
            if error.errno in NO_ROOM:
                hint = ": make room and run the same again; what was finished is kept"
            raise _told(FAILED, f"{error}{hint}") from error
        except ModuleNotFoundError as error:
            if error.name is not None:
                raise  # not one of ours, which say what to install
            raise _told(FAILED, str(error)) from error


def _told(code: int, message: str) -> typer.Exit:
    if sys.flags.dev_mode:
        import traceback

        traceback.print_exc()
    typer.echo(f"projbandits: {message}", err=True)
    return typer.Exit(code)


app = typer.Typer(
    name="projbandits",
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"projbandits {__version__}")
        raise typer.Exit


@app.callback()
def projbandits(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Linear bandits that learn from the whole observation and decide on the part that counts.

    Problems and strategies are written as in Python, in quotes: 'GENTRY(alpha=2)'. `projbandits
    list` shows them all.
    """


app.command()(reproduce)
app.command()(simulate)
app.command()(compare)
app.command()(theory)
app.command("list")(list_names)


def main() -> None:
    """Run the command line."""
    app()
