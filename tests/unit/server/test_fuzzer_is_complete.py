"""`make hostile` asks for every route that there is, as everybody that there is."""

from __future__ import annotations

from random import Random

import pytest

from tests.hostile.guests import Guests
from tests.hostile.requests import EVERY_ROUTE, Request, a_request
from tests.real.hostile.matrix import TABLE

pytestmark = pytest.mark.covers("trust-1")

GUESTS = Guests(tokens={"viewer": "t"}, sessions={"viewer": "s"}, flow="f", agent="a")


def asked(count: int = 4000) -> list[Request]:
    return [a_request(Random(number), GUESTS) for number in range(count)]


def test_every_route_is_asked_for() -> None:
    assert {f"{route.method} {route.path}" for route in EVERY_ROUTE} == {entry.route for entry in TABLE}
    assert {request.route.operation_id for request in asked()} == {one.operation_id for one in EVERY_ROUTE}


def test_as_everybody() -> None:
    headers = [dict(request.headers) for request in asked()]
    assert {one.get("authorization") for one in headers} >= {"Bearer t", "Bearer a", None}
    assert any("rota-session=s" in one.get("cookie", "") for one in headers)


def test_a_number_always_makes_the_same_request() -> None:
    assert asked(50) == asked(50)
