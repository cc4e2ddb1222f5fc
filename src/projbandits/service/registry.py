"""What one process of the service has at hand: deciders, their catalogues, and tokens.

All of it is in the store. Other processes may change it there: what they did is noticed within
`STALE` seconds, and at once where a name is not known here.
"""

from __future__ import annotations

import json
import logging
import math
import re
import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import structs, to_builtins

from projbandits import specs
from projbandits._validation import real, short
from projbandits.deciding import Decider, offers
from projbandits.deciding.limits import check_outcome
from projbandits.deciding.reports import half_life, seconds
from projbandits.deciding.stores import open_store
from projbandits.exceptions import ConflictError, UnknownDecisionError
from projbandits.ledger.documents import Documents
from projbandits.service import item_files, raw, tokens
from projbandits.service.catalogues import Items
from projbandits.service.errors import Refused
from projbandits.service.schemas import Make, read
from projbandits.service.tokens import Token
from projbandits.strategies import LinearStrategy
from projbandits.subspace import Subspace

if TYPE_CHECKING:
    import pandas as pd

    from projbandits.features.features import Features

STALE = 1.0
"""For how many seconds what was read from the store is used."""

FEW_ITEMS = 100_000
"""Up to this many items are filtered while other requests wait."""

LOGGER = logging.getLogger("uvicorn.error")
DECIDER, ITEMS = "decider", "items"
JOB = "job"
WITHDRAWN, PURGED = "withdrawn", "purged"
"""Documents about deciders that are no longer asked, and whose history is gone."""
DECIDER_NAME = re.compile(r"\w[\w.~-]{0,99}")


