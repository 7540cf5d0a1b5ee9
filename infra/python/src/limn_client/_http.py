"""Requests to one node: connections that are kept and shared by threads, time limits, waiting when the node says so.

The standard library's ``http.client`` is all there is underneath. The key is put on the wire here and nowhere else,
and goes to the node's own origin only.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import platform
import random
import select
import socket
import ssl
import threading
import time
import urllib.parse
import urllib.request
import weakref
from dataclasses import dataclass
from datetime import timezone
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from typing import Any, Dict, List, Optional, Tuple, Union

from ._errors import LimnError, NoAnswerError, NotUnderstoodError, error_of
from ._version import __version__

#: How long a connection is kept when it is idle. The node closes its end after 15 s.
_IDLE_S = 10.0
#: Idle connections that are kept.
_KEPT = 8
#: Redirects that are followed.
_REDIRECTS = 5
_PIECE = 1 << 16
#: What stays as it is in a path that is escaped already.
_SAFE = "/%~!$&'()*+,;=:@"


class Secret:
    """A text that shows itself to nobody: not in tracebacks with values, not in logs."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "Secret(…)"

    def __reduce__(self) -> Any:
        raise TypeError("a key is not pickled")


@dataclass(frozen=True)
class Origin:
    """A scheme, a host and a port."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: urllib.parse.SplitResult) -> Origin:
        return cls(url.scheme, (url.hostname or "").lower(), url.port or _port(url.scheme))

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == _port(self.scheme) else f":{self.port}")

    def trusts(self, other: Origin) -> bool:
        """Whether what is meant for this may go there: the same, or the same host by TLS."""
        by_tls = Origin("https", self.host, 443)
        return other == self or (other == by_tls and (self.scheme, self.port) == ("http", 80))

    @property
    def is_loopback(self) -> bool:
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


def _port(scheme: str) -> int:
    return 443 if scheme == "https" else 80


@dataclass(frozen=True)
class Proxy:
    """A server that passes requests on."""

    host: str
    port: int
    headers: Any

    @classmethod
    def parse(cls, address: str) -> Proxy:
        url = urllib.parse.urlsplit(address if "://" in address else f"http://{address}")
        if url.scheme != "http" or not url.hostname:
            raise ValueError("a proxy's address is http://HOST:PORT; proxy='' asks without the environment's")
        headers = {}
        if url.username is not None:
            who = f"{urllib.parse.unquote(url.username)}:{urllib.parse.unquote(url.password or '')}"
            shown = base64.b64encode(who.encode()).decode("ascii")
            headers["Proxy-Authorization"] = f"Basic {shown}"
        return cls(url.hostname, url.port or 80, Secret(json.dumps(headers)))

    @classmethod
    def of_environment(cls, to: Origin) -> Optional[Proxy]:
        """As ``HTTPS_PROXY``, ``HTTP_PROXY``, ``ALL_PROXY`` and ``NO_PROXY`` say; never for this machine itself."""
        if to.is_loopback or urllib.request.proxy_bypass(f"{to.host}:{to.port}"):
            return None
        known = urllib.request.getproxies()
        address = known.get(to.scheme) or known.get("all")
        return cls.parse(address) if address else None


@dataclass(frozen=True)
class Answer:
    """An answer of success."""

    status: int
    body: bytes
    request_id: Optional[str]

    def json(self) -> Any:
        try:
            return json.loads(self.body)
        except ValueError:
            raise NotUnderstoodError(
                "the answer is not JSON",
                "not_understood",
                "look whether the address is that of a limn node, and not of a page to sign in",
                self.status,
                self.request_id,
            ) from None


class _Stale(Exception):
    """A connection that was kept had been closed by the other end before it answered."""


class _Connections:
    """Idle connections to one origin. Each is used by one thread at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: List[Tuple[float, http.client.HTTPConnection]] = []
        self._process = os.getpid()

    def take(self) -> Optional[http.client.HTTPConnection]:
        """One that is open still."""
        if self._process != os.getpid():
            # A fork has the connections of the process it was forked from, which goes on to use them; and its
            # lock as it was, which nobody here may ever open.
            self._lock, self._idle, self._process = threading.Lock(), [], os.getpid()
        while True:
            with self._lock:
                if not self._idle:
                    return None
                since, connection = self._idle.pop()
            if time.monotonic() - since < _IDLE_S and not _has_ended(connection):
                return connection
            connection.close()

    def keep(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if len(self._idle) < _KEPT and self._process == os.getpid():
                self._idle.append((time.monotonic(), connection))
                return
        connection.close()

    def close(self) -> None:
        if self._process != os.getpid():
            return
        with self._lock:
            idle, self._idle = self._idle, []
        for _, connection in idle:
            connection.close()


def _has_ended(connection: http.client.HTTPConnection) -> bool:
    """Whether an idle connection has something to read: its end, as nothing else was asked for."""
    if connection.sock is None:
        return True
    try:
        if hasattr(select, "poll"):
            poll = select.poll()
            poll.register(connection.sock, select.POLLIN)
            return bool(poll.poll(0))
        return bool(select.select([connection.sock], [], [], 0)[0])
    except (OSError, ValueError):
        return True


class Transport:
    """Sends requests to a node."""

    def __init__(
        self,
        url: str,
        *,
        key: Optional[str],
        timeout: float,
        connect_timeout: float,
        retries: int,
        max_wait: float,
        ssl_context: Optional[ssl.SSLContext],
        proxy: Optional[str],
    ) -> None:
        self.origin, self._base = _parsed(url)
        self._key = None if key is None else Secret(_checked(key))
        if min(timeout, connect_timeout) <= 0 or retries < 0 or max_wait < 0:
            raise ValueError("times are more than 0 s, and retries are 0 or more")
        self._timeout, self._connect_timeout = timeout, connect_timeout
        self._retries, self._max_wait = retries, max_wait
        self._context = ssl_context
        self._proxy = Proxy.parse(proxy) if proxy else Proxy.of_environment(self.origin) if proxy is None else None
        self._connections: Dict[Origin, _Connections] = {self.origin: _Connections()}
        self._close = weakref.finalize(self, _close_all, self._connections)

    @property
    def url(self) -> str:
        return f"{self.origin}{self._base}"

    @property
    def has_key(self) -> bool:
        return self._key is not None

    def close(self) -> None:
        _close_all(self._connections)

    def send(
        self,
        method: str,
        path: str,
        query: Optional[Dict[str, Any]] = None,
        body: Any = None,
        *,
        repeatable: bool = True,
        with_key: bool = True,
        accept: str = "application/json",
    ) -> Answer:
        """Sends a request and gives the answer, if it is one of success.

        Where the node says when to ask again (``Retry-After`` of 429 and 503), that is done, within bounds.

        :param repeatable: whether it may be sent twice, where nobody knows if it was answered.
        :param accept: the type of the answer that is wanted.
        """
        payload = None if body is None else json.dumps(body, allow_nan=False).encode("ascii")
        target = self._base + path
        if query:
            target += "?" + urllib.parse.urlencode(query, quote_via=urllib.parse.quote)
        left, waited = self._retries, 0.0
        while True:
            status, headers, answer_body = self._follow(method, target, payload, repeatable, with_key, accept)
            request_id = headers.get("X-Request-Id")
            if 200 <= status < 300:
                return Answer(status, answer_body, request_id)
            after = _retry_after(headers.get("Retry-After"))
            problem = error_of(status, _json_or_none(answer_body), request_id, after)
            if status not in (429, 503) or after is None or left == 0 or waited + after > self._max_wait:
                raise problem
            left, waited = left - 1, waited + after
            # Those that were refused together do not come back together.
            time.sleep(after * random.uniform(1.0, 1.1))

    def _follow(
        self, method: str, target: str, payload: Optional[bytes], repeatable: bool, with_key: bool, accept: str
    ) -> Tuple[int, http.client.HTTPMessage, bytes]:
        origin = self.origin
        for _ in range(_REDIRECTS + 1):
            status, headers, body = self._exchange(origin, method, target, payload, repeatable, with_key, accept)
            place = headers.get("Location")
            if status not in (301, 302, 303, 307, 308) or place is None:
                return status, headers, body
            to, onward = _elsewhere(f"{origin}{target}", place)
            # A question and its key are for the node alone; and what was posted is not fetched instead.
            if to is None or not origin.trusts(to) or (method != "GET" and status not in (307, 308)):
                shown = "another address" if to is None else str(to)
                raise LimnError(
                    f"{origin} sends this on to {shown}, and it was not sent there",
                    f"http_{status}",
                    "use that address in its place, if you trust it with the key and the question",
                    status,
                    headers.get("X-Request-Id"),
                )
            origin, target = to, onward
        raise LimnError(
            f"{self.origin} sends this on again and again", f"http_{status}", "look at the proxy before it", status
        )

    def _exchange(
        self,
        origin: Origin,
        method: str,
        target: str,
        payload: Optional[bytes],
        repeatable: bool,
        with_key: bool,
        accept: str,
    ) -> Tuple[int, http.client.HTTPMessage, bytes]:
        connections = self._connections.setdefault(origin, _Connections())
        kept = connections.take()
        if kept is not None:
            try:
                return self._converse(
                    origin, connections, kept, method, target, payload, with_key, accept, is_kept=True
                )
            except _Stale as stale:
                if not repeatable:
                    raise self._no_answer(origin, stale.__cause__) from stale.__cause__
        connection = self._connect(origin)
        return self._converse(origin, connections, connection, method, target, payload, with_key, accept, is_kept=False)

    def _connect(self, origin: Origin) -> http.client.HTTPConnection:
        proxy = self._proxy
        at = (origin.host, origin.port) if proxy is None else (proxy.host, proxy.port)
        connection: http.client.HTTPConnection
        if origin.scheme == "https":
            if self._context is None:
                self._context = ssl.create_default_context()
            connection = http.client.HTTPSConnection(*at, timeout=self._connect_timeout, context=self._context)
            if proxy is not None:
                connection.set_tunnel(origin.host, origin.port, json.loads(proxy.headers.reveal()))
        else:
            connection = http.client.HTTPConnection(*at, timeout=self._connect_timeout)
        try:
            connection.connect()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self._no_answer(origin, error) from _bare(error)
        return connection

    def _converse(
        self,
        origin: Origin,
        connections: _Connections,
        connection: http.client.HTTPConnection,
        method: str,
        target: str,
        payload: Optional[bytes],
        with_key: bool,
        accept: str,
        *,
        is_kept: bool,
    ) -> Tuple[int, http.client.HTTPMessage, bytes]:
        until = time.monotonic() + self._timeout
        has_begun = False
        try:
            connection.sock.settimeout(self._timeout)
            self._write(origin, connection, method, target, payload, with_key, accept)
            response = connection.getresponse()
            has_begun = True
            pieces = []
            while True:
                left = until - time.monotonic()
                if left <= 0:
                    raise socket.timeout("timed out")
                if connection.sock is not None:
                    connection.sock.settimeout(left)
                piece = response.read1(_PIECE)
                if not piece:
                    break
                pieces.append(piece)
            if response.length:
                raise http.client.IncompleteRead(b"", response.length)
            # It does not notice by itself that it was read to its end.
            response.close()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            if (
                is_kept
                and not has_begun
                and isinstance(error, (ConnectionError, http.client.BadStatusLine, ssl.SSLError))
            ):
                raise _Stale from _bare(error)
            raise self._no_answer(origin, error) from _bare(error)
        except BaseException:
            # Ctrl-C in the middle of an answer: the rest of it is no beginning of another.
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            connections.keep(connection)
        return response.status, response.headers, b"".join(pieces)

    def _write(
        self,
        origin: Origin,
        connection: http.client.HTTPConnection,
        method: str,
        target: str,
        payload: Optional[bytes],
        with_key: bool,
        accept: str,
    ) -> None:
        is_by_proxy = self._proxy is not None and origin.scheme == "http"
        connection.putrequest(method, f"{origin}{target}" if is_by_proxy else target)
        connection.putheader("Accept", accept)
        connection.putheader("User-Agent", f"limn-client/{__version__} Python/{platform.python_version()}")
        if is_by_proxy and self._proxy is not None:
            for name, value in json.loads(self._proxy.headers.reveal()).items():
                connection.putheader(name, value)
        if with_key and self._key is not None:
            connection.putheader("Authorization", f"Bearer {self._key.reveal()}")
        if payload is not None:
            connection.putheader("Content-Type", "application/json")
            connection.putheader("Content-Length", str(len(payload)))
        connection.endheaders(payload)

    def _no_answer(self, origin: Origin, error: Optional[BaseException]) -> NoAnswerError:
        where = str(origin)
        if self._proxy is not None:
            where += f" (by the proxy {self._proxy.host}:{self._proxy.port})"
        if isinstance(error, ssl.SSLCertVerificationError):
            why, remedy = (
                error.verify_message,
                "give the node's authority: ssl_context=ssl.create_default_context(cafile=…)",
            )
        elif isinstance(error, ssl.SSLError):
            why, remedy = (
                error.reason or str(error),
                "look whether the node serves TLS at this address (https) or not (http)",
            )
        elif isinstance(error, socket.timeout):
            why = "it took too long"
            remedy = f"look whether the node runs there; the limits are timeout={self._timeout:g} and " + (
                f"connect_timeout={self._connect_timeout:g} (seconds)"
            )
        elif isinstance(error, socket.gaierror):
            why, remedy = "there is no such host", "look at the address"
        elif isinstance(error, ConnectionRefusedError):
            why, remedy = "nothing listens there", "start the node (limn serve), or look at the address"
        else:
            why = str(error) or type(error).__name__
            remedy = "look whether a limn node runs there, and by TLS (https) or not (http)"
        return NoAnswerError(f"no answer from {where}: {why}", "no_answer", remedy)


def _bare(error: BaseException) -> BaseException:
    """The error without the frames it passed: those of ``http.client`` hold the request with its key."""
    error.__context__ = None
    return error.with_traceback(None)


def _close_all(connections: Dict[Origin, _Connections]) -> None:
    for each in list(connections.values()):
        each.close()


def _parsed(url: str) -> Tuple[Origin, str]:
    """The node's origin, and the path that its addresses begin with."""
    wrong = f"{url!r} is no address of a node: write http://HOST:PORT or https://HOST"
    try:
        parts = urllib.parse.urlsplit(url.strip())
    except ValueError:
        raise ValueError(wrong) from None
    if "@" in parts.netloc:
        raise ValueError("a name or a password in the address is not used; give the key as api_key=…")
    origin = _origin_or_none(parts)
    if origin is None or parts.query or parts.fragment:
        raise ValueError(wrong)
    return origin, urllib.parse.quote(parts.path.rstrip("/"), safe=_SAFE)


def _elsewhere(base: str, place: str) -> Tuple[Optional[Origin], str]:
    """Where a redirect points to: the origin, if it is one, and the rest."""
    try:
        url = urllib.parse.urlsplit(urllib.parse.urljoin(base, place))
    except ValueError:
        return None, ""
    path = urllib.parse.quote(url.path or "/", safe=_SAFE)
    query = urllib.parse.quote(url.query, safe=_SAFE + "?")
    return _origin_or_none(url), f"{path}?{query}" if query else path


def _origin_or_none(parts: urllib.parse.SplitResult) -> Optional[Origin]:
    try:
        return Origin.of(parts) if parts.scheme in ("http", "https") and parts.hostname else None
    except ValueError:  # The port is no number.
        return None


def _checked(key: str) -> str:
    key = key.strip()
    if not key or not all("!" <= char <= "~" for char in key):
        # Without the key: it is somebody's.
        raise ValueError("the key has characters that no key has; limn keys add prints it as limn_…")
    return key


def _retry_after(text: Optional[str]) -> Optional[float]:
    """Seconds, which proxies may give as a time."""
    if text is None:
        return None
    if text.strip().isascii() and text.strip().isdigit():
        return float(text)
    try:
        when = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=timezone.utc)
    return max(0.0, when.timestamp() - time.time())


def _json_or_none(body: Union[bytes, bytearray]) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None
