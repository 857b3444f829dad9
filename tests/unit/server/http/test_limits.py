from __future__ import annotations

import pytest

from rota.api.people import Role
from rota.server.http.limits import Limits, RateLimit
from rota.server.http.problems import ProblemError
from tests.unit.server.fake_desk import Service
from tests.unit.server.problems import assert_problem


def test_a_client_may_ask_so_often_and_then_at_a_steady_rate() -> None:
    rate = RateLimit(per_second=2, burst=3)
    for _ in range(3):
        rate.take("ada", 1000)
    with pytest.raises(ProblemError) as refused:
        rate.take("ada", 1000)
    assert refused.value.headers == (("retry-after", "1"),)
    rate.take("bob", 1000)
    rate.take("ada", 1500)
    with pytest.raises(ProblemError):
        rate.take("ada", 1500)


def test_a_pause_gives_no_more_than_the_burst_and_a_clock_set_back_gives_nothing() -> None:
    rate = RateLimit(per_second=1, burst=2)
    for at_ms in (0, 10**9, 10**9):
        rate.take("ada", at_ms)
    with pytest.raises(ProblemError):
        rate.take("ada", 0)


def test_so_many_clients_are_remembered() -> None:
    rate = RateLimit(per_second=0.001, burst=1, most_clients=2)
    for client in ("a", "b", "c"):
        rate.take(client, 0)
    rate.take("a", 0)
    with pytest.raises(ProblemError):
        rate.take("c", 0)


def test_too_many_requests_are_a_problem_that_says_how_long_to_wait() -> None:
    service = Service(Limits(requests_per_second=0.1, burst=1))
    assert service.ask("GET", "/v1/me").status_code == 200
    response = service.ask("GET", "/v1/me")
    assert_problem(response, 429, "too-many-requests")
    assert response.headers["retry-after"] == "10"


def test_requests_without_a_token_count_too() -> None:
    service = Service(Limits(requests_per_second=0.1, burst=1))
    assert service.ask("GET", "/nowhere", None).status_code == 404
    assert service.ask("GET", "/nowhere", None).status_code == 429


def test_files_have_a_limit_of_their_own() -> None:
    service = Service(Limits(file_bytes=10))
    response = service.ask("PUT", f"/v1/files/{'0' * 64}", Role.SUBMITTER, content=b"x" * 11)
    assert_problem(response, 413, "too-large")
    assert not service.desk.files
