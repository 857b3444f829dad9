"""Files for tasks, handed to the process backend."""

from __future__ import annotations

from collections.abc import AsyncIterator

from rota.model.run import InputFile
from tests.real.process.host import Host


async def upload(here: Host, content: bytes, path: str, **options: bool) -> InputFile:
    async def pieces() -> AsyncIterator[bytes]:
        yield content[:10]
        yield content[10:]

    stored = await here.backend.files.put(pieces())
    return InputFile(path, stored.sha256, stored.size_bytes, **options)
