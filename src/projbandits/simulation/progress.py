"""A progress bar for long work: rate and time left on a terminal, silence elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Protocol


class Bar(Protocol):
    """Where a simulation reports its progress."""

    @property
    def visible(self) -> bool:
        """Whether anyone sees it."""
        ...

    def note(self, text: str) -> None:
        """Write a line above the bar."""
        ...

    def advance(self, steps: float) -> None:
        """Count `steps` more."""
        ...


class Progress:
    """A bar that is drawn if it is wanted and the output is a terminal.

    Parameters
    ----------
    total : float
        How much there is to do.
    shown : bool
        Whether to draw it at all.
    text : str
        What is being done.
    unit : str
        What is counted; empty to show no rate.
    """

    def __init__(
        self, total: float, *, shown: bool, text: str = "simulating", unit: str = "steps"
    ) -> None:
        self._total = total
        self._shown = shown
        self._text = text
        self._unit = unit
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

        unit = self._unit

        class Rate(ProgressColumn):
            def render(self, task: Any) -> Text:
                return Text(f"{task.speed or 0:,.0f} {unit}/s", style="progress.data.speed")

        columns: list[Any] = [TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()]
        self._bar = RichProgress(
            *columns,
            *([Rate()] if unit else []),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task(self._text, total=self._total)

    @property
    def visible(self) -> bool:
        """Whether a bar is drawn."""
        return self._bar is not None

    def note(self, text: str) -> None:
        """Write a line above the bar."""
        if self._bar is not None:
            self._bar.console.print(text, highlight=False)

    def say(self, text: str) -> None:
        """Say what is being done now."""
        if self._bar is not None:
            self._bar.update(self._task, description=text)

    def advance(self, steps: float) -> None:
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


class Part:
    """A simulation's share of a larger bar.

    Parameters
    ----------
    whole : Progress
        The bar.
    scale : float
        How much one simulated step adds to it.
    """

    def __init__(self, whole: Progress, scale: float) -> None:
        self._whole = whole
        self._scale = scale

    @property
    def visible(self) -> bool:
        """Whether a bar is drawn."""
        return self._whole.visible

    def note(self, text: str) -> None:
        """Write a line above the bar."""
        self._whole.note(text)

    def advance(self, steps: float) -> None:
        """Count `steps` more."""
        self._whole.advance(self._scale * steps)
