"""Connections: kept and shared, by TLS, by proxies; and whom the key is shown to."""

from __future__ import annotations

import concurrent.futures
import datetime
import http.server
import ipaddress
import json
import multiprocessing
import os
import pickle
import socket
import ssl
import struct
import threading
import traceback
import urllib.request
from pathlib import Path
from typing import Callable, Iterator, Tuple

import pytest
from conftest import Front, Ground, Process, reply
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import limn_client
from limn_client import Client, LimnError, NoAnswerError

KEY = "limn_12345678_abcdefghijklmnopqrstuvwxyz"


def passing_on(to: str) -> Callable[[http.server.BaseHTTPRequestHandler, bytes], None]:
    """Gives every request to a node, as a proxy does."""

    def answer(handler: http.server.BaseHTTPRequestHandler, body: bytes) -> None:
        path = handler.path[handler.path.index("/v1") :]
        request = urllib.request.Request(to + path, body or None, method=handler.command)
        for name in ("Authorization", "Content-Type"):
            if name in handler.headers:
                request.add_header(name, handler.headers[name])
        with urllib.request.urlopen(request, timeout=30) as got:
            reply(handler, got.status, got.read())

    return answer


def test_connections_are_kept(node: Process, front: Callable[..., Front]) -> None:
    there = front(passing_on(node.url))
    with Client(there.url) as client:
        for _ in range(5):
            client.status()
            client.search("water")
    assert len(there.seen) == 10 and len(there.connections) == 1


def test_one_client_for_many_threads(node: Process) -> None:
    questions = ["water level", "sick leave", "wind power", "tram delays"] * 10
    with Client(node.url) as client:
        wanted = {question: [hit.name for hit in client.search(question)] for question in set(questions)}
        with concurrent.futures.ThreadPoolExecutor(12) as threads:
            for question, answer in zip(questions, threads.map(client.search, questions)):
                assert answer.question == question and [hit.name for hit in answer] == wanted[question]


def test_a_connection_that_the_node_closed_is_not_used(ground: Ground) -> None:
    first = ground.serve()
    with Client(first.url, retries=0) as client:
        client.status()
        first.end()
        # The same address, another process: what was kept is dead.
        port = first.url.rsplit(":", 1)[1]
        second = Process(
            "serve", "--index", str(ground.index), "--listen", f"127.0.0.1:{port}", "--feedback", str(ground.feedback)
        )
        # What may not be sent twice, too: that it is dead is seen before.
        client.feedback("how clear is the water?", "hydrology/secchi", "right")
        second.end()
        with pytest.raises(NoAnswerError):
            client.status()


def test_what_was_closed_while_it_was_sent_is_sent_again_unless_that_could_be_twice(
    front: Callable[..., Front],
) -> None:
    """A server that closes a connection at the second request, without an answer, as one that just timed out."""
    times = {"requests": 0}

    def answer(handler: http.server.BaseHTTPRequestHandler, _: bytes) -> None:
        times["requests"] += 1
        if times["requests"] % 2 == 0:
            handler.close_connection = True
            return
        reply(handler, 200, {"snapshots": []})

    there = front(answer)
    with Client(there.url) as client:
        client.snapshots()
        client.snapshots()
        assert len(there.seen) == 3
    times["requests"] = 0
    with Client(there.url) as client:
        client.snapshots()
        with pytest.raises(NoAnswerError):
            client.feedback("what?", "t", "right")
        assert len(there.seen) == 5


def _asks(client: Client, sender: "multiprocessing.connection.Connection") -> None:
    sender.send([client.search("water").question for _ in range(20)])
    sender.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_has_connections_of_its_own(node: Process) -> None:
    context = multiprocessing.get_context("fork")
    with Client(node.url) as client:
        client.search("water")
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=_asks, args=(client, sender))
        child.start()
        sender.close()
        mine = [client.search("wind").question for _ in range(20)]
        assert receiver.recv() == ["water"] * 20 and mine == ["wind"] * 20
        child.join(30)
        assert child.exitcode == 0
        receiver.close()


def test_a_closed_client_can_be_used_again(node: Process) -> None:
    client = Client(node.url)
    client.status()
    client.close()
    client.status()
    client.close()


# TLS


