"""Which limits count for whose jobs."""

from __future__ import annotations

import pytest

from rota.limits.applying import (
    Origin,
    Owner,
    Scope,
    accounts,
    amount_accounts,
    asked_limits,
    upload_bytes,
)
from rota.model.job import Priority
from rota.model.limits import Limits, LimitsPolicy

pytestmark = pytest.mark.covers("trust-4")

ADA = Owner("ada", "vision", "long")
USER, PROJECT, QUEUE = (
    Origin(Scope.USER, "ada"),
    Origin(Scope.PROJECT, "vision"),
    Origin(Scope.QUEUE, "long"),
)
DEFAULT, BUILT_IN = Origin(Scope.DEFAULT), Origin(Scope.BUILT_IN)
HOUR_MS = 3_600_000


def policy(
    default: Limits | None = None,
    user: Limits | None = None,
    project: Limits | None = None,
    queue: Limits | None = None,
) -> LimitsPolicy:
    """Of ada, vision and long, and of others that must not matter."""
    other = Limits(priority=Priority.BATCH, time_limit_ms=1, waiting_jobs=0, at_once=(("cpu", 1),))
    return LimitsPolicy(
        default or Limits(),
        (("audio", other), *((("vision", project),) if project else ())),
        ((("ada", user),) if user else ()) + (("bob", other),),
        ((("long", queue),) if queue else ()) + (("short", other),),
    )


def hours(count: int) -> Limits:
    return Limits(time_limit_ms=count * HOUR_MS)


@pytest.mark.parametrize(
    ("given", "hours_allowed", "origin"),
    [
        (policy(), None, None),
        (policy(default=hours(1)), 1, DEFAULT),
        (policy(default=hours(1), project=hours(4)), 4, PROJECT),
        (policy(default=hours(1), queue=hours(7)), 7, QUEUE),
        (policy(default=hours(9), project=hours(4), queue=hours(7)), 4, PROJECT),
        (policy(project=hours(8), queue=hours(7)), 7, QUEUE),
        (policy(user=hours(12), project=hours(4)), 12, USER),
        (policy(user=hours(12), project=hours(4), queue=hours(7)), 7, QUEUE),
    ],
)
def test_the_user_goes_before_the_project_and_the_queue_holds_besides(
    given: LimitsPolicy, hours_allowed: int | None, origin: Origin | None
) -> None:
    found = asked_limits(given, ADA).get("time_limit_ms")
    if hours_allowed is None:
        assert found is None
    else:
        assert found == (hours_allowed * HOUR_MS, (origin,))


def test_without_a_policy_nobody_goes_before_others() -> None:
    found = asked_limits(LimitsPolicy(), ADA)
    assert found.get("priority") == (Priority.MEDIUM, (BUILT_IN,))
    assert found.get("tolerations") == ((), (BUILT_IN,))
    assert found.value("namespaces") == ()
    assert found.value("unpreemptible") is False
    assert found.value("queues") is None


def test_operators_are_held_to_what_is_said_of_them_and_to_no_default() -> None:
    given = policy(default=hours(1), queue=Limits(priority=Priority.LOW))
    found = asked_limits(given, ADA, is_exempt=True)
    assert found.fields == {"priority": (Priority.LOW, (QUEUE,))}
    assert accounts(policy(default=Limits(waiting_jobs=5)), ADA, "waiting_jobs", is_exempt=True) == ()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (policy(), None),
        (policy(default=Limits(log_bytes=1)), (1, (DEFAULT,))),
        (policy(default=Limits(log_bytes=1), project=Limits(log_bytes=5)), (5, (PROJECT,))),
        (policy(user=Limits(log_bytes=9), project=Limits(log_bytes=5)), (9, (USER,))),
        (policy(user=Limits(log_bytes=9), queue=Limits(log_bytes=7)), (7, (QUEUE,))),
    ],
)
def test_output_is_limited_by_the_same_rules(given: LimitsPolicy, expected: object) -> None:
    assert asked_limits(given, ADA).get("log_bytes") == expected


@pytest.mark.parametrize(
    ("own", "queue", "allowed"),
    [
        (("a", "b"), ("b", "c"), ("b",)),
        (("*",), ("b", "c"), ("b", "c")),
        (("a",), ("*",), ("a",)),
        (("*",), ("*",), ("*",)),
        (("a",), (), ()),
    ],
)
def test_of_two_lists_what_is_in_both(
    own: tuple[str, ...], queue: tuple[str, ...], allowed: tuple[str, ...]
) -> None:
    given = policy(project=Limits(tolerations=own), queue=Limits(tolerations=queue))
    assert asked_limits(given, ADA).value("tolerations") == allowed


def test_of_yes_and_no_the_stricter_is_no() -> None:
    given = policy(user=Limits(exclusive=True), queue=Limits(exclusive=False))
    assert asked_limits(given, ADA).get("exclusive") == (False, (QUEUE,))


class TestCounts:
    def test_each_has_a_count_of_its_own(self) -> None:
        given = policy(
            user=Limits(waiting_jobs=3), project=Limits(waiting_jobs=10), queue=Limits(waiting_jobs=100)
        )
        found = accounts(given, ADA, "waiting_jobs")
        assert found == ((USER, USER, 3), (PROJECT, PROJECT, 10), (QUEUE, QUEUE, 100))

    def test_the_default_is_for_each_user_who_has_none(self) -> None:
        given = policy(default=Limits(running_jobs=2), project=Limits(running_jobs=10))
        assert accounts(given, ADA, "running_jobs") == ((USER, DEFAULT, 2), (PROJECT, PROJECT, 10))
        named = policy(default=Limits(running_jobs=2), user=Limits(running_jobs=5))
        assert accounts(named, ADA, "running_jobs") == ((USER, USER, 5),)

    def test_nobody_fills_the_memory(self) -> None:
        assert accounts(LimitsPolicy(), ADA, "waiting_jobs") == ((USER, BUILT_IN, 100_000),)

    def test_amounts_are_taken_resource_by_resource(self) -> None:
        given = policy(
            default=Limits(at_once=(("cpu", 8000), ("gpu", 1000))),
            user=Limits(at_once=(("gpu", 4000),)),
            queue=Limits(at_once=(("cpu", 64_000),)),
        )
        assert amount_accounts(given, ADA) == (
            (USER, USER, {"gpu": 4000}),
            (USER, DEFAULT, {"cpu": 8000}),
            (QUEUE, QUEUE, {"cpu": 64_000}),
        )

    def test_files_are_the_users(self) -> None:
        given = policy(default=Limits(upload_bytes=5), user=Limits(upload_bytes=9))
        assert (upload_bytes(given, "ada"), upload_bytes(given, "eve")) == (9, 5)
        assert upload_bytes(LimitsPolicy(), "ada") is None
