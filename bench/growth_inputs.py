"""Inputs that have many of one thing, and the calls that get them: what `bench.growth` doubles."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from bench.growth_clusters import (
    GIB,
    HOUR_MS,
    NOW_MS,
    ONE,
    Action,
    Dimension,
    admitting,
    busy,
    deciding,
    explaining,
    labelled,
    node,
    nodes,
    running,
    template,
    waiting,
    with_job,
)
from bench.growth_requests import of_a_request, of_kubernetes
from rota.model.calendar import Maintenance, Reservation
from rota.model.cluster import Calendar, ClusterRecords
from rota.model.ids import NodeName, QueueName
from rota.model.job import (
    JobTemplate,
    Priority,
    TaskGroup,
    TopologyMode,
    TopologyRule,
)
from rota.model.node import Gpus, Node
from rota.model.policy import (
    FairShare,
    Policy,
    QueuePolicy,
    QueueStrategy,
    Quota,
    SchedulerPolicy,
    TenantPolicy,
)
from rota.model.resources import GpuRequest, Resources
from rota.model.selectors import NodeTerm
from rota.model.taints import Effect, Taint, Toleration
from rota.model.task import JobAffinity, Spread, TaskSpec

# -- one job that has many of something, and doesn't fit


def _unlike_groups(count: int) -> JobTemplate:
    return template(*(TaskGroup(TaskSpec(Resources(1000 + at, GIB))) for at in range(count)))


def _labelled_groups(count: int) -> JobTemplate:
    return template(*(TaskGroup(TaskSpec(ONE, labels=(("index", str(at)),))) for at in range(count)))


def _chained_groups(count: int) -> JobTemplate:
    def link(at: int) -> TaskGroup:
        term = JobAffinity("zone", labelled("link", str(at - 1)))
        return TaskGroup(TaskSpec(ONE, labels=(("link", str(at)),), job_affinity=(term,) if at else ()))

    return template(*map(link, range(count)))


def _full(kind: JobTemplate, rest: int = 4) -> ClusterRecords:
    """One node that would hold the job but for what runs there."""
    cpus = sum(group.count * group.spec.requests.cpu_milli for group in kind.groups) // 1000 + 2
    taken = template(TaskGroup(TaskSpec(Resources(rest * 1000, GIB))))
    here = node("n", cpus, labels=(("zone", "a"),))
    return ClusterRecords((here,), jobs=(waiting(kind), running(taken, "r", "n")))


def _too_large(**fields: Any) -> ClusterRecords:
    """A job of one task that no node has room for, and that asks for these besides."""
    spec = TaskSpec(Resources(100_000, GIB), **fields)
    return with_job(template(TaskGroup(spec)), [node(f"n{at}", labels=(("zone", "a"),)) for at in range(8)])


def _terms(count: int, **fields: Any) -> tuple[JobAffinity, ...]:
    return tuple(JobAffinity("zone", labelled("app", f"a{at}"), **fields) for at in range(count))


def _of_a_job() -> dict[str, Callable[[int], ClusterRecords]]:
    return {
        "groups that differ": lambda n: _full(_unlike_groups(n)),
        "groups that differ in a label": lambda n: _full(_labelled_groups(n)),
        "groups each near the one before": lambda n: _full(_chained_groups(n)),
        "equal tasks": lambda n: _full(template(TaskGroup(TaskSpec(ONE), n))),
        "affinity terms": lambda n: _too_large(job_affinity=_terms(n)),
        "anti-affinity terms": lambda n: _too_large(job_affinity=_terms(n, anti=True)),
        "affinity wishes": lambda n: _too_large(job_affinity=_terms(n, weight=1)),
        "spreads": lambda n: _too_large(
            spread=tuple(Spread("zone", 1, labelled("app", f"a{at}")) for at in range(n))
        ),
        "tolerations": lambda n: _too_large(tolerations=tuple(Toleration(f"k{at}") for at in range(n))),
        "labels": lambda n: _too_large(labels=tuple((f"k{at:05}", "v") for at in range(n))),
        "node selector labels": lambda n: _too_large(
            node_selector=tuple((f"k{at:05}", "v") for at in range(n))
        ),
        "node affinity terms": lambda n: _too_large(
            node_affinity=tuple(NodeTerm(labelled("zone", f"z{at}")) for at in range(n))
        ),
        "values of a selector": lambda n: _too_large(
            node_affinity=(NodeTerm(labelled("zone", *(f"z{at}" for at in range(n)))),)
        ),
        "pools": lambda n: _too_large(pools=tuple(f"p{at}" for at in range(n))),
        "models of GPUs": lambda n: _too_large(gpu=GpuRequest(1, models=tuple(f"m{at}" for at in range(n)))),
        "named resources": lambda n: with_job(
            template(TaskGroup(TaskSpec(Resources(extended=tuple((f"r/{at:05}", 1) for at in range(n))))))
        ),
        "topology rules": lambda n: with_job(
            template(
                TaskGroup(TaskSpec(ONE), 2),
                topology=tuple(TopologyRule(f"k{at}", TopologyMode.SAME) for at in range(n)),
            )
        ),
    }


# -- clusters that have many of something, and one job that doesn't fit


_LARGE = template(TaskGroup(TaskSpec(Resources(1_000_000, GIB))))
_URGENT = template(TaskGroup(TaskSpec(Resources(64_000, GIB))), priority=Priority.HIGH)


def _own_kind(at: int) -> JobTemplate:
    term = JobAffinity("kubernetes.io/hostname", labelled("app", f"a{at}"), anti=True)
    return template(
        TaskGroup(TaskSpec(Resources(10, GIB >> 10), labels=(("app", f"a{at}"),), job_affinity=(term,)))
    )


def _of_a_cluster() -> dict[str, Callable[[int], ClusterRecords]]:
    def each_node(count: int, **fields: Callable[[int], Any]) -> list[Node]:
        return [
            node(f"n{at:05}", **{name: value(at) for name, value in fields.items()}) for at in range(count)
        ]

    tolerant = template(
        TaskGroup(TaskSpec(Resources(1_000_000, GIB), pools=("p",), gpu=GpuRequest(1, models=("m",))))
    )
    zone = template(
        TaskGroup(TaskSpec(Resources(60_000, GIB)), 4), topology=(TopologyRule("zone", TopologyMode.SAME),)
    )
    zones = template(
        TaskGroup(TaskSpec(Resources(60_000, GIB)), 16),
        topology=(TopologyRule("zone", TopologyMode.COUNT, 3),),
    )
    return {
        "nodes": lambda n: with_job(_LARGE, nodes(n)),
        "nodes, each with a taint of its own": lambda n: with_job(
            _LARGE, each_node(n, taints=lambda at: (Taint(f"k{at}", Effect.NO_SCHEDULE),))
        ),
        "nodes, each with a label of its own": lambda n: with_job(
            _LARGE, each_node(n, labels=lambda at: ((f"k{at}", "v"),))
        ),
        "nodes, each in a pool of its own": lambda n: with_job(
            tolerant, each_node(n, pool=lambda at: f"p{at}")
        ),
        "nodes, each with a model of GPU": lambda n: with_job(
            tolerant, each_node(n, gpus=lambda at: Gpus(1, f"m{at}"))
        ),
        "nodes, each with a price": lambda n: with_job(
            template(TaskGroup(TaskSpec(Resources(1_000_000, GIB), max_price_micro_per_hour=1))),
            each_node(n, price_micro_per_hour=lambda at: at + 2),
        ),
        "nodes, each in a zone, job in one": lambda n: with_job(
            zone, each_node(n, labels=lambda at: (("zone", f"z{at}"),))
        ),
        "nodes, each in a zone, job in three": lambda n: with_job(
            zones, each_node(n, labels=lambda at: (("zone", f"z{at}"),))
        ),
        "taints of one node": lambda n: with_job(
            _LARGE, [node("n", taints=tuple(Taint(f"k{at}", Effect.NO_SCHEDULE) for at in range(n)))]
        ),
        "running jobs": lambda n: with_job(_LARGE, nodes(n // 64 + 1), *busy(n)),
        "running jobs to evict": lambda n: with_job(_URGENT, nodes(n // 64), *busy(n)),
        "running jobs that keep away from their own kind": lambda n: with_job(
            _LARGE,
            nodes(n // 64 + 1),
            *(running(_own_kind(at), f"r{at}", f"n{at // 64:05}") for at in range(n)),
        ),
        "running jobs with a time limit": lambda n: with_job(
            replace(_LARGE, groups=(TaskGroup(TaskSpec(Resources(64_000, GIB)), 2),), time_limit_ms=HOUR_MS),
            nodes(n // 64),
            *(
                running(
                    template(priority=Priority.HIGH, time_limit_ms=2 * HOUR_MS + 1000 * at),
                    f"r{at:05}",
                    f"n{at // 64:05}",
                )
                for at in range(n)
            ),
        ),
        "reservations": lambda n: replace(
            with_job(replace(_LARGE, time_limit_ms=HOUR_MS)),
            calendar=Calendar(
                reservations=tuple(
                    Reservation(
                        f"r{at}",
                        NOW_MS + at * HOUR_MS,
                        NOW_MS + (at + 1) * HOUR_MS,
                        (NodeName("n00000"),),
                        ("p",),
                    )
                    for at in range(n)
                )
            ),
        ),
        "maintenance windows": lambda n: replace(
            with_job(replace(_LARGE, time_limit_ms=HOUR_MS)),
            calendar=Calendar(
                tuple(
                    Maintenance(
                        f"m{at}",
                        NOW_MS + (2 * at + 1) * HOUR_MS,
                        NOW_MS + (2 * at + 2) * HOUR_MS,
                        (NodeName("n00000"),),
                    )
                    for at in range(n)
                )
            ),
        ),
    }


# -- many jobs that wait


def _crowd(kinds: Iterable[JobTemplate], cluster: Iterable[Node] = ()) -> ClusterRecords:
    jobs = tuple(waiting(kind, f"j{at:05}", at) for at, kind in enumerate(kinds))
    return ClusterRecords(tuple(cluster) or nodes(8), jobs=(waiting(_LARGE), *jobs))


def _sized(at: int, **fields: Any) -> JobTemplate:
    return template(TaskGroup(TaskSpec(Resources(100_000 + at, GIB))), **fields)


_FAIR = Policy(schedulers=(SchedulerPolicy(queues=(QueuePolicy(strategy=QueueStrategy.FAIR),)),))


def _tenants(count: int) -> Policy:
    tenants = tuple(TenantPolicy(f"p{at}", quota=Quota((("cpu", 1000),))) for at in range(count))
    return replace(_FAIR, fair_share=FairShare(tenants=tenants))


def _queues(count: int) -> Policy:
    return Policy(schedulers=(SchedulerPolicy(queues=tuple(QueuePolicy(f"q{at}") for at in range(count))),))


def _planned(count: int) -> tuple[ClusterRecords, Policy]:
    """Full nodes, and jobs that are all given a start."""
    policy = Policy(schedulers=(SchedulerPolicy(queues=(QueuePolicy(depth=count),)),))
    kind = template(
        TaskGroup(TaskSpec(Resources(64_000, GIB))), priority=Priority.HIGH, time_limit_ms=HOUR_MS
    )
    busy = [running(kind, f"r{at}", f"n{at:05}") for at in range(8)]
    later = [waiting(replace(kind, time_limit_ms=HOUR_MS + at), f"j{at:05}", at) for at in range(count)]
    return ClusterRecords(nodes(8), jobs=(waiting(kind), *busy, *later)), policy


_URGENT_SMALL = template(priority=Priority.HIGH)


def _near_the_next(at: int, count: int) -> JobTemplate:
    """Whoever comes first waits for whoever comes last."""
    term = JobAffinity("zone", labelled("link", str(at + 1)))
    spec = TaskSpec(Resources(10, GIB >> 10), labels=(("link", str(at)),))
    return template(TaskGroup(spec if at == count - 1 else replace(spec, job_affinity=(term,))))


def _of_a_queue() -> dict[str, Callable[[int], Action]]:
    return {
        "equal jobs": lambda n: deciding(_crowd(_sized(0) for _ in range(n))),
        "jobs that all differ": lambda n: deciding(_crowd(_sized(at) for at in range(n))),
        "jobs that all differ and fit": lambda n: deciding(
            _crowd((template(TaskGroup(TaskSpec(Resources(10, at + 1)))) for at in range(n)), nodes(64))
        ),
        "jobs that differ in a label": lambda n: deciding(
            _crowd(
                template(TaskGroup(TaskSpec(Resources(100_000, GIB), labels=(("i", str(at)),))))
                for at in range(n)
            )
        ),
        "jobs that keep away from their own kind": lambda n: deciding(
            _crowd(_own_kind(at) for at in range(n))
        ),
        "jobs that each evict one": lambda n: deciding(
            ClusterRecords(
                nodes(32),
                jobs=(*busy(2048), *(waiting(_URGENT_SMALL, f"j{at:05}", at) for at in range(n))),
            )
        ),
        "jobs, each near the one behind": lambda n: deciding(
            _crowd((_near_the_next(at, n) for at in range(n)), [node("n", 900, labels=(("zone", "a"),))])
        ),
        "tenants": lambda n: deciding(_crowd(_sized(0, project=f"p{at}") for at in range(n)), _FAIR),
        "tenants with quotas": lambda n: deciding(
            _crowd(_sized(0, project=f"p{at}") for at in range(n)), _tenants(n)
        ),
        "queues": lambda n: deciding(
            _crowd(_sized(0, queue=QueueName(f"q{at}")) for at in range(n)), _queues(n)
        ),
        "jobs that are given a start": lambda n: deciding(*_planned(n)),
        "jobs that connect to another": lambda n: deciding(
            _crowd(_sized(0, connect_to=f"j{at - 1:05}" if at else "") for at in range(n))
        ),
    }


def _asking(
    action: Callable[[ClusterRecords], Action], records_of: Callable[[int], ClusterRecords]
) -> Callable[[int], Action]:
    return lambda count: action(records_of(count))


def dimensions() -> list[Dimension]:
    found: list[Dimension] = []
    for what, records_of in (_of_a_job() | _of_a_cluster()).items():
        found.append(Dimension("decide", what, _asking(deciding, records_of)))
        found.append(Dimension("why", what, _asking(explaining, records_of)))
    for what, records_of in _of_a_job().items():
        found.append(Dimension("admission", what, _asking(admitting, records_of)))
    for operation, group in (
        ("decide", _of_a_queue()),
        ("submission", of_a_request()),
        ("kubernetes", of_kubernetes()),
    ):
        found += [Dimension(operation, what, prepare) for what, prepare in group.items()]
    return found
