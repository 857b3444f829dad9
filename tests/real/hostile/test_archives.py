"""Archives that were made to fill a disk or a machine's memory: kilobytes that say they are gigabytes."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rota.backends.backend import TaskStart
from rota.backends.process.beneath import opened
from rota.backends.process.keeper.files.archive import BadArchive, unpack
from rota.backends.process.keeper.processes.aside import ForkedAside
from rota.dispatch.dispatcher import limits_of
from rota.lifecycle.state import EndReason
from rota.model.resources import Resources
from rota.model.run import Run
from rota.model.task import TaskSpec
from tests.backends.witness import ref
from tests.kit.uploads import upload
from tests.real.process.host import NODE, host

pytestmark = [pytest.mark.slow, pytest.mark.covers("trust-5")]

MIB = 1 << 20


def header(name: str, kind: bytes, size: int, link: str = "") -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.size, info.linkname = kind, size, link
    return info.tobuf(tarfile.GNU_FORMAT)


def gzipped(*parts: bytes | Iterator[bytes]) -> bytes:
    """Never whole in memory before it is small."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as file:
        for part in parts:
            for piece in [part] if isinstance(part, bytes) else part:
                file.write(piece)
    return packed.getvalue()


def zeros(size: int) -> Iterator[bytes]:
    for _ in range(size // MIB):
        yield bytes(MIB)


def hard_links(count: int) -> bytes:
    """A file of 4 MiB, and so many names for it."""
    links = (header(f"link-{number}", tarfile.LNKTYPE, 0, "file") for number in range(count))
    return gzipped(header("file", tarfile.REGTYPE, 4 * MIB), zeros(4 * MIB), links, bytes(1024))


def large_header(kind: bytes) -> bytes:
    return gzipped(header("long", kind, 256 * MIB), zeros(256 * MIB), header("a", tarfile.REGTYPE, 0))


def many_headers(kind: bytes) -> bytes:
    """Each within bounds; all are about the same member."""
    one = header("x", kind, 100 << 10) + b"a" * (100 << 10)
    return gzipped((one for _ in range(100)), header("a", tarfile.REGTYPE, 0))


def global_headers() -> bytes:
    def all_of_them() -> Iterator[bytes]:
        for number in range(200):
            record = f"100000 key{number}=".encode().ljust(99_999, b"v") + b"\n"
            yield header("g", tarfile.XGLTYPE, len(record)) + record.ljust(100_352, b"\0")
            yield header(f"file-{number}", tarfile.REGTYPE, 0)

    return gzipped(all_of_them(), bytes(1024))


def digits() -> bytes:
    """`tarfile` would look at each of them as the start of a number."""
    return gzipped(header("x", tarfile.XHDTYPE, 200 << 10), b"1" * (200 << 10), header("a", b"0", 0))


def points_back() -> bytes:
    """A size below zero: the next member begins before this one, again and again."""
    block = bytearray(header("again", b"7", 0))
    block[124:136] = (-1024).to_bytes(12, "big", signed=True)
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + bytes(block) + bytes(1024)


def deep(levels: int) -> bytes:
    """Folders in folders: none of them a member."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for number in range(100):
            tar.addfile(tarfile.TarInfo(f"{number}/" + "d/" * levels + "file"))
    return packed.getvalue()


def sparse_map() -> bytes:
    """Says where the holes of a file are, for 256 MiB."""
    records = b"".join(
        b"%d %s\n" % (len(text) + 4, text)
        for text in (b"GNU.sparse.major=1", b"GNU.sparse.minor=0", b"GNU.sparse.name=f")
    )
    return gzipped(
        header("x", tarfile.XHDTYPE, len(records)) + records.ljust(512, b"\0"),
        header("f", tarfile.REGTYPE, 256 * MIB),
        b"999999999\n",
        (b"0\n" * (MIB // 2) for _ in range(256)),
    )


BOMBS: dict[str, tuple[Callable[[], bytes], str]] = {
    "hard links": (lambda: hard_links(100), "it takes more than 16Mi"),
    "zeros": (
        lambda: gzipped(header("zeros", b"0", 64 * MIB), zeros(64 * MIB), bytes(1024)),
        "it takes more than 16Mi",
    ),
    "a pax header": (lambda: large_header(tarfile.XHDTYPE), "a header of more than 256 KiB"),
    "a long name": (lambda: large_header(tarfile.GNUTYPE_LONGNAME), "a header of more than 256 KiB"),
    "a long link": (lambda: large_header(tarfile.GNUTYPE_LONGLINK), "a header of more than 256 KiB"),
    "many headers": (lambda: many_headers(tarfile.XHDTYPE), "a header of more than 256 KiB"),
    "global headers": (global_headers, "more than 256 KiB about all"),
    "digits": (digits, "a number of 100 digits"),
    "deep folders": (lambda: deep(200), "it takes more than 16Mi"),
    "deeper folders": (lambda: deep(10_000), "more than 256 folders deep"),
    "points back": (points_back, ""),
    "a sparse map": (sparse_map, "a header of more than 256 KiB"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_with_little_memory_and_disk(tmp_path: Path, name: str) -> None:
    make, why = BOMBS[name]
    bomb = make()

    def work() -> None:
        with opened(tmp_path) as folder:
            unpack(io.BytesIO(bomb), folder, (), 16 * MIB)

    idle_kib, _ = aside(lambda: None)
    used_kib, failure = aside(work)
    assert failure
    assert why in failure
    assert used_kib - idle_kib < 64 * 1024
    assert disk_bytes(tmp_path) <= 16 * MIB


def test_hard_links_are_links(tmp_path: Path) -> None:
    """The one that took 411 MiB: 10 KB, and 100 names for one file."""
    packed = hard_links(100)
    assert len(packed) < 20_000
    with opened(tmp_path) as folder:
        unpack(io.BytesIO(packed), folder, (), 1024 * MIB)
    assert (tmp_path / "file").stat().st_nlink == 101
    assert disk_bytes(tmp_path) < 6 * MIB


@pytest.mark.parametrize("target", ["a/up", "..", "/etc/passwd", "a", "later"])
def test_a_hard_link_goes_to_a_file_of_the_archive(tmp_path: Path, target: str) -> None:
    """Another name of a symbolic link could lead out of the folder."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("a/file"))
        for name, kind, link in (("a/up", tarfile.SYMTYPE, "../x"), ("link", tarfile.LNKTYPE, target)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, link
            tar.addfile(info)
    packed.seek(0)
    with opened(tmp_path) as folder, pytest.raises(BadArchive, match="member 'link'"):
        unpack(packed, folder, ())
    assert not os.path.lexists(tmp_path / "link")


def test_an_aside_has_little_memory() -> None:
    _, failure = aside(lambda: str(len(bytearray(1024 * MIB))))
    assert failure == "MemoryError"


async def test_a_job_is_told_what_its_archive_takes(tmp_path: Path) -> None:
    """By a real keeper, against the storage that the job asked for."""

    async with host(tmp_path / "backend") as here:
        bomb = await upload(here, hard_links(100), "tree", unpack=True)
        run = Run(command=("/bin/true",), files=(bomb,))
        small = TaskStart(ref("1"), NODE, run, limits=Resources(storage_bytes=8 * MIB))
        large = TaskStart(ref("2"), NODE, run, limits=Resources(storage_bytes=1024 * MIB))
        await here.backend.start([small, large])
        refused = (await here.end_of(ref("1"))).end
        assert refused.reason is EndReason.STAGING
        assert "takes more than 8Mi" in refused.message
        assert "resources.storage" in refused.message
        assert (await here.end_of(ref("2"))).end.succeeded


def test_storage_that_was_asked_for_is_a_limit() -> None:
    asked = TaskSpec(requests=Resources(storage_bytes=MIB))
    assert limits_of(asked).storage_bytes == MIB
    both = TaskSpec(requests=Resources(storage_bytes=MIB), limits=Resources(storage_bytes=2 * MIB))
    assert limits_of(both).storage_bytes == 2 * MIB


def aside(work: Callable[[], str | None]) -> tuple[int, str]:
    """The most memory that it had, in KiB, and why it failed."""
    started = ForkedAside(work)
    _, status, used = os.wait4(started.pid, 0)
    started.ended(status)
    return used.ru_maxrss, started.failure


def disk_bytes(folder: Path) -> int:
    seen = {path.lstat().st_ino: path.lstat().st_blocks * 512 for path in folder.rglob("*")}
    return sum(seen.values())


@pytest.mark.parametrize(
    ("name", "link", "why"),
    [
        ("a/" + "n" * 256 + "/b", "", "a name in its path is longer than 255 bytes"),
        ("é" * 128, "", "a name in its path is longer than 255 bytes"),
        ("up", "d/" * 2048, "links to a path of more than 4095 bytes"),
    ],
)
def test_a_name_that_no_file_system_takes_is_refused(tmp_path: Path, name: str, link: str, why: str) -> None:
    info = tarfile.TarInfo(name)
    if link:
        info.type, info.linkname = tarfile.SYMTYPE, link
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        tar.addfile(info)
    packed.seek(0)
    with opened(tmp_path) as folder, pytest.raises(BadArchive, match=why):
        unpack(packed, folder, ())
