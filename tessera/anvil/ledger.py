"""What belongs to dispatches besides their claims: how they went, events, prompts,
proposals and incidents.

Writes down and hands back; decides nothing and never reads a claim.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from tessera.anvil.database import Database, content_hash, content_id, now, unpacked
from tessera.records import Event, Outcome, SeatName

PROPOSAL = (
    "id",
    "dispatch",
    "crate",
    "target",
    "seat",
    "state",
    "created",
    "base_hash",
    "old",
    "new",
    "why",
    "report",
)
INCIDENT = ("id", "dispatch", "crate", "target", "task", "at", "error_pattern", "report")


class Ledger(Database):
    """The tables around the claims. Meaning of each method: see `interface.Anvil`."""

    def start_dispatch(
        self,
        id: str,
        *,
        crate: str,
        target: str,
        task: str,
        arm: str | None = None,
        at: str | None = None,
        data: Mapping[str, Any] | None = None,
    ) -> None:
        with self.writing() as connection:
            connection.execute(
                "INSERT INTO dispatches (id, crate, target, task, arm, started, data)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)"
                " ON CONFLICT DO UPDATE SET data = json_patch(data, excluded.data)",
                (id, crate, target, task, arm, at or now(), json.dumps(dict(data or {}))),
            )

    def finish_dispatch(
        self,
        id: str,
        outcome: Outcome,
        *,
        seat: SeatName | None = None,
        why: str | None = None,
        at: str | None = None,
        data: Mapping[str, Any] | None = None,
    ) -> None:
        with self.writing() as connection:
            connection.execute(
                "UPDATE dispatches SET outcome = ?, seat = ?, why = ?, finished = ?,"
                " data = json_patch(data, ?) WHERE id = ?",
                (outcome, seat, why, at or now(), json.dumps(dict(data or {})), id),
            )

    def get_dispatch(self, id: str) -> dict[str, Any] | None:
        with self.reading() as connection:
            return _one(connection, "SELECT * FROM dispatches WHERE id = ?", (id,))

    def add_event(self, event: Event) -> None:
        with self.writing() as connection:
            connection.execute(
                "INSERT INTO events (dispatch, at, kind, data) VALUES (?, ?, ?, ?)",
                (event.dispatch, event.at, event.kind, json.dumps(dict(event.data))),
            )

    def events(
        self, *, dispatch: str | None = None, after: int = 0, limit: int = 1000
    ) -> list[tuple[int, Event]]:
        query = "SELECT id, kind, at, dispatch, data FROM events WHERE id > ?"
        values: list[object] = [after]
        if dispatch is not None:
            query += " AND dispatch = ?"
            values.append(dispatch)
        with self.reading() as connection:
            rows = connection.execute(f"{query} ORDER BY id LIMIT ?", [*values, limit]).fetchall()
        return [
            (place, Event(kind, at, of, json.loads(data))) for place, kind, at, of, data in rows
        ]

    def put_content(self, text: str) -> str:
        with self.writing() as connection:
            content_id(connection, text)
        return content_hash(text)

    def get_content(self, hash: str) -> str | None:
        with self.reading() as connection:
            row = connection.execute("SELECT data FROM contents WHERE hash = ?", (hash,)).fetchone()
        return unpacked(row[0]) if row else None

    def put_prompt(self, hash: str, text: str, private: bool) -> None:
        with self.writing() as connection:
            connection.execute(
                # What was private once stays private.
                "INSERT INTO prompts (hash, content, private) VALUES (?, ?, ?)"
                " ON CONFLICT DO UPDATE SET private = max(private, excluded.private)",
                (hash, content_id(connection, text), int(private)),
            )

    def get_prompt(self, hash: str) -> tuple[str, bool] | None:
        query = (
            "SELECT data, private FROM prompts JOIN contents ON contents.id = prompts.content"
            " WHERE prompts.hash = ?"
        )
        with self.reading() as connection:
            row = connection.execute(query, (hash,)).fetchone()
        return (unpacked(row[0]) or "", bool(row[1])) if row else None

    def put_proposal(self, proposal: Mapping[str, Any]) -> None:
        self._put("proposals", PROPOSAL, {"state": "staged", "created": now(), **proposal})

    def get_proposal(self, id: str) -> dict[str, Any] | None:
        with self.reading() as connection:
            return _one(connection, "SELECT * FROM proposals WHERE id = ?", (id,))

    def list_proposals(self, state: str | None = None) -> list[dict[str, Any]]:
        query = "SELECT * FROM proposals WHERE ? IS NULL OR state = ? ORDER BY created, rowid"
        with self.reading() as connection:
            return _all(connection, query, (state, state))

    def move_proposal(self, id: str, from_state: str, to_state: str, why: str | None) -> bool:
        with self.writing() as connection:
            moved = connection.execute(
                "UPDATE proposals SET state = ?, why = coalesce(?, why) WHERE id = ? AND state = ?",
                (to_state, why, id, from_state),
            )
            return moved.rowcount == 1

    def put_incident(self, incident: Mapping[str, Any]) -> None:
        self._put("incidents", INCIDENT, {"at": now(), **incident})

    def list_incidents(self, id: str | None = None) -> list[dict[str, Any]]:
        query = "SELECT * FROM incidents WHERE ? IS NULL OR id = ? ORDER BY at, rowid"
        with self.reading() as connection:
            return _all(connection, query, (id, id))

    def _put(self, table: str, columns: tuple[str, ...], values: Mapping[str, Any]) -> None:
        unknown = sorted(set(values) - set(columns))
        if unknown:
            raise ValueError(f"{table} have no {unknown[0]!r}; they have {', '.join(columns)}")
        row = {**dict.fromkeys(columns), **values, "report": json.dumps(values.get("report") or {})}
        places = ", ".join(f":{name}" for name in columns)
        insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})"
        with self.writing() as connection:
            try:
                connection.execute(insert, row)
            except sqlite3.IntegrityError as error:
                raise ValueError(f"{table} can't take {row['id']!r}: {error}") from error


def _all(
    connection: sqlite3.Connection, query: str, values: tuple[object, ...]
) -> list[dict[str, Any]]:
    cursor = connection.execute(query, values)
    names = [column[0] for column in cursor.description]
    return [_decoded(dict(zip(names, row, strict=True))) for row in cursor]


def _one(
    connection: sqlite3.Connection, query: str, values: tuple[object, ...]
) -> dict[str, Any] | None:
    rows = _all(connection, query, values)
    return rows[0] if rows else None


def _decoded(row: dict[str, Any]) -> dict[str, Any]:
    for name in ("data", "report"):
        if name in row:
            row[name] = json.loads(row[name])
    return row
