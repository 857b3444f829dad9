"""Output beyond the limit is dropped, which is said once; the task isn't held up."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rota.backends.backend import LogQuery, Stream
from rota.backends.process.client.log_reader import LogReader
from rota.backends.process.keeper.streams.log_writer import Drain, LogWriter, Rotation
from rota.backends.process.keeper.streams.masking import Mask
from rota.backends.process.output_limit import kept_of, notice
from rota.backends.process.segments import Origin
from rota.model.ids import JobId

pytestmark = pytest.mark.covers("trust-4")

ROTATION = Rotation(segment_bytes=1 << 20, segments=4)
SAID = b"rota: output limit of 10 B reached; the rest was dropped\n"


def kept(folder: Path) -> bytes:
    reader, data = LogReader(folder, LogQuery(JobId("1"))), b""
    while chunks := reader.read():
        assert not any(chunk.dropped_bytes for chunk in chunks)
        data += b"".join(chunk.data for chunk in chunks)
    return data


def writer(folder: Path, log_bytes: int | None, fence: int = 1, rotation: Rotation = ROTATION) -> LogWriter:
    return LogWriter(folder, Origin(0, fence), rotation, log_bytes)


def drained(writer: LogWriter, *pieces: bytes, mask: Mask | None = None) -> None:
    """One read each, and to the end."""
    reading, writing = os.pipe2(os.O_NONBLOCK)
    drain = Drain(reading, None, writer, mask)
    for piece in pieces:
        assert os.write(writing, piece) == len(piece)
        assert drain.take(reading)
    os.close(writing)
    drain.finish()


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(10 << 20, b"10 MiB"), (2_500_000, b"2.5 MB"), (1, b"1 B"), (0, b"0 B"), (1 << 30, b"1 GiB")],
)
def test_the_notice_says_how_much(size_bytes: int, text: bytes) -> None:
    assert notice(size_bytes) == b"rota: output limit of " + text + b" reached; the rest was dropped\n"


@pytest.mark.parametrize(
    ("written_bytes", "data", "expected"),
    [
        (0, b"0123456789", b"0123456789"),
        (0, b"0123456789a", b"0123456789\n" + SAID),
        (0, b"012345678\na", b"012345678\n" + SAID),
        (8, b"\n\n\n", b"\n\n" + SAID),
        (10, b"a", b"\n" + SAID),
        (10, b"", b""),
        (11, b"a", b""),
        (99, b"a", b""),
    ],
)
def test_what_is_kept_of_a_read(written_bytes: int, data: bytes, expected: bytes) -> None:
    assert kept_of(data, written_bytes, 10) == expected


def test_a_limit_of_nothing_is_just_the_notice() -> None:
    assert kept_of(b"a", 0, 0) == notice(0)


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([b"01234", b"56789"], b"0123456789"),
        ([b"01234", b"56789", b"a", b"b"], b"0123456789\n" + SAID),
        ([b"01234", b"567\n89a", b"b" * 50_000], b"01234567\n8\n" + SAID),
    ],
)
def test_the_rest_is_dropped_and_said_once(tmp_path: Path, pieces: list[bytes], expected: bytes) -> None:
    drained(writer(tmp_path, 10), *pieces)
    assert kept(tmp_path) == expected


def test_another_keeper_says_it_no_second_time(tmp_path: Path) -> None:
    drained(writer(tmp_path, 10), b"0123456789", b"a")
    following = writer(tmp_path, 10)
    following.resume()
    drained(following, b"more", b"and more")
    assert kept(tmp_path) == b"0123456789\n" + SAID


def test_another_keeper_goes_on_counting(tmp_path: Path) -> None:
    drained(writer(tmp_path, 10), b"01234567")
    following = writer(tmp_path, 10)
    following.resume()
    drained(following, b"89a", b"b")
    assert kept(tmp_path) == b"0123456789\n" + SAID


def test_what_is_masked_is_masked_before_it_is_cut(tmp_path: Path) -> None:
    drained(writer(tmp_path, 10), b"a secret, b", b"secr", b"et", mask=Mask(["secret"]))
    assert kept(tmp_path) == b"a ***, b**\n" + SAID


def test_where_rotation_keeps_less_the_latest_stays(tmp_path: Path) -> None:
    """As without a limit."""
    rotation = Rotation(segment_bytes=20, segments=2)
    log = writer(tmp_path, 40, rotation=rotation)
    drained(log, *(b"%d" % digit * 10 for digit in range(10)))
    chunks = LogReader(tmp_path, LogQuery(JobId("1"))).read()
    assert (chunks[0].dropped_bytes, b"".join(chunk.data for chunk in chunks)) == (80, b"8" * 10 + b"9" * 10)


def test_of_earlier_starts_no_more_is_kept(tmp_path: Path) -> None:
    """The latest of them, in any case, and not as much as without the limit."""
    for fence in range(1, 6):
        drained(writer(tmp_path, 10, fence), b"%d" % fence * 20)
    assert kept(tmp_path) == b"".join(b"%d" % fence * 10 + b"\n" + SAID for fence in (4, 5))


def test_a_stalled_notice_isnt_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = writer(tmp_path, 10)
    reading, writing = os.pipe2(os.O_NONBLOCK)
    drain = Drain(reading, None, log)
    os.write(writing, b"0123456789a")
    with monkeypatch.context() as full:
        full.setattr(os, "writev", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
        with pytest.raises(OSError, match="full"):
            drain.take(reading)
    os.close(writing)
    drain.finish()
    assert kept(tmp_path) == b"0123456789\n" + SAID
    assert {chunk.stream for chunk in LogReader(tmp_path, LogQuery(JobId("1"))).read()} == {Stream.OUT}
