"""Tokens and those that were made with them: a token is valid only while all that it descends from are."""

from __future__ import annotations

from collections.abc import Iterable

from rota.control.access import SYSTEM
from rota.control.draft import Draft
from rota.control.errors import Conflict
from rota.control.transactor import Transactor
from rota.store.writing.batch import Removal, Token

MOST_GENERATIONS = 8
"""From the first token to the last that descends from it."""
EXPIRED_KEPT_MS = 7 * 86_400_000
"""For so long a token that has expired is still listed, so that its owner sees why it no longer works."""
_MOST_FORGOTTEN = 1000
"""In one transaction."""


def is_expired(token: Token, now_ms: int) -> bool:
    return token.expires_ms is not None and token.expires_ms <= now_ms


def check_token(draft: Draft, token: Token, most: int | None) -> None:
    """Raises Conflict if it can't be added."""
    if token.parent and token.parent not in draft.memory.tokens_by_id:
        raise Conflict("the token that this one is made with was removed", "use another token")
    if most is None:
        return
    valid = sum(
        one.user == token.user and not one.browser and not is_expired(one, draft.now_ms)
        for one in draft.tokens()
    )
    if valid >= most and not token.browser:
        raise Conflict(
            f"{token.user} has {valid} valid tokens already, and {most} is the most",
            "remove some that are no longer used: `rota token ls`, `rota token rm`",
        )


def crowded_out(draft: Draft, token: Token, most: int) -> list[Token]:
    """Sessions of its user that end so that a new one has its place: the oldest. Nobody has to tidy up before
    they can sign in."""
    others = [one for one in draft.tokens() if one.browser and one.user == token.user]
    others.sort(key=lambda one: (one.created_ms, one.id))
    return others[: max(0, len(others) + 1 - most)]


def with_descendants(token_id: str, tokens: Iterable[Token]) -> list[str]:
    """It, and all that were made with it or with one of those; empty: there is no such token."""
    is_there, children = False, dict[str, list[str]]()
    for token in tokens:
        is_there = is_there or token.id == token_id
        if token.parent:
            children.setdefault(token.parent, []).append(token.id)
    found = [token_id] if is_there else []
    for one in found:
        found += (child for child in children.pop(one, ()))
    return found


async def forget_old_tokens(transactor: Transactor, now_ms: int) -> None:
    """Removes tokens that expired long ago, and those whose parent is gone."""
    known = transactor.memory.tokens_by_id
    old = [
        token.id
        for token in known.values()
        if is_expired(token, now_ms - EXPIRED_KEPT_MS) or (token.parent and token.parent not in known)
    ][:_MOST_FORGOTTEN]

    def command(draft: Draft) -> None:
        for token_id in old:
            draft.batch.removed.append((Removal.TOKEN, token_id))
            draft.note("token.Forgotten", token_id, SYSTEM, {})

    if old:
        await transactor.do(command)
