"""Ctrl-C: one line and exit code 130, wherever it strikes.

Each child sends the signal to itself at a chosen moment.
"""

import subprocess
import sys
from pathlib import Path

import pytest

BEGIN = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
def strike():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.01)  # the signal may need a moment
"""

AT_IMPORT = """
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            strike()
sys.meta_path.insert(0, Finder())
"""

RUN = """
from projbandits.cli import main
main()
"""


def child(*code: str, arguments: tuple[str, ...] = ()) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-c", "".join((BEGIN, *code)), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("module", ["typer", "numpy", "pandas", "projbandits.paper.claims"])
def test_while_modules_are_loaded(module: str) -> None:
    came_to = child(AT_IMPORT.format(module=module), RUN, arguments=("list",))
    assert came_to == (130, "", "projbandits: stopped\n")


HIDING = """
import weakref
from projbandits.paper import reproduce
def hiding(*_):
    class Part: pass
    part = Part()
    watch = weakref.ref(part, lambda _: strike())  # matplotlib has such callbacks
    del part
    return {returned}
import {module}
sys.modules[{module!r}].{function} = hiding
"""


@pytest.mark.parametrize(
    ("module", "function", "returned"),
    [("drawing", "pictures", '(b"", b"")'), ("run", "render", '""')],
    ids=["figure", "report"],  # drawn in a thread, written in the main one
)
def test_in_a_callback_that_hides_it(
    tmp_path: Path, module: str, function: str, returned: str
) -> None:
    code = HIDING.format(module=f"projbandits.paper.{module}", function=function, returned=returned)
    size = ("--trials", "2", "--horizon", "5", "--out", str(tmp_path / "out"))
    came_to = child(code, RUN, arguments=("reproduce", "fig-a", *size))
    assert came_to == (130, "", "projbandits: stopped\n")


def test_when_everything_is_done_but_the_process() -> None:
    code, printed, said = child("import atexit; atexit.register(strike)", RUN, arguments=("list",))
    assert (code, said) == (130, "projbandits: stopped\n")
    assert "GENTRY" in printed


COMMAND = """
from projbandits.cli import stopping
from projbandits.cli.telling import in_one_line
import typer
stopping.PATIENCE = 0.2
stopping.listen()
def command():
    with in_one_line(), stopping.raising():
        work()
"""
CALL = """
try:
    command()
except typer.Exit as error:
    sys.exit(error.exit_code)
"""


@pytest.mark.parametrize(
    "work",
    [
        "    strike()",
        "    try: strike()\n    except KeyboardInterrupt: pass",
        "    try: strike()\n    except KeyboardInterrupt: raise ImportError('numpy') from None",
        "    try: strike()\n    except KeyboardInterrupt: time.sleep(600)",
        "    try: strike()\n    finally: strike()",
    ],
    ids=["heard", "lost", "taken for something else", "not heeded", "twice"],
)
def test_whatever_becomes_of_the_exception(work: str) -> None:
    came_to = child(COMMAND, f"def work():\n{work}\n", CALL)
    assert came_to == (130, "", "projbandits: stopped\n")


def test_what_is_kept_is_told_once_although_closing_takes_long() -> None:
    work = """
def work():
    import atexit
    atexit.register(time.sleep, 600)  # as where a thread that compiles is waited for
    try: strike()
    except KeyboardInterrupt: raise KeyboardInterrupt("stopped after 3 of 9 trials") from None
"""
    came_to = child(COMMAND, work, CALL)
    assert came_to == (130, "", "projbandits: stopped after 3 of 9 trials\n")


def test_faults_in_destructors_are_shown_as_ever() -> None:
    work = """
class Faulty:
    def __del__(self): raise ValueError("a fault")
def work():
    Faulty()
"""
    code, _, said = child(COMMAND, work, CALL)
    assert code == 0
    assert "ValueError: a fault" in said


def test_where_a_shell_has_it_ignored_it_is() -> None:
    ignore = "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    came_to = child(ignore, COMMAND, "def work():\n    strike(); print('done')\n", CALL)
    assert came_to == (0, "done\n", "")
