"""Paths and archives that anybody may have made."""

import io
import os
import tarfile
from pathlib import Path

import pytest

from rota.backends.process.beneath import Leaves, opened, parent_of, parts_of
from rota.backends.process.keeper.files import archive
from rota.backends.process.keeper.files.archive import BadArchive, unpack


def packed(*members: tuple[tarfile.TarInfo, bytes], mode: str = "w") -> io.BytesIO:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as tar:  # type: ignore[call-overload]
        for member, content in members:
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    file.seek(0)
    return file


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", mode: int = 0o644) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, link, mode
    return info


def unpack_into(folder: Path, file: io.BytesIO, most_bytes: int = archive.MOST_UNPACKED_BYTES) -> None:
    with opened(folder) as root:
        unpack(file, root, ("into",), most_bytes)


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_members_go_below_the_path(tmp_path: Path, mode: str) -> None:
    members = [
        (member("./", tarfile.DIRTYPE), b""),
        (member("bin/run", mode=0o750), b"run"),
        (member("empty", tarfile.DIRTYPE), b""),
        (member("bin/again", tarfile.LNKTYPE, "bin/run"), b""),
        (member("bin/up", tarfile.SYMTYPE, "../empty"), b""),
    ]
    unpack_into(tmp_path, packed(*members, mode=mode))
    into = tmp_path / "into"
    assert (into / "bin/run").read_bytes() == (into / "bin/again").read_bytes() == b"run"
    assert os.access(into / "bin/run", os.X_OK)
    assert (into / "empty").is_dir()
    assert (into / "bin/up").resolve() == (into / "empty").resolve()


@pytest.mark.covers("ops-3")
@pytest.mark.parametrize(
    "bad",
    [
        member("../out"),
        member("/out"),
        member("a/../../out"),
        member("link", tarfile.SYMTYPE, "/etc"),
        member("link", tarfile.SYMTYPE, ".."),
        member("a/link", tarfile.SYMTYPE, "../../out"),
        member("link", tarfile.SYMTYPE, "a/b/.."),
        member("link", tarfile.LNKTYPE, "not/in/it"),
        member("device", tarfile.CHRTYPE),
        member("pipe", tarfile.FIFOTYPE),
        member("inside/out"),
        member("there"),
    ],
    ids=lambda each: f"{each.name}->{each.linkname}",
)
def test_members_that_escape_are_named(tmp_path: Path, bad: tarfile.TarInfo) -> None:
    good = [(member("inside", tarfile.SYMTYPE, "."), b""), (member("there"), b"")]
    with pytest.raises(BadArchive, match=f"member '{bad.name}"):
        unpack_into(tmp_path, packed(*good, (bad, b"")))
    assert not (tmp_path / "out").exists()


def test_absurd_sizes_are_refused_before_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BadArchive, match="'b': with all before it, it takes more than 9Ki"):
        unpack_into(tmp_path, packed((member("a"), b"123456"), (member("b"), bytes(2000))), 9 << 10)
    assert not (tmp_path / "into" / "b").exists()
    monkeypatch.setattr(archive, "MOST_MEMBERS", 1)
    with pytest.raises(BadArchive, match="more than 1 members"):
        unpack_into(tmp_path, packed((member("c"), b"1"), (member("d"), b"1")))


@pytest.mark.parametrize("content", [b"", b"no archive at all", b"\x1f\x8b" + bytes(100)])
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(BadArchive, match="is not a tar archive"):
        unpack_into(tmp_path, io.BytesIO(content))


@pytest.mark.parametrize("path", ["", ".", "/", "/a", "..", "a/..", "a/../b", "a\0"])
def test_paths_that_leave_are_refused(path: str) -> None:
    with pytest.raises(Leaves, match="'"):
        parts_of(path)


def test_links_are_not_followed_on_the_way(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/")
    with opened(tmp_path) as root:
        entering = parent_of(root, ("link", "etc"), make=True)
        with pytest.raises(Leaves, match="'link' is a link"):
            entering.__enter__()
