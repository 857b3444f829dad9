"""Tokens: made, listed, removed. A secret is told once, and only its hash is kept."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import uuid4

from msgspec import Meta

from rota.api.documents import ChangeDocument, Page, Role, TokenDocument
from rota.model.quantities import parse_duration_ms
from rota.server.access import at_least, new_secret, secret_hash
from rota.server.documents import token_document
from rota.server.problems import bad_input, forbidden, not_found
from rota.server.reading import read_quantity, read_step
from rota.server.reply import Reply, json_reply
from rota.server.route import Call, ChangeQuery, Form, Query, Route
from rota.store.batch import Token

TAG = "tokens"


class TokenForm(Form, frozen=True, kw_only=True):
    user: Annotated[str, Meta(max_length=253, description="Left out: yourself.")] | None = None
    role: Role
    projects: Annotated[list[str], Meta(max_length=1000, description="Left out: all of yours.")] | None = None
    expires_in: Annotated[str | int, Meta(description="As in 30d; left out: never.")] | None = None


async def list_tokens(call: Call[Query, None]) -> Reply:
    """Your own; of admins, all."""
    seen = [one for one in await call.desk.tokens() if _is_ours(call, one)]
    used = call.service.access.last_used_ms
    return json_reply(Page[TokenDocument](items=[token_document(one, used.get(one.id)) for one in seen]))


async def create_token(call: Call[ChangeQuery, TokenForm]) -> Reply:
    """The answer holds the secret, this once. Repeated with its key, the request gets none again."""
    secret = new_secret()
    token = _token(call, secret)
    dry_run = call.query.dry_run
    await call.desk.add_token(
        token, call.who, dry_run, call.answer_of(lambda made: json_reply(token_document(made, None), 201))
    )
    shown = token_document(token, None, None if dry_run else secret)
    return json_reply(shown, 200 if dry_run else 201)


def _token(call: Call[ChangeQuery, TokenForm], secret: str) -> Token:
    form, who = call.body, call.who
    user = who.user if form.user is None else read_step(form.user, "user")
    if user != who.user and not at_least(who.role, Role.ADMIN):
        raise forbidden("only admins make tokens for others", "leave the user out", "user")
    if not at_least(who.role, form.role):
        raise forbidden(
            f"you can't give the role {form.role.value}, as you don't have it",
            f"give at most {who.role.value}",
            "role",
        )
    projects = who.projects if form.projects is None else tuple(sorted(set(form.projects)))
    for index, project in enumerate(form.projects or ()):
        read_step(project, f"projects[{index}]")
        if not who.sees(project):
            raise forbidden("your own token isn't for this project", "leave it out", f"projects[{index}]")
    return Token(
        uuid4().hex[:12], secret_hash(secret), user, form.role, projects, call.now_ms, _expires_ms(call)
    )


def _expires_ms(call: Call[ChangeQuery, TokenForm]) -> int | None:
    """Never later than the token that makes it: else a token could prolong itself."""
    wanted = call.body.expires_in
    if wanted is None:
        return call.expires_ms
    lasts_ms = read_quantity("expires_in", parse_duration_ms, wanted)
    if not lasts_ms:
        raise bad_input("expires_in", "no time at all", "give more than 0")
    expires_ms = call.now_ms + lasts_ms
    return expires_ms if call.expires_ms is None else min(expires_ms, call.expires_ms)


async def remove_token(call: Call[ChangeQuery, None]) -> Reply:
    """It stops working at once. Your own; of admins, any."""
    token_id = read_step(call.names["id"], "id")
    token = next((one for one in await call.desk.tokens() if one.id == token_id), None)
    if token is None or not _is_ours(call, token):
        raise not_found("token", token_id)
    await call.desk.remove_token(token_id, call.who, call.query.dry_run)
    return json_reply(ChangeDocument(dry_run=call.query.dry_run, changed=[token_id]))


def _is_ours(call: Call[Any, Any], token: Token) -> bool:
    return token.user == call.who.user or at_least(call.who.role, Role.ADMIN)


ROUTES: tuple[Route[Any, Any], ...] = (
    Route(
        method="GET",
        path="/v1/tokens",
        call=list_tokens,
        summary="List tokens",
        tag=TAG,
        role=Role.VIEWER,
        query=Query,
        body=type(None),
        answers={200: Page[TokenDocument]},
    ),
    Route(
        method="POST",
        path="/v1/tokens",
        call=create_token,
        summary="Make a token",
        tag=TAG,
        role=Role.VIEWER,
        query=ChangeQuery,
        body=TokenForm,
        answers={201: TokenDocument, 200: TokenDocument},
        examples={"for a CI": {"role": "submitter", "projects": ["vision"], "expires_in": "90d"}},
    ),
    Route(
        method="DELETE",
        path="/v1/tokens/{id}",
        call=remove_token,
        summary="Remove a token",
        tag=TAG,
        role=Role.VIEWER,
        query=ChangeQuery,
        body=type(None),
        answers={200: ChangeDocument},
    ),
)
