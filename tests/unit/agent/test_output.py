"""Output is read from any byte on, over segments, gaps and what isn't whole yet."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.agent import output as module
from rota.agent.output import OutputReader
from rota.backends.backend import Stream
from rota.backends.process.keeper.streams.log_writer import LogWriter, Rotation
from rota.backends.process.segments import Origin

ORIGIN = Origin(0, 1)


def writer(folder: Path, segment_bytes: int = 1 << 20, segments: int = 1000) -> LogWriter:
    return LogWriter(folder / "1", ORIGIN, Rotation(segment_bytes, segments))


def read_all(folder: Path, offset_bytes: int = 0) -> tuple[int, bytes]:
    """Where it begins, and all that follows."""
    reader = OutputReader(folder / "1", ORIGIN, offset_bytes)
    begin, data = None, b""
    while (output := reader.read()) is not None:
        begin = output.offset_bytes if begin is None else begin
        assert output.offset_bytes == begin + len(data)
        data += b"".join(piece.data for piece in output.pieces)
    return begin or 0, data


def test_nothing_is_written_yet(tmp_path: Path) -> None:
    reader = OutputReader(tmp_path / "1", ORIGIN, 0)
    assert reader.read() is None
    writer(tmp_path).write(Stream.ERR, b"now", 7)
    output = reader.read()
    assert output is not None
    [piece] = output.pieces
    assert (output.offset_bytes, piece.data, piece.at_ms, piece.is_err) == (0, b"now", 7, True)
    assert reader.read() is None


@given(st.lists(st.binary(min_size=1, max_size=20), max_size=20), st.integers(0, 120), st.integers(1, 200))
def test_output_is_read_from_any_byte_on(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes], offset_bytes: int, segment_bytes: int
) -> None:
    folder = tmp_path_factory.mktemp("logs")
    written = writer(folder, segment_bytes)
    for piece in pieces:
        written.write(Stream.OUT, piece, 1)
    whole = b"".join(pieces)
    offset_bytes = min(offset_bytes, len(whole))
    begin, data = read_all(folder, offset_bytes)
    assert data == whole[offset_bytes:]
    assert not data or begin == offset_bytes


def test_what_was_dropped_shows_in_the_offset(tmp_path: Path) -> None:
    written = writer(tmp_path, segment_bytes=1, segments=2)
    for piece in (b"aaa", b"bbb", b"ccc", b"ddd"):
        written.write(Stream.OUT, piece, 1)
    assert read_all(tmp_path) == (6, b"cccddd")


def test_as_it_comes_over_several_segments(tmp_path: Path) -> None:
    written = writer(tmp_path, segment_bytes=1)
    reader = OutputReader(tmp_path / "1", ORIGIN, 0)
    for piece in (b"a", b"b", b"c"):
        written.write(Stream.OUT, piece, 1)
        output = reader.read()
        assert output is not None
        assert [each.data for each in output.pieces] == [piece]
        assert reader.read() is None


def test_a_frame_that_is_cut_off_waits_for_its_rest(tmp_path: Path) -> None:
    written = writer(tmp_path)
    written.write(Stream.OUT, b"whole", 1)
    [path] = (tmp_path / "1").iterdir()
    data = path.read_bytes()
    reader = OutputReader(tmp_path / "1", ORIGIN, 0)
    path.write_bytes(data + data[:-1])
    output = reader.read()
    assert output is not None
    assert [each.data for each in output.pieces] == [b"whole"]
    assert reader.read() is None
    path.write_bytes(data + data)
    output = reader.read()
    assert output is not None
    assert (output.offset_bytes, output.pieces[0].data) == (5, b"whole")


def test_no_message_is_much_larger_than_a_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH_BYTES", 1000)
    written = writer(tmp_path)
    for _ in range(50):
        written.write(Stream.OUT, b"x" * 100, 1)
    reader = OutputReader(tmp_path / "1", ORIGIN, 0)
    sizes = []
    while (output := reader.read()) is not None:
        sizes.append(sum(len(piece.data) for piece in output.pieces))
    assert sum(sizes) == 5000
    assert max(sizes) <= 1100
