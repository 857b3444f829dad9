"""Volumes by chance: of nodes, for those that run and for those that are asked about.

A pod's own claims and volumes are made anew each time that it is asked about: "@" in their names stands for
a number of that time.
"""

from __future__ import annotations

from random import Random
from typing import Any

from msgspec import Struct

Body = dict[str, Any]

LOCAL, NOW, ZONAL, SPACIOUS = "local", "now", "zonal", "spacious"
DRIVER, SPACE_DRIVER = "disk.example.com", "space.example.com"
ALONE = "alone"
"""The claim of a cluster that one pod at a time may use."""
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


class Storage(Struct, frozen=True):
    """What is to be there before a pod is."""

    volumes: list[Body] = []
    claims: list[Body] = []


class PodStorage(Struct, frozen=True):
    mounts: list[Body] = []
    """The pod's volumes."""
    storage: Storage = Storage()


CONSUMER_FIRST = "WaitForFirstConsumer"
NORTH = {"matchLabelExpressions": [{"key": ZONE, "values": ["north"]}]}


def _class(name: str, provisioner: str, mode: str = CONSUMER_FIRST, **more: Any) -> Body:
    return {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode, **more}


CLASSES = [
    _class(LOCAL, "kubernetes.io/no-provisioner"),
    _class(NOW, "kubernetes.io/no-provisioner", "Immediate"),
    _class(ZONAL, "made.example.com", allowedTopologies=[NORTH]),
    _class(SPACIOUS, SPACE_DRIVER),
]
KINDS = (
    *("bound", "bound", "zone", "local", "local", "two", "missing"),
    *("now", "alone", "csi", "disk", "zonal", "space"),
)


def shared_storage() -> Storage:
    """Of a cluster: a claim that one pod at a time may use, and its volume."""
    return Storage(
        [_volume("alone", modes=["ReadWriteOncePod"], kept_for=ALONE)],
        [_claim(ALONE, modes=["ReadWriteOncePod"], volume="alone")],
    )


def mount(claim: str) -> Body:
    return {"name": claim.replace("@", ""), "persistentVolumeClaim": {"claimName": claim}}


def running_storage(chance: Random, name: str) -> PodStorage:
    """For a pod that runs."""
    kind = chance.choice(("csi", "csi", "disk", "none"))
    if kind == "csi":
        return _bound(f"{name}-csi", csi={"driver": DRIVER, "volumeHandle": f"{name}-csi"})
    return PodStorage([_disk(chance)]) if kind == "disk" else PodStorage()


def waiting_storage(chance: Random, nodes: list[str]) -> PodStorage:
    match chance.choice(KINDS):
        case "bound":
            return _bound("bound@", nodeAffinity=_on(chance.sample(nodes, min(2, len(nodes)))))
        case "zone":
            return _bound("zone@", labels={ZONE: chance.choice(("north", "south", "north__south"))})
        case "local":
            return _local(chance, nodes, claims=1)
        case "two":
            bound = _bound("bound@", nodeAffinity=_on([chance.choice(nodes)]))
            local = _local(chance, nodes, claims=2)
            return PodStorage(
                [*bound.mounts, *local.mounts],
                Storage(
                    [*bound.storage.volumes, *local.storage.volumes],
                    [*bound.storage.claims, *local.storage.claims],
                ),
            )
        case "missing":
            return PodStorage([mount("missing")])
        case "now":
            return PodStorage([mount("now@")], Storage([], [_claim("now@", storage_class=NOW)]))
        case "alone":
            return PodStorage([mount(ALONE)])
        case "csi":
            return _bound("csi@", csi={"driver": DRIVER, "volumeHandle": "csi@"})
        case "disk":
            return PodStorage([_disk(chance)])
        case "zonal":
            return PodStorage([mount("zonal@")], Storage([], [_claim("zonal@", storage_class=ZONAL)]))
        case _:
            size = chance.choice(("1Gi", "5Gi"))
            claim = _claim("space@", storage_class=SPACIOUS, size=size)
            return PodStorage([mount("space@")], Storage([], [claim]))


