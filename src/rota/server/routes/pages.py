"""What browsers open: signing in and out, and a page that says as whom. Errors are pages here, too."""

from __future__ import annotations

from contextlib import suppress
from hmac import compare_digest
from http import HTTPStatus
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec
from msgspec import Meta, Struct, field

from rota.api.people import MeDocument, Role
from rota.control.errors import NotFound
from rota.control.origin import called_with, current
from rota.control.tokens import MOST_GENERATIONS
from rota.loop.desk.people import PeopleDesk
from rota.server.browser.cookies import cookie_of
from rota.server.browser.forgery import FORWARDED_HOST, check_csrf, check_origin, csrf_of, is_from_elsewhere
from rota.server.browser.html import home_page, onward_page, redirect, sign_in_page, wants_html
from rota.server.browser.return_path import LONGEST, local_path
from rota.server.browser.sessions import CALLBACK, Pages
from rota.server.http.problems import ProblemError, bad_input, forbidden, not_found, printable
from rota.server.http.reading import MAX_QUERY_FIELDS, read_body
from rota.server.http.reply import JSON, Reply, json_reply
from rota.server.http.route import Call, Form, Query, Route
from rota.server.identity.access import Line, unauthorised, who_is
from rota.server.identity.minting import Mint, NewToken
from rota.server.sign_in.desk import SignIn
from rota.server.sign_in.flow import LASTS_MS, Flow
from rota.server.sign_in.id_token import BadIdToken

T = TypeVar("T")

TAG = "pages"
FORM = "application/x-www-form-urlencoded"
_HTML = "text/html"
WELCOME = """\
This is a Rota server: a job scheduler.

Commands:      rota --help (set the server with `rota config add`, or sign in with `rota login`)
REST:          /v1, described by /openapi.json; each request needs a token
Health:        /healthz, /readyz; metrics for Prometheus: /metrics, with a token
"""
"""For whoever asks without a browser."""
_RETURN = Meta(max_length=LONGEST, description="A path of this server, to go on to.")


class SignInQuery(Query, frozen=True, kw_only=True):
    return_to: Annotated[str, _RETURN] = field(default="", name="return")
    here: bool = False
    """It was sent here from another name of this server: it isn't sent on once more."""


class CallbackQuery(Struct, frozen=True, kw_only=True):
    """As the provider writes it. It may say more than is needed."""

    state: str = ""
    code: str = ""
    iss: str | None = None
    """RFC 9207."""
    error: str | None = None


class TokenSignIn(Form, frozen=True, kw_only=True):
    token: Annotated[str, Meta(max_length=200)]
    csrf: str = ""
    return_to: Annotated[str, _RETURN] = field(default="", name="return")


class SignOut(Form, frozen=True, kw_only=True):
    csrf: str | None = None


_token_sign_ins = msgspec.json.Decoder(TokenSignIn)
_sign_outs = msgspec.json.Decoder(SignOut)


async def show_home(call: Call[Query, None], people: PeopleDesk) -> Reply:
    """Who is signed in; for anything but a browser, what this is."""
    if not wants_html(call.headers.get("accept")):
        return Reply(200, WELCOME.encode(), "text/plain; charset=utf-8")
    pages = _pages(call)
    if is_from_elsewhere(call.headers):
        return onward_page("/")
    try:
        line = await pages.line_of(call.headers, call.now_ms, changes=False)
    except ProblemError:
        line = None
    if line is None:
        return redirect("/sign-in")
    return home_page(who_is(line, await people.projects(), Role.VIEWER), pages.csrf(call.headers))


