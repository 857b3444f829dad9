"""`rota logs`, and lines with rank and time."""

from __future__ import annotations

import pytest

from rota.cli.jobs.log_lines import prefixed
from rota.sdk.job_calls import LogChunk
from tests.unit.cli.calling import rota
from tests.unit.cli.documents import ago, later, running
from tests.unit.cli.fake_server import FakeServer


def chunk(rank: int, data: bytes, *, at_s: float = 0, stream: str = "out") -> LogChunk:
    return LogChunk(rank, stream, later(at_s), data, 1)


@pytest.mark.covers("job-4")
class TestPrefixed:
    def test_lines_of_tasks_are_kept_apart(self, server: FakeServer) -> None:
        chunks = [
            chunk(0, b"hel"),
            chunk(1, b"one\ntwo"),
            chunk(0, b"lo\n", at_s=2.5),
            chunk(1, b"\n", at_s=3),
        ]
        assert list(prefixed(chunks)) == [
            b"[1] 12:00:00.000 one\n",
            b"[0] 12:00:00.000 hello\n",
            b"[1] 12:00:00.000 two\n",
        ]

    def test_a_line_that_never_ended_is_shown(self, server: FakeServer) -> None:
        assert list(prefixed([chunk(0, b"half", at_s=0.25)])) == [b"[0] 12:00:00.250 half\n"]

    def test_what_was_written_to_the_two_streams_too(self, server: FakeServer) -> None:
        chunks = [chunk(0, b"ou"), chunk(0, b"err\n", stream="err"), chunk(0, b"t\n")]
        assert [line.split(b" ")[2] for line in prefixed(chunks)] == [b"err\n", b"out\n"]

    def test_lines_without_end_come_in_pieces(self, server: FakeServer) -> None:
        pieces = list(prefixed(chunk(0, b"x" * 50_000) for _ in range(10)))
        assert sum(piece.count(b"x") for piece in pieces) == 500_000
        assert max(map(len, pieces)) < 70_000


class TestCommand:
    def test_bytes_are_untouched(self, server: FakeServer) -> None:
        server.chunks = [[chunk(0, b"\xff\x00\r\n"), chunk(1, b"no newline")]]
        out = rota("logs", "17").out
        assert out.encode("utf-8", "surrogateescape") == b"\xff\x00\r\nno newline"

    def test_with_rank_and_time(self, server: FakeServer) -> None:
        server.chunks = [[chunk(0, b"a\n"), chunk(1, b"b\n")]]
        assert rota("logs", "17", "--prefix").lines == ["[0] 12:00:00.000 a", "[1] 12:00:00.000 b"]

    def test_what_is_asked_for(self, server: FakeServer) -> None:
        server.has(running())
        rota("logs", "17", "-f", "--rank", "0", "--rank", "2", "--since", "10m", "--tail", "4Ki")
        assert server.log_queries == [{"ranks": (0, 2), "since": ago(600), "follow": True, "tail": 4096}]

    @pytest.mark.parametrize("arguments", [("--since", "x"), ("--tail", "some"), ("--rank", "-1")])
    def test_bad_input(self, server: FakeServer, arguments: tuple[str, str]) -> None:
        result = rota("logs", "17", *arguments)
        assert (result.code, result.out, server.log_queries) == (1, "", [])
        assert arguments[0] in result.err
