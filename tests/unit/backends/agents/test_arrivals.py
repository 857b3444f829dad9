"""Output that arrives is kept byte for byte, whatever comes twice or never."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rota.backends.agents.arrivals import OutputFiles, keep_file
from rota.backends.agents.claims import Refusal
from rota.backends.backend import LogChunk, LogQuery, Stream, TaskRef
from rota.backends.process.client.log_reader import LogReader
from rota.backends.process.folders import Folders
from rota.backends.process.keeper.streams.log_writer import DEFAULT_ROTATION, LogWriter
from rota.model.ids import JobId
from rota.wire import agents_pb2 as wire

REF = TaskRef(JobId("1"), 2, 3)


def output(offset_bytes: int, *pieces: bytes, at_ms: int = 100, is_err: bool = False) -> wire.Output:
    made = wire.Output(offset_bytes=offset_bytes)
    for data in pieces:
        made.pieces.add(at_ms=at_ms, is_err=is_err, data=data)
    return made


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    made = Folders(tmp_path)
    made.make()
    return made


def kept(folders: Folders) -> list[LogChunk]:
    return LogReader(folders.logs_of(REF.job), LogQuery(REF.job)).read()


def test_as_it_was_written_with_its_times_moved(folders: Folders) -> None:
    arriving = OutputFiles(folders, REF, DEFAULT_ROTATION)
    arriving.take(output(0, b"a\xff", b"b"), 50)
    arriving.take(output(3, b"c", is_err=True), 50)
    assert kept(folders) == [
        LogChunk(2, Stream.OUT, 150, b"a\xff", 3),
        LogChunk(2, Stream.OUT, 150, b"b", 3),
        LogChunk(2, Stream.ERR, 150, b"c", 3),
    ]


@pytest.mark.parametrize(("at_ms", "kept_ms"), [(-(2**63), 0), (2**63 - 1, 2**62)])
def test_times_that_cannot_be(folders: Folders, at_ms: int, kept_ms: int) -> None:
    OutputFiles(folders, REF, DEFAULT_ROTATION).take(output(0, b"a", at_ms=at_ms), at_ms)
    assert [chunk.at_ms for chunk in kept(folders)] == [kept_ms]


def test_what_comes_twice_is_there_once(folders: Folders) -> None:
    arriving = OutputFiles(folders, REF, DEFAULT_ROTATION)
    arriving.take(output(0, b"abc"), 0)
    arriving.take(output(0, b"abc"), 0)
    arriving.take(output(1, b"bcd", b"e"), 0)
    assert b"".join(chunk.data for chunk in kept(folders)) == b"abcde"


def test_what_never_comes_leaves_a_gap(folders: Folders) -> None:
    arriving = OutputFiles(folders, REF, DEFAULT_ROTATION)
    arriving.take(output(0, b"ab"), 0)
    arriving.take(output(12, b"cd"), 0)
    assert [(chunk.data, chunk.dropped_bytes) for chunk in kept(folders)] == [(b"ab", 0), (b"cd", 10)]


def test_another_stream_goes_on_where_the_first_was(folders: Folders) -> None:
    first = OutputFiles(folders, REF, DEFAULT_ROTATION)
    first.take(output(0, b"ab"), 0)
    first.close()
    second = OutputFiles(folders, REF, DEFAULT_ROTATION)
    assert second.offset_bytes == 2
    second.take(output(2, b"cd"), 0)
    assert b"".join(chunk.data for chunk in kept(folders)) == b"abcd"


def test_a_piece_of_any_size_can_be_read_again(folders: Folders) -> None:
    arriving = OutputFiles(folders, REF, DEFAULT_ROTATION)
    data = bytes(range(256)) * 2000
    arriving.take(output(0, data), 0)
    assert b"".join(chunk.data for chunk in kept(folders)) == data


def test_after_a_full_disk_it_goes_on_where_it_stopped(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    arriving = OutputFiles(folders, REF, DEFAULT_ROTATION)
    write = LogWriter.write
    calls = iter([True, False])

    def fails_once(self: LogWriter, stream: Stream, data: bytes, at_ms: int | None = None) -> None:
        if not next(calls, True):
            raise OSError(28, "No space left on device")
        write(self, stream, data, at_ms)

    monkeypatch.setattr(LogWriter, "write", fails_once)
    message = output(0, b"ab", b"cd", b"ef")
    with pytest.raises(OSError, match="space"):
        arriving.take(message, 0)
    arriving.take(message, 0)
    assert [chunk.data for chunk in kept(folders)] == [b"ab", b"cd", b"ef"]


@pytest.mark.parametrize("offset_bytes", [-1, 2**62])
def test_an_offset_that_cannot_be(folders: Folders, offset_bytes: int) -> None:
    with pytest.raises(Refusal, match="offset_bytes"):
        OutputFiles(folders, REF, DEFAULT_ROTATION).take(output(offset_bytes, b"a"), 0)


async def chunks(*data: bytes) -> AsyncIterator[bytes]:
    for each in data:
        yield each


def test_files_are_kept_whole_or_not_at_all(folders: Folders) -> None:
    asyncio.run(keep_file(folders, REF, "out/a", chunks(b"a", b"b")))
    assert (folders.outputs_of_task(REF) / "out" / "a").read_bytes() == b"ab"

    async def broken() -> AsyncIterator[bytes]:
        yield b"x"
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError):
        asyncio.run(keep_file(folders, REF, "out/a", broken()))
    assert (folders.outputs_of_task(REF) / "out" / "a").read_bytes() == b"ab"
    assert list(folders.files.iterdir()) == []


@pytest.mark.parametrize("path", ["../a", "/etc/passwd", "", "a/../../b", "a\0b"])
def test_files_that_lead_elsewhere(folders: Folders, path: str) -> None:
    with pytest.raises(Refusal, match="path"):
        asyncio.run(keep_file(folders, REF, path, chunks(b"a")))


def test_files_that_are_too_large(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota.backends.agents.arrivals.LARGEST_BYTES", 3)
    with pytest.raises(Refusal, match="larger"):
        asyncio.run(keep_file(folders, REF, "a", chunks(b"ab", b"cd")))
    assert list(folders.files.iterdir()) == []
