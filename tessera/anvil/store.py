"""The memory in a file: claims, and what is asked of them before an attempt.

The one place that reads and writes claims. Keeps counts (tallies) in the transaction of
every claim, so that asking costs the same with a million claims as with none. Decides
nothing: hint, skip and signal are pure functions it calls.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from critic.review import Axes, Verdict
from tessera.anvil import claims as exchange
from tessera.anvil.database import Delivered, content_id, now, unpacked
from tessera.anvil.hint import compose
from tessera.anvil.interface import Health, Page, chunks
from tessera.anvil.ledger import Ledger
from tessera.anvil.signal import calibration_signal
from tessera.anvil.skip import skip_signal
from tessera.anvil.tally import Tally, history_of, tally_of
from tessera.records import Claim, Recollection, SeatName

# How many of a task's, and of a file's, newest claims the signals look at.
RECENT = 64
CHUNK = 1000

INSERT = """
    INSERT INTO claims (file, task, seat, verdict, at, model, attempt, dispatch, arm,
        error_pattern, root_cause, signature, blocked_kind, tokens_in, tokens_out, cost_usd,
        seconds, axes, prompt_hash, profile, diff, candidate)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    RETURNING id
"""
COUNT = """
    INSERT INTO tallies VALUES (?, ?, ?, ?, ?, ?, 1, ?)
    ON CONFLICT DO UPDATE SET count = count + 1, last = excluded.last
"""
SELECT = """
    SELECT claims.id, files.crate, files.target, tasks.name AS task, claims.seat,
        claims.verdict, claims.model, claims.attempt, claims.dispatch, claims.arm,
        claims.error_pattern, claims.root_cause, claims.signature, claims.blocked_kind,
        claims.tokens_in, claims.tokens_out, claims.cost_usd, claims.seconds, claims.axes,
        claims.prompt_hash, claims.profile, claims.at
        {columns}
    FROM {tables} {joins}
"""
TABLES = """claims JOIN files ON files.id = claims.file
    JOIN tasks ON tasks.id = claims.task AND tasks.file = claims.file"""
BARE = SELECT.format(columns="", joins="", tables=TABLES)
WHOLE = SELECT.format(
    tables=TABLES,
    columns=", diffs.data AS diff, candidates.data AS candidate",
    joins="""
        LEFT JOIN contents AS diffs ON diffs.id = claims.diff
        LEFT JOIN contents AS candidates ON candidates.id = claims.candidate
    """,
)
TALLIES = """
    SELECT tasks.name, tallies.seat, tallies.verdict, tallies.pattern, tallies.root_cause,
        tallies.count, tallies.last,
        CASE WHEN newest.attempt IS NULL AND newest.dispatch IS NULL THEN 1
            ELSE newest.attempt END
    FROM tasks JOIN tallies ON tallies.task = tasks.id
    LEFT JOIN claims AS newest ON newest.id = tallies.last AND tallies.verdict = 'PASS'
    WHERE tasks.file = :file AND (:arm IS NULL OR tallies.arm = :arm)
"""
# A short walk down an index that holds all of this.
NEWEST = f"""
    SELECT id, task, seat, verdict, error_pattern, blocked_kind, at FROM claims
    WHERE file = :file AND (:task IS NULL OR task = :task) AND (:arm IS NULL OR arm = :arm)
    ORDER BY id DESC LIMIT {RECENT}
