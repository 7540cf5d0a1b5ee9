"""An Iceberg REST catalog for tests: the specification's addresses in front of pyiceberg's SQL catalog, which checks and writes.

    catalog_server.py FOLDER [WAREHOUSE]

FOLDER is where tables lie unless WAREHOUSE (a URL) says otherwise. It listens on a free port of 127.0.0.1, prints its address,
and ends when its standard input does. pyiceberg's own REST client makes and changes the tables of the tests through it.

Environment: CATALOG_TOKEN is asked for as bearer token, and given to the OAuth2 client CATALOG_CREDENTIAL (id:secret);
CATALOG_VENDS is JSON of settings that go with a table to whoever asks for credentials. CATALOG_SIGNED is JSON of whose signature
requests must have, of AWS's Signature Version 4: {"key", "secret", "token", "name", "region", "config": whether that of the settings, too}.

`GET /test/asked` returns the requests since it was asked last. `POST /test/faults` takes a list of
{"on": REGEX of "METHOD /path?query", "status", "body", "headers", "bytes", "times"}: such requests are answered so.
`POST /test/lie` takes {"namespace.table": {…}}: what is merged into the answer about that table.
"""

import json
import os
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from signatures import flaw

from pyiceberg.catalog.rest import CreateTableRequest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, NamespaceAlreadyExistsError, NamespaceNotEmptyError
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError, TableAlreadyExistsError
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.table import CommitTableRequest
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER

SEPARATOR = "\x1f"
PREFIX = "of%20tests"
PAGE = 2
TOKEN = os.environ.get("CATALOG_TOKEN")
CREDENTIAL = os.environ.get("CATALOG_CREDENTIAL")
VENDS = json.loads(os.environ.get("CATALOG_VENDS", "{}"))
SIGNED = json.loads(os.environ.get("CATALOG_SIGNED", "null"))
STATUS = {
    NoSuchNamespaceError: 404, NoSuchTableError: 404, NamespaceAlreadyExistsError: 409, TableAlreadyExistsError: 409,
    CommitFailedException: 409, NamespaceNotEmptyError: 409,
}

folder = sys.argv[1]
warehouse = sys.argv[2] if len(sys.argv) > 2 else folder
catalog = SqlCatalog("tests", uri=f"sqlite:///{folder}/catalog.sqlite", warehouse=warehouse, **VENDS)
lock = threading.Lock()
asked, faults, lies = [], [], {}


class Answer(Exception):
    def __init__(self, status, body):
        self.status, self.body = status, body


def page(entries, query):
    """The page of a list that a token names."""
    start = int(query.get("pageToken", ["0"])[0] or 0)
    end = start + PAGE
    return entries[start:end], (str(end) if end < len(entries) else None)


def described(name, table, wants_credentials):
    answer = {"metadata-location": table.metadata_location, "metadata": json.loads(table.metadata.model_dump_json()), "config": {}}
    if wants_credentials and VENDS:
        keys = {key: value for key, value in VENDS.items() if "key" in key or "token" in key}
        answer["config"] = {key: value for key, value in VENDS.items() if key not in keys}
        elsewhere = {"prefix": "s3://elsewhere/", "config": {"s3.access-key-id": "wrong", "s3.secret-access-key": "wrong"}}
        answer["storage-credentials"] = [elsewhere, {"prefix": table.metadata.location, "config": keys}]
    answer.update(lies.get(name, {}))
    return answer


