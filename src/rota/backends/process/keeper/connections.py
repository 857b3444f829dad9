"""Whoever is connected to the keeper: mostly one server, for a moment two while one takes over."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable, Sequence
from functools import partial

from rota.backends.backend import TaskReport
from rota.backends.process.folders import Folders
from rota.backends.process.frames import (
    INPUT,
    PROTOCOL,
    Answer,
    BadFrame,
    Hello,
    Inbox,
    Reports,
    Request,
    frame,
    read_request,
)
from rota.backends.process.keeper.watch import Watch

_READ_BYTES = 1 << 18
_REPORTS_A_FRAME = 1_000
_PEER = struct.Struct("=iII")
"""Process, user and group."""


class Connection:
    def __init__(self, peer: socket.socket) -> None:
        self.socket = peer
        self.inbox = Inbox()
        self.unsent = bytearray()
        self.is_new = True


class Connections:
    def __init__(
        self, folders: Folders, watch: Watch, on_request: Callable[[Connection, Request], None]
    ) -> None:
        self._watch = watch
        self._on_request = on_request
        self._open: dict[int, Connection] = {}
        self._listening = _listen(folders)
        watch.add(self._listening.fileno(), self._accept)

    def __len__(self) -> int:
        return len(self._open)

    def newcomers(self) -> list[Connection]:
        """Since the last call."""
        fresh = [each for each in self._open.values() if each.is_new]
        for each in fresh:
            each.is_new = False
        return fresh

    def send(self, to: Connection, message: Answer) -> None:
        to.unsent += frame(message)
        self._flush(to)

    def report(self, to: Sequence[Connection] | None, reports: Sequence[TaskReport]) -> None:
        """None: to everybody."""
        for at in range(0, len(reports), _REPORTS_A_FRAME):
            message = Reports(reports[at : at + _REPORTS_A_FRAME])
            for each in list(self._open.values()) if to is None else to:
                self.send(each, message)

    def close(self) -> None:
        for each in list(self._open.values()):
            self._drop(each)
        self._watch.remove(self._listening.fileno())
        self._listening.close()

    def let_go(self) -> None:
        """Closes them all, and nothing is watched any more."""
        for each in self._open.values():
            each.socket.close()
        self._listening.close()

    def _accept(self) -> None:
        try:
            peer, _ = self._listening.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        if _user_of(peer) not in (os.geteuid(), 0):
            peer.close()
            return
        peer.setblocking(False)
        connection = Connection(peer)
        self._open[peer.fileno()] = connection
        self._watch.add(peer.fileno(), partial(self._readable, connection))
        self.send(connection, Hello(PROTOCOL, os.getpid(), (INPUT,)))

    def _readable(self, connection: Connection) -> None:
        try:
            data = connection.socket.recv(_READ_BYTES)
            if not data:
                self._drop(connection)
                return
            for body in connection.inbox.feed(data):
                self._on_request(connection, read_request(body))
        except BlockingIOError:
            return
        except (ConnectionError, BadFrame):
            self._drop(connection)

    def _flush(self, connection: Connection) -> None:
        fd = connection.socket.fileno()
        if fd < 0:
            return
        try:
            while connection.unsent:
                del connection.unsent[: connection.socket.send(connection.unsent)]
        except BlockingIOError:
            self._watch.until_writable(fd, partial(self._flush, connection))
            return
        except ConnectionError:
            self._drop(connection)
            return
        self._watch.until_writable(fd, None)

    def _drop(self, connection: Connection) -> None:
        fd = connection.socket.fileno()
        if fd >= 0:
            del self._open[fd]
            self._watch.remove(fd)
            connection.socket.close()


def _user_of(peer: socket.socket) -> int:
    """Who is at the other end, as the kernel saw it when they connected."""
    _, uid, _ = _PEER.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
    return int(uid)


def _listen(folders: Folders) -> socket.socket:
    """By the folder's descriptor: names of sockets must be short, those of folders may be long."""
    folders.socket.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    folder = os.open(folders.root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    before = os.umask(0o177)
    try:
        listening.bind(f"/proc/self/fd/{folder}/{folders.socket.name}")
    finally:
        os.umask(before)
        os.close(folder)
    listening.listen()
    listening.setblocking(False)
    return listening
