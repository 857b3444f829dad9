"""How much a choice of victims costs by kube-scheduler's own rules: of nodes that cost the same it takes
any."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

from tests.real.kube.random_cluster import PRIORITIES, RandomCluster, RandomPod

Cost = tuple[int, int, int, int, str]


def cost_of(
    victims: Collection[str],
    node: str,
    preemptor: RandomPod,
    running: Iterable[RandomPod],
    cluster: RandomCluster,
) -> Cost:
    """Budgets broken, the highest priority, the sum of priorities, how many go, and how long the most
    important have run (later is better: negated by taking letters from 9)."""
    limit = priority_of(preemptor)
    there = [
        pod
        for pod in running
        if pod.body["spec"]["nodeName"] == node and not pod.phase and priority_of(pod) < limit
    ]
    there.sort(key=lambda pod: (-priority_of(pod), pod.started))
    gone = [pod for pod in there if pod.name in victims]
    breaking = _breaking(there, cluster.budgets)
    highest = max((priority_of(pod) for pod in gone), default=0)
    return (
        sum(pod.name in breaking for pod in gone),
        highest,
        sum(priority_of(pod) + 2**31 for pod in gone),
        len(gone),
        _later_first(min((pod.started for pod in gone if priority_of(pod) == highest), default="")),
    )


def priority_of(pod: RandomPod) -> int:
    return PRIORITIES.get(pod.body["spec"].get("priorityClassName", ""), 0)


def _breaking(pods: Iterable[RandomPod], budgets: Iterable[dict[str, Any]]) -> set[str]:
    """Each pod takes from the budgets that select it; some have nothing left."""
    taken: Counter[str] = Counter()
    found = set()
    for pod in pods:
        for budget in budgets if not pod.namespace else ():
            wanted: dict[str, str] = budget["spec"]["selector"].get("matchLabels", {})
            if wanted and wanted.items() <= pod.body["metadata"]["labels"].items():
                name = budget["metadata"]["name"]
                taken[name] += 1
                if taken[name] > budget["status"]["disruptionsAllowed"]:
                    found.add(pod.name)
    return found


def _later_first(time: str) -> str:
    return time.translate(str.maketrans("0123456789", "9876543210"))
