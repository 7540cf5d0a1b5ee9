"""What goes wrong is reported with its kind, its reason and what to do; and waited for where the node says so."""

from __future__ import annotations

import http.server
import pickle
import threading
import time
from pathlib import Path
from typing import Any, Callable

import pytest
from conftest import Front, Ground, Process, reply

import limn_client
from limn_client import Client, LimnError


def test_no_key_and_a_wrong_one(guarded: Process, admin_key: str) -> None:
    for key in ("", "limn_00000000_wrong"):
        with Client(guarded.url, api_key=key) as client:
            with pytest.raises(limn_client.UnauthorizedError) as got:
                client.status()
        assert (got.value.status, got.value.code) == (401, "unauthorized")
        assert "limn keys add" in got.value.remedy and got.value.retry_after is None
    with Client(guarded.url, api_key=admin_key) as client:
        assert client.status().rights


def test_the_key_of_the_environment(guarded: Process, admin_key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIMN_API_KEY", f"{admin_key}\n")
    with Client(guarded.url) as client:
        assert client.status().rights
    with Client(guarded.url, api_key="") as client, pytest.raises(limn_client.UnauthorizedError):
        client.status()


def test_a_table_that_there_is_not(client: Client) -> None:
    asked: list[Callable[[], Any]] = [
        lambda: client.table("nowhere"),
        lambda: client.similar("nowhere"),
        lambda: client.history("nowhere"),
        lambda: client.feedback("what?", "nowhere", "right"),
        lambda: client.table("hydrology/secchi", lake="file:///elsewhere/"),
    ]
    for ask in asked:
        with pytest.raises(limn_client.NotFoundError) as got:
            ask()
        error = got.value
        assert (error.status, error.code) == (404, "not_found") and "there is no table" in error.message
        assert error.remedy and error.request_id and error.request_id in str(error)
        assert error.message in str(error) and error.remedy in str(error)


def test_what_makes_no_sense(client: Client) -> None:
    asked: list[Callable[[], Any]] = [
        lambda: client.search(" "),
        lambda: client.search("x" * 5_000),
        lambda: client.search("x", k=0),
        lambda: client.search("x", modified_after="yesterday"),
        lambda: client.feedback("what?", "hr/employees", "perhaps"),  # type: ignore[arg-type]
        lambda: client.diff(since="soon"),
        lambda: client.tables(after="nowhere"),
    ]
    for ask in asked:
        with pytest.raises(limn_client.BadRequestError) as got:
            ask()
        assert (got.value.status, got.value.code) == (400, "bad_request")
    # What cannot be JSON is not sent.
    with pytest.raises(ValueError):
        client.search("x", alpha=float("nan"))
    with pytest.raises(LimnError) as too_large:
        client.search("x" * 100_000)
    assert (too_large.value.status, too_large.value.code) == (413, "too_large")


def test_too_many_requests_are_waited_for_as_the_node_says(ground: Ground, guarded: Process) -> None:
    impatient = Client(guarded.url, api_key=ground.sixty_a_minute, retries=0)
    refused = None
    for _ in range(200):
        try:
            impatient.snapshots()
        except limn_client.TooManyRequestsError as error:
            refused = error
            break
    assert refused is not None and (refused.status, refused.code, refused.retry_after) == (
        429,
        "too_many_requests",
        1.0,
    )
    patient = Client(guarded.url, api_key=ground.sixty_a_minute)
    started = time.monotonic()
    for _ in range(2):
        patient.snapshots()
    assert 1.0 <= time.monotonic() - started < 10.0
    impatient.close()
    patient.close()


def test_a_node_that_asks_for_more_patience_than_there_is(ground: Ground, guarded: Process) -> None:
    with Client(guarded.url, api_key=ground.one_a_minute, max_wait=20.0) as client:
        client.snapshots()
        started = time.monotonic()
        with pytest.raises(limn_client.TooManyRequestsError) as got:
            client.snapshots()
        assert got.value.retry_after is not None and got.value.retry_after > 20.0
        assert time.monotonic() - started < 5.0


def test_an_index_that_is_away_is_waited_for(tmp_path: Path) -> None:
    ground = Ground(tmp_path)
    process = ground.serve()
    away = tmp_path / "away"
    try:
        ground.index.rename(away)
        with Client(process.url, retries=0) as client, pytest.raises(limn_client.UnavailableError) as got:
            client.table("hydrology/secchi")
        assert (got.value.status, got.value.code, got.value.retry_after) == (503, "unavailable", 5.0)
        back = threading.Timer(1.0, away.rename, (ground.index,))
        back.start()
        with Client(process.url) as client:
            assert client.table("hydrology/secchi").rows == 180
        back.join()
    finally:
        process.end()


def test_retries_are_bounded_and_only_as_asked(front: Callable[..., Front]) -> None:
    def busy(after: dict[str, str], status: int = 503) -> Front:
        return front(lambda handler, _: reply(handler, status, {"error": "busy"}, after))

    # How often each was asked: without Retry-After, with one that has passed, with nonsense, with another status.
    for headers, status, times in [
        ({}, 503, 1),
        ({"Retry-After": "0"}, 503, 4),
        ({"Retry-After": "0"}, 429, 4),
        ({"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"}, 503, 4),
        ({"Retry-After": "soon"}, 503, 1),
        ({"Retry-After": "-1"}, 503, 1),
        ({"Retry-After": "0"}, 500, 1),
        ({"Retry-After": "0"}, 404, 1),
    ]:
        there = busy(headers, status)
        with Client(there.url) as client, pytest.raises(LimnError) as got:
            client.status()
        assert (len(there.seen), got.value.status) == (times, status), (headers, status)
    there = busy({"Retry-After": "0"})
    with Client(there.url, retries=0) as client, pytest.raises(LimnError):
        client.status()
    assert len(there.seen) == 1
    # All waiting counts together.
    there = busy({"Retry-After": "1"})
    with Client(there.url, retries=9, max_wait=2.0) as client, pytest.raises(LimnError):
        client.status()
    assert len(there.seen) == 3


def test_a_server_that_is_no_node(front: Callable[..., Front]) -> None:
    page = b"<html>who are you?</html>"
    for status, body, code in [
        (200, page, "not_understood"),
        (200, [], "not_understood"),
        (200, {"snapshot": "two"}, "not_understood"),
        (502, page, "http_502"),
        (418, {"error": {"message": "no code"}}, "http_418"),
        (404, page, "http_404"),
    ]:
        there = front(lambda handler, _, status=status, body=body: reply(handler, status, body))
        with Client(there.url) as client, pytest.raises(LimnError) as got:
            client.status()
        assert got.value.code == code and got.value.remedy, got.value
        assert not isinstance(body, bytes) or "who are you" not in str(got.value)
        with Client(there.url) as client:
            assert not client.is_live()


def test_answers_of_newer_nodes_are_read(client: Client, front: Callable[..., Front]) -> None:
    got = dict(client.search("water").raw)
    got["from_the_future"] = {"x": [1]}
    got["results"] = [{**dict(hit), "shine": 7, "rows": None} for hit in got["results"]]
    there = front(lambda handler, _: reply(handler, 200, got))
    with Client(there.url) as newer:
        answer = newer.search("water")
    assert answer[0].raw["shine"] == 7 and answer[0].rows is None and answer.raw["from_the_future"] == {"x": [1]}
    # What an older node did not send, and may be missing, is missing; what may not is named.
    for hit in got["results"]:
        del hit["modified"], hit["error"], hit["columns"]
    with Client(there.url) as older:
        assert older.search("water")[0].modified is None and older.search("water")[0].columns == ()
    del got["results"][1]["score"]
    with Client(there.url) as broken, pytest.raises(limn_client.NotUnderstoodError, match=r"results\[1\]\.score"):
        broken.search("water")


def test_nothing_that_answers(front: Callable[..., Front]) -> None:
    with Client("http://127.0.0.1:1") as client, pytest.raises(limn_client.NoAnswerError, match="nothing listens"):
        client.status()
    with Client("http://limn.invalid") as client, pytest.raises(limn_client.NoAnswerError, match="no such host"):
        client.status()

    def broken_off(handler: http.server.BaseHTTPRequestHandler, _: bytes) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100")
        handler.end_headers()
        handler.wfile.write(b"{")
        handler.close_connection = True

    there = front(broken_off)
    with Client(there.url) as client, pytest.raises(limn_client.NoAnswerError):
        client.status()
    assert len(there.seen) == 1


def test_an_answer_that_takes_too_long(front: Callable[..., Front]) -> None:
    over = threading.Event()

    def dripping(handler: http.server.BaseHTTPRequestHandler, _: bytes) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        while not over.wait(0.05):
            try:
                handler.wfile.write(b" ")
            except OSError:
                return

    for answer in (lambda handler, body: over.wait(30), dripping):
        there = front(answer)
        started = time.monotonic()
        with Client(there.url, timeout=0.5) as client, pytest.raises(limn_client.NoAnswerError, match="too long"):
            client.status()
        assert 0.4 < time.monotonic() - started < 5.0
    over.set()


def test_errors_are_pickled() -> None:
    error = limn_client.NotFoundError("m", "not_found", "r", 404, "id", 2.0)
    other = pickle.loads(pickle.dumps(error))
    assert type(other) is type(error) and vars(other) == vars(error) and str(other) == str(error)


def test_errors_of_a_terminal_s_letters_are_written_out(client: Client) -> None:
    with pytest.raises(limn_client.NotFoundError) as got:
        client.table("\x1b[31mred")
    assert "\x1b" not in str(got.value) and "\\x1b[31mred" in str(got.value) and "\x1b" not in repr(got.value)


def test_addresses_that_are_none() -> None:
    for url in ("", "localhost:7700", "ftp://host", "http://", "http://host:port", "http://host/?q=1", "s3://bucket"):
        with pytest.raises(ValueError, match="address"):
            Client(url)
    with pytest.raises(ValueError) as got:
        Client("http://me:secret@host")
    assert "secret" not in str(got.value)
    assert Client("HTTP://Host:80/limn/").url == "http://host/limn"
    assert Client("https://[::1]:7700").url == "https://[::1]:7700"
    for options in ({"timeout": 0}, {"connect_timeout": -1}, {"retries": -1}, {"max_wait": -1}):
        with pytest.raises(ValueError):
            Client(**options)  # type: ignore[arg-type]