class Catalog(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        self.answer()

    do_POST = do_DELETE = do_HEAD = do_GET

    def answer(self):
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        line = f"{self.command} {self.path}"
        if self.path.startswith("/test/"):
            return self.send(200, self.of_test(content))
        asked.append(line)
        for fault in faults:
            if re.search(fault["on"], line) and fault.get("times", 1) > 0:
                if "times" in fault:
                    fault["times"] -= 1
                return self.send_fault(fault)
        try:
            with lock:
                status, body = self.route(content)
        except Answer as answer:
            status, body = answer.status, answer.body
        except tuple(STATUS) as error:
            status = next(status for kind, status in STATUS.items() if isinstance(error, kind))
            body = {"error": {"message": str(error), "type": type(error).__name__, "code": status}}
        self.send(status, body)

    def of_test(self, content):
        global asked
        if self.path == "/test/asked":
            requests, asked = asked, []
            return requests
        value = json.loads(content)
        if self.path == "/test/faults":
            faults[:] = value
        else:
            lies.clear()
            lies.update(value)
        return {}

    def send(self, status, body):
        text = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def send_fault(self, fault):
        text = fault.get("body", "").encode()
        self.send_response(fault.get("status", 200))
        for name, value in fault.get("headers", {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(fault.get("bytes", len(text))))
        self.end_headers()
        try:
            self.wfile.write(text)
            for _ in range(fault.get("bytes", 0) >> 20):
                self.wfile.write(b" " * (1 << 20))
        except OSError:
            pass

    def route(self, content):
        url = urlsplit(self.path)
        query = parse_qs(url.query, keep_blank_values=True)
        if url.path == "/v1/oauth/tokens":
            form = {name: values[0] for name, values in parse_qs(content.decode()).items()}
            if f"{form.get('client_id')}:{form.get('client_secret')}" != CREDENTIAL:
                raise Answer(401, {"error": "invalid_client"})
            return 200, {"access_token": TOKEN, "token_type": "bearer", "expires_in": 3600}
        if SIGNED and (SIGNED["config"] or url.path != "/v1/config"):
            if wrong := flaw(SIGNED, self.command, self.path, self.headers, content):
                kind, _, message = wrong.partition(": ")
                raise Answer(403, {"error": {"message": message, "type": kind, "code": 403}})
        if TOKEN and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            message = f"not allowed: {self.headers.get('Authorization')}"
            raise Answer(401, {"error": {"message": message, "type": "NotAuthorizedException", "code": 401}})
        if url.path == "/v1/config":
            if query.get("warehouse") != ["tests"]:
                raise Answer(404, {"error": {"message": "no such warehouse", "type": "NotFound", "code": 404}})
            defaults = {}
            if SIGNED and not SIGNED["config"]:
                settings = {"rest.signing-name": SIGNED["name"], "rest.signing-region": SIGNED["region"]}
                defaults = {"rest.sigv4-enabled": "true"} | settings
            return 200, {"defaults": defaults, "overrides": {"prefix": PREFIX, "uri": f"http://{self.headers['Host']}/"}}
        head = f"/v1/{PREFIX}/"
        if not url.path.startswith(head):
            raise Answer(404, {"error": {"message": "no such address", "type": "NotFound", "code": 404}})
        parts = [unquote(part) for part in url.path[len(head):].split("/")]
        body = json.loads(content) if content else {}
        match [self.command, *parts]:
            case ["GET", "namespaces"]:
                parent = tuple(level for level in query.get("parent", [""])[0].split(SEPARATOR) if level)
                found, following = page(sorted(catalog.list_namespaces(parent)), query)
                return 200, {"namespaces": [list(it) for it in found], "next-page-token": following}
            case ["POST", "namespaces"]:
                catalog.create_namespace(tuple(body["namespace"]), body.get("properties", {}))
                return 200, {"namespace": body["namespace"], "properties": {}}
            case ["GET", "namespaces", namespace, "tables"]:
                namespace = tuple(namespace.split(SEPARATOR))
                found = sorted(it for it in catalog.list_tables(namespace) if it[:-1] == namespace)
                found, following = page(found, query)
                named = [{"namespace": list(it[:-1]), "name": it[-1]} for it in found]
                return 200, {"identifiers": named, "next-page-token": following}
            case ["GET" | "HEAD", "namespaces", namespace]:
                levels = namespace.split(SEPARATOR)
                return 200, {"namespace": levels, "properties": catalog.load_namespace_properties(tuple(levels))}
            case ["POST", "namespaces", namespace, "tables"]:
                absent = {"location": None, "partition-spec": None, "write-order": None}
                asks = CreateTableRequest.model_validate(absent | body)
                name = (*namespace.split(SEPARATOR), asks.name)
                table = catalog.create_table(
                    name, asks.table_schema, asks.location, asks.partition_spec or UNPARTITIONED_PARTITION_SPEC,
                    asks.write_order or UNSORTED_SORT_ORDER, asks.properties,
                )
                return 200, described(".".join(name), table, False)
            case ["GET" | "HEAD", "namespaces", namespace, "tables", name]:
                name = (*namespace.split(SEPARATOR), name)
                wants = "vended-credentials" in self.headers.get("X-Iceberg-Access-Delegation", "")
                return 200, described(".".join(name), catalog.load_table(name), wants)
            case ["POST", "namespaces", namespace, "tables", name]:
                body["identifier"] = {"namespace": namespace.split(SEPARATOR), "name": name}
                asks = CommitTableRequest.model_validate(body)
                name = (*namespace.split(SEPARATOR), name)
                done = catalog.commit_table(catalog.load_table(name), asks.requirements, asks.updates)
                return 200, {"metadata-location": done.metadata_location, "metadata": json.loads(done.metadata.model_dump_json())}
            case ["DELETE", "namespaces", namespace, "tables", name]:
                catalog.drop_table((*namespace.split(SEPARATOR), name))
                return 204, None
            case ["POST", "namespaces", namespace, "register"]:
                name = (*namespace.split(SEPARATOR), body["name"])
                return 200, described(".".join(name), catalog.register_table(name, body["metadata-location"]), False)
            case ["POST", "tables", "rename"]:
                ends = [(*body[end]["namespace"], body[end]["name"]) for end in ("source", "destination")]
                catalog.rename_table(*ends)
                return 204, None
        raise Answer(404, {"error": {"message": f"{self.command} {parts}", "type": "NotFound", "code": 404}})


server = ThreadingHTTPServer(("127.0.0.1", 0), Catalog)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(f"http://127.0.0.1:{server.server_port}", flush=True)
sys.stdin.read()
os._exit(0)
