"""Who may direct the scheduler, and who may invite agents: a file that only the scheduler's user can read.

ci      rota_6kY…
nightly rota_Qx3…
alice   rota_9fT… operator
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from hmac import compare_digest
from pathlib import Path

from rota.server.identity.access import secret_hash

LEAST_LENGTH = 16
OPERATOR = "operator"
"""After the token: it is of somebody who invites agents, and directs nothing."""
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", re.ASCII)


class TokensError(Exception):
    """What is wrong with the file, where, and what to do."""


class Tokens:
    def __init__(self, secrets: Mapping[str, str], operators: Collection[str] = ()) -> None:
        self._hashes = {name: secret_hash(secret) for name, secret in secrets.items()}
        self._operators = frozenset(operators)

    @property
    def controllers(self) -> list[str]:
        return [name for name in self._hashes if name not in self._operators]

    def is_of(self, name: str, token: str) -> bool:
        """Whether it is the token of this controller."""
        known = "" if name in self._operators else self._hashes.get(name, "")
        return compare_digest(known, secret_hash(token))

    def named(self, sha256: str) -> str | None:
        """Whose token has this hash."""
        return next((name for name, known in self._hashes.items() if compare_digest(known, sha256)), None)

    def is_operator(self, name: str) -> bool:
        return name in self._operators


def read_tokens(path: Path) -> Tokens:
    try:
        if path.stat().st_mode & 0o077:
            raise TokensError(f"{path}: others can read it; make it yours alone: chmod 600 {path}")
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it isn't UTF-8"
        raise TokensError(
            f"{path} can't be read: {why}; give a file with a NAME and a TOKEN a line"
        ) from None
    secrets: dict[str, str] = {}
    operators: set[str] = set()
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) not in (2, 3) or words[2:] not in ([], [OPERATOR]) or not _NAME.fullmatch(words[0]):
            raise TokensError(
                f"{path}:{number}: isn't a name and its token; write: NAME TOKEN, "
                f"and {OPERATOR} after it for one who invites agents"
            )
        name, secret = words[:2]
        if len(secret) < LEAST_LENGTH or name in secrets or secret in secrets.values():
            raise TokensError(
                f"{path}:{number}: the token of {name} is shorter than {LEAST_LENGTH} characters, or there "
                "is another; give each one token of its own"
            )
        secrets[name] = secret
        if words[2:]:
            operators.add(name)
    if secrets.keys() == operators:
        raise TokensError(f"{path}: names no controller; write a line for each: NAME TOKEN")
    return Tokens(secrets, operators)
