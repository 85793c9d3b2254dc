"""A look at the whole database: is everything that was recorded there, and consistent?

Reads; changes nothing.
"""

from __future__ import annotations

import hashlib
import sqlite3
import zlib

from tessera.anvil.interface import Health
from tessera.anvil.migrations import TALLY_KEY

MAX_PROBLEMS = 20
TABLES = ("claims", "files", "tasks", "contents", "dispatches", "events", "proposals", "incidents")
RECOUNT = f"""
    WITH recount AS (
        SELECT {TALLY_KEY}, count(*) AS count, max(id) AS last
        FROM claims GROUP BY 1, 2, 3, 4, 5, 6
    )
    SELECT count(*) FROM (
        SELECT * FROM (SELECT * FROM recount EXCEPT SELECT * FROM tallies)
        UNION ALL
        SELECT * FROM (SELECT * FROM tallies EXCEPT SELECT * FROM recount)
    )
"""


def examine(connection: sqlite3.Connection) -> Health:
    """Pages and indexes, references, hashes of contents, and counts against a recount."""
    problems = [
        f"structure: {row[0]}"
        for row in connection.execute(f"PRAGMA integrity_check({MAX_PROBLEMS})")
        if row[0] != "ok"
    ]
    problems += [
        f"reference: row {row[1]} of {row[0]} names a row of {row[2]} that isn't there"
        for row in connection.execute("PRAGMA foreign_key_check")
    ]
    problems += [
        f"content: {digest} is not what its hash says"
        for digest, size, data in connection.execute("SELECT hash, size, data FROM contents")
        if not _whole(digest, size, data)
    ]
    wrong = connection.execute(RECOUNT).fetchone()[0]
    if wrong:
        problems.append(f"counts: {wrong} tallies differ from a recount of the claims")
    facts = {
        table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES
    }
    return Health(facts["claims"], tuple(problems[:MAX_PROBLEMS]), facts)


def _whole(digest: str, size: int, data: bytes) -> bool:
    try:
        text = zlib.decompress(data)
    except zlib.error:
        return False
    return len(text) == size and hashlib.sha256(text).hexdigest() == digest
