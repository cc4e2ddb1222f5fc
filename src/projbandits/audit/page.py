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

if TYPE_CHECKING:
    from projbandits.audit.audit import Audit


def page(audit: Audit) -> str:
    """Return the page: one file that holds everything it shows."""
    leaks, groups = audit.leak.table, audit.exposure.table
    told = groups[groups["z"].notna()]
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
        leaks=leaks.reset_index().to_dict("records"),
        leaks_found_from=[*leaks["found_from"].dropna()],
        groups=groups.to_dict("records"),
        reach=[*(told["high"] - told["low"]) / 2],
        proxies=audit.proxies.rename_axis("piece").reset_index().to_dict("records"),
        boosted=bool(audit.proxies["r2_boosted"].notna().any()),
    )


def _png(audit: Audit) -> bytes:
    """Return the figure as a PNG file."""
    plots: Any = importlib.import_module("projbandits.plots")
    figure, file = audit.plot(), BytesIO()
    figure.savefig(file, format="png", dpi=160)
    plots.close(figure)
    return file.getvalue()
