"""A server of SQS for tests: moto's.

    sqs_server.py

It listens on a free port of 127.0.0.1, prints its address, and ends when its standard input does.
"""

import logging
import os
import sys
import threading

from moto.server import DomainDispatcherApplication, create_backend_app
from moto.sqs.models import Queue
from werkzeug.serving import make_server


def one_at_a_time(call, lock=threading.RLock()):
    def locked(*arguments):
        with lock:
            return call(*arguments)

    return locked


# It replaces a queue's list of messages: of two threads that do so, one would be undone.
Queue.delete_message = one_at_a_time(Queue.delete_message)
Queue.add_message = one_at_a_time(Queue.add_message)

logging.getLogger("werkzeug").setLevel(logging.ERROR)
application = DomainDispatcherApplication(create_backend_app)
server = make_server("127.0.0.1", 0, application, threaded=True)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
os._exit(0)
