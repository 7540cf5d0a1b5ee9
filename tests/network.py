"""Network namespaces as hosts, and the switch between them, for tests.

    network.py NAME HOSTS

makes the namespaces NAME-0, NAME-1 and so on with the addresses 10.0.0.1, 10.0.0.2 and so on, and
prints "ready", or "none: " and why there is no network here. The hosts see nobody else.

All links end in one more namespace, where this program forwards the frames. So delay, loss and
silence need nothing of the kernel (netem is not in all of them), and any two hosts can be parted,
in either direction. It reads commands and answers "done" to each:

    delay MILLISECONDS       holds back every frame
    loss PERCENT             drops so many of the frames, by chance
    drop [FROM>TO ...]       drops all frames between these hosts, and of no others

At the end of its standard input it removes everything, whatever has become of who started it.
"""

import ctypes
import heapq
import os
import random
import selectors
import signal
import socket
import subprocess
import sys
import time

CLONE_NEWNET = 0x40000000
EVERY_PROTOCOL = 0x0003
SOL_PACKET = 263
# Frames come with what the sender left to the card: checksums that the receiver need not check.
PACKET_VNET_HDR = 15
VNET_HEADER = 10
LONGEST_FRAME = 1 << 17
GROUP = 0x01


def ip(*arguments):
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise OSError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


def socket_in(namespace, interface):
    """A socket of every frame of an interface in another namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/self/ns/net") as own, open(f"/run/netns/{namespace}") as other:
        if libc.setns(other.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "cannot enter a namespace")
        try:
            opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            opened.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
            opened.bind((interface, EVERY_PROTOCOL))
        finally:
            libc.setns(own.fileno(), CLONE_NEWNET)
    opened.setblocking(False)
    return opened


class Network:
    def __init__(self, name, hosts):
        self.names = [f"{name}-{host}" for host in [*range(hosts), "switch"]]
        self.made, self.ports = [], []
        self.delay, self.loss, self.dropped = 0.0, 0.0, set()
        # What is held back: when it goes on, its number, where to, and the frame.
        self.held, self.count = [], 0
        self.chance = random.Random(1)

    def make(self):
        for namespace in self.names:
            ip("netns", "add", namespace)
            self.made.append(namespace)
        switch = self.names[-1]
        for host, namespace in enumerate(self.names[:-1]):
            inside, port = ["-n", namespace], f"port{host}"
            ip("link", "add", "eth0", "netns", namespace, "address", f"02:00:00:00:00:{host:02x}",
               "type", "veth", "peer", "name", port, "netns", switch)
            # A frame is a packet as a wire has it, not a bundle of many.
            ip(*inside, "link", "set", "eth0", "gso_max_segs", "1")
            ip(*inside, "addr", "add", f"10.0.0.{host + 1}/24", "dev", "eth0")
            ip(*inside, "link", "set", "lo", "up")
            ip(*inside, "link", "set", "eth0", "up")
            ip("-n", switch, "link", "set", port, "up")
            self.ports.append(socket_in(switch, port))

    def remove(self):
        for namespace in self.made:
            subprocess.run(["ip", "netns", "del", namespace], stderr=subprocess.DEVNULL)

    def obey(self, line):
        match line.split():
            case ["delay", milliseconds]:
                self.delay = float(milliseconds) / 1000
            case ["loss", percent]:
                self.loss = float(percent) / 100
            case ["drop", *pairs]:
                self.dropped = {tuple(map(int, pair.split(">"))) for pair in pairs}
            case _:
                raise ValueError(f"no command: {line}")
        print("done", flush=True)

    def take(self, port):
        """Takes all frames that have come from a host."""
        while True:
            try:
                frame, address = self.ports[port].recvfrom(LONGEST_FRAME)
            except BlockingIOError:
                return
            if address[2] == socket.PACKET_OUTGOING:
                continue
            to = frame[VNET_HEADER : VNET_HEADER + 6]
            all_hosts = range(len(self.ports))
            receivers = all_hosts if to[0] & GROUP else [to[5]]
            for receiver in receivers:
                if receiver in all_hosts and receiver != port:
                    self.forward(port, receiver, frame)

    def forward(self, port, receiver, frame):
        if (port, receiver) in self.dropped or self.chance.random() < self.loss:
            return
        self.count += 1
        due = time.monotonic() + self.delay
        heapq.heappush(self.held, (due, self.count, receiver, frame))

    def deliver(self):
        """Delivers what is due, and says for how long nothing is."""
        while self.held:
            wait = self.held[0][0] - time.monotonic()
            if wait > 0:
                return wait
            _, _, receiver, frame = heapq.heappop(self.held)
            try:
                self.ports[receiver].send(frame)
            except OSError:
                # As on any wire: who sent it sends it again.
                pass
        return None

    def run(self):
        ready = selectors.DefaultSelector()
        for port, opened in enumerate(self.ports):
            ready.register(opened, selectors.EVENT_READ, port)
        ready.register(sys.stdin, selectors.EVENT_READ)
        wait = None
        while True:
            for key, _ in ready.select(wait):
                if key.data is not None:
                    self.take(key.data)
                    continue
                line = sys.stdin.readline()
                if not line:
                    return
                self.obey(line)
            wait = self.deliver()


def main():
    if os.geteuid() != 0:
        print("none: making network namespaces is for root")
        return
    # An end as any other: with everything removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    network = Network(sys.argv[1], int(sys.argv[2]))
    try:
        try:
            network.make()
        except OSError as error:
            print(f"none: {error}")
            return
        print("ready", flush=True)
        network.run()
    finally:
        network.remove()


main()
