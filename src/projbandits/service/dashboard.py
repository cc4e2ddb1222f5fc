"""The dashboard: its pages, how one signs in, and the numbers that keep it live."""

from __future__ import annotations

import threading
from collections import Counter
from functools import partial
from importlib.resources import files
from itertools import chain, islice
from typing import Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response

from projbandits._format import render
from projbandits.arms import FiniteArms
from projbandits.deciding import Decider
from projbandits.service import replies
from projbandits.service.errors import Refused
from projbandits.service.overview import Overview
from projbandits.service.server import COOKIE, HEADERS, Server, check_origin, problem

MEDIA = {"css": "text/css", "js": "text/javascript"}

LOOKED = 200
"""Of how many of the last decisions it is found out whether they explored."""

PAGE = {
    **HEADERS,
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; "
    "connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "referrer-policy": "same-origin",
}
"""What goes with a page: nothing of it may come from elsewhere."""


def add_dashboard(app: Starlette, server: Server) -> None:
    """Add the dashboard to the application."""
    pages = Pages(server)
    app.add_route("/", pages.home, methods=["GET"])
    app.add_route("/sign-in", pages.sign_in_page, methods=["GET"])
    app.add_route("/sign-in", pages.sign_in, methods=["POST"])
    app.add_route("/sign-out", pages.sign_out, methods=["POST"])
    app.add_route("/static/{name}", pages.static, methods=["GET"])
    app.add_route("/v1/deciders/{name}/numbers", pages.numbers, methods=["GET"])


class Pages:
    """What a browser asks for.

    Parameters
    ----------
    server : Server
        Whose dashboard it is.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._making = threading.Lock()
        self._said: dict[str, dict[str, Any]] = {}

    async def home(self, request: Request) -> Response:
        """Return the dashboard to whom has signed in."""
        try:
            await self._server.allowed(request, "observe", None)
        except Refused as error:
            if error.status in (401, 403):
                return RedirectResponse("/sign-in", 303, HEADERS)
            return await self.sign_in_page(request, error.detail, error.status)
        return Response(_file("dashboard.html"), 200, PAGE, "text/html")

    async def sign_in_page(self, request: Request, said: str = "", status: int = 200) -> Response:
        """Return the page that asks for a token."""
        page = render("sign-in.html", said=said)
        return Response(page, status, PAGE, "text/html")

    async def sign_in(self, request: Request) -> Response:
        """Keep a token in a cookie that scripts cannot read, if it allows to observe."""
        try:
            check_origin(request)
            body = await self._server.body(request, 4000)
            text = parse_qs(body.decode("ascii", "replace")).get("token", [""])[0].strip()
            token = await self._server.looked_up(text)
        except (Refused, ClientDisconnect) as error:
            status = error.status if isinstance(error, Refused) else 400
            return await self.sign_in_page(request, str(error), status)
        if token is None or not token.allows("observe", token.decider):
            said = "This token is unknown, revoked or has ended, or does not allow to observe."
            return await self.sign_in_page(request, said, 403)
        answer = RedirectResponse("/", 303, HEADERS)
        answer.set_cookie(
            COOKIE,
            text,
            httponly=True,
            samesite="strict",
            # A proxy that ends TLS speaks plain HTTP here; the browser knows where its page is.
            secure=request.headers.get("origin", "").startswith("https:"),
            max_age=12 * 3600,
        )
        return answer

    async def sign_out(self, request: Request) -> Response:
        """Forget the token."""
        try:
            check_origin(request)
        except Refused as error:
            return Response(error.body(), error.status, error.headers())
        answer = RedirectResponse("/sign-in", 303, HEADERS)
        answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return answer

    async def static(self, request: Request) -> Response:
        """Return a style or a script."""
        name = request.path_params["name"]
        if name not in ("dashboard.css", "dashboard.js"):
            error = Refused(404, "there is no such file here")
            return Response(error.body(), error.status, error.headers())
        return Response(_file(name), 200, HEADERS, MEDIA[name.rpartition(".")[2]])

    async def numbers(self, request: Request) -> Response:
        """Return the numbers of a decider, or nothing if the page has those already."""
        name, sent = request.path_params["name"], request.query_params.get("position", "")
        try:
            await self._server.allowed(request, "observe", name)
            work = partial(self._numbers, name, int(sent[:20]) if sent.isdecimal() else -1)
            said = await self._server.guarded(work, self._server.views)
        except Refused as error:
            return problem(error)
        if said is None:
            return Response(None, 204, HEADERS)
        return Response(replies.written(said), 200, HEADERS, "application/json")

    def _numbers(self, name: str, sent: int) -> dict[str, Any] | None:
        """Return all that the page shows, None if nothing is new."""
        seen, decider = self._server.overview(name), self._server.hub.decider(name)
        if seen.position == sent:
            return None
        with self._making:  # once for all who look
            before = self._said.get(name)
            if before is None or before["position"] != seen.position:
                self._said[name] = before = self._made(name, seen, decider)
            return {**before, "oldest": seen.gauges()["oldest_pending_seconds"]}

    def _made(self, name: str, seen: Overview, decider: Decider) -> dict[str, Any]:
        try:
            items = len(self._server.hub.items(name))
        except KeyError:
            items = 0
        return {
            "name": name,
            "strategy": repr(decider.strategy),
            "items": items,
            **seen.numbers(),
            **exploring(decider, seen),
            "coefficients": replies.belief(decider).coefficients[:100],
        }


def exploring(decider: Decider, seen: Overview) -> dict[str, Any]:
    """Return how often the last decisions were not the best guess, by item and in all."""
    chosen, explored = Counter[str](), Counter[str]()
    after = seen.positions[-LOOKED] - 1 if len(seen.positions) >= LOOKED else 0
    records = chain.from_iterable(decider.history().chunks(after))
    for record in islice(records, LOOKED):
        made, grounds = record.decision, record.grounds
        if not isinstance(grounds.arms, FiniteArms) or made.index is None:
            continue
        scores = grounds.arms.scores(grounds.strategy.aim(grounds.state)) + grounds.own
        name = f"arm {made.index}" if made.label is None else str(made.label)
        chosen[name] += 1
        explored[name] += int(scores.argmax()) != grounds.position(made.index)
    total = chosen.total()
    return {
        "looked": total,
        "explored": explored.total() / total if total else None,
        "exploring": {name: explored[name] / many for name, many in chosen.items()},
    }


def _file(name: str) -> str:
    return (files("projbandits.service") / "static" / name).read_text(encoding="utf-8")
