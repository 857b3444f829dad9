"""The token of the user who started the server, in a file that only this user can read. The CLI finds it
there."""

from __future__ import annotations

from pathlib import Path
from secrets import token_hex

from rota.api.people import Role
from rota.control.access import SYSTEM, Who
from rota.control.tokens import is_expired
from rota.loop.desk.people import PeopleDesk
from rota.server.identity.access import secret_hash
from rota.server.identity.minting import new_secret
from rota.store.writing.batch import Token
from rota.trust.private_file import write_private


async def local_token(people: PeopleDesk, path: Path, user: str, now_ms: int) -> None:
    """Makes one where the file holds none that counts."""
    if path.exists():  # noqa: ASYNC240 – once, before anybody is served
        token = await people.token_named(secret_hash(path.read_text().strip()))  # noqa: ASYNC240 – as above
        if token is not None and not is_expired(token, now_ms):
            return
    secret = new_secret()
    token = Token(token_hex(4), secret_hash(secret), user, Role.ADMIN, None, now_ms)
    await people.add_token(token, Who(SYSTEM, Role.ADMIN))
    write_private(path, f"{secret}\n".encode())
