"""Every route says, apart from its own code, who may use it: see tests/real/hostile/matrix.py."""

from __future__ import annotations

from typing import Any

import pytest

from rota.server.browser.hosts import Hosts
from rota.server.browser.sessions import PageTerms
from rota.server.http.app import make_app
from rota.server.routes import ROUTES
from rota.server.routes.pages import PAGE_ROUTES
from rota.server.routes.results import AGENT_ROUTES
from tests.real.hostile.matrix import TABLE
from tests.unit.server.fake_desk import FakeDesk, as_desks

pytestmark = pytest.mark.covers("ops-2", "trust-3")

KNOWN = {f"{route.method} {route.path}": route for route in (*ROUTES, *AGENT_ROUTES, *PAGE_ROUTES)}


def test_no_route_is_without_an_entry() -> None:
    assert {entry.route for entry in TABLE} == set(KNOWN)


def test_the_application_has_no_other_routes() -> None:
    terms = PageTerms(url="http://localhost", hosts=Hosts.of([]))
    app: Any = make_app(as_desks(FakeDesk()), pages=terms)
    handlers = (handler for route in app._app.routes for handler in route.route_handlers)
    # Of its own, the framework has one that tells which methods a path takes.
    served = {handler.name for handler in handlers if handler.http_methods != {"OPTIONS"}}
    assert served == {route.operation_id for route in KNOWN.values()}


@pytest.mark.parametrize("entry", TABLE, ids=lambda entry: f"{entry.method} {entry.path or entry.route}")
def test_both_say_the_same_role(entry: Any) -> None:
    assert entry.needed is KNOWN[entry.route].role
