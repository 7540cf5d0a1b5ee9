"""A server of Azure's blobs for tests: Azurite, with an empty container `lake` and one that everybody may read, `open`.

    azure_server.py FOLDER

FOLDER is where infra/azurite-tools has put it. It listens on a free port of 127.0.0.1, prints its address, and ends
when its standard input does.
"""

import base64
import hashlib
import hmac
import http.client
import os
import re
import sys
import threading
from email.utils import formatdate
from subprocess import DEVNULL, PIPE, Popen

# The account that every Azurite has; its key is no secret.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


def create(address, container, public):
    path = f"/{ACCOUNT}/{container}"
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-12-02"}
    if public:
        headers["x-ms-blob-public-access"] = "container"
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    text = f"PUT\n\n\n\n\n\n\n\n\n\n\n\n{lines}/{ACCOUNT}{path}\nrestype:container"
    signed = hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()
    headers["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(signed).decode()}"
    headers["Content-Length"] = "0"
    connection = http.client.HTTPConnection(address, timeout=30)
    connection.request("PUT", f"{path}?restype=container", headers=headers)
    answer = connection.getresponse()
    assert answer.status == 201, (answer.status, answer.read())


program = os.path.join(sys.argv[1], "node_modules/azurite/dist/src/blob/main.js")
options = ["--inMemoryPersistence", "--blobHost", "127.0.0.1", "--blobPort", "0"]
options += ["--skipApiVersionCheck", "--disableTelemetry", "--silent"]
server = Popen(["node", program, *options], stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, text=True)
for line in server.stdout:
    if found := re.search(r"listens on http://(127\.0\.0\.1:\d+)", line):
        break
else:
    sys.exit("azurite ended")
threading.Thread(target=server.stdout.read, daemon=True).start()
create(found[1], "lake", False)
create(found[1], "open", True)
print(f"http://{found[1]}", flush=True)
sys.stdin.read()
server.kill()
server.wait()
os._exit(0)
