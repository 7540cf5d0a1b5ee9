"""A web server of a folder for tests.

    web_server.py FOLDER plain|nginx

`plain` is Python's own: its page of links, no ranges, no entity tags. `nginx` has the pages of nginx's autoindex,
ranges and entity tags. It listens on a free port of 127.0.0.1, prints its address, and ends when its standard input
does.
"""

import html
import os
import re
import sys
import threading
from email.utils import formatdate
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote


class Plain(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass


class Nginx(Plain):
    def page(self, path):
        lines = ['<a href="../">../</a>']
        entries = sorted(os.scandir(path), key=lambda entry: (not entry.is_dir(), entry.name))
        for entry in entries:
            name = entry.name + ("/" if entry.is_dir() else "")
            size = "-" if entry.is_dir() else str(entry.stat().st_size)
            shown = html.escape(name if len(name) <= 50 else name[:47] + "..>")
            lines.append(f'<a href="{quote(name)}">{shown}</a> 23-Nov-2026 10:00 {size:>20}')
        head = f"<html>\r\n<head><title>Index of {self.path}</title></head>\r\n<body>\r\n<h1>Index</h1><hr><pre>"
        return (head + "\r\n".join(lines) + "</pre><hr></body>\r\n</html>\r\n").encode()

    def do_GET(self, is_head=False):
        path = self.translate_path(self.path)
        if os.path.isdir(path):
            if not self.path.endswith("/"):
                self.send_response(301)
                self.send_header("Location", self.path + "/")
                self.send_header("Content-Length", "0")
                return self.end_headers()
            return self.send_chunked(self.page(path), is_head)
        try:
            with open(path, "rb") as file:
                content, about = file.read(), os.fstat(file.fileno())
        except OSError:
            return self.send_error(404)
        first, last = 0, len(content) - 1
        found = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if found and found[1]:
            first, last = int(found[1]), min(int(found[2] or last), last)
        elif found:
            first = max(0, len(content) - int(found[2]))
        if found and first > last:
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(content)}")
            self.send_header("Content-Length", "0")
            return self.end_headers()
        part = content[first : last + 1]
        self.send_response(206 if found else 200)
        if found:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
        self.send_header("Content-Length", str(len(part)))
        self.send_header("ETag", f'"{about.st_mtime_ns:x}-{len(content):x}"')
        self.send_header("Last-Modified", formatdate(about.st_mtime, usegmt=True))
        self.end_headers()
        if not is_head:
            self.wfile.write(part)

    def send_chunked(self, page, is_head):
        # As nginx does: it does not say how long a page is.
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if not is_head:
            self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(page), page))

    def do_HEAD(self):
        self.do_GET(is_head=True)


os.chdir(sys.argv[1])
handler = {"plain": Plain, "nginx": Nginx}[sys.argv[2]]
server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
os._exit(0)
