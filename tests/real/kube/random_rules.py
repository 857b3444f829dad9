"""Rules of pods by chance: which nodes, which company, which ports.

Odd ones on purpose: empty selectors and terms, names that conflict, keys that no node has, several rules
about the same pods.
"""

from __future__ import annotations

from random import Random
from typing import Any

from tests.real.kube.random_volumes import HOST, ZONE

ZONES = ("north", "south", "east")
DISKS = ("ssd", "hdd")
APPS = ("web", "db", "cache")
VERSIONS = ("1", "2")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
NAMESPACES = {"red": {"team": "red"}, "crimson": {"team": "red", "env": "prod"}, "blue": {"team": "blue"}}
"""Beside that of the pods that wait, which has no such labels."""
_NAME = "kubernetes.io/metadata.name"


def toleration(chance: Random) -> dict[str, Any]:
    return chance.choice(
        (
            {"key": "team", "operator": "Equal", "value": "red", "effect": "NoSchedule"},
            {"key": "team", "operator": "Exists"},
            {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"},
            {"key": "gpu", "value": ""},
            {"operator": "Exists", "effect": "NoExecute"},
            {"operator": "Exists"},
            {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"},
            {"key": "node.kubernetes.io/unschedulable", "effect": "NoExecute"},
        )
    )


def node_terms(chance: Random, nodes: list[str] | None) -> list[dict[str, Any]]:
    return [_node_term(chance, nodes) for _ in range(chance.choice((1, 1, 1, 2, 3)))]


def _node_term(chance: Random, nodes: list[str] | None) -> dict[str, Any]:
    term: dict[str, Any] = {}
    if chance.random() < 0.07:
        return term
    fields = bool(nodes) and chance.random() < 0.25
    if fields:
        names = [*(nodes or ()), "no-such-node"]
        term["matchFields"] = [
            {
                "key": "metadata.name",
                "operator": chance.choice(("In", "In", "NotIn")),
                "values": [chance.choice(names)],
            }
            for _ in range(chance.choice((1, 1, 1, 2)))
        ]
    if not fields or chance.random() < 0.3:
        term["matchExpressions"] = [_node_requirement(chance) for _ in range(chance.choice((1, 1, 2)))]
    return term


def _node_requirement(chance: Random) -> dict[str, Any]:
    return chance.choice(
        (
            {"key": ZONE, "operator": "In", "values": chance.sample(ZONES, 2)},
            {"key": ZONE, "operator": "NotIn", "values": [chance.choice(ZONES)]},
            {"key": "rank", "operator": chance.choice(("Gt", "Lt")), "values": [chance.choice(("4", "0"))]},
            {"key": "disk", "operator": chance.choice(("Exists", "DoesNotExist"))},
        )
    )


def _label_selector(chance: Random) -> dict[str, Any]:
    kind = chance.random()
    if kind < 0.08:
        return {}
    if kind < 0.7:
        return {"matchLabels": {"app": chance.choice(APPS)}}
    operator = chance.choice(("In", "NotIn", "Exists", "DoesNotExist"))
    key, values = chance.choice((("app", APPS), ("tier", ("front", "back"))))
    expression: dict[str, Any] = {"key": key, "operator": operator}
    if operator in ("In", "NotIn"):
        expression["values"] = chance.sample(values, chance.randint(1, len(values)))
    return {"matchExpressions": [expression]}


def pod_terms(chance: Random) -> list[dict[str, Any]]:
    return [_pod_term(chance) for _ in range(chance.choice((1, 1, 1, 2)))]


def _pod_term(chance: Random) -> dict[str, Any]:
    term: dict[str, Any] = {
        "topologyKey": chance.choice((ZONE, ZONE, HOST, HOST, "disk", "rank", "no-such-key"))
    }
    if chance.random() < 0.04:
        return term
    term["labelSelector"] = _label_selector(chance)
    if chance.random() < 0.2:
        term[chance.choice(("matchLabelKeys", "mismatchLabelKeys"))] = [
            chance.choice(("version", "no-such-key"))
        ]
    if chance.random() < 0.25:
        term["namespaces"] = chance.sample(sorted(NAMESPACES), chance.randint(1, 2))
    if chance.random() < 0.25:
        term["namespaceSelector"] = _namespace_selector(chance)
    return term


def _namespace_selector(chance: Random) -> dict[str, Any]:
    """Never one that would select a namespace without labels: kube-scheduler 1.34 takes such a selector for
    one of all namespaces (kubernetes/kubernetes#141526)."""
    known = {"key": _NAME, "operator": "Exists"}
    return chance.choice(
        (
            {},
            {"matchLabels": {"team": "red"}},
            {"matchExpressions": [{"key": "team", "operator": "In", "values": ["blue", "green"]}]},
            {"matchExpressions": [{"key": "env", "operator": "Exists"}]},
            {"matchExpressions": [known, {"key": "env", "operator": "DoesNotExist"}]},
            {"matchExpressions": [known, {"key": "team", "operator": "NotIn", "values": ["red"]}]},
            {"matchLabels": {"team": "none"}},
        )
    )


def spreads(chance: Random) -> list[dict[str, Any]]:
    """A key may come once for each of what is done about it."""
    found = [_spread(chance) for _ in range(chance.choice((1, 1, 2, 3)))]
    return list({(one["topologyKey"], one["whenUnsatisfiable"]): one for one in found}.values())


def _spread(chance: Random) -> dict[str, Any]:
    constraint: dict[str, Any] = {
        "topologyKey": chance.choice((ZONE, ZONE, HOST, HOST, "disk", "rank")),
        "maxSkew": chance.choice((1, 1, 1, 2, 3)),
        "whenUnsatisfiable": chance.choice(
            ("DoNotSchedule", "DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")
        ),
    }
    if chance.random() < 0.95:
        constraint["labelSelector"] = _label_selector(chance)
        if chance.random() < 0.2:
            constraint["matchLabelKeys"] = [chance.choice(("version", "no-such-key"))]
    if constraint["whenUnsatisfiable"] == "DoNotSchedule" and chance.random() < 0.25:
        constraint["minDomains"] = chance.randint(1, 6)
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if chance.random() < 0.35:
            constraint[policy] = chance.choice(("Honor", "Ignore"))
    return constraint


def host_ports(chance: Random) -> list[dict[str, Any]]:
    found = {}
    for _ in range(chance.choice((1, 1, 2))):
        port: dict[str, Any] = {
            "containerPort": 80,
            "hostPort": chance.choice((8080, 9090)),
            "protocol": chance.choice(("TCP", "TCP", "TCP", "UDP", "SCTP")),
        }
        if chance.random() < 0.4:
            port["hostIP"] = chance.choice(("0.0.0.0", "127.0.0.1", "10.1.1.1"))
        found[port["hostPort"], port["protocol"]] = port
    return list(found.values())
