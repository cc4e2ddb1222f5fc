"""The page for the person who must sign an audit."""

from __future__ import annotations

import importlib
import time
from base64 import b64encode
from io import BytesIO
from typing import TYPE_CHECKING, Any

from projbandits._format import render
from projbandits.audit import prose
from projbandits.audit.answers import AUDIT_LEVEL
from projbandits.audit.schema import rows

if TYPE_CHECKING:
    from projbandits.audit.audit import Audit


def page(audit: Audit) -> str:
    """Return the page: one file that holds everything it shows."""
    told = audit.exposure.table.dropna(subset="z")
    return render(
        "audit.html",
        audit=audit,
        about=audit.about,
        day=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(audit.about.made)),
        outcome=prose.outcome(audit),
        reason=prose.reason(audit),
        questions=prose.QUESTIONS,
        level=AUDIT_LEVEL,
        figure=b64encode(_png(audit)).decode(),
        leaks=rows(audit.leak.table),
        leaks_found_from=[*audit.leak.table["found_from"].dropna()],
        groups=rows(audit.exposure.table),
        reach=[*(told["high"] - told["low"]) / 2],
        proxies=rows(audit.proxies),
        boosted=bool(audit.proxies["r2_boosted"].notna().any()),
    )


def _png(audit: Audit) -> bytes:
    """Return the figure as a PNG file."""
    plots: Any = importlib.import_module("projbandits.plots")
    figure, file = audit.plot(), BytesIO()
    figure.savefig(file, format="png", dpi=160)
    plots.close(figure)
    return file.getvalue()
