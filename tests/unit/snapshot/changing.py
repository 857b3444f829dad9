"""Changes to a cluster's state, and what it then holds."""

from __future__ import annotations

import random
from typing import Any

from msgspec.structs import replace

from rota.model.cluster import ClusterRecords, TenantUsage
from rota.snapshot import ClusterState, Snapshot, rows
from tests.builders import Cluster


def contents(snapshot: Snapshot) -> dict[str, Any]:
    """All that a snapshot says, by names: rows and lanes may lie in another order."""
    nodes = snapshot.nodes
    asked = {
        name: row
        for name, row in nodes.index.row.items()
        if nodes.capacity[row].any() or snapshot.free[row].any()
    }
    return {
        "names": nodes.names,
        "capacity": {name: nodes.capacity[row].tolist() for name, row in asked.items()},
        "free": {name: snapshot.free[row].tolist() for name, row in asked.items()},
        "devices": snapshot.gpu_free.tolist(),
        "labels": {key: nodes.label(key).texts() for key in nodes.label_values},
        "taints": [nodes.taint_sets[number] for number in nodes.taint_set.tolist()],
        "running": [
            (task.job, task.placement, nodes.names[at])
            for task, at in zip(snapshot.running.tasks, snapshot.running.node.tolist(), strict=True)
        ],
        "waiting": sorted(
            [job.id for job in jobs[start:]]
            for jobs, start in (lane.view() for lane in snapshot.waiting.lanes())
        ),
        "tasks waiting": snapshot.waiting.task_count,
        "cordoned": nodes.cordoned.tolist(),
        "loads": nodes.ppm[rows.SLOTS].tolist(),
        "usage": snapshot.usage,
    }


def node_named(name: str, chance: random.Random) -> Cluster:
    return Cluster().node(
        name,
        cpu=chance.randrange(1, 9),
        gpus=2,
        price=chance.randrange(3),
        zone=chance.choice("ab"),
        extended={"fpga": chance.randrange(3)},
        taints=["x:NoSchedule"] * chance.randrange(2),
    )


def job_named(name: str, chance: random.Random) -> Cluster:
    words: dict[str, Any] = {
        "cpu": chance.randrange(1, 3),
        "extended": {"fpga": 1} if chance.random() < 0.3 else {},
        "submitted": -chance.randrange(100),
    }
    if chance.random() < 0.4:
        return Cluster().job(name, tasks=chance.randrange(1, 4), **words)
    where = [chance.choice(["n0", "n1", "n2", "gone"]) for _ in range(chance.randrange(1, 4))]
    gpu, devices = chance.choice([(0.0, []), (0.5, [[chance.randrange(2)] for _ in where])])
    return Cluster().running(
        name, on=where, tasks=len(where) + chance.randrange(2), gpu=gpu, devices=devices, **words
    )


def change(state: ClusterState, records: ClusterRecords, chance: random.Random) -> ClusterRecords:
    """One change of the state, and the records with it."""
    nodes = {node.name: node for node in records.nodes}
    jobs = {record.job.id: record for record in records.jobs}
    what = chance.random()
    if what < 0.2:
        [node] = node_named(f"n{chance.randrange(4)}", chance).records.nodes
        state.set_node(node)
        nodes[node.name] = node
    elif what < 0.3 and len(nodes) > 1:
        gone = chance.choice(sorted(nodes))
        state.remove_node(gone)
        del nodes[gone]
    elif what < 0.5 and jobs:
        ended = chance.choice(sorted(jobs))
        state.remove_job(ended)
        del jobs[ended]
    elif what < 0.55:
        usage = (TenantUsage("p", 0, (("cpu", chance.randrange(9)),)),)
        state.set_usage(usage)
        records = replace(records, usage=usage)
    else:
        [record] = job_named(f"j{chance.randrange(12)}", chance).records.jobs
        state.set_job(record)
        jobs[record.job.id] = record
    return replace(records, nodes=tuple(nodes.values()), jobs=tuple(jobs.values()))
