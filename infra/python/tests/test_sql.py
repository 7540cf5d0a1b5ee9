"""Rows of tables and SQL: typed, bounded, and with a note where they end early."""

from __future__ import annotations

import http.server
from typing import Any, Callable, Dict, List, Optional

import pyarrow
import pytest
from conftest import Front, Ground, Process, reply

from limn_client import BadRequestError, Client, ForbiddenError, NotFoundError, SqlAnswer, UnavailableError
from limn_client._decode import decode

SECCHI = "hydrology/secchi"


def test_a_statement_is_answered_with_rows(client: Client) -> None:
    answer = client.sql(
        f'SELECT "lake", count(*) AS n, max("disc_m") AS clearest FROM "{SECCHI}" GROUP BY 1 ORDER BY 1'
    )
    assert [(column.name, column.data_type) for column in answer.columns] == [
        ("lake", "text"),
        ("n", "integer"),
        ("clearest", "float"),
    ]
    assert len(answer) > 1 and not answer.truncated and answer.error is None
    assert all(isinstance(row[0], str) and isinstance(row[1], int) for row in answer)
    assert answer.to_pandas()["n"].sum() == client.table(SECCHI).rows
    assert "clearest" in repr(answer)


def test_both_forms_are_the_same(client: Client) -> None:
    statement = f'SELECT * FROM "{SECCHI}" ORDER BY 1, 2 LIMIT 20'
    got, typed = client.sql(statement).to_arrow(), client.sql_arrow(statement)
    assert isinstance(typed, pyarrow.Table) and typed.num_rows == 20
    assert got.column_names == typed.column_names
    assert [str(row) for row in got.to_pylist()] == [str(row) for row in typed.to_pylist()]
    assert typed.schema.metadata[b"limn.truncated"] == b"false"


def test_limits_are_reported(client: Client) -> None:
    answer = client.sql(f'SELECT * FROM "{SECCHI}"', max_rows=3)
    assert len(answer) == 3 and answer.truncated and "3 rows" in answer.notes[0]
    typed = client.sql_arrow(f'SELECT * FROM "{SECCHI}"', max_rows=3)
    assert typed.num_rows == 3 and typed.schema.metadata[b"limn.truncated"] == b"true"


def test_rows_of_a_table(client: Client) -> None:
    table = client.search("how clear is the water", k=1)[0].table()
    rows = client.rows(table.name, sort="disc_m", descending=True, columns=["lake", "disc_m"], limit=5)
    depths = [row[1] for row in rows]
    assert depths == sorted(depths, reverse=True) and len(rows) == 5 and rows.truncated
    typed = table.to_arrow(columns=["disc_m", "lake"], limit=7)
    assert typed.column_names == ["disc_m", "lake"] and typed.num_rows == 7
    first, second = client.rows(SECCHI, limit=2), client.rows(SECCHI, limit=2, offset=2)
    assert [*first, *second] == [*client.rows(SECCHI, limit=4)]


def test_what_cannot_be_answered(client: Client, guarded: Process, ground: Ground) -> None:
    with pytest.raises(BadRequestError, match="disc_m"):
        client.sql(f'SELECT "disc" FROM "{SECCHI}"')
    with pytest.raises(BadRequestError, match="only reading"):
        client.sql(f'DROP TABLE "{SECCHI}"')
    with pytest.raises(NotFoundError):
        client.sql_arrow("SELECT * FROM nowhere_at_all")
    with pytest.raises(BadRequestError):
        client.rows(SECCHI, sort="nothing")
    with Client(guarded.url, api_key=ground.hydrology, retries=0) as other, pytest.raises(ForbiddenError):
        other.sql("SHOW TABLES")


def test_times_of_any_zone_are_times() -> None:
    def column(*times: Optional[str]) -> pyarrow.ChunkedArray:
        rows = [[time] for time in times]
        columns = [{"name": "at", "type": "timestamp"}]
        got = {"columns": columns, "rows": rows, "truncated": False, "notes": [], "read": {"requests": 1, "bytes": 7}}
        return decode(SqlAnswer, got).to_arrow().column("at")

    zoned = column("2024-02-29T09:00:00+01:00", None, "2024-02-29T08:00:00.5Z")
    assert zoned.type == pyarrow.timestamp("us", tz="UTC")
    assert [str(time) for time in zoned.to_pylist()] == [
        "2024-02-29 08:00:00+00:00",
        "None",
        "2024-02-29 08:00:00.500000+00:00",
    ]
    assert column("2024-02-29T09:00:00.000000007-05:00").type == pyarrow.timestamp("ns", tz="UTC")
    assert column("2024-02-29T09:00:00").type == pyarrow.timestamp("us")


def test_rows_that_end_early_are_an_error(front: Callable[..., Front]) -> None:
    error = {"code": "timeout", "message": "stopped", "remedy": "ask for less"}
    got: Dict[str, Any] = {"columns": [], "rows": [[1]], "truncated": False, "notes": [], "error": error}

    def answer(handler: http.server.BaseHTTPRequestHandler, body: bytes) -> None:
        reply(handler, 200, got)

    with Client(front(answer).url) as client, pytest.raises(UnavailableError, match="stopped; ask for less"):
        client.sql("SELECT 1")


def test_arrow_is_asked_for(front: Callable[..., Front]) -> None:
    seen: List[str] = []

    def answer(handler: http.server.BaseHTTPRequestHandler, body: bytes) -> None:
        seen.append(handler.headers["Accept"])
        sink = pyarrow.BufferOutputStream()
        for schema in (pyarrow.schema([("a", pyarrow.int8())]), pyarrow.schema([], metadata={"limn.notes": "[]"})):
            pyarrow.ipc.new_stream(sink, schema).close()
        reply(handler, 200, sink.getvalue().to_pybytes())

    with Client(front(answer).url) as client:
        assert client.sql_arrow("SELECT 1").schema.metadata == {b"limn.notes": b"[]"}
    assert seen == ["application/vnd.apache.arrow.stream"]
