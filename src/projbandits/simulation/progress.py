"""A progress bar for long work: rate and time left on a terminal, silence elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import Any


class Progress:
    """Counts simulated steps; draws a bar if it is to be shown and the output is a terminal."""

    def __init__(self, total: int, *, shown: bool) -> None:
        self._total = total
        self._shown = shown
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        if self._shown:
            from rich.console import Console

            console = Console(stderr=True)
            if console.is_terminal:
                self._start(console)
        return self

    def _start(self, console: Any) -> None:
        from rich.progress import (
            BarColumn,
            ProgressColumn,
            TaskProgressColumn,
            TextColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as RichProgress
        from rich.text import Text

        class Rate(ProgressColumn):
            def render(self, task: Any) -> Text:
                return Text(f"{task.speed or 0:,.0f} steps/s", style="progress.data.speed")

        self._bar = RichProgress(
            TextColumn("simulating"),
            BarColumn(),
            TaskProgressColumn(),
            Rate(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task("", total=self._total)

    @property
    def visible(self) -> bool:
        """Whether a bar is drawn."""
        return self._bar is not None

    def note(self, text: str) -> None:
        """Write a line above the bar."""
        if self._bar is not None:
            self._bar.console.print(text, highlight=False)

    def advance(self, steps: int) -> None:
        """Count `steps` more."""
        if self._bar is not None:
            self._bar.update(self._task, advance=steps)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