def limits(chance: Random, node: str) -> Body | None:
    """How many volumes of a driver a node can hold; None: it doesn't say."""
    if chance.random() < 0.5:
        return None
    driver = {
        "name": DRIVER,
        "nodeID": node,
        "topologyKeys": None,
        "allocatable": {"count": chance.randint(1, 2)},
    }
    return {"metadata": {"name": node}, "spec": {"drivers": [driver]}}


def space(chance: Random, node: str) -> Body | None:
    """How much space a node has for volumes of the spacious class."""
    if chance.random() < 0.4:
        return None
    return {
        "metadata": {"name": f"space-{node}"},
        "storageClassName": SPACIOUS,
        "nodeTopology": {"matchLabels": {HOST: node}},
        "capacity": chance.choice(("2Gi", "10Gi")),
    }


def _local(chance: Random, nodes: list[str], claims: int) -> PodStorage:
    """Volumes of some nodes that nobody has claimed, and claims that would like some of them."""
    volumes = [
        _volume(
            f"local@-{number}",
            storage_class=LOCAL,
            size=chance.choice(("1Gi", "3Gi")),
            modes=chance.choice((["ReadWriteOnce"], ["ReadWriteOnce"], ["ReadOnlyMany"])),
            labels={"tier": chance.choice(("gold", "tin"))},
            nodeAffinity=_on([chance.choice(nodes)]),
        )
        for number in range(chance.randint(0, 2 * len(nodes)))
    ]
    wanted = []
    for number in range(claims):
        more: Body = {"selector": {"matchLabels": {"tier": "gold"}}} if chance.random() < 0.3 else {}
        size = chance.choice(("1Gi", "2Gi"))
        wanted.append(_claim(f"local@-{number}", storage_class=LOCAL, size=size, **more))
    return PodStorage([mount(f"local@-{number}") for number in range(claims)], Storage(volumes, wanted))


def _bound(name: str, labels: Body | None = None, **spec: Any) -> PodStorage:
    return PodStorage(
        [mount(name)],
        Storage([_volume(name, labels=labels, kept_for=name, **spec)], [_claim(name, volume=name)]),
    )


def _claim(
    name: str,
    *,
    storage_class: str = "",
    size: str = "1Gi",
    modes: list[str] | None = None,
    volume: str = "",
    **spec: Any,
) -> Body:
    return {
        "metadata": {"name": name},
        "spec": {
            "accessModes": modes or ["ReadWriteOnce"],
            "storageClassName": storage_class,
            "volumeName": volume,
            "resources": {"requests": {"storage": size}},
            **spec,
        },
    }


def _volume(
    name: str,
    *,
    storage_class: str = "",
    size: str = "1Gi",
    modes: list[str] | None = None,
    labels: Body | None = None,
    kept_for: str = "",
    **spec: Any,
) -> Body:
    """`kept_for`: a claim of the namespace of whoever makes it."""
    source = {} if "csi" in spec else {"hostPath": {"path": "/none"}}
    return {
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": modes or ["ReadWriteOnce"],
            "storageClassName": storage_class,
            "persistentVolumeReclaimPolicy": "Retain",
            **({"claimRef": {"name": kept_for}} if kept_for else {}),
            **source,
            **spec,
        },
    }


def _on(nodes: list[str]) -> Body:
    term = {"matchExpressions": [{"key": HOST, "operator": "In", "values": nodes}]}
    return {"required": {"nodeSelectorTerms": [term]}}


def _disk(chance: Random) -> Body:
    is_read_only = chance.random() < 0.5
    return {
        "name": "disk",
        **chance.choice(
            (
                {"gcePersistentDisk": {"pdName": "one", "readOnly": is_read_only}},
                {"awsElasticBlockStore": {"volumeID": "two", "readOnly": is_read_only}},
                {
                    "rbd": {
                        "monitors": chance.sample(("m1", "m2", "m3"), 2),
                        "image": "three",
                        "readOnly": is_read_only,
                    }
                },
                {
                    "iscsi": {
                        "targetPortal": "10.0.0.1:3260",
                        "iqn": "iqn.2001-04.com.example:four",
                        "lun": 0,
                        "readOnly": is_read_only,
                    }
                },
            )
        ),
    }
