"""A real lake, its real index, and real nodes over it.

``LIMN_BINARY`` names the binary under test. The lake is the bundled example with tables of hostile names and texts.
"""

from __future__ import annotations

import atexit
import http.server
import json
import os
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import pytest

from limn_client import Client

REPOSITORY = Path(__file__).resolve().parents[3]

SCRIPT = "<script>window.pwned=1</script>"
IMAGE = '"><img src=x onerror=alert(1)>&amp;'
RED = "\x1b[31mred"
BACKWARDS = "\u202eabc"
HOSTILE_TABLE = f"nasty/{IMAGE}"


def binary() -> str:
    path = os.environ.get("LIMN_BINARY", "")
    if not os.path.isfile(path):
        pytest.exit(f"LIMN_BINARY is {path!r}, and no program is there; infra/test sets it", returncode=2)
    return path


def environment() -> Dict[str, str]:
    """Of this process, without what it may say of other indexes, models and keys."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LIMN_")}
    return {**kept, "LIMN_NARRATE": "names", "LIMN_JUDGE": "off"}


def limn(*arguments: str, code: int = 0) -> str:
    run = subprocess.run([binary(), *arguments], env=environment(), capture_output=True, text=True, check=False)
    assert run.returncode == code, f"{arguments}: {run.returncode}\n{run.stdout}\n{run.stderr}"
    return run.stdout


class Process:
    """A ``limn`` that keeps running; its address is on standard error."""

    def __init__(self, *arguments: str, **more: str) -> None:
        self._process = subprocess.Popen(
            [binary(), *arguments],
            env={**environment(), **more},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        # Of a test that failed before it ended it, too.
        atexit.register(self._process.kill)
        before: List[str] = []
        assert self._process.stderr is not None
        for line in self._process.stderr:
            before.append(line)
            found = [word for word in line.split() if word.startswith(("http://", "https://"))]
            if found:
                break
        else:
            raise AssertionError(f"it ended: {before}")
        # Of a watcher: http://127.0.0.1:1234/v1/events
        self.url = "/".join(found[0].split("/")[:3])
        # What else it says must not block it.
        self._reader = threading.Thread(target=lambda: list(self._process.stderr or ()), daemon=True)
        self._reader.start()

    def end(self) -> None:
        self._process.terminate()
        self._process.wait(30)
        self._reader.join(30)
        if self._process.stderr is not None:
            self._process.stderr.close()


class Ground:
    """A lake with an index of two snapshots, keys, and a file of feedback."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lake, self.index = folder / "lake", folder / "index"
        self.keys, self.feedback = folder / "keys.jsonl", folder / "feedback.jsonl"
        shutil.copytree(REPOSITORY / "examples/lake", self.lake)
        self.write("nasty/script.csv", f'{SCRIPT},other\n"{SCRIPT}",{BACKWARDS}\n2,{RED}\n')
        self.write("nasty/script.md", f"A note with {SCRIPT} in it.")
        self.write(f"{HOSTILE_TABLE}.csv", "pwned,x\n1,2\n")
        self.write("broken/later.csv", "glacier,x\n1,2\n")
        self.update()
        self.write("new/glaciers.csv", "glacier,length_km\nVatna,160\nAletsch,23\n")
        (self.lake / "transit/stops.csv").unlink()
        self.write("hr/employees.csv", "employee_id;full_name\n1;Ada Byron\n")
        self.update()
        self.admin = self.key("--right", "search", "--right", "rows", "--right", "admin")
        self.hydrology = self.key("--prefix", "hydrology", "--right", "search")
        self.sixty_a_minute = self.key("--per-minute", "60")
        self.one_a_minute = self.key("--per-minute", "1")

    def write(self, path: str, text: str) -> None:
        at = self.lake / path
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_text(text, encoding="utf-8")

    def update(self) -> None:
        limn(
            "index", str(self.lake), "--index", str(self.index), "--embedder", "hashed-words",
            "--contexts", str(REPOSITORY / "examples/contexts.jsonl"),
        )  # fmt: skip

    # Made before the nodes are started: a node looks for new keys every few seconds only.
    def key(self, *arguments: str) -> str:
        made = json.loads(limn("keys", "add", "--keys", str(self.keys), "--json", *arguments))
        return str(made["key"])

    def serve(self, *arguments: str, **more: str) -> Process:
        return Process("serve", "--index", str(self.index), "--listen", "127.0.0.1:0", *arguments, **more)


@pytest.fixture(scope="session")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return Ground(tmp_path_factory.mktemp("ground"))


@pytest.fixture(scope="session")
def node(ground: Ground) -> Iterator[Process]:
    """A node that asks for no key."""
    process = ground.serve("--feedback", str(ground.feedback))
    yield process
    process.end()


@pytest.fixture(scope="session")
def admin_key(ground: Ground) -> str:
    return ground.admin


@pytest.fixture(scope="session")
def guarded(ground: Ground, admin_key: str) -> Iterator[Process]:
    """A node that asks for keys."""
    process = ground.serve("--keys", str(ground.keys), "--feedback", str(ground.feedback))
    yield process
    process.end()


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name == "LIMN_API_KEY":
            monkeypatch.delenv(name)


@pytest.fixture
def client(node: Process) -> Iterator[Client]:
    with Client(node.url, retries=0) as made:
        yield made


class Front:
    """Something that stands between a client and a node, as proxies do: it records what comes, and answers as configured."""

    def __init__(self, answer: Callable[[http.server.BaseHTTPRequestHandler, bytes], None]) -> None:
        self.seen: List[Tuple[str, str, Dict[str, str], bytes]] = []
        self.connections: List[Tuple[str, int]] = []
        front = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 30

            def setup(self) -> None:
                super().setup()
                front.connections.append(self.client_address)

            def _any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                front.seen.append((self.command, self.path, dict(self.headers), body))
                answer(self, body)

            do_GET = do_POST = do_CONNECT = _any

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        # Its threads end with the connections, which a test may leave open.
        self._server.daemon_threads, self._server.block_on_close = True, False
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def reply(
    handler: http.server.BaseHTTPRequestHandler,
    status: int,
    body: Any = None,
    headers: Optional[Dict[str, str]] = None,
) -> None:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    handler.send_response(status)
    for name, value in (headers or {}).items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content)


@pytest.fixture
def front() -> Iterator[Callable[..., Front]]:
    fronts: List[Front] = []

    def made(answer: Callable[[http.server.BaseHTTPRequestHandler, bytes], None]) -> Front:
        fronts.append(Front(answer))
        return fronts[-1]

    yield made
    for each in fronts:
        each.end()
