"""The file of a decider: a line that says what it is, a checksum, and its ledger.

Its first line names format and version, its second is the SHA-256 of all that follows, so that
damage is noticed before anything is made of it. Then come some fields as JSON, and the parts of the
ledger. It is read without pickle.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from projbandits._files import whole as whole_file
from projbandits._version import __version__
from projbandits.deciding import restore
from projbandits.deciding.eligibility import check_all_suit, check_suits
from projbandits.ledger import dump
from projbandits.ledger.codec import LENGTH
from projbandits.ledger.describing import strategy_fields, strategy_of
from projbandits.ledger.fold import snapshot
from projbandits.ledger.streams import new_session
from projbandits.strategies import LinearStrategy

if TYPE_CHECKING:
    from projbandits.deciding.accounted import Accounted

    Made = TypeVar("Made", bound=Accounted)

FILE_KIND = b"projbandits decider, format "
FILE_FORMAT = 3


def save(decider: Accounted, path: Path) -> None:
    """Write a decider to a file."""
    known, ledger = decider._now(), decider._ledger
    if not ledger.whole:
        ledger.keep(snapshot(known))  # and nothing else is left of the events
    fields = {
        "library": __version__,
        "strategy": strategy_fields(known.strategy),
        "label": repr(known.strategy),
        "features": known.subspace.ambient,
        "whole": ledger.whole,
        "base": ledger.base,
        "last": known.position,
        "session": decider._session,
        "draws": decider._draws,
        "span_checked": decider._span_checked,
        "history": dump.history(ledger),
    }
    text = json.dumps(fields).encode()
    with whole_file(path) as part, open(part, "wb+") as file:
        file.write(b"%s%d\n" % (FILE_KIND, FILE_FORMAT))
        place, digest = file.tell(), hashlib.sha256()
        file.write(b"%064d\n" % 0)
        for piece in _pieces(decider, text, known.position):
            digest.update(piece)
            file.write(piece)
        file.seek(place)
        file.write(digest.hexdigest().encode())


def _pieces(decider: Accounted, text: bytes, last: int) -> Iterator[bytes]:
    yield LENGTH.pack(len(text)) + text
    for part in dump.parts(decider._ledger, last):
        yield part.packed()


def load(
    cls: type[Made],
    path: Path,
    strategy: LinearStrategy | Sequence[LinearStrategy] | None,
    resume: bool,
    largest: float,
) -> Made:
    """Return the decider in a file."""
    body = _body(path)
    with named(path):
        fields, parts = restore.opened(body)
    given = _strategies(path, fields, check_all_suit(strategy))
    decider = cls.__new__(cls)
    with named(path):
        made = restore.ledger(fields, parts, given, largest)
        session = fields["session"] if resume else new_session()
        decider._start(made, None, given, session)
        if resume:
            decider._draws = fields["draws"]
        decider._span_checked = fields["span_checked"]
        restore.check_known(decider._known, fields)
    return decider


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Name a file before what its content is found to lack."""
    try:
        yield
    except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError) as error:
        raise ValueError(
            f"path must be a whole saved decider, {str(path)!r} is none: {error}"
        ) from error


def _body(path: Path) -> bytes:
    """Return the part of a file that its checksum is of."""
    content = path.read_bytes()
    kind, _, rest = content.partition(b"\n")
    if not kind.startswith(FILE_KIND):
        raise ValueError(f"path must be a saved decider, {str(path)!r} is something else")
    version = kind.removeprefix(FILE_KIND).decode(errors="replace")
    if version != str(FILE_FORMAT):
        raise ValueError(
            f"path must be a decider saved in format {FILE_FORMAT}, {str(path)!r} has format "
            f"{version}: read it with the version of projbandits that wrote it"
        )
    digest, _, body = rest.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise ValueError(
            f"path must be a whole saved decider, {str(path)!r} is damaged: its checksum does not "
            "fit its content"
        )
    return body


def _strategies(
    path: Path, fields: dict[str, Any], given: list[LinearStrategy]
) -> list[LinearStrategy]:
    """Return the strategy of a file, the given one or one of the library, and others it had."""
    label = fields["label"]
    found = [strategy for strategy in given if repr(strategy) == label]
    if found:
        return [found[0], *given]
    if given and (fields["strategy"] is None or any(map(strategy_fields, given))):
        raise ValueError(f"strategy must be {label}, as in the file, got {given[-1]!r}")
    if fields["strategy"] is None:
        raise ValueError(
            f"{str(path)!r} was saved with {label}, which a file cannot hold: pass it as "
            "Decider.load(path, strategy=...)"
        )
    with named(path):
        return [check_suits(strategy_of(fields["strategy"], label)), *given]
