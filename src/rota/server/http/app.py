"""The application: every route of `routes/` whose desks are there."""

from __future__ import annotations

from asyncio import Event
from collections.abc import Callable, Sequence
from typing import Any

from litestar import Litestar, Request, Response
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp

from rota.clock import now_ms
from rota.loop.desk.audit import AuditTrail
from rota.loop.telemetry.metrics import Metrics
from rota.server.agents import AgentCalls
from rota.server.browser.html import problem_page, wants_html
from rota.server.browser.sessions import Pages, PageTerms
from rota.server.http.desks import Desks
from rota.server.http.exchange import Exchange
from rota.server.http.front import Front
from rota.server.http.limits import DEFAULT_LIMITS, Limits
from rota.server.http.openapi import openapi_document
from rota.server.http.problems import as_problem, problem_reply
from rota.server.http.reply import SAFE_HEADERS
from rota.server.http.route import Route, Service
from rota.server.identity.access import Access
from rota.server.identity.audit import Auditor, Reads, note_problem
from rota.server.routes import ROUTES
from rota.server.routes.pages import PAGE_ROUTES
from rota.server.routes.results import AGENT_ROUTES
from rota.server.sign_in.desk import SignIn

_PAGES = frozenset(route.path for route in PAGE_ROUTES)


def make_app(  # noqa: PLR0913 – one for each part that may be missing
    desks: Desks,
    limits: Limits = DEFAULT_LIMITS,
    metrics: Metrics | None = None,
    *,
    agents: AgentCalls | None = None,
    routes: Sequence[Route[Any, Any]] = ROUTES,
    closing: Event | None = None,
    sign_in: SignIn | None = None,
    pages: PageTerms | None = None,
    audit: AuditTrail | None = None,
    audit_reads: Reads = "others",
    now_ms: Callable[[], int] = now_ms,
) -> ASGIApp:
    """`closing`: set when the server stops, so that streams end. `audit`: what keeps records of calls that
    change nothing; None: refusals are only logged. `pages`: for browsers; None: there are none."""
    metrics = metrics or Metrics()
    served = [route for route in routes if all(kind in desks.by_class for kind in route.desks)]
    access = Access(desks.credentials, now_ms())
    shown = None if pages is None else Pages(access, pages)
    service = Service(access, metrics, openapi_document(served), desks.readiness, agents, sign_in, shown)
    of_pages = () if shown is None else PAGE_ROUTES
    exchange = Exchange(desks, service, limits, now_ms, closing or Event())
    app = Litestar(
        route_handlers=[_handler(route, exchange) for route in (*served, *AGENT_ROUTES, *of_pages)],
        openapi_config=None,
        logging_config=None,
        request_max_body_size=None,  # held to by `limits.body_chunks`, with an answer of our own
        exception_handlers={Exception: _answer_problem},
    )
    auditor = Auditor(now_ms, None if audit is None else audit.add, audit_reads)
    if audit is not None:
        audit.before_keeping(auditor.due)
    return Front(app, limits, metrics, now_ms, auditor, None if pages is None else pages.hosts)


def _handler(route: Route[Any, Any], exchange: Exchange) -> HTTPRouteHandler:
    async def handle(request: Request[Any, Any, Any]) -> ASGIApp:
        return await exchange.answer(route, request)

    handler = HTTPRouteHandler(
        _litestar_path(route),
        http_method=route.method,  # type: ignore[arg-type]
        name=route.operation_id,
        status_code=min(route.answers),
    )
    return handler(handle)


def _litestar_path(route: Route[Any, Any]) -> str:
    """`/v1/jobs/{job:str}/outputs/{path:path}`."""
    if not route.deep:
        return route.path.replace("}", ":str}")
    before, _, last = route.path.rpartition("/")
    return f"{before.replace('}', ':str}')}/{last.replace('}', ':path}')}"


def _answer_problem(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """Litestar needs its own type of response here."""
    problem = as_problem(error, request.scope["path"])
    note_problem(problem)
    if request.scope["path"] in _PAGES and wants_html(request.headers.get("accept")):
        reply = problem_page(problem)
    else:
        reply = problem_reply(problem, request.scope["path"])
    headers = dict((*SAFE_HEADERS, *reply.headers))
    return Response(reply.body, status_code=reply.status, media_type=reply.media_type, headers=headers)