async def show_sign_in_page(call: Call[SignInQuery, None]) -> Reply:
    """The ways to sign in; straight to the provider where it is the only one."""
    pages, return_to = _pages(call), local_path(call.query.return_to)
    provider = call.service.sign_in
    if provider is not None and not pages.terms.takes_tokens:
        return await _to_provider(call, provider, return_to)
    if not pages.terms.takes_tokens:
        raise not_found("way", "to sign in")
    # Another tab may have been opened with it.
    flow = _flow(call) or Flow.begun(call.now_ms, return_to)
    host = None if provider is None else urlsplit(provider.issuer).hostname
    cookie = pages.cookies.set_flow(flow.cookie, LASTS_MS // 1000)
    return sign_in_page(return_to, csrf_of(flow.cookie), host, [cookie])


async def go_to_provider(call: Call[SignInQuery, None]) -> Reply:
    """By the authorization code flow, with PKCE."""
    return await _to_provider(call, _provider(call), local_path(call.query.return_to))


async def _to_provider(call: Call[SignInQuery, None], provider: SignIn, return_to: str) -> Reply:
    pages = _pages(call)
    host = call.headers.get(FORWARDED_HOST) or call.headers.get("host", "")
    if host.lower() != pages.host.lower() and not call.query.here:
        # The provider sends the browser back to one address, and cookies stay with the name that set them.
        again = urlencode({"return": return_to, "here": "true"})
        return redirect(f"{pages.terms.url}/sign-in/provider?{again}")
    flow = Flow.begun(call.now_ms, return_to)
    cookie = pages.cookies.set_flow(flow.cookie, LASTS_MS // 1000)
    return redirect(await provider.way(flow, pages.callback), [cookie])


async def come_from_provider(call: Call[CallbackQuery, None], mint: Mint) -> Reply:
    """Begins a session for whom the provider says it is."""
    pages, provider, query = _pages(call), _provider(call), call.query
    flow = _flow(call)
    if flow is None or not compare_digest(flow.state.encode(), query.state.encode()):
        raise _elsewhere("this browser began no such sign-in, or too long ago")
    return_to = local_path(flow.return_to)
    if query.iss is not None and query.iss != provider.issuer:
        raise _elsewhere("the answer is of another provider")
    if query.error is not None:
        raise _refused(f"the provider says: {printable(query.error, 80)}")
    pages.admit(_address(), call.now_ms)
    try:
        grants = await provider.who_came(flow, query.code, pages.callback)
    except BadIdToken as error:
        raise _refused(str(error)) from None
    called_with("", grants.user)
    wanted = NewToken(
        user=grants.user,
        role=grants.role,
        lasts_ms=min(provider.session_ms, pages.terms.session_ms),
        origin=provider.issuer,
        grants=grants.projects,
        browser=True,
    )
    _, cookie = await pages.begin(wanted, mint, call.now_ms)
    return onward_page(return_to, [cookie, pages.cookies.end_flow()])


async def sign_in_by_token(call: Call[Query, bytes], mint: Mint, people: PeopleDesk) -> Reply:
    """Begins a session that may do what the token may, and lasts no longer."""
    pages = _pages(call)
    if not pages.terms.takes_tokens:
        raise not_found("way", "to sign in with a token")
    is_form = _is_form(call)
    # Another site could sign somebody in as somebody else, and watch what they do.
    check_origin(call.headers, pages.terms.url, is_needed=is_form)
    form = _read(call, _token_sign_ins)
    if is_form:
        cookie = cookie_of(call.headers.get("cookie", ""), pages.cookies.flow)
        if cookie is None:
            raise _elsewhere("this browser began no sign-in, or too long ago")
        check_csrf(cookie, form.csrf)
    return_to = local_path(form.return_to)
    pages.admit(_address(), call.now_ms)
    line = await call.service.access.line_of(f"Bearer {form.token.strip()}", call.now_ms)
    secret, session_cookie = await pages.begin(_wanted(line, pages), mint, call.now_ms)
    if is_form:
        return redirect(return_to, [session_cookie, pages.cookies.end_flow()])
    who = who_is(line, await people.projects(), Role.VIEWER)
    projects = None if who.projects is None else list(who.projects)
    reply = json_reply(MeDocument(user=who.user, role=who.role, projects=projects, csrf=csrf_of(secret)))
    return Reply(reply.status, reply.body, reply.media_type, [session_cookie])


def _wanted(line: Line, pages: Pages) -> NewToken:
    if len(line) >= MOST_GENERATIONS:
        raise forbidden(
            f"this token is the last of {MOST_GENERATIONS} that were each made with the one before",
            "sign in with one of the earlier ones",
        )
    token = line[0]
    return NewToken(
        user=token.user,
        role=token.role,
        projects=token.projects,
        lasts_ms=pages.terms.session_ms,
        made_with=line,
        grants=token.grants,
        browser=True,
    )


async def sign_out_of_pages(call: Call[Query, bytes], people: PeopleDesk) -> Reply:
    """Ends the session, and every token that was made with it."""
    pages = _pages(call)
    form = _read(call, _sign_outs)
    line = await pages.line_of(call.headers, call.now_ms, changes=True, csrf=form.csrf)
    if line is None:
        raise unauthorised("nobody is signed in")
    with suppress(NotFound):  # Ended by another request meanwhile.
        await people.remove_token(line[0].id, who_is(line, await people.projects(), Role.VIEWER))
    ended = pages.cookies.end_session()
    return redirect("/sign-in", [ended]) if _is_form(call) else Reply(204, b"", JSON, [ended])


def _pages(call: Call[Any, Any]) -> Pages:
    if call.service.pages is None:
        raise not_found("page", "to sign in")
    return call.service.pages


def _provider(call: Call[Any, Any]) -> SignIn:
    if call.service.sign_in is None:
        raise not_found("provider", "to sign in with")
    return call.service.sign_in


def _flow(call: Call[Any, Any]) -> Flow | None:
    cookie = cookie_of(call.headers.get("cookie", ""), _pages(call).cookies.flow)
    return None if cookie is None else Flow.read(cookie, call.now_ms)


def _address() -> str:
    origin = current()
    return "" if origin is None else origin.address


def _is_form(call: Call[Any, Any]) -> bool:
    return call.headers.get("content-type", JSON).partition(";")[0].strip().lower() == FORM


def _read(call: Call[Any, bytes], decoder: msgspec.json.Decoder[T]) -> T:
    """A form is read as if it were JSON: its fields are texts."""
    raw = msgspec.json.encode(_fields(call.body)) if _is_form(call) else call.body
    return read_body(raw or b"{}", decoder)


def _fields(body: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_QUERY_FIELDS
        )
    except ValueError:
        raise bad_input("", "the form can't be read", "send it as a browser does") from None
    return dict(pairs)


def _elsewhere(detail: str) -> ProblemError:
    return ProblemError(
        HTTPStatus.FORBIDDEN, "cross-site", detail, help="sign in again, in one window, within 10 minutes"
    )


def _refused(detail: str) -> ProblemError:
    return ProblemError(
        HTTPStatus.UNAUTHORIZED,
        "unauthorised",
        detail,
        help="sign in again, or ask the operators which groups may use this server",
    )


def _shown(path: str, call: Any, summary: str, query: Any = Query) -> Route[Any, Any]:
    return Route(
        method="GET",
        path=path,
        call=call,
        summary=summary,
        tag=TAG,
        role=None,
        query=query,
        body=type(None),
        answers={200: _HTML},
    )


def _sent(path: str, call: Any, summary: str) -> Route[Any, Any]:
    return Route(
        method="POST",
        path=path,
        call=call,
        summary=summary,
        tag=TAG,
        role=None,
        query=Query,
        body=bytes,
        reads=(JSON, FORM),
        answers={200: MeDocument, 303: _HTML},
    )


PAGE_ROUTES: tuple[Route[Any, Any], ...] = (
    _shown("/", show_home, "Who is signed in, or what this is"),
    _shown("/sign-in", show_sign_in_page, "How to sign in", SignInQuery),
    _shown("/sign-in/provider", go_to_provider, "Sign in with the provider", SignInQuery),
    _shown(CALLBACK, come_from_provider, "Come back from the provider", CallbackQuery),
    _sent("/sign-in/token", sign_in_by_token, "Sign in with a token"),
    _sent("/sign-out", sign_out_of_pages, "Sign out"),
)
"""Beside those that the OpenAPI document has: these are for people."""
