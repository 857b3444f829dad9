"""Uploads: whole and as announced, or not at all."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rota.backends.process.client.files import FileStore
from rota.backends.process.folders import Folders, as_name
from rota.model.ids import JobId

CONTENT = b"content"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    folders = Folders(tmp_path)
    folders.make()
    return folders


async def pieces(*content: bytes) -> AsyncIterator[bytes]:
    for piece in content:
        yield piece


def test_content_is_found_by_what_it_is(folders: Folders) -> None:
    store = FileStore(folders)
    stored = asyncio.run(store.put(pieces(b"con", b"tent"), sha256=SHA256))
    assert stored == store.find(SHA256)
    assert folders.file(SHA256).read_bytes() == CONTENT
    assert store.find("0" * 64) is None


@pytest.mark.covers("ops-3")
@pytest.mark.parametrize(
    "options, message",
    [
        ({"sha256": "0" * 64}, "upload it again"),
        ({"largest_bytes": 6}, "larger than 6 bytes"),
        ({"sha256": "../../x"}, "sha256: .* is not 64"),
    ],
)
def test_what_is_not_as_announced_leaves_nothing(
    folders: Folders, options: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        asyncio.run(FileStore(folders).put(pieces(CONTENT), **options))  # type: ignore[arg-type]
    assert list(folders.files.iterdir()) == []


def test_an_upload_that_breaks_off_leaves_nothing(folders: Folders) -> None:
    async def breaking() -> AsyncIterator[bytes]:
        yield CONTENT
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        asyncio.run(FileStore(folders).put(breaking()))
    assert list(folders.files.iterdir()) == []


@pytest.mark.covers("ops-3")
@pytest.mark.parametrize("job", ["", ".", "..", "../1", "a/b", "a\0", "x" * 300])
def test_ids_that_are_no_names_of_folders_are_refused(job: str) -> None:
    with pytest.raises(ValueError, match="job: "):
        as_name(JobId(job))


def uploaded(folders: Folders, content: bytes, at_ms: int) -> str:
    stored = asyncio.run(FileStore(folders).put(pieces(content)))
    os.utime(folders.file(stored.sha256), ns=(0, at_ms * 1_000_000))
    return stored.sha256


@pytest.mark.covers("job-5")
def test_old_uploads_go_unless_they_are_needed(folders: Folders) -> None:
    needed, old, new = (
        uploaded(folders, content, at_ms) for content, at_ms in ((b"a", 5), (b"b", 5), (b"c", 10))
    )
    (folders.files / "upload-half").write_bytes(b"not whole yet")
    os.utime(folders.files / "upload-half", (0, 0))
    store = FileStore(folders)
    assert store.remove_unused({needed}, before_ms=10, at_most=100) == [old]
    assert [store.find(each) is not None for each in (needed, old, new)] == [True, False, True]
    assert (folders.files / "upload-half").exists()


def test_a_step_removes_so_many_and_the_oldest_first(folders: Folders) -> None:
    names = [uploaded(folders, str(age).encode(), 10 - age) for age in range(5)]
    store = FileStore(folders)
    assert store.remove_unused(set(), before_ms=100, at_most=2) == [names[4], names[3]]
    assert [store.find(each) is not None for each in names] == [True, True, True, False, False]


def test_to_upload_again_is_to_keep_it_longer(folders: Folders) -> None:
    sha256 = uploaded(folders, CONTENT, 5)
    store = FileStore(folders)
    asyncio.run(store.put(pieces(CONTENT), sha256=sha256))
    assert store.remove_unused(set(), before_ms=10, at_most=100) == []
    assert store.find(sha256) is not None
