"""What one process of the service has at hand: deciders, their catalogues, and tokens.

All of it is in the store. Other processes may change it there: what they did is noticed within
`STALE` seconds, and at once where a name is not known here.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from projbandits import specs
from projbandits._checks import short
from projbandits.deciding import Decider
from projbandits.deciding.reports import half_life, seconds
from projbandits.deciding.stores import open_store
from projbandits.decisions import offers
from projbandits.ledger.documents import Documents
from projbandits.ledger.protocol import Conflict, Unknown
from projbandits.service import item_tables as items
from projbandits.service import raw, tokens
from projbandits.service.bodies import Make
from projbandits.service.item_tables import Items
from projbandits.service.tokens import Token
from projbandits.strategies import LinearStrategy
from projbandits.subspace import Subspace

if TYPE_CHECKING:
    import pandas as pd

    from projbandits.features import Features
    from projbandits.ledger.sql import SqlStore

STALE = 1.0
"""For how many seconds what was read from the store is used."""

FEW_ITEMS = 100_000
"""Up to this many items are filtered while other requests wait."""

DECIDER, ITEMS = "decider", "items"
DECIDER_NAME = re.compile(r"\w[\w.~-]{0,99}")


class Hub:
    """Deciders, catalogues and tokens of a store.

    Parameters
    ----------
    url : str
        Where the store is.
    """

    def __init__(self, url: str) -> None:
        self.store: SqlStore = open_store(url)  # type: ignore[assignment]
        self.documents = Documents(self.store.database)
        self._lock = threading.Lock()
        self._looked = 0.0
        self._revisions: dict[tuple[str, str], int] = {}
        self._tokens: dict[str, Token] = {}
        self._deciders: dict[str, Decider] = {}
        self._items: dict[str, Items | None] = {}
        self._declared: dict[str, Make] = {}
        self._widths: dict[str, int] = {}
        self.look(0.0)

    def look(self, age: float = STALE) -> None:
        """Notice what other processes changed, if the last look is older than this."""
        if time.monotonic() - self._looked < age and self._looked:
            return
        with self._lock:
            if time.monotonic() - self._looked < age and self._looked:
                return
            found = self.documents.revisions()
            before = self._revisions
            changed = {key for key in {*found, *before} if found.get(key) != before.get(key)}
            if any(kind == tokens.TOKEN_DOCUMENT for kind, _ in changed):
                self._tokens = tokens.kept(self.documents)
            for kind, name in changed:
                if kind == ITEMS:
                    self._items.pop(name, None)
                elif kind == DECIDER:
                    self._declared.pop(name, None)
            self._revisions, self._looked = found, time.monotonic()

    def known_token(self, text: str | None) -> Token | None:
        """Return what a token allows, None if it is not one, from what is at hand."""
        token = self._tokens.get(tokens.id_of(text) or "")
        return token if tokens.matches(text or "", token) else None

    def token(self, text: str | None) -> Token | None:
        """Return what a token allows, None if it is not one; the store is looked at."""
        if tokens.id_of(text) is not None:
            self.look(0.0)
        return self.known_token(text)

    def names(self) -> list[str]:
        """Return the names of the deciders."""
        return self.store.names()

    def declared_names(self) -> list[str]:
        """Return the names of the deciders, with those that wait for their catalogues."""
        self.look()
        waiting = {name for kind, name in self._revisions if kind == DECIDER}
        return sorted(waiting | {*self.names()})

    def decider(self, name: str) -> Decider:
        """Return a decider that is there."""
        found = self._deciders.get(name)
        if found is None:
            with self._lock:
                found = self._deciders.get(name)
                if found is None:
                    try:
                        found = Decider.open(self.store, name)
                    except Unknown as error:
                        if self.documents.read(DECIDER, name) is not None:
                            raise Conflict(
                                f"{name!r} waits for its catalogue, from which its features are "
                                f"learnt: put it to /v1/deciders/{name}/items"
                            ) from error
                        raise Unknown(
                            f"there is no decider {short(name)}: an administrator makes it by PUT "
                            "/v1/deciders/{name}"
                        ) from error
                    self._deciders[name] = found
        return found

    def at_hand(self, name: str) -> Decider | None:
        """Return a decider that need not be opened first."""
        return self._deciders.get(name)

    def has_items(self, name: str) -> bool:
        """Tell whether a catalogue is at hand, and small enough to be gone through at once."""
        self.look()
        found = self._items.get(name)
        return found is not None and len(found) <= FEW_ITEMS

    def width(self, name: str) -> int:
        """Return how many features an arm has, which never changes."""
        if name not in self._widths:
            self._widths[name] = self.decider(name).subspace.ambient
        return self._widths[name]

    def declared(self, name: str) -> Make | None:
        """Return how a decider was declared; None if it was made in Python."""
        self.look()
        if name not in self._declared:
            found = self.documents.read(DECIDER, name)
            if found is None:
                return None
            self._declared[name] = Make.model_validate_json(found.body)
        return self._declared[name]

    def make(self, name: str, wanted: Make) -> bool:
        """Make a decider, and tell whether it is new; the same again is harmless."""
        if not DECIDER_NAME.fullmatch(name):
            raise ValueError(
                "name must have 1 to 100 letters, digits, '_', '-', '.' or '~', and begin with a "
                f"letter or digit, got {short(name)}"
            )
        strategy = specs.strategy(wanted.strategy)
        if not isinstance(strategy, LinearStrategy):
            raise TypeError(f"strategy must be one that decides online, got {strategy!r}")
        if wanted.expire is not None:
            seconds("expire: after", wanted.expire.after)
        half_life(wanted.half_life)
        new = name not in self.names()
        features, subspace = None, None
        if wanted.features is not None:
            if wanted.columns is not None or wanted.protected:
                raise ValueError("features must come without columns and protected, which it has")
            features = raw.fitted(wanted.features, None)
        elif wanted.columns:
            subspace = Subspace.without(wanted.protected, wanted.columns)
        else:
            raise ValueError("columns or features must say what the features are, got neither")
        if features is None and subspace is None:
            new = self._wait(name, wanted, new)  # for its catalogue
        else:
            self._made(name, wanted, strategy, features, subspace)
        self.documents.write(DECIDER, name, wanted.model_dump_json().encode())
        self.look(0.0)
        return new

    def _wait(self, name: str, wanted: Make, new: bool) -> bool:
        """Check a declaration whose features are learnt from the first catalogue."""
        before = self.declared(name)
        if before is not None:
            again = before.model_dump(exclude={"expire"}) == wanted.model_dump(exclude={"expire"})
            if not again:
                raise Conflict(f"name must be that of a new decider, {name!r} has {before!r}")
            return False
        if not new:
            raise Conflict(f"name must be that of a new decider, {name!r} was made otherwise")
        return True

    def _made(
        self,
        name: str,
        wanted: Make,
        strategy: LinearStrategy,
        features: Features | None,
        subspace: Subspace | None,
    ) -> None:
        """Make a decider in the store, or join it if it is the same."""
        new = name not in self.names()
        try:
            made = Decider(
                strategy,
                subspace=subspace,
                features=features,
                half_life=wanted.half_life,
                seed=wanted.seed,
                store=self.store,
                name=name,
            )
        except ValueError as error:
            if new or name not in self.names():
                raise
            raise Conflict(str(error)) from error
        if wanted.columns is not None and made.columns != tuple(wanted.columns):
            raise Conflict(
                f"columns must be those that {name!r} has, {list(made.columns or ())}, got "
                f"{wanted.columns}"
            )
        with self._lock:
            self._deciders.setdefault(name, made)

    def items(self, name: str) -> Items:
        """Return the catalogue of a decider."""
        self.look()
        found = self._items.get(name)
        if found is None:
            stored = self.documents.read(ITEMS, name)
            if stored is None:
                raise KeyError(
                    f"{name!r} has no catalogue: put one to /v1/deciders/{name}/items, or send "
                    "rows with all features"
                )
            table = items.stored(stored.body)
            found = self._items[name] = Items(table, self._features(name, table))
        return found

    def put_items(self, name: str, table: pd.DataFrame) -> Items:
        """Replace the catalogue of a decider, durably."""
        declared = self.declared(name)
        if declared is not None and declared.features is not None and name not in self.names():
            strategy = specs.strategy(declared.strategy)
            assert isinstance(strategy, LinearStrategy)
            features = raw.fitted(declared.features, table)
            self._made(name, declared, strategy, features, None)
        decider, columns = self.decider(name), self._features(name, table)
        if columns is None:
            raw.check(decider, table)
        else:
            missing = [column for column in columns if column not in table]
            named = table if missing else table[columns]
            penalty = decider.ridge.penalty
            # It raises, naming row and column.
            offers.read("items", named, decider.subspace, tuple(columns), penalty)
        made = Items(table, columns)
        self.documents.write(ITEMS, name, items.written(table))
        self.look(0.0)
        return made

    def _features(self, name: str, table: pd.DataFrame) -> list[str] | None:
        """Return which columns are features; None if the decider makes them of raw columns."""
        decider = self.decider(name)
        if decider.features is not None:
            return None
        return list(decider.columns or map(str, table.columns))

    def expire(self) -> dict[str, int]:
        """Settle what is overdue by each decider's declaration; return how many by name."""
        done = dict[str, int]()
        for name in self.names():
            declared = self.declared(name)
            if declared is not None and declared.expire is not None:
                overdue = self.decider(name).expire(declared.expire.after, declared.expire.reward)
                done[name] = len(overdue)
        return done

    def close(self) -> None:
        """Finish what was begun, and let go of the store."""
        self.store.close()


def declaration(said: Mapping[str, Any]) -> Make:
    """Return the declaration of a decider in a file."""
    return Make.model_validate_json(json.dumps(said))
