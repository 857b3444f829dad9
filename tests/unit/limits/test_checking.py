"""What of a job goes beyond its owner's limits, and how that is said."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from rota.limits.applying import asked_limits
from rota.limits.checking import Excess, What, excesses, owner_of, with_default_time_limit
from rota.model.ids import QueueName
from rota.model.job import JobTemplate, Priority, TaskGroup
from rota.model.limits import Limits, LimitsPolicy
from rota.model.selectors import NodeTerm, Operator, PreferredNodeTerm, Requirement, Selector
from rota.model.taints import Effect, Toleration
from rota.model.task import JobAffinity, TaskSpec
from rota.views.limits import excess_help, excess_text

pytestmark = pytest.mark.covers("trust-4")

HOUR_MS = 3_600_000
IN_EU = Selector((Requirement("zone", Operator.IN, ("eu-1", "eu-2")),))


def job(spec: TaskSpec = TaskSpec(), **fields: Any) -> JobTemplate:  # noqa: B008
    return (
        JobTemplate((TaskGroup(spec),), project="vision", namespace="vision", user="ada", **fields)
        if ("namespace" not in fields)
        else JobTemplate((TaskGroup(spec),), project="vision", user="ada", **fields)
    )


def found(template: JobTemplate, limits: Limits = Limits()) -> list[Excess]:  # noqa: B008
    policy = LimitsPolicy(projects=(("vision", limits),))
    return excesses(template, asked_limits(policy, owner_of(template)))


def beyond(template: JobTemplate, limits: Limits = Limits()) -> list[tuple[What, str | int]]:  # noqa: B008
    return [(one.what, one.asked) for one in found(template, limits)]


def tolerating(*tolerations: Toleration) -> JobTemplate:
    return job(TaskSpec(tolerations=tolerations))


def near(*namespaces: str) -> JobTemplate:
    term = JobAffinity(
        "host", Selector((Requirement("app", Operator.DOES_NOT_EXIST),)), namespaces, anti=True
    )
    return job(TaskSpec(job_affinity=(term,)))


@pytest.mark.parametrize(
    ("template", "what"),
    [
        (job(priority=2**31 - 1), [(What.PRIORITY, 2**31 - 1)]),
        (job(priority=Priority.HIGH), [(What.PRIORITY, Priority.HIGH)]),
        (job(preemptible=False), [(What.PREEMPTIBLE, "")]),
        (tolerating(Toleration(exists=True)), [(What.TOLERATION, "*")]),
        (tolerating(Toleration(exists=True, effect=Effect.NO_EXECUTE)), [(What.TOLERATION, "*")]),
        (tolerating(Toleration("gpu", value="a")), [(What.TOLERATION, "gpu=a")]),
        (job(namespace="audio"), [(What.NAMESPACE, "audio")]),
        (near("*"), [(What.AFFINITY, "*")]),
        (near("vision", "default"), [(What.AFFINITY, "default")]),
    ],
)
def test_what_nobody_may_without_a_policy(template: JobTemplate, what: list[tuple[What, str | int]]) -> None:
    assert beyond(template) == what
    assert not excesses(template, asked_limits(LimitsPolicy(), owner_of(template), is_exempt=True))


@pytest.mark.parametrize(
    "template",
    [
        job(),
        job(priority=Priority.BATCH, may_preempt=True),
        job(time_limit_ms=10**12, reservation="exam", queue=QueueName("long")),
        job(TaskSpec(exclusive=True, node_selector=(("zone", "eu"),))),
        near(),
        near("vision"),
    ],
)
def test_what_everybody_may_without_a_policy(template: JobTemplate) -> None:
    assert not beyond(template)


@pytest.mark.parametrize(
    ("limits", "template", "what"),
    [
        (Limits(priority=Priority.HIGH), job(priority=Priority.HIGH), []),
        (Limits(unpreemptible=True), job(preemptible=False), []),
        (Limits(exclusive=False), job(TaskSpec(exclusive=True)), [(What.EXCLUSIVE, "")]),
        (Limits(queues=("short",)), job(queue=QueueName("long")), [(What.QUEUE, "long")]),
        (Limits(queues=("long",)), job(queue=QueueName("long")), []),
        (Limits(reservations=()), job(reservation="exam"), [(What.RESERVATION, "exam")]),
        (Limits(reservations=()), job(), []),
        (Limits(time_limit_ms=HOUR_MS), job(time_limit_ms=HOUR_MS), []),
        (Limits(time_limit_ms=HOUR_MS), job(time_limit_ms=HOUR_MS + 1), [(What.TIME_LIMIT, HOUR_MS + 1)]),
        (Limits(namespaces=("*",)), near("*", "audio"), []),
        (Limits(namespaces=("shared",)), near("shared"), []),
        (Limits(namespaces=("shared",)), near("*"), [(What.AFFINITY, "*")]),
        (Limits(tolerations=("*",)), tolerating(Toleration(exists=True)), []),
        (Limits(tolerations=("gpu",)), tolerating(Toleration("gpu", value="a")), []),
        (Limits(tolerations=("gpu",)), tolerating(Toleration("gpu", exists=True)), []),
        (Limits(tolerations=("gpu=a",)), tolerating(Toleration("gpu", value="a")), []),
        (
            Limits(tolerations=("gpu=a",)),
            tolerating(Toleration("gpu", exists=True)),
            [(What.TOLERATION, "gpu")],
        ),
        (Limits(tolerations=("gpu",)), tolerating(Toleration(exists=True)), [(What.TOLERATION, "*")]),
        (
            Limits(node_labels=("zone=eu-1",)),
            job(TaskSpec(node_selector=(("disk", "ssd"), ("zone", "eu-1")))),
            [(What.NODE_LABEL, "disk=ssd")],
        ),
        (
            Limits(node_labels=("zone=eu-1",)),
            job(TaskSpec(node_affinity=(NodeTerm(IN_EU),))),
            [(What.NODE_LABEL, "zone=eu-2")],
        ),
        (
            Limits(node_labels=("zone",)),
            job(TaskSpec(preferred_nodes=(PreferredNodeTerm(1, NodeTerm(IN_EU)),))),
            [],
        ),
        (
            Limits(node_labels=("zone=eu-1",)),
            job(TaskSpec(node_affinity=(NodeTerm(Selector((Requirement("zone", Operator.EXISTS),))),))),
            [(What.NODE_LABEL, "zone")],
        ),
        (
            Limits(node_labels=("zone",)),
            job(
                TaskSpec(
                    node_affinity=(NodeTerm(names=(Requirement("metadata.name", Operator.IN, ("n",)),)),)
                )
            ),
            [(What.NODE_LABEL, "host=n")],
        ),
    ],
)
def test_what_a_policy_allows(
    limits: Limits, template: JobTemplate, what: list[tuple[What, str | int]]
) -> None:
    assert beyond(template, limits) == what


@pytest.mark.parametrize(
    ("limits", "given_ms", "limit_ms"),
    [
        (Limits(), None, None),
        (Limits(default_time_limit_ms=60), None, 60),
        (Limits(default_time_limit_ms=60), 90, 90),
        (Limits(time_limit_ms=100), None, 100),
        (Limits(time_limit_ms=100, default_time_limit_ms=60), None, 60),
    ],
)
def test_the_time_limit_of_jobs_that_give_none(
    limits: Limits, given_ms: int | None, limit_ms: int | None
) -> None:
    template = job(time_limit_ms=given_ms)
    allowed = asked_limits(LimitsPolicy(projects=(("vision", limits),)), owner_of(template))
    assert with_default_time_limit(template, allowed) == replace(template, time_limit_ms=limit_ms)


@pytest.mark.parametrize(
    ("template", "limits", "text", "help"),
    [
        (
            job(priority=Priority.CRITICAL),
            Limits(),
            "the priority critical is too high (limit of all users)",
            "give at most medium, or ask an operator",
        ),
        (
            job(time_limit_ms=2 * HOUR_MS),
            Limits(time_limit_ms=HOUR_MS),
            "a time limit of 2h is too long (limit of project vision)",
            "give at most 1h, or ask an operator",
        ),
        (
            tolerating(Toleration(exists=True)),
            Limits(tolerations=("gpu", "fpga")),
            "the toleration * is not allowed (limit of project vision)",
            "choose from: gpu, fpga; or ask an operator",
        ),
        (
            job(preemptible=False),
            Limits(),
            "jobs that can't be preempted are not allowed (limit of all users)",
            "leave it out, or ask an operator",
        ),
    ],
)
def test_an_excess_is_told_with_what_would_help(
    template: JobTemplate, limits: Limits, text: str, help: str
) -> None:
    [excess] = found(template, limits)
    assert (excess_text(excess), excess_help(excess)) == (text, help)


def test_nothing_is_without_words() -> None:
    for what in What:
        assert excess_text(Excess(what, 1, (), ()))
