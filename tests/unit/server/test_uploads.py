"""Whose input files are whose, and how much they may take together."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rota.backends.process.client.files import FileStore
from rota.backends.process.folders import Folders
from rota.control.errors import BadInput
from rota.server.http.problems import ProblemError
from rota.server.uploads import Uploads

pytestmark = pytest.mark.covers("trust-5")

KIB = 1024
QUOTA_BYTES = 100 * KIB


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    made = Folders(tmp_path)
    made.make()
    return made


def opened(folders: Folders) -> Uploads:
    uploads = Uploads(
        FileStore(folders), folders, 80 * KIB, lambda user: QUOTA_BYTES if user != "free" else 0
    )
    uploads.load()
    return uploads


async def pieces(content: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(content), 10 * KIB):
        yield content[at : at + 10 * KIB]
        await asyncio.sleep(0)


def content_of(letter: str, size_kib: int) -> bytes:
    return letter.encode() * size_kib * KIB


async def put(uploads: Uploads, user: str, letter: str, size_kib: int) -> bool:
    content = content_of(letter, size_kib)
    return await uploads.put(hashlib.sha256(content).hexdigest(), pieces(content), user)


async def test_a_user_may_have_so_much_and_others_as_much(folders: Folders) -> None:
    uploads = opened(folders)
    assert await put(uploads, "mia", "a", 60)
    with pytest.raises(ProblemError, match="60Ki of 100Ki, and this one would be too much") as caught:
        await put(uploads, "mia", "b", 60)
    assert caught.value.status == 413
    assert await put(uploads, "mia", "c", 20)
    assert await put(uploads, "ben", "b", 60)
    for letter in "defg":
        assert await put(uploads, "free", letter, 60)
    assert uploads.used_bytes("mia") == 80 * KIB


async def test_what_was_sent_before_counts_once_and_for_everybody_who_sent_it(folders: Folders) -> None:
    uploads = opened(folders)
    assert await put(uploads, "mia", "a", 60)
    assert not await put(uploads, "mia", "a", 60)
    assert not await put(uploads, "ben", "a", 60)
    assert [uploads.used_bytes(user) for user in ("mia", "ben", "eve")] == [60 * KIB, 60 * KIB, 0]


async def test_several_at_once_count_together(folders: Folders) -> None:
    uploads = opened(folders)
    answers = await asyncio.gather(
        *(put(uploads, "mia", letter, 40) for letter in "abcd"), return_exceptions=True
    )
    assert sum(answer is True for answer in answers) <= 2
    assert uploads.used_bytes("mia") <= QUOTA_BYTES
    # What was refused counts no more.
    assert await put(uploads, "mia", "e", 10)


async def test_small_files_count_too(folders: Folders) -> None:
    uploads = opened(folders)

    async def put_many() -> int:
        for number in range(100):
            content = str(number).encode()
            try:
                await uploads.put(hashlib.sha256(content).hexdigest(), pieces(content), "mia")
            except ProblemError:
                return number
        return 100

    number = await put_many()
    assert 4096 * number <= QUOTA_BYTES <= 4096 * (number + 2)


def test_all_is_known_after_a_restart_but_what_is_gone(folders: Folders) -> None:
    names = ["mia", "a/../b", "..", "ü" * 200, "sha256-x"]

    async def send() -> None:
        uploads = opened(folders)
        for size_kib, name in enumerate(names, 10):
            await put(uploads, name, "a", size_kib)

    asyncio.run(send())
    again = opened(folders)
    assert [again.used_bytes(name) for name in names] == [size_kib * KIB for size_kib in range(10, 15)]
    for path in folders.files.iterdir():
        os.utime(path, (0, 0))
    assert len(again.remove_unused(set(), before_ms=1000, at_most=100)) == len(names)
    assert [again.used_bytes(name) for name in names] == [0] * len(names)
    assert not [path for path in folders.uploaded.rglob("*") if path.is_file()]


async def test_what_isnt_what_it_is_said_to_be_isnt_anybodys(folders: Folders) -> None:
    uploads = opened(folders)
    with pytest.raises(BadInput, match="upload it again"):
        await uploads.put("0" * 64, pieces(b"x"), "mia")
    with pytest.raises(BadInput, match="larger than"):
        await put(uploads, "mia", "a", 90)
    assert uploads.used_bytes("mia") == 0
