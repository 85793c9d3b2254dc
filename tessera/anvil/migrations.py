"""The schema, as steps that are applied once each, in order, by sqlite-utils.

Every step runs inside a transaction that the caller holds, and leaves `user_version` at
its own number, so that an open database can be recognised without sqlite-utils. A step
that was released is never edited; a change is a new step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlite_utils.migrations import Migrations

if TYPE_CHECKING:
    from sqlite_utils import Database

anvil = Migrations("anvil")

RECORDS = """
CREATE TABLE contents (           -- every text once: candidates, diffs, prompts, files
    id INTEGER PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,    -- SHA-256 of the text in UTF-8
    size INTEGER NOT NULL,        -- of the text, in bytes
    data BLOB NOT NULL            -- the text, zlib-compressed
) STRICT;

CREATE TABLE files (              -- the targets
    id INTEGER PRIMARY KEY,
    crate TEXT NOT NULL,
    target TEXT NOT NULL,
    UNIQUE (crate, target)
) STRICT;

CREATE TABLE tasks (
    id INTEGER PRIMARY KEY,
    file INTEGER NOT NULL REFERENCES files (id),
    name TEXT NOT NULL,
    UNIQUE (file, name)
) STRICT;

CREATE TABLE claims (             -- one a judged candidate, in the order they were recorded
    id INTEGER PRIMARY KEY,       -- rises: nothing is ever deleted
    file INTEGER NOT NULL REFERENCES files (id),
    task INTEGER NOT NULL REFERENCES tasks (id),
    seat TEXT NOT NULL CHECK (seat IN ('compiler', 'local', 'frontier')),
    verdict TEXT NOT NULL CHECK (verdict IN ('PASS', 'FAIL', 'BLOCKED')),
    at TEXT NOT NULL,             -- ISO 8601
    model TEXT,
    attempt INTEGER,
    dispatch TEXT,
    arm TEXT,
    error_pattern TEXT,
    root_cause TEXT,
    signature TEXT,
    blocked_kind TEXT,
    tokens_in INTEGER,
    tokens_out INTEGER,
    cost_usd REAL,
    seconds TEXT,                 -- JSON: stage to seconds
    axes TEXT,                    -- JSON: axis to score, 0 to 1
    prompt_hash TEXT,
    profile TEXT,
    diff INTEGER REFERENCES contents (id),
    candidate INTEGER REFERENCES contents (id)
) STRICT;
-- All that the signals look at, so that the newest claims of a file are a few pages to read.
CREATE INDEX claims_of_file ON claims
    (file, id, task, seat, verdict, error_pattern, blocked_kind, at, arm);

CREATE TABLE dispatches (         -- one task through the seats
    id TEXT PRIMARY KEY,
    crate TEXT NOT NULL,
    target TEXT NOT NULL,
    task TEXT NOT NULL,
    arm TEXT,
    started TEXT NOT NULL,
    finished TEXT,
    outcome TEXT,
    seat TEXT,
    why TEXT,
    data TEXT NOT NULL            -- JSON: what else the loop wants to keep
) STRICT;

CREATE TABLE events (
    id INTEGER PRIMARY KEY,       -- rises: nothing is ever deleted
    dispatch TEXT NOT NULL,
    at TEXT NOT NULL,
    kind TEXT NOT NULL,
    data TEXT NOT NULL            -- JSON
) STRICT;
CREATE INDEX events_of_dispatch ON events (dispatch);

CREATE TABLE prompts (
    hash TEXT PRIMARY KEY,
    content INTEGER NOT NULL REFERENCES contents (id),
    private INTEGER NOT NULL CHECK (private IN (0, 1))
) STRICT;

CREATE TABLE proposals (
    id TEXT PRIMARY KEY,
    dispatch TEXT NOT NULL,
    crate TEXT NOT NULL,
    target TEXT NOT NULL,
    seat TEXT NOT NULL,
    state TEXT NOT NULL,
    created TEXT NOT NULL,
    base_hash TEXT,
    old TEXT REFERENCES contents (hash),
    new TEXT NOT NULL REFERENCES contents (hash),
    why TEXT,
    report TEXT NOT NULL          -- JSON
) STRICT;

CREATE TABLE incidents (
    id TEXT PRIMARY KEY,
    dispatch TEXT NOT NULL,
    crate TEXT NOT NULL,
    target TEXT NOT NULL,
    task TEXT NOT NULL,
    at TEXT NOT NULL,
    error_pattern TEXT,
    report TEXT NOT NULL          -- JSON
) STRICT;

CREATE TABLE deliveries (         -- writes that a client may repeat: they are made once
    key TEXT PRIMARY KEY,
    at TEXT NOT NULL
) STRICT;
"""

# The pattern of a BLOCKED claim is its kind; '' stands for none, since NULLs never compare equal.
TALLY_KEY = """
    task, coalesce(arm, '') AS arm, seat, verdict,
    coalesce(CASE verdict WHEN 'BLOCKED' THEN blocked_kind WHEN 'FAIL' THEN error_pattern END, '')
        AS pattern,
    coalesce(CASE verdict WHEN 'FAIL' THEN root_cause END, '') AS root_cause
"""

TALLIES = f"""
CREATE TABLE tallies (            -- what a recollection reads instead of all claims
    task INTEGER NOT NULL REFERENCES tasks (id),
    arm TEXT NOT NULL,
    seat TEXT NOT NULL,
    verdict TEXT NOT NULL,
    pattern TEXT NOT NULL,
    root_cause TEXT NOT NULL,
    count INTEGER NOT NULL,
    last INTEGER NOT NULL REFERENCES claims (id),
    PRIMARY KEY (task, arm, seat, verdict, pattern, root_cause)
) STRICT, WITHOUT ROWID;

INSERT INTO tallies
SELECT {TALLY_KEY}, count(*), max(id) FROM claims GROUP BY 1, 2, 3, 4, 5, 6;
"""


@anvil()
def m001_records(db: Database) -> None:
    """Claims and all that belongs to them."""
    _run(db, RECORDS, version=1)


@anvil()
def m002_tallies(db: Database) -> None:
    """Counts kept up to date with the claims, so that asking costs the same with a million."""
    _run(db, TALLIES, version=2)


def _run(db: Database, script: str, *, version: int) -> None:
    # Not executescript: that would commit the transaction the step runs in.
    for statement in script.split(";\n"):
        if statement.strip():
            db.execute(statement)
    db.execute(f"PRAGMA user_version = {version}")