class Hub:
    """Deciders, catalogues and tokens of a store.

    Parameters
    ----------
    url : str
        Where the store is.
    """

    def __init__(self, url: str) -> None:
        self.url, self.store = url, open_store(url)
        self.documents = Documents(self.store.database)
        self._lock = threading.Lock()
        self._loading = threading.Lock()
        self._looked = -math.inf  # when the last look began
        self._revisions: dict[tuple[str, str], int] = {}
        self._tokens: dict[str, Token] = {}
        self._deciders: dict[str, Decider] = {}
        self._items: dict[str, Items] = {}
        self._declared: dict[str, Make] = {}
        self._widths: dict[str, int] = {}
        self.look(0.0)

    def look(self, age: float = STALE) -> None:
        """Notice what other processes changed, unless a look began so many seconds ago or less.

        Those who come while another looks share the next look.
        """
        wanted = time.monotonic() - age
        if self._looked >= wanted:
            return
        with self._lock:
            if self._looked >= wanted:
                return
            began = time.monotonic()
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
                elif kind == PURGED:
                    self._deciders.pop(name, None)
                    self._widths.pop(name, None)
            self._revisions, self._looked = found, began

    def known_token(self, text: str | None) -> Token | None:
        """Return what a token allows, None if it is not one, from what is at hand."""
        token = self._tokens.get(tokens.id_of(text) or "")
        return token if tokens.matches(text or "", token) else None

    def token(self, text: str | None, arrived: float) -> Token | None:
        """Return what a token allows, None if it is not one; the store was looked at since then."""
        if tokens.id_of(text) is not None:
            self.look(max(time.monotonic() - arrived, 0.0))
        return self.known_token(text)

    def names(self) -> list[str]:
        """Return the names of the deciders."""
        return self.store.names()

    def declared_names(self) -> list[str]:
        """Return the names of the deciders, with those that wait for their catalogues."""
        self.look()
        waiting = {name for kind, name in self._revisions if kind == DECIDER}
        return sorted(waiting | {*self.names()})

    def check_active(self, name: str) -> None:
        """Raise if a decider was withdrawn."""
        if self.withdrawn(name):
            raise ConflictError(
                f"name must be that of an active decider, {name!r} was withdrawn: take another "
                f"name, or DELETE /v1/deciders/{name}?purge=true, which deletes its history"
            )

    def withdrawn(self, name: str) -> bool:
        """Tell whether a decider was withdrawn."""
        self.look()
        return (WITHDRAWN, name) in self._revisions

    def delete(self, name: str, purge: bool) -> None:
        """Withdraw a decider, or delete it with its history, so that its name is free again."""
        if name not in self.declared_names():
            raise _unknown(name)
        self.documents.write(WITHDRAWN, name, b"")
        if purge:
            self.store.remove(name)
            for key in self.documents.all(JOB):
                if key.rpartition("/")[0] == name:
                    self.remove_job(key)
            for kind in (DECIDER, ITEMS, WITHDRAWN):
                self.documents.remove(kind, name)
            self.documents.write(PURGED, name, b"")
        self.look(0.0)

    def remove_job(self, key: str) -> None:
        """Remove a job with its results."""
        for part in self.documents.all(results(key)):
            self.documents.remove(results(key), part)
        self.documents.remove(JOB, key)

    def decider(self, name: str) -> Decider:
        """Return a decider that is there."""
        found = self._deciders.get(name)
        if found is None:
            with self._lock:
                found = self._deciders.get(name)
                if found is None:
                    try:
                        found = Decider.open(self.url, name)
                    except UnknownDecisionError as error:
                        if self.documents.read(DECIDER, name) is not None:
                            raise ConflictError(
                                f"{name!r} waits for its catalogue, from which its features are "
                                f"learnt: put it to /v1/deciders/{name}/items"
                            ) from error
                        raise _unknown(name) from error
                    self._deciders[name] = found
        return found

    def at_hand(self, name: str) -> bool:
        """Tell whether nothing of a decider must be read first, nor a large catalogue searched."""
        items = self._items.get(name)
        read = len(items) <= FEW_ITEMS if items else (ITEMS, name) not in self._revisions
        return read and name in self._deciders

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
            made = read(Make, found.body)
            with self._lock:
                if self._revisions.get((DECIDER, name)) == found.revision:
                    self._declared[name] = made
            return made
        return self._declared[name]

    def make(self, name: str, wanted: Make) -> bool:
        """Make a decider, and tell whether it is new; creation is idempotent.

        One that has decided and learnt nothing may be declared anew, without its catalogue.
        """
        self.check_active(name)
        try:
            return self._make(name, wanted)
        except ConflictError:
            if name in self.names() and not self.store.remove(name, used=False):
                raise
        for kind in (DECIDER, ITEMS):
            self.documents.remove(kind, name)
        self.documents.write(PURGED, name, b"")
        self.look(0.0)
        self._make(name, wanted)
        return False

    def _make(self, name: str, wanted: Make) -> bool:
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
            check_outcome("expire: outcome", real("expire: outcome", wanted.expire.outcome or 0.0))
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
        before = self.declared(name)
        if before is not None:
            if features is None and subspace is None:
                _check_same(name, before, wanted)
            _check_seed(name, before, wanted)
            wanted = structs.replace(wanted, seed=before.seed)
        if features is not None or subspace is not None:
            self._made(name, wanted, strategy, features, subspace)
        elif before is not None:
            new = False
        elif not new:
            raise ConflictError(f"name must be that of a new decider, {name!r} was made otherwise")
        self.documents.write(DECIDER, name, json.dumps(to_builtins(wanted)).encode())
        self.look(0.0)
        return new

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
                intercept=wanted.intercept,
                seed=wanted.seed,
                store=self.url,
                name=name,
            )
        except ValueError as error:
            if new or name not in self.names():
                raise
            before = self.declared(name)
            if before is not None:
                _check_same(name, before, wanted)
            raise ConflictError(str(error)) from error
        if wanted.columns is not None and made.columns != tuple(wanted.columns):
            raise ConflictError(
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
            with self._loading:  # once, however many wait for it
                found = self._items.get(name) or self._loaded(name)
        return found

    def _loaded(self, name: str) -> Items:
        stored = self.documents.read(ITEMS, name)
        if stored is None:
            raise _no_items(name)
        table = item_files.stored(stored.body)
        found = Items(table, self._features(name, table))
        if self._revisions.get((ITEMS, name)) != stored.revision:
            self.look(0.0)
        with self._lock:  # another may have been put meanwhile
            if self._revisions.get((ITEMS, name)) == stored.revision:
                self._items[name] = found
        return found

    def patch_items(
        self, name: str, rows: Sequence[dict[str, Any]], removed: Sequence[str], most: int
    ) -> Items:
        """Change items of a catalogue, add some, and remove others, durably.

        Parameters
        ----------
        name : str
            Whose catalogue it is.
        rows : sequence of dict
            Items with their labels; of known ones, the columns that change.
        removed : sequence of str
            The labels of items to remove.
        most : int
            How many items it may have.
        """
        changes = [(item_files.row_label(row, i), row) for i, row in enumerate(rows)]
        while True:
            stored = self.documents.read(ITEMS, name)
            if stored is None:
                raise _no_items(name)
            before = item_files.stored(stored.body)
            Items(before, None).named(removed)  # it raises where one is unknown
            kept: dict[Any, Any] = before.drop(index=list(removed)).to_dict("index")
            for label, row in changes:
                kept[label] = {**kept.get(label, {}), **row, item_files.LABEL: label}
            listed = [{**row, item_files.LABEL: label} for label, row in kept.items()]
            table = item_files.table_of(listed, item_files.LABEL, most)
            made = self.put_items(name, table, after=stored.revision)
            if made is not None:  # nobody else changed it meanwhile
                return made

    def put_items(
        self, name: str, table: pd.DataFrame, *, after: int | None = None
    ) -> Items | None:
        """Replace the catalogue of a decider, durably.

        Parameters
        ----------
        name : str
            Whose catalogue it is.
        table : DataFrame
            The new one.
        after : int, optional
            The revision that it replaces. Where there is another, that stays, and this returns
            None.
        """
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
        revision = self.documents.write(ITEMS, name, item_files.written(table), after=after)
        self.look(0.0)
        return None if revision is None else made

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
            try:
                declared = self.declared(name)
                if declared and declared.expire and not self.withdrawn(name):
                    when, outcome = declared.expire.after, declared.expire.outcome
                    done[name] = len(self.decider(name).expire(when, outcome))
            except (ValueError, LookupError) as error:  # of this one; the others go on
                LOGGER.warning("what is overdue of %s is not settled: %s", name, error)
        return done

    def close(self) -> None:
        """Finish what was begun, and let go of the store."""
        self.store.close()


def results(key: str) -> str:
    """Return the kind of the documents that are the results of a job."""
    return f"result of {key}"


def _no_items(name: str) -> KeyError:
    return KeyError(
        f"{name!r} has no catalogue: put one to /v1/deciders/{name}/items, or send rows with all "
        "features"
    )


def _unknown(name: str) -> UnknownDecisionError:
    return UnknownDecisionError(
        f"there is no decider {short(name)}: an administrator makes it by PUT /v1/deciders/{{name}}"
    )


def declaration(said: Mapping[str, Any]) -> Make:
    """Return the declaration of a decider in a file."""
    try:
        return read(Make, json.dumps(said, default=str).encode())  # TOML has dates
    except Refused as error:
        raise ValueError(error.detail) from error


def _check_same(name: str, before: Make, wanted: Make) -> None:
    """Raise, naming the field, if a decider was declared otherwise before."""
    for field in ("columns", "protected", "strategy", "features", "half_life", "intercept"):
        was, now = getattr(before, field), getattr(wanted, field)
        if _meaning(field, was) != _meaning(field, now):
            raise ConflictError(
                f"{field} must be {was!r}, as {name!r} was declared before, got {now!r}: take "
                "another name, or call Decider.open(store, name).reconfigure(...) in Python"
            )


def _check_seed(name: str, before: Make, wanted: Make) -> None:
    if wanted.seed not in (None, before.seed):
        raise ConflictError(
            f"seed must be {before.seed!r}, as {name!r} was declared before, got {wanted.seed!r}: "
            "leave it out, or take another name"
        )


def _meaning(field: str, value: Any) -> Any:
    """Return what a field of a declaration says, however it is written."""
    if field == "strategy":
        return repr(specs.strategy(value))
    if field == "half_life":
        return half_life(value)
    return sorted(value) if field == "protected" else value
