"""A way between two that can be cut, or fall silent."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from tests.crash.relay import Relays

PATIENCE_S = 30.0
SILENCE_S = 0.3


@pytest.fixture
def echo() -> Iterator[int]:
    """The port of one who says everything again."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                threading.Thread(target=repeat, args=(connection,), daemon=True).start()

        def repeat(connection: socket.socket) -> None:
            with connection:
                try:
                    while heard := connection.recv(1000):
                        connection.sendall(heard)
                except OSError:
                    return

        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def relays(echo: int) -> Iterator[Relays]:
    made = Relays({"a": [echo], "b": [echo]})
    yield made
    made.close()


def dial(relays: Relays, agent: str) -> socket.socket:
    [target] = relays.listen(agent)
    host, _, port = target.rpartition(":")
    return socket.create_connection((host, int(port)), PATIENCE_S)


def answers(connection: socket.socket, said: bytes) -> bytes:
    connection.sendall(said)
    return connection.recv(1000)


def test_what_is_said_comes_back(relays: Relays) -> None:
    with dial(relays, "a") as connection:
        assert answers(connection, b"one") == b"one"
        assert answers(connection, b"two") == b"two"


def test_one_that_is_cut(relays: Relays) -> None:
    with dial(relays, "a") as one, dial(relays, "b") as other:
        assert (answers(one, b"one"), answers(other, b"other")) == (b"one", b"other")
        relays.cut("a")
        with pytest.raises(ConnectionResetError):
            one.recv(1000)
        assert answers(other, b"still") == b"still"


def test_one_that_falls_silent(relays: Relays) -> None:
    with dial(relays, "a") as connection:
        assert answers(connection, b"one") == b"one"
        relays.part("a")
        connection.settimeout(SILENCE_S)
        with pytest.raises(TimeoutError):
            answers(connection, b"two")
        relays.join("a")
        connection.settimeout(PATIENCE_S)
        assert connection.recv(1000) == b"two"


def test_nobody_is_there(relays: Relays) -> None:
    nowhere = Relays({"a": [1]})
    try:
        with dial(nowhere, "a") as connection:
            assert connection.recv(1000) == b""
    finally:
        nowhere.close()
