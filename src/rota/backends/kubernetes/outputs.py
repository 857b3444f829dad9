"""Files that a task was to leave, brought from its pod and kept in a folder of the server."""

from __future__ import annotations

import asyncio
import shutil
import tarfile
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from rota.backends.backend import TaskRef
from rota.backends.kubernetes.pod_calls import PodCalls
from rota.backends.kubernetes.scripts import collect_command, list_command
from rota.backends.process.beneath import Leaves, parts_of
from rota.backends.process.folders import Folders
from rota.backends.process.keeper.files.outputs import LARGEST_BYTES, MOST_FILES
from rota.backends.process.space import ensure_room
from rota.kube.api.remote_command import Channel
from rota.model.outputs import is_meant

COLLECTOR = "log-collector"
_MOST_TOLD = 10


class Found(NamedTuple):
    path: str
    size_bytes: int


class Choice(NamedTuple):
    paths: list[str]
    refused: list[str]
    """What isn't kept, and why."""


def files_in(listing: bytes) -> list[Found]:
    found = []
    for entry in listing.split(b"\0"):
        words = entry.decode("utf-8", "surrogateescape").split(" ", 2)
        if len(words) == 3 and words[0].isdecimal():
            found.append(Found(words[2].removeprefix("./"), int(words[0])))
    return found


def chosen(outputs: Sequence[str], found: Sequence[Found]) -> Choice:
    paths: dict[str, None] = {}
    refused: list[str] = []
    for output in outputs:
        meant = [one for one in found if is_meant(one.path, (output,))]
        if not meant:
            refused.append(f"{output!r}, which isn't there")
        elif len(meant) > MOST_FILES:
            refused.append(f"{output!r}: more than {MOST_FILES:,} files")
        else:
            for one in meant:
                if one.size_bytes > LARGEST_BYTES:
                    refused.append(f"{one.path!r} is larger than {LARGEST_BYTES >> 20} MiB")
                else:
                    paths[one.path] = None
    return Choice(sorted(paths), refused)


def words_of(refused: Sequence[str]) -> str:
    more = len(refused) - _MOST_TOLD
    rest = [f"{more:,} more"] if more > 0 else []
    return "; ".join(f"not kept: {each}" for each in [*refused[:_MOST_TOLD], *rest])


async def keep_outputs(
    calls: PodCalls, pod: str, ref: TaskRef, outputs: Sequence[str], directory: str, folders: Folders
) -> str:
    """What couldn't be kept, and why. Raises KubeError where the pod can't be asked."""
    listed = await calls.run(pod, COLLECTOR, list_command(directory))
    choice = chosen(outputs, files_in(listed.out))
    if choice.paths:
        names = b"".join(f"./{path}".encode("utf-8", "surrogateescape") + b"\0" for path in choice.paths)
        with tempfile.TemporaryFile(dir=folders.rooms) as archive:
            await _fetch(calls, pod, collect_command(len(names), directory), names, archive)
            refused = await asyncio.to_thread(_unpack, archive, folders.outputs_of_task(ref), folders.files)
        choice.refused.extend(refused)
    return words_of(choice.refused)


async def _fetch(calls: PodCalls, pod: str, command: list[str], names: bytes, archive: IO[bytes]) -> None:
    async with calls.client.run_in(calls.namespace, pod, COLLECTOR, command, has_input=True) as running:
        await running.send(names)
        async for piece in running.pieces():
            if piece.channel is Channel.OUT:
                await asyncio.to_thread(_write, archive, piece.data)
    archive.seek(0)


def _write(archive: IO[bytes], data: bytes) -> None:
    ensure_room(archive.fileno())
    archive.write(data)


def _unpack(archive: IO[bytes], target: Path, beside: Path) -> list[str]:
    refused: list[str] = []
    with tarfile.open(fileobj=archive, mode="r:", ignore_zeros=True) as tar:
        for member in tar:
            try:
                parts = parts_of(member.name.removeprefix("./"))
            except Leaves as error:
                refused.append(str(error))
                continue
            file = tar.extractfile(member) if member.isreg() else None
            if file is None or member.size > LARGEST_BYTES:
                refused.append(f"{'/'.join(parts)!r} is not a file")
                continue
            kept = target.joinpath(*parts)
            kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=beside, prefix="output-", delete=False) as half:
                shutil.copyfileobj(file, half)
            Path(half.name).chmod(0o700 if member.mode & 0o100 else 0o600)
            Path(half.name).replace(kept)
    return refused


async def pieces_of(archive: IO[bytes], piece_bytes: int = 1 << 18) -> AsyncIterator[bytes]:
    while data := await asyncio.to_thread(archive.read, piece_bytes):
        yield data
