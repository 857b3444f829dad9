"""Signing in with a provider of OpenID Connect, and out again."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from msgspec import Meta

from rota.api.documents import ChangeDocument
from rota.api.people import Role, TokenDocument
from rota.api.sign_in import SignInDocument
from rota.control.access import Who
from rota.control.origin import called_with
from rota.loop.desk.people import PeopleDesk
from rota.server.documents import token_document
from rota.server.http.problems import ProblemError, not_found
from rota.server.http.reply import Reply, json_reply
from rota.server.http.route import Call, ChangeQuery, Form, Query, Route
from rota.server.identity.minting import Mint, NewToken
from rota.server.sign_in.desk import SignIn
from rota.server.sign_in.id_token import LONGEST, BadIdToken

TAG = "sign-in"


class SignInForm(Form, frozen=True, kw_only=True):
    id_token: Annotated[str, Meta(max_length=LONGEST, description="As the provider gave it.")]


async def show_sign_in(call: Call[Query, None]) -> Reply:
    """What a client needs to ask the provider for an ID token, by the device flow (RFC 8628)."""
    return json_reply(await _sign_in(call).how())


async def sign_in(call: Call[Query, SignInForm], mint: Mint) -> Reply:
    """Gives a token for some hours to the user of the ID token. Each ID token is good for one, soon after it
    was made. The answer holds the secret, this once."""
    desk = _sign_in(call)
    try:
        grants = await desk.who(call.body.id_token)
    except BadIdToken as error:
        raise ProblemError(
            HTTPStatus.UNAUTHORIZED,
            "unauthorised",
            str(error),
            help="sign in with `rota login`, or ask the operators which groups may use this server",
            headers=(("www-authenticate", 'Bearer realm="rota"'),),
        ) from None
    wanted = NewToken(
        user=grants.user,
        role=grants.role,
        lasts_ms=desk.session_ms,
        origin=desk.issuer,
        grants=grants.projects,
    )
    called_with("", grants.user)
    token, secret = await mint.make(wanted, Who(grants.user, grants.role), call.now_ms)
    return json_reply(token_document(token, None, secret), 201)


async def sign_out(call: Call[ChangeQuery, None], people: PeopleDesk) -> Reply:
    """Removes the token that this request is made with, and all that were made with it."""
    removed = await people.remove_token(call.line[0].id, call.who, call.query.dry_run)
    return json_reply(ChangeDocument(dry_run=call.query.dry_run, changed=list(removed)))


def _sign_in(call: Call[Any, Any]) -> SignIn:
    if call.service.sign_in is None:
        raise not_found("provider", "to sign in with")
    return call.service.sign_in


ROUTES: tuple[Route[Any, Any], ...] = (
    Route(
        method="GET",
        path="/v1/auth",
        call=show_sign_in,
        summary="How to sign in",
        tag=TAG,
        role=None,
        query=Query,
        body=type(None),
        answers={200: SignInDocument},
    ),
    Route(
        method="POST",
        path="/v1/auth/sign-in",
        call=sign_in,
        summary="Sign in",
        tag=TAG,
        role=None,
        query=Query,
        body=SignInForm,
        answers={201: TokenDocument},
    ),
    Route(
        method="POST",
        path="/v1/auth/sign-out",
        call=sign_out,
        summary="Sign out",
        tag=TAG,
        role=Role.VIEWER,
        query=ChangeQuery,
        body=type(None),
        answers={200: ChangeDocument},
    ),
)
