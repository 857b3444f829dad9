"""Uploads: whole and as announced, or not at all."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rota.backends.process.files import FileStore
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
    store.remove(SHA256)
    assert store.find(SHA256) is None


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
