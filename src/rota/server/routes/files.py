"""Input files: sent once, known by their hash from then on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from hashlib import sha256
from typing import Any

from rota.api.documents import ChangeDocument
from rota.api.people import Role
from rota.loop.desk.output import OutputDesk
from rota.server.http.problems import bad_input, forbidden
from rota.server.http.reading import read_sha256
from rota.server.http.reply import Reply, json_reply
from rota.server.http.route import Call, Query, Route


async def put_file(call: Call[Query, AsyncIterator[bytes]], output: OutputDesk) -> Reply:
    """Jobs name it by its hash. 201: it is new; 200: it was there already."""
    wanted = read_sha256(call.names["sha256"])
    if call.who.projects == ():
        raise forbidden("you may submit to no project", "ask an admin of yours for the role submitter")
    is_new = await output.put_file(wanted, _verified(call.body, wanted), call.who.user)
    return json_reply(ChangeDocument(dry_run=False, changed=[wanted]), 201 if is_new else 200)


async def _verified(chunks: AsyncIterator[bytes], wanted: str) -> AsyncIterator[bytes]:
    """The same, and an error at its end if it isn't what was announced: then nothing is put in place."""
    digest = sha256()
    async for chunk in chunks:
        digest.update(chunk)
        yield chunk
    if digest.hexdigest() != wanted:
        raise bad_input(
            "sha256", f"the bytes that came have the hash {digest.hexdigest()}", "send the file again"
        )


ROUTES: tuple[Route[Any, Any], ...] = (
    Route(
        method="PUT",
        path="/v1/files/{sha256}",
        call=put_file,
        summary="Send an input file",
        tag="files",
        role=Role.SUBMITTER,
        query=Query,
        body=AsyncIterator,
        documented_body="application/octet-stream",
        streams_body=True,
        answers={201: ChangeDocument, 200: ChangeDocument},
    ),
)
