"""Tokens: add, list, remove. A secret is shown once, and only its hash is stored."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from rota.api.documents import ChangeDocument, Page
from rota.api.people import Role, TokenDocument
from rota.control.tokens import MOST_GENERATIONS, with_descendants
from rota.loop.desk.people import PeopleDesk
from rota.model.quantities import parse_duration_ms
from rota.server.documents import token_document
from rota.server.http.problems import bad_input, forbidden, not_found
from rota.server.http.reading import read_quantity, read_step
from rota.server.http.reply import Reply, json_reply
from rota.server.http.route import Call, ChangeQuery, Form, Query, Route
from rota.server.identity.access import at_least, covers, who_is
from rota.server.identity.minting import Mint, NewToken
from rota.store.writing.batch import Token

TAG = "tokens"


class TokenForm(Form, frozen=True, kw_only=True):
    user: Annotated[str, Meta(max_length=253, description="Left out: yourself.")] | None = None
    role: Role
    projects: (
        Annotated[list[str], Meta(max_length=1000, description="Left out: as of your token.")] | None
    ) = None
    expires_in: Annotated[str | int, Meta(description="As in 30d; left out: as late as may be.")] | None = (
        None
    )


async def list_tokens(call: Call[Query, None], people: PeopleDesk) -> Reply:
    """Your own; of admins, all."""
    seen = [one for one in await people.tokens() if _is_ours(call, one)]
    used = call.service.access.last_used_ms
    return json_reply(Page[TokenDocument](items=[token_document(one, used.get(one.id)) for one in seen]))


async def create_token(call: Call[ChangeQuery, TokenForm], mint: Mint, people: PeopleDesk) -> Reply:
    """It may do no more than the token that it is made with, and is valid only while that one is. The answer
    holds the secret, this once. Repeated with its key, the request gets none again."""
    dry_run = call.query.dry_run
    token, secret = await mint.make(
        await _wanted(call, people),
        call.who,
        call.now_ms,
        dry_run,
        call.answer_of(lambda made: json_reply(token_document(made, None), 201)),
    )
    shown = token_document(token, None, None if dry_run else secret)
    return json_reply(shown, 200 if dry_run else 201)


async def _wanted(call: Call[ChangeQuery, TokenForm], people: PeopleDesk) -> NewToken:
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
    if len(call.line) >= MOST_GENERATIONS:
        raise forbidden(
            f"your token is the last of {MOST_GENERATIONS} that were each made with the one before",
            "make it with one of the earlier ones",
        )
    return NewToken(
        user=user,
        role=form.role,
        projects=await _projects(call, people),
        lasts_ms=_lasts_ms(form),
        made_with=call.line,
        grants=() if form.projects is not None else call.line[0].grants,
    )


async def _projects(call: Call[ChangeQuery, TokenForm], people: PeopleDesk) -> tuple[str, ...] | None:
    """The named projects, or else those of the token it is made with. If that has none, the memberships of
    its user count, also when they change."""
    form = call.body
    if form.projects is None:
        return None if call.who.projects is None else call.line[0].projects
    who = who_is(call.line, await people.projects(), form.role)
    for index, project in enumerate(form.projects):
        read_step(project, f"projects[{index}]")
        if not who.sees(project):
            raise forbidden(
                f"your token isn't for this project with the role {form.role.value}",
                "leave it out, or give a lesser role",
                f"projects[{index}]",
            )
    return tuple(sorted(set(form.projects)))


def _lasts_ms(form: TokenForm) -> int | None:
    if form.expires_in is None:
        return None
    lasts_ms = read_quantity("expires_in", parse_duration_ms, form.expires_in)
    if not lasts_ms:
        raise bad_input("expires_in", "the duration is 0", "give more than 0")
    return lasts_ms


async def remove_token(call: Call[ChangeQuery, None], people: PeopleDesk) -> Reply:
    """It stops working at once, with all that were made with it. Your own, if it may do no more than the
    token that you show, or was made with it; of admins, any."""
    token_id = read_step(call.names["id"], "id")
    token = await people.token_with_id(token_id)
    if token is None or not _is_ours(call, token):
        raise not_found("token", token_id)
    if not await _may_remove(call, people, token):
        raise forbidden(
            f"token {token_id} may do more than the one that you show",
            "use that one, or another that may do as much",
        )
    removed = await people.remove_token(token_id, call.who, call.query.dry_run)
    return json_reply(ChangeDocument(dry_run=call.query.dry_run, changed=list(removed)))


async def _may_remove(call: Call[ChangeQuery, None], people: PeopleDesk, token: Token) -> bool:
    mine = call.line[0].id
    if at_least(call.who.role, Role.ADMIN) or token.id in with_descendants(mine, await people.tokens()):
        return True
    return covers(call.line, token, await people.projects())


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
