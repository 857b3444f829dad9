"""What was written is read again: in order, in part, and while it grows."""

from pathlib import Path

import pytest

from rota.backends.backend import LogQuery, Stream
from rota.backends.process.client.log_reader import BATCH_BYTES, LogReader
from rota.backends.process.keeper.streams import log_writer
from rota.backends.process.keeper.streams.log_writer import LogWriter, Rotation
from rota.backends.process.segments import HEAD, Origin
from rota.model.ids import JobId

JOB = JobId("1")


class Clock:
    def __init__(self) -> None:
        self.now = 1000

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(log_writer, "now_ms", clock)
    return clock


def writer(
    folder: Path, rank: int = 0, fence: int = 1, *, rotation: Rotation = log_writer.DEFAULT_ROTATION
) -> LogWriter:
    return LogWriter(folder, Origin(rank, fence), rotation)


def text_of(folder: Path, **query: object) -> str:
    reader = LogReader(folder, LogQuery(JOB, **query))  # type: ignore[arg-type]
    text = b""
    while chunks := reader.read():
        text += b"".join(chunk.data for chunk in chunks)
    return text.decode()


@pytest.mark.covers("job-4")
def test_ranks_are_merged_by_time(tmp_path: Path, clock: Clock) -> None:
    first, second = writer(tmp_path, 0), writer(tmp_path, 1)
    for now, (each, data) in enumerate([(first, b"a"), (second, b"b"), (second, b"c"), (first, b"d")]):
        clock.now = now
        each.write(Stream.OUT, data)
    assert text_of(tmp_path) == "abcd"
    assert text_of(tmp_path, ranks=(1,)) == "bc"
    assert text_of(tmp_path, since_ms=2) == "cd"


def test_nothing_is_made_before_the_first_byte(tmp_path: Path) -> None:
    folder = tmp_path / "1"
    silent = writer(folder)
    silent.close()
    assert not folder.exists()
    assert text_of(folder) == ""


def test_streams_times_and_fences_are_kept(tmp_path: Path, clock: Clock) -> None:
    writer(tmp_path, 3, 1).write(Stream.OUT, b"first try")
    clock.now += 1
    writer(tmp_path, 3, 2).write(Stream.ERR, b"\x00\xff")
    chunks = LogReader(tmp_path, LogQuery(JOB)).read()
    assert [(c.rank, c.fence, c.stream, c.at_ms, c.data) for c in chunks] == [
        (3, 1, Stream.OUT, 1000, b"first try"),
        (3, 2, Stream.ERR, 1001, b"\x00\xff"),
    ]


@pytest.mark.parametrize(
    "tail_bytes, expected", [(0, ""), (1, "9"), (4, "6789"), (7, "3456789"), (99, "0123456789")]
)
def test_tails(tmp_path: Path, clock: Clock, tail_bytes: int, expected: str) -> None:
    small = Rotation(segment_bytes=2 * (HEAD.size + 1), segments=100)
    writers = [writer(tmp_path, rank, rotation=small) for rank in range(2)]
    for digit in range(10):
        clock.now += 1
        writers[digit % 2].write(Stream.OUT, str(digit).encode())
    assert text_of(tmp_path, tail_bytes=tail_bytes) == expected


def test_what_is_written_after_an_empty_tail_is_read(tmp_path: Path) -> None:
    log = writer(tmp_path)
    log.write(Stream.OUT, b"old")
    reader = LogReader(tmp_path, LogQuery(JOB, tail_bytes=0))
    assert reader.read() == []
    log.write(Stream.OUT, b"new")
    assert [chunk.data for chunk in reader.read()] == [b"new"]


@pytest.mark.covers("job-4")
def test_segments_are_dropped_and_that_is_said(tmp_path: Path) -> None:
    log = writer(tmp_path, rotation=Rotation(segment_bytes=20, segments=2))
    for digit in range(10):
        log.write(Stream.OUT, b"%d" % digit * 10)
    chunks = LogReader(tmp_path, LogQuery(JOB)).read()
    assert chunks[0].dropped_bytes == 80
    assert b"".join(chunk.data for chunk in chunks) == b"8" * 10 + b"9" * 10
    assert [chunk.dropped_bytes for chunk in chunks[1:]] == [0]


def test_a_reader_that_is_overtaken_goes_on_behind_the_gap(tmp_path: Path) -> None:
    log = writer(tmp_path, rotation=Rotation(segment_bytes=20, segments=2))
    log.write(Stream.OUT, b"0" * 10)
    reader = LogReader(tmp_path, LogQuery(JOB))
    assert len(reader.read()) == 1
    for digit in range(1, 6):
        log.write(Stream.OUT, b"%d" % digit * 10)
    chunks = reader.read()
    assert [(chunk.dropped_bytes, chunk.data[:1]) for chunk in chunks] == [(30, b"4"), (0, b"5")]


def test_a_frame_that_is_half_there_waits_for_its_rest(tmp_path: Path) -> None:
    writer(tmp_path).write(Stream.OUT, b"whole")
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:-2])
    reader = LogReader(tmp_path, LogQuery(JOB))
    assert [chunk.data for chunk in reader.read()] == [b"whole"]
    path.write_bytes(whole + whole)
    assert [chunk.data for chunk in reader.read()] == [b"whole"]


def test_another_writer_goes_on_where_one_was_cut_off(tmp_path: Path) -> None:
    writer(tmp_path).write(Stream.OUT, b"one")
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes() + b"\0\0\0")
    following = writer(tmp_path)
    following.resume()
    following.write(Stream.OUT, b"two")
    chunks = LogReader(tmp_path, LogQuery(JOB)).read()
    assert [(chunk.data, chunk.dropped_bytes) for chunk in chunks] == [(b"one", 0), (b"two", 0)]


@pytest.mark.parametrize("read_between", [False, True])
def test_a_writer_that_was_given_up_and_goes_on_is_read_once(tmp_path: Path, read_between: bool) -> None:
    """Two servers on one folder: the one that was frozen wakes up in the middle of a write."""
    frozen = writer(tmp_path)
    frozen.write(Stream.OUT, b"ab")
    following = writer(tmp_path)
    following.resume()
    reader = LogReader(tmp_path, LogQuery(JOB))
    frozen.write(Stream.OUT, b"cd")
    read = b"".join(chunk.data for chunk in reader.read()) if read_between else b""
    following.write(Stream.OUT, b"c")
    frozen.write(Stream.OUT, b"e")
    following.write(Stream.OUT, b"defg")
    while chunks := reader.read():
        assert not any(chunk.dropped_bytes for chunk in chunks)
        read += b"".join(chunk.data for chunk in chunks)
    assert read == b"abcdefg"
    assert text_of(tmp_path) == "abcdefg"


def test_reads_are_bounded(tmp_path: Path) -> None:
    log = writer(tmp_path)
    for _ in range(80):
        log.write(Stream.OUT, bytes(64 << 10))
    reader = LogReader(tmp_path, LogQuery(JOB))
    sizes = []
    while chunks := reader.read():
        sizes.append(sum(len(chunk.data) for chunk in chunks))
    assert sum(sizes) == 80 * (64 << 10)
    assert max(sizes) <= BATCH_BYTES + (64 << 10)
