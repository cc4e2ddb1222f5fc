"""The command `projbandits` and its parts."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from projbandits._version import __version__
from projbandits.cli import stopping
from projbandits.cli.asking import list_names, theory
from projbandits.cli.auditing import audit
from projbandits.cli.ledgers import ledger_app
from projbandits.cli.logs import fit, replay
from projbandits.cli.reproducing import reproduce
from projbandits.cli.serving import serve, token_app
from projbandits.cli.simulating import compare, simulate
from projbandits.cli.telling import in_one_line


class Commands(TyperGroup):
    """Commands that report errors in one line; `python -X dev` shows where they come from."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse what precedes the command; without any arguments, show the help."""
        if not args:
            return super().parse_args(ctx, args)
        with in_one_line():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with in_one_line(), stopping.raising():
            return super().invoke(ctx)


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
app.command()(replay)
app.command()(fit)
app.command()(theory)
app.command("list")(list_names)
app.command()(audit)
app.add_typer(ledger_app, name="ledger")
app.command()(serve)
app.add_typer(token_app, name="token")
