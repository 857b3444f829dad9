"""Streams in pieces of any size, and going on where they broke off."""

from datetime import UTC, datetime

import msgspec
import pytest

from rota.api.service import EventDocument
from rota.sdk.errors import BadAnswer
from rota.sdk.job_calls import LogChunk
from rota.sdk.streams import EventPosition, LogPosition


def event(seq: int) -> EventDocument:
    return EventDocument(
        seq=seq,
        at=datetime(2026, 1, 1, tzinfo=UTC),
        kind="job.Ended",
        subject="1",
        project=None,
        by="",
        data={},
    )


def chunk(second: int, data: bytes, rank: int = 0) -> LogChunk:
    return LogChunk(rank, "stdout", datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC), data, 1)


def written(*chunks: LogChunk) -> bytes:
    return msgspec.json.Encoder().encode_lines(chunks)


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_events_in_pieces(size: int) -> None:
    text = b": comment\n\n" + b"".join(
        b"id: %d\r\nevent: x\r\ndata: %b\r\n\r\n" % (seq, msgspec.json.encode(event(seq))) for seq in (4, 9)
    )
    position = EventPosition(after=3, kind="job.Ended")
    assert position.call().target == "/events/stream?kind=job.Ended&after=3"
    read = position.reader()
    found = [one for begin in range(0, len(text), size) for one in read(text[begin : begin + size])]
    assert found == [event(4), event(9)]
    assert position.call().target == "/events/stream?kind=job.Ended"
    assert dict(position.call().headers)["Last-Event-ID"] == "9"


def test_the_latest_events_are_asked_for_until_one_has_come() -> None:
    position = EventPosition(last=5)
    assert position.call().target == "/events/stream?last=5"
    position.reader()(b"data: " + msgspec.json.encode(event(1)) + b"\n\n")
    assert position.call().target == "/events/stream"


def test_half_an_event_of_a_broken_connection_is_forgotten() -> None:
    position = EventPosition()
    assert position.reader()(b'data: {"seq": 1') == []
    assert position.reader()(b"data: " + msgspec.json.encode(event(1)) + b"\n\n") == [event(1)]


def test_what_is_no_event() -> None:
    with pytest.raises(BadAnswer):
        EventPosition().reader()(b"data: <html>\n\n")


@pytest.mark.covers("job-4")
def test_logs_say_nothing_twice_and_leave_nothing_out() -> None:
    position = LogPosition("7", follow=True, tail=100)
    assert position.call().target == "/jobs/7/logs?form=chunks&follow=true&tail=100"
    first = [chunk(1, b"a"), chunk(2, b"same"), chunk(2, b"same"), chunk(3, b"b", rank=1)]
    assert list(position.reader()(written(*first))) == first
    # What came since the rank that is furthest behind: some of it again.
    assert "since=2026-01-01T00%3A00%3A02%2B00%3A00" in position.call().target
    assert "tail" not in position.call().target
    again = [*first[1:], chunk(2, b"same"), chunk(3, b"c", rank=1), chunk(4, b"d")]
    assert list(position.reader()(written(*again))) == again[3:]


def test_what_one_rank_wrote_says_nothing_of_another() -> None:
    position = LogPosition("7", ranks=[0, 1])
    assert "rank=0%2C1" in position.call().target
    list(position.reader()(written(chunk(5, b"x", rank=0))))
    late = chunk(1, b"y", rank=1)
    assert list(position.reader()(written(late))) == [late]


def test_a_line_may_come_in_pieces() -> None:
    text = written(chunk(1, b"\x00\xff" * 1000))
    read = LogPosition("7").reader()
    found = [one for begin in range(0, len(text), 100) for one in read(text[begin : begin + 100])]
    assert found == [chunk(1, b"\x00\xff" * 1000)]