"""
SEATS = {seat.value: seat for seat in SeatName}
VERDICTS = {verdict.value: verdict for verdict in Verdict}


class Glance(NamedTuple):
    """What the signals look at in a claim; building whole claims would cost more than SQLite."""

    task: str
    seat: SeatName
    verdict: Verdict
    error_pattern: str | None
    blocked_kind: str | None
    at: str | None


class Store(Ledger):
    """The embedded Anvil. Meaning of each method: see `interface.Anvil`."""

    def pre_attempt(
        self,
        crate: str,
        target: str,
        task: str | None,
        *,
        threshold: int = 4,
        hint: bool = True,
        arm: str | None = None,
    ) -> Recollection:
        with self.reading() as connection:
            file = _file(connection, crate, target)
            tallies = _tallies(connection, file, arm)
            recent = _newest(connection, file, task, arm)
        signal = calibration_signal(recent, task, threshold=threshold)
        return Recollection(
            history=history_of(tallies),
            hint=compose(tallies, task, signal) if hint else None,
            skip=skip_signal(recent),
            signal=signal,
        )

    def post_attempt(self, claim: Claim) -> None:
        self.record([claim])

    def record(self, claims: Sequence[Claim], *, key: str | None = None) -> int:
        exchange.check_all(claims)
        with suppress(Delivered), self.delivering(key), self.writing() as connection:
            for claim in claims:
                _insert(connection, claim)
        return len(claims)

    def history(
        self,
        crate: str | None = None,
        target: str | None = None,
        task: str | None = None,
        *,
        limit: int = 100,
        offset: int = 0,
    ) -> Page:
        wanted = {"files.crate": crate, "files.target": target, "tasks.name": task}
        given = {column: value for column, value in wanted.items() if value is not None}
        where = " AND ".join(f"{column} = ?" for column in given) or "TRUE"
        values = list(given.values())
        with self.reading() as connection:
            total = _scalar(
                connection, f"SELECT count(*) FROM {_tables(given)} WHERE {where}", values
            )
            page = f"{WHOLE} WHERE {where} ORDER BY claims.id LIMIT ? OFFSET ?"
            found = _claims(connection, page, [*values, limit, offset])
            return Page(total, tuple(claim for _, claim in found))

    def each_claim(self, *, contents: bool = False) -> Iterator[Claim]:
        return chunks(partial(self.claims_after, contents=contents))

    def claims_after(self, place: int, *, contents: bool = False) -> list[tuple[int, Claim]]:
        """The next claims, with their places, after the one at `place` (0: from the first)."""
        select = WHOLE if contents else BARE
        with self.reading() as connection:
            query = f"{select} WHERE claims.id > ? ORDER BY claims.id LIMIT {CHUNK}"
            return list(_claims(connection, query, [place]))

    def check(self) -> Health:
        from tessera.anvil.integrity import examine

        with self.reading() as connection:
            return examine(connection)


def _tables(given: dict[str, str]) -> str:
    return TABLES if given else "claims"


def _scalar(connection: sqlite3.Connection, query: str, values: Sequence[object]) -> int:
    row = connection.execute(query, values).fetchone()
    return int(row[0]) if row else 0


def _file(connection: sqlite3.Connection, crate: str, target: str) -> int:
    query = "SELECT id FROM files WHERE crate = ? AND target = ?"
    return _scalar(connection, query, (crate, target))


def _tallies(connection: sqlite3.Connection, file: int, arm: str | None) -> list[Tally]:
    return [
        Tally(
            task=task,
            seat=SEATS[seat],
            verdict=VERDICTS[verdict],
            pattern=pattern or None,
            root_cause=cause or None,
            count=count,
            last=last,
            attempt=attempt if verdict == "PASS" else None,
        )
        for task, seat, verdict, pattern, cause, count, last, attempt in connection.execute(
            TALLIES, {"file": file, "arm": arm}
        )
    ]


def _newest(
    connection: sqlite3.Connection, file: int, task: str | None, arm: str | None
) -> list[Glance]:
    """The newest claims of the file and, behind those of others, of the task; oldest first."""
    names = dict(connection.execute("SELECT id, name FROM tasks WHERE file = ?", (file,)))
    wanted: dict[str, object] = {"file": file, "arm": arm, "task": None}
    rows = connection.execute(NEWEST, wanted).fetchall()
    if len(rows) == RECENT and len(names) > 1:
        wanted["task"] = next((number for number, name in names.items() if name == task), 0)
        rows += connection.execute(NEWEST, wanted).fetchall()
    return [
        Glance(names[number], SEATS[seat], VERDICTS[verdict], pattern, kind, at)
        for _, number, seat, verdict, pattern, kind, at in sorted(set(rows))
    ]


def _insert(connection: sqlite3.Connection, claim: Claim) -> None:
    file = _row(connection, "files", ("crate", "target"), (claim.crate, claim.target))
    task = _row(connection, "tasks", ("file", "name"), (file, claim.task))
    values = (
        file,
        task,
        claim.seat,
        claim.verdict,
        claim.at or now(),
        claim.model,
        claim.attempt,
        claim.dispatch,
        claim.arm,
        claim.error_pattern,
        claim.root_cause,
        claim.signature,
        claim.blocked_kind,
        claim.tokens_in,
        claim.tokens_out,
        claim.cost_usd,
        None if claim.seconds is None else json.dumps(dict(claim.seconds)),
        None if claim.axes is None else json.dumps(vars(claim.axes)),
        claim.prompt_hash,
        claim.profile,
        content_id(connection, claim.diff),
        content_id(connection, claim.candidate),
    )
    place = connection.execute(INSERT, values).fetchone()[0]
    tally = tally_of(claim, place)
    connection.execute(
        COUNT,
        (
            task,
            claim.arm or "",
            claim.seat,
            claim.verdict,
            tally.pattern or "",
            tally.root_cause or "",
            place,
        ),
    )


def _row(
    connection: sqlite3.Connection,
    table: str,
    columns: tuple[str, str],
    values: tuple[str | int, str],
) -> int:
    query = f"SELECT id FROM {table} WHERE {columns[0]} = ? AND {columns[1]} = ?"
    found = connection.execute(query, values).fetchone()
    if found is None:
        insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES (?, ?) RETURNING id"
        found = connection.execute(insert, values).fetchone()
    return int(found[0])


def _claims(
    connection: sqlite3.Connection, query: str, values: Sequence[object]
) -> Iterator[tuple[int, Claim]]:
    cursor = connection.execute(query, values)
    names = [column[0] for column in cursor.description]
    for row in cursor:
        yield _claim(dict(zip(names, row, strict=True)))


def _claim(row: dict[str, Any]) -> tuple[int, Claim]:
    place = row.pop("id")
    row["seat"] = SEATS[row["seat"]]
    row["verdict"] = VERDICTS[row["verdict"]]
    if row["seconds"] is not None:
        row["seconds"] = json.loads(row["seconds"])
    if row["axes"] is not None:
        row["axes"] = Axes(**json.loads(row["axes"]))
    for name in ("diff", "candidate"):
        if name in row:
            row[name] = unpacked(row[name])
    return place, Claim(**row)
