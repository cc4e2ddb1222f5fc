"""Attacks on what the library promises; the tests run short forms of them.

By hand, for as long as you like: `python -m tests.attacks interrupts --tries 60`. An attack returns
how often it came to what; an outcome in CAPITALS must not occur, and makes the command fail.
"""

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

Outcomes = Counter[str]


def interrupts(tries: int, rng: np.random.Generator) -> Outcomes:
    """Ctrl-C at random moments of `projbandits reproduce --quick`, from its first to its last."""
    outcomes: Outcomes = Counter()
    with tempfile.TemporaryDirectory() as folder:
        begun = time.monotonic()
        _reproduce(Path(folder, "whole")).communicate()
        whole = time.monotonic() - begun
        for i in range(tries):
            # Half of them in the first seconds, where modules are loaded.
            moment = rng.uniform(0, whole if i % 2 else 3)
            process = _reproduce(Path(folder, str(i)))
            try:
                process.wait(moment)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGINT)
            sent = time.monotonic()
            _, said = process.communicate()
            outcome = _after_interrupt(process.returncode, said, time.monotonic() - sent)
            outcomes[outcome] += 1
            if outcome.isupper():
                print(f"{outcome} at {moment:.3f} s, exit code {process.returncode}:\n{said}")
    return outcomes


def _reproduce(out: Path) -> "subprocess.Popen[str]":
    command = [str(Path(sys.executable).with_name("projbandits")), "reproduce", "--quick"]
    return subprocess.Popen(
        [*command, "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # What a shell runs in the background ignores Ctrl-C, and so would its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def _after_interrupt(code: int, said: str, seconds: float) -> str:
    if code == 0 and said.startswith("report: "):
        return "done before it was stopped"
    if code == 130 and said.startswith("projbandits: stopped") and said.count("\n") == 1:
        return "stopped with one line" if seconds < 10 else "STOPPED LATE"
    if ", in main\n" not in said and "projbandits: " not in said:
        return "stopped before main began"  # Python itself was still starting
    return "WRONG"


ATTACKS: dict[str, Callable[[int, np.random.Generator], Outcomes]] = {"interrupts": interrupts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("attack", choices=ATTACKS)
    parser.add_argument("--tries", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    outcomes = ATTACKS[options.attack](options.tries, np.random.default_rng(options.seed))
    for outcome, times in sorted(outcomes.items()):
        print(f"{times:>8,}  {outcome}")
    sys.exit(any(word.isupper() for outcome in outcomes for word in outcome.split()))


if __name__ == "__main__":
    main()
