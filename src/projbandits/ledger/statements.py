"""The statements of a store: the same for SQLite and PostgreSQL, but for a few types."""

from __future__ import annotations

VERSION = 3
"""The version of the layout below."""

TABLES = """
CREATE TABLE projbandits_schema (version INTEGER NOT NULL);
CREATE TABLE projbandits_ledgers (number {serial} PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE projbandits_events (
    ledger {integer} NOT NULL, position {integer} NOT NULL,
    kind TEXT NOT NULL, id TEXT, body {bytes} NOT NULL, hash {bytes} NOT NULL,
    PRIMARY KEY (ledger, position)
);
CREATE INDEX projbandits_ids ON projbandits_events (ledger, id, position) WHERE id IS NOT NULL;
CREATE INDEX projbandits_offers ON projbandits_events (ledger, position) WHERE kind = 'offered';
CREATE TABLE projbandits_snapshots (
    ledger {integer} NOT NULL, position {integer} NOT NULL,
    body {bytes} NOT NULL, hash {bytes} NOT NULL,
    PRIMARY KEY (ledger, position)
);
CREATE TABLE projbandits_documents (
    kind TEXT NOT NULL, name TEXT NOT NULL, revision {integer} NOT NULL,
    body {bytes} NOT NULL, hash {bytes} NOT NULL,
    PRIMARY KEY (kind, name)
);
INSERT INTO projbandits_schema VALUES (3)
"""
TYPES = {
    True: {"serial": "INTEGER", "integer": "INTEGER", "bytes": "BLOB"},
    False: {
        "serial": "BIGINT GENERATED ALWAYS AS IDENTITY",
        "integer": "BIGINT",
        "bytes": "BYTEA",
    },
}

HAS_TABLES = {
    True: "SELECT count(*) FROM sqlite_master WHERE name = 'projbandits_schema'",
    False: "SELECT count(*) FROM pg_catalog.pg_tables WHERE tablename = 'projbandits_schema'",
}
SCHEMA_VERSION = "SELECT version FROM projbandits_schema"
ONE_AT_A_TIME = "SELECT 1 FROM (SELECT pg_advisory_xact_lock(7071766552)) AS locked"

NAMES = "SELECT name FROM projbandits_ledgers ORDER BY name"
NUMBER = "SELECT number FROM projbandits_ledgers WHERE name = ?"
REMOVE_LEDGER = (
    "DELETE FROM projbandits_events WHERE ledger = ?",
    "DELETE FROM projbandits_snapshots WHERE ledger = ?",
    "DELETE FROM projbandits_ledgers WHERE number = ?",
)
USED = (
    "SELECT 1 FROM projbandits_events WHERE ledger = ? AND kind NOT IN ('opened', 'changed') "
    "LIMIT 1"
)
NEW_LEDGER = "INSERT INTO projbandits_ledgers (name) VALUES (?)"
LOCK = "SELECT number FROM projbandits_ledgers WHERE number = ? FOR UPDATE"

EVENTS = "SELECT position, kind, id, body, hash FROM projbandits_events WHERE ledger = ? AND "
FROM_POSITION = EVENTS + "position >= ? ORDER BY position"
BETWEEN = EVENTS + "position BETWEEN ? AND ? ORDER BY position"
HEAD = (
    "SELECT position, hash FROM projbandits_events WHERE ledger = ? ORDER BY position DESC LIMIT 1"
)
HASH = "SELECT hash FROM projbandits_events WHERE ledger = ? AND position = ?"
CHECKED = (
    "SELECT e.position, e.kind, e.id, e.body, e.hash, b.hash FROM projbandits_events e "
    "LEFT JOIN projbandits_events b ON b.ledger = e.ledger AND b.position = e.position - 1 "
    "WHERE e.ledger = ? AND "
)
"""Events with the hash before them."""
NAMED = CHECKED + "e.id = ? ORDER BY e.position"
OFFERS = (
    CHECKED + "e.kind = 'offered' AND e.position > ? AND e.position <= ? "
    "ORDER BY e.position LIMIT ?"
)
NEWEST_OFFERS = CHECKED + "e.kind = 'offered' AND e.position <= ? ORDER BY e.position DESC LIMIT ?"
MADE = (
    "SELECT position FROM projbandits_events WHERE ledger = ? AND kind = 'decided' "
    "AND position <= ? ORDER BY position"
)
CHANGES = CHECKED + "e.kind IN ('opened', 'changed') AND e.position <= ? ORDER BY e.position"
OUTCOMES = (
    "SELECT o.position, o.kind, o.id, o.body, o.hash, b.hash FROM projbandits_events d "
    "CROSS JOIN projbandits_events o "
    "LEFT JOIN projbandits_events b ON b.ledger = o.ledger AND b.position = o.position - 1 "
    "WHERE d.ledger = ? AND d.position BETWEEN ? AND ? AND d.kind = 'decided' "
    "AND o.ledger = d.ledger AND o.id = d.id AND o.kind IN ('told', 'amended', 'withdrawn') "
    "ORDER BY o.position"
)
"""With CROSS JOIN, SQLite looks for each decision's outcomes, and not through all events."""
ADD = (
    "INSERT INTO projbandits_events (ledger, position, kind, id, body, hash) "
    "VALUES (?, ?, ?, ?, ?, ?)"
)
ADD_MANY = (
    "INSERT INTO projbandits_events (ledger, position, kind, id, body, hash) SELECT * FROM "
    "unnest(?::bigint[], ?::bigint[], ?::text[], ?::text[], ?::bytea[], ?::bytea[])"
)
CUT = "DELETE FROM projbandits_events WHERE ledger = ? AND position > ?"

SNAPSHOTS = "SELECT position FROM projbandits_snapshots WHERE ledger = ? ORDER BY position DESC"
ALL_SNAPSHOTS = (
    "SELECT s.position, s.body, s.hash, e.hash FROM projbandits_snapshots s "
    "LEFT JOIN projbandits_events e ON e.ledger = s.ledger AND e.position = s.position "
    "WHERE s.ledger = ? AND s.position <= ? ORDER BY s.position"
)
SNAPSHOT = ALL_SNAPSHOTS + " DESC LIMIT 4"
DROP_SNAPSHOT = "DELETE FROM projbandits_snapshots WHERE ledger = ? AND position = ?"
KEEP = "INSERT INTO projbandits_snapshots (ledger, position, body, hash) VALUES (?, ?, ?, ?)"

DOCUMENTS = "SELECT name, revision, body, hash FROM projbandits_documents WHERE kind = ?"
REVISIONS = "SELECT kind, name, revision FROM projbandits_documents"
REVISION = "SELECT revision FROM projbandits_documents WHERE kind = ? AND name = ?"
WRITE = (
    "INSERT INTO projbandits_documents (kind, name, revision, body, hash) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (kind, name) DO UPDATE SET revision = excluded.revision, body = excluded.body, "
    "hash = excluded.hash"
)
REMOVE = "DELETE FROM projbandits_documents WHERE kind = ? AND name = ?"