def certificate(folder: Path) -> Tuple[Path, Path]:
    """A certificate of 127.0.0.1, signed by itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "limn test")])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "c.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "k.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return folder / "c.pem", folder / "k.pem"


@pytest.fixture(scope="module")
def by_tls(ground: Ground, admin_key: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tuple[Process, Path]]:
    cert, key = certificate(tmp_path_factory.mktemp("tls"))
    process = ground.serve("--keys", str(ground.keys), "--tls-cert", str(cert), "--tls-key", str(key))
    yield process, cert
    process.end()


def test_tls(by_tls: Tuple[Process, Path], admin_key: str) -> None:
    node, cert = by_tls
    assert node.url.startswith("https://")
    with Client(node.url, api_key=admin_key, ssl_context=ssl.create_default_context(cafile=str(cert))) as client:
        for _ in range(3):
            assert client.search("water")
    # Nobody vouches for it.
    with Client(node.url, api_key=admin_key) as client, pytest.raises(NoAnswerError, match="self-signed") as got:
        client.status()
    assert "cafile" in got.value.remedy
    # Spoken to without TLS.
    with Client(node.url.replace("https", "http"), timeout=20) as client, pytest.raises(NoAnswerError):
        client.status()


def test_tls_to_a_server_without(node: Process) -> None:
    with (
        Client(node.url.replace("http", "https")) as client,
        pytest.raises(NoAnswerError, match="no answer from https"),
    ):
        client.status()


# Proxies


def test_a_proxy(node: Process, front: Callable[..., Front], monkeypatch: pytest.MonkeyPatch) -> None:
    there = front(passing_on(node.url))
    with Client(node.url, proxy=there.url.replace("http://", "http://me:se%40cret@")) as client:
        assert client.status().tables
    ((_, path, headers, _),) = there.seen
    assert path == f"{node.url}/v1/status" and headers["Proxy-Authorization"] == "Basic bWU6c2VAY3JldA=="
    # The environment's; this machine itself is asked without one.
    monkeypatch.setenv("HTTP_PROXY", there.url)
    monkeypatch.setenv("http_proxy", there.url)
    with Client(node.url) as client:
        assert client.status().tables and len(there.seen) == 1
    with Client("http://limn.invalid") as client:
        assert client.status().tables and len(there.seen) == 2
    with Client("http://limn.invalid", proxy="") as client, pytest.raises(NoAnswerError):
        client.status()
    monkeypatch.setenv("no_proxy", "limn.invalid")
    with Client("http://limn.invalid") as client, pytest.raises(NoAnswerError):
        client.status()
    assert len(there.seen) == 2


def test_tls_through_a_proxy_shows_it_no_key(
    by_tls: Tuple[Process, Path], admin_key: str, front: Callable[..., Front]
) -> None:
    node, cert = by_tls

    def tunnel(handler: http.server.BaseHTTPRequestHandler, _: bytes) -> None:
        host, port = handler.path.rsplit(":", 1)
        handler.send_response(200)
        handler.end_headers()
        handler.close_connection = True
        with socket.create_connection((host, int(port))) as out:

            def carry(source: socket.socket, target: socket.socket) -> None:
                try:
                    while piece := source.recv(65536):
                        target.sendall(piece)
                    target.shutdown(socket.SHUT_WR)
                except OSError:
                    pass

            back = threading.Thread(target=carry, args=(out, handler.connection), daemon=True)
            back.start()
            carry(handler.connection, out)
            back.join(30)

    there = front(tunnel)
    context = ssl.create_default_context(cafile=str(cert))
    with Client(node.url, api_key=admin_key, ssl_context=context, proxy=there.url) as client:
        assert client.search("water") and client.status().tables
    ((method, path, headers, _),) = there.seen
    assert (method, path) == ("CONNECT", node.url.replace("https://", "")) and "Authorization" not in headers


# Redirects, and the key


def test_redirects_within_the_node_are_followed(node: Process, front: Callable[..., Front]) -> None:
    pass_on = passing_on(node.url)

    def answer(handler: http.server.BaseHTTPRequestHandler, body: bytes) -> None:
        if handler.path.startswith("/new"):
            pass_on(handler, body)
        else:
            reply(handler, 308, None, {"Location": f"/new{handler.path}"})

    there = front(answer)
    with Client(there.url, api_key=KEY) as client:
        assert client.table("hydrology/secchi").rows == 180
        assert client.search("water level").question == "water level"
    assert [headers["Authorization"] for _, _, headers, _ in there.seen] == [f"Bearer {KEY}"] * 4


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_the_key_and_the_question_go_nowhere_else(front: Callable[..., Front], status: int) -> None:
    elsewhere = front(lambda handler, _: reply(handler, 200, {"snapshots": []}))
    # Another port, another name of the same machine, another scheme.
    port = elsewhere.url.rsplit(":", 1)[1]
    for target in (
        elsewhere.url,
        f"http://localhost:{port}",
        f"https://127.0.0.1:{port}",
        "file:///etc/passwd",
        "//[x",
    ):
        there = front(
            lambda handler, _, target=target: reply(handler, status, None, {"Location": f"{target}/v1/snapshots"})
        )
        with Client(there.url, api_key=KEY) as client:
            for ask in (client.snapshots, lambda: client.search("water")):
                with pytest.raises(LimnError) as got:
                    ask()
                assert got.value.status == status and KEY not in str(got.value)
    assert elsewhere.seen == [] and elsewhere.connections == []


def test_a_post_does_not_become_a_get(front: Callable[..., Front]) -> None:
    for status in (301, 302, 303):
        there = front(lambda handler, _, status=status: reply(handler, status, None, {"Location": "/there"}))
        with Client(there.url) as client, pytest.raises(LimnError):
            client.search("water")
        assert len(there.seen) == 1
    around = front(lambda handler, _: reply(handler, 307, None, {"Location": "/there"}))
    with Client(around.url) as client, pytest.raises(LimnError, match="again and again"):
        client.status()
    assert len(around.seen) == 6


def test_health_is_asked_without_the_key(front: Callable[..., Front]) -> None:
    def answer(handler: http.server.BaseHTTPRequestHandler, _: bytes) -> None:
        handler.send_response(204)
        handler.end_headers()

    there = front(answer)
    with Client(there.url, api_key=KEY) as client:
        assert client.is_live() and client.is_ready()
    assert all("Authorization" not in headers for _, _, headers, _ in there.seen) and len(there.seen) == 2


def test_a_path_before_the_addresses(node: Process, front: Callable[..., Front]) -> None:
    there = front(passing_on(node.url))
    with Client(f"{there.url}/a%20b/limn/") as client:
        client.status()
    assert there.seen[0][1] == "/a%20b/limn/v1/status"


def test_the_key_is_shown_to_nobody_else(front: Callable[..., Front], node: Process) -> None:
    def answer(handler: http.server.BaseHTTPRequestHandler, _: bytes) -> None:
        handler.close_connection = True  # Nothing is answered: http.client's own frames have the request.

    there = front(answer)
    client = Client(there.url, api_key=KEY)
    shown = [repr(client), str(client)]
    for ask in (client.status, lambda: client.search("water")):
        with pytest.raises(LimnError) as got:
            ask()
        error = got.value
        shown += [str(error), repr(error), repr(error.args), str(vars(error))]
        # Reports of errors with the values of all variables.
        shown += traceback.TracebackException.from_exception(error, capture_locals=True).format()
    for key in ("limn 1", "limn_\r\nX: y", "limn_ü"):
        with pytest.raises(ValueError) as refused:
            Client(node.url, api_key=key)
        assert key not in str(refused.value)
    with pytest.raises(TypeError):
        pickle.dumps(client)
    assert "api_key=…" in shown[0] and all(KEY not in text for text in shown)
    with Client(node.url, api_key=KEY) as other:
        answer_of_it = pickle.dumps(other.search("water"))
    assert KEY.encode() not in answer_of_it


def test_a_request_that_breaks_off_while_it_is_sent_shows_no_key() -> None:
    """The frames of ``http.client`` that send have the head of the request, and an error has its frames."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hang_up() -> None:
            connection, _ = server.accept()
            connection.recv(100)
            # A reset, at once.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()

        thread = threading.Thread(target=hang_up, daemon=True)
        thread.start()
        client = Client(f"http://127.0.0.1:{server.getsockname()[1]}", api_key=KEY)
        with pytest.raises(NoAnswerError) as got:
            client.events("x" * 12_000_000)
        thread.join(30)
    shown = "".join(traceback.TracebackException.from_exception(got.value, capture_locals=True).format())
    assert "NoAnswerError" in shown and KEY not in shown


def test_an_answer_from_another_process_says_what_to_do(client: Client) -> None:
    hit = pickle.loads(pickle.dumps(client.search("water")))[0]
    with pytest.raises(RuntimeError, match="client.table"):
        hit.table()
    assert client.table(hit.name, lake=hit.lake).name == hit.name
    assert json.dumps(hit.raw)
    assert limn_client.Client(client.url).table(hit.name)
