"""Who may do what: tokens with scopes, of which only hashes are kept."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from projbandits._validation import one_of, short
from projbandits.deciding.reports import seconds
from projbandits.ledger.documents import Documents

TOKEN_DOCUMENT = "token"
SCOPES = ("decide", "observe", "administer")
WRITTEN = re.compile(r"pb_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
NOBODY = hashlib.sha256(secrets.token_bytes(32)).hexdigest()
"""What a token that is not there is compared with, so that it takes as long."""


@dataclass(frozen=True, kw_only=True)
class Token:
    """What a token allows.

    Parameters
    ----------
    id : str
        What it is called, in lists and to revoke it.
    hash : str
        The SHA-256 of its secret, which has 256 random bits.
    scopes : tuple of str
        Some of decide (ask, tell, amend, withdraw, learn, expire), observe (read) and administer
        (all).
    decider : str or None
        The one decider it is for; None for all.
    made : float
        When it was made.
    until : float or None
        When it ends; None for never.
    note : str
        Whose it is.
    """

    id: str
    hash: str
    scopes: tuple[str, ...]
    decider: str | None
    made: float
    until: float | None
    note: str

    def allows(self, scope: str, decider: str | None) -> bool:
        """Tell whether it allows something about a decider, or None: about all of them."""
        named = self.decider is None or self.decider == decider
        return named and (scope in self.scopes or "administer" in self.scopes)

    @property
    def ended(self) -> bool:
        """Whether its time is over."""
        return self.until is not None and time.time() >= self.until


def make(
    documents: Documents,
    scopes: Iterable[str] = ("decide",),
    decider: str | None = None,
    *,
    expires: float | str | None = None,
    note: str = "",
) -> tuple[str, Token]:
    """Make a token, keep its hash, and return it as text with what it allows.

    Parameters
    ----------
    documents : Documents
        Where it is kept.
    scopes : iterable of str
        What it allows.
    decider : str, optional
        The one decider it is for; all by default.
    expires : float or str, optional
        After how many seconds it ends, or a text such as ``"30d"``.
    note : str
        Whose it is.
    """
    wanted = tuple(dict.fromkeys(one_of("scope", scope, SCOPES) for scope in scopes))
    if not wanted:
        raise ValueError(f"scope must be one of {SCOPES}, got none")
    if decider is not None and "administer" in wanted:
        raise ValueError("scope must be decide or observe for one decider, got 'administer'")
    if len(note) > 200:
        raise ValueError(f"note must have at most 200 characters, got {short(note)}")
    until = None if expires is None else time.time() + seconds("expires", expires)
    id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    token = Token(
        id=id, hash=_hashed(secret), scopes=wanted, decider=decider, made=time.time(),
        until=until, note=note,
    )  # fmt: skip
    documents.write(TOKEN_DOCUMENT, id, json.dumps(asdict(token)).encode())
    return f"pb_{id}_{secret}", token


def kept(documents: Documents) -> dict[str, Token]:
    """Return all tokens that are kept, by their ids."""
    return {id: _read(found.body) for id, found in documents.all(TOKEN_DOCUMENT).items()}


def revoke(documents: Documents, id: str) -> None:
    """Let a token no longer be one."""
    if not documents.remove(TOKEN_DOCUMENT, id):
        known = sorted(kept(documents))
        raise ValueError(f"id must be that of a token, one of {short(known, 200)}, got {short(id)}")


def id_of(text: str | None) -> str | None:
    """Return the id in a token, None if it is not written like one."""
    match = WRITTEN.fullmatch(text or "")
    return match[1] if match else None


def matches(text: str, token: Token | None) -> bool:
    """Tell whether a text is this token, in a time that does not depend on where they differ."""
    match = WRITTEN.fullmatch(text)
    secret = match[2] if match else ""
    same = hmac.compare_digest(_hashed(secret), NOBODY if token is None else token.hash)
    return same and token is not None and not token.ended


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _read(body: bytes) -> Token:
    said: dict[str, Any] = json.loads(body)
    return Token(**{**said, "scopes": tuple(said["scopes"])})
