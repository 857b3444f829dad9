"""HTTP as servers and proxies speak it, well and badly: each test writes the bytes of the answers itself."""

from __future__ import annotations

import socket
from contextlib import closing, suppress
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.sdk.http import Answer, Http, Lost, Silent

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
CLOSE = b""
"""Instead of an answer."""


class Scripted:
    """Answers each request with the next bytes, whatever it says, and notes what was asked on which
    connection."""

    def __init__(self, *answers: bytes) -> None:
        self._answers = list(answers)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.asked: list[tuple[int, bytes]] = []
        self._thread = Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        number = 0
        while self._answers:
            line, _ = self._listener.accept()
            with line:
                number += 1
                while self._answers and (request := line.recv(1 << 16)):
                    self.asked.append((number, request))
                    answer = self._answers.pop(0)
                    line.sendall(answer)
                    if answer == CLOSE or b"Connection: close" in answer:
                        break
        self._listener.close()

    def over(self) -> None:
        """Waits until all has been said."""
        self._thread.join(10)


def ask(http: Http, method: str = "GET", target: str = "/v1/me", body: bytes | None = None) -> bytes:
    with closing(http.ask(method, target, {"X-Key": "a"}, body, 5.0)) as answer:
        return answer.read()


def opened(server: Scripted) -> Http:
    return Http(server.url, None, 5.0)


def test_a_connection_is_used_again() -> None:
    server = Scripted(OK, OK)
    with closing(opened(server)) as http:
        assert ask(http) == b"hi"
        assert ask(http, "POST", "/v1/jobs?dry_run=true", b"{}") == b"hi"
    assert [number for number, _ in server.asked] == [1, 1]
    get, post = (request for _, request in server.asked)
    assert get.startswith(b"GET /v1/me HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"\r\nX-Key: a\r\n" in get
    assert b"Content-Length" not in get
    assert post.endswith(b"Content-Length: 2\r\n\r\n{}")


def test_not_one_that_the_server_has_closed() -> None:
    server = Scripted(OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), OK)
    with closing(opened(server)) as http:
        assert [ask(http), ask(http)] == [b"hi", b"hi"]
    assert [number for number, _ in server.asked] == [1, 2]


def test_nor_one_that_ended_while_nobody_used_it() -> None:
    server = Scripted(OK)
    with closing(opened(server)) as http:
        assert ask(http) == b"hi"
        server.over()
        # A new connection is tried, and refused: the old one would have been reset.
        with pytest.raises(Lost) as caught:
            ask(http)
    assert isinstance(caught.value.error, ConnectionRefusedError)


def test_nor_one_of_which_not_all_was_read() -> None:
    server = Scripted(OK, OK)
    with closing(opened(server)) as http:
        http.ask("GET", "/", {}, None, 5.0).close()
        assert ask(http) == b"hi"
    assert [number for number, _ in server.asked] == [1, 2]


def test_chunks_come_as_they_are_sent() -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n5\r\n there\r\n0\r\n\r\n"
    server = Scripted(chunked.replace(b"5\r\n", b"6\r\n"), OK)
    with closing(opened(server)) as http:
        with closing(http.ask("GET", "/", {}, None, 5.0)) as answer:
            assert [*answer.stream()] == [b"hi", b" there"]
        assert ask(http) == b"hi"
    assert [number for number, _ in server.asked] == [1, 1]


def test_a_body_without_a_length_ends_with_the_connection() -> None:
    server = Scripted(b"HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nall of it")
    with closing(opened(server)) as http:
        assert ask(http) == b"all of it"


def test_an_answer_without_a_body() -> None:
    server = Scripted(b"HTTP/1.1 204 No Content\r\n\r\n", OK)
    with closing(opened(server)) as http:
        assert [ask(http), ask(http)] == [b"", b"hi"]


def test_a_head_before_the_real_one_is_passed_over() -> None:
    server = Scripted(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK)
    with closing(opened(server)) as http, closing(http.ask("GET", "/", {}, None, 5.0)) as answer:
        assert (answer.status, dict(answer.headers)) == (200, {"content-length": "2"})
        assert answer.read() == b"hi"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (CLOSE, "closed the connection"),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 9\r\n\r\nhi", "closed the connection"),
        (
            b"HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhi",
            "closed the connection",
        ),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "isn't HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", "isn't HTTP"),
        (b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", "isn't HTTP"),
        (OK + OK, "isn't HTTP"),
    ],
)
def test_what_is_no_whole_answer_is_lost(answer: bytes, reason: str) -> None:
    with closing(opened(Scripted(answer))) as http, pytest.raises(Lost, match=reason):
        ask(http)


def test_who_says_nothing_is_silent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        http = Http(f"http://127.0.0.1:{listener.getsockname()[1]}", None, 5.0)
        with closing(http), pytest.raises(Silent):
            http.ask("GET", "/", {}, None, 0.001)


def test_no_header_can_smuggle_another_one_in() -> None:
    with closing(Http("http://127.0.0.1:1", None, 5.0)) as http, pytest.raises(ValueError, match="printable"):
        http.ask("GET", "/", {"If-Match": "a\r\nX-Other: b"}, None, 5.0)


def test_an_address_with_a_path() -> None:
    server = Scripted(OK)
    with closing(Http(f"{server.url}/rota", None, 5.0)) as http:
        assert ask(http) == b"hi"
    [(_, request)] = server.asked
    assert request.startswith(b"GET /rota/v1/me HTTP/1.1\r\n")


HEADS = st.sampled_from(
    [
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 204 No\r\n",
        b"HTTP/1.1 100 Go\r\n\r\n",
        b"HTTP/1.1 101 Upgrade\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        b"HTTP/1.0 503 No\r\n",
        b"HTTP/9.9 999 ?\r\n",
        b"Content-Length: 5\r\n",
        b"Content-Length: 99999999999999999999999\r\n",
        b"Content-Length: -1\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: gzip\r\n",
        b"Connection: close\r\n",
        b"X: \xff\x00\r\n",
        b"\r\n",
        b"5\r\nhello\r\n",
        b"ffffffffffffffffff\r\n",
        b"0\r\nTrailer: x\r\n\r\n",
        b"0\r\n\r\n",
        b"hello",
    ]
)


@pytest.mark.covers("trust-1")
@given(st.lists(st.one_of(HEADS, st.binary(max_size=20)), max_size=8).map(b"".join))
def test_whatever_is_answered_it_is_an_answer_or_lost(answer: bytes) -> None:
    ours, theirs = socket.socketpair()
    idle: list[socket.socket] = []
    with theirs, closing(Answer(ours, idle)) as read, suppress(Lost):
        theirs.sendall(answer)
        theirs.shutdown(socket.SHUT_WR)
        ours.settimeout(5)
        read.read_head()
        assert 0 <= read.status <= 999
        assert not 100 <= read.status < 200
        assert isinstance(read.read(), bytes)
    for line in idle:
        line.close()
