"""Errors and warnings as the terminal shows them: one line and an exit code."""

from __future__ import annotations

import errno
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from projbandits.cli import stopping

BAD_INPUT, FAILED = 2, 1
WRONG_PATHS = (FileNotFoundError, FileExistsError, NotADirectoryError, IsADirectoryError)
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
UsageError: Any = typer.BadParameter.__base__  # typer has it from click, or from a copy of its own
LONGEST_LINE = 270


@contextmanager
def in_one_line() -> Iterator[None]:
    """Turn what the library raises into a message and an exit code, and warnings into messages.

    Anything else is a bug in the program and passes through.
    """
    with warnings.catch_warnings():
        warnings.showwarning = _warned
        try:
            yield
        except KeyboardInterrupt as error:
            raise _told(stopping.STOPPED_CODE, str(error) or "stopped") from error
        except BrokenPipeError:
            raise  # the reader of the output has seen enough: typer ends quietly
        except UsageError as error:
            where = f"; see {error.ctx.command_path} --help" if error.ctx else ""
            raise _told(BAD_INPUT, f"{error.format_message().rstrip('.')}{where}") from error
        except (ValueError, TypeError, PermissionError, *WRONG_PATHS) as error:
            raise _told(BAD_INPUT, str(error)) from error
        except MemoryError as error:
            message = f"there is not enough memory: ask for less ({error})"
            raise _told(BAD_INPUT, message) from error
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                raise _told(BAD_INPUT, str(error)) from error
            hint = ""
            if error.errno in NO_ROOM:
                hint = ": make room and run the same again; what was finished is kept"
            raise _told(FAILED, f"{error}{hint}") from error
        except ModuleNotFoundError as error:
            if error.name is not None:
                raise  # not one of ours, which say what to install
            raise _told(FAILED, str(error)) from error


def one_line(message: str) -> str:
    r"""Return a message that fits on one line; if it is too long, its middle is cut.

    Examples
    --------
    >>> from projbandits.cli.telling import one_line
    >>> one_line("got 'a\nb\x07'"), len(one_line("x" * 10**7))
    ("got 'a b\\x07'", 270)
    """
    message = (
        message
        if len(message) <= 2 * LONGEST_LINE
        else message[:LONGEST_LINE] + message[-LONGEST_LINE:]
    )
    shown = "".join(
        c if c.isprintable() else " " if c.isspace() else ascii(c)[1:-1] for c in message
    )
    if len(shown) <= LONGEST_LINE:
        return shown
    return f"{shown[: LONGEST_LINE - 105]} ... {shown[-100:]}"


def _told(code: int, message: str) -> typer.Exit:
    if sys.flags.dev_mode:
        import traceback

        traceback.print_exc()
    line = f"projbandits: {one_line(message)}"
    if code == stopping.STOPPED_CODE:
        stopping.tell(line)
    else:
        typer.echo(line, err=True)
    return typer.Exit(code)


def _warned(message: Warning | str, *_: Any, **__: Any) -> None:
    typer.echo(f"projbandits: {one_line(str(message))}", err=True)
