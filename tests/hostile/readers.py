"""What people hand to readers: job files, scripts, policies, clusters, manifests, archives, in this process.

A reader takes it, or refuses it with the error that is made for that. Whatever it takes is planned, too.
"""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import msgspec

from rota.backends.process.beneath import opened
from rota.backends.process.keeper.files.archive import BadArchive, unpack
from rota.intake.errors import InputError
from rota.intake.files import read_policy, read_records
from rota.intake.job_files import read_submission_file
from rota.intake.sbatch import read_sbatch
from rota.loop.hosting.plugin_host import PluginHost
from rota.loop.on_files import Moment
from rota.model.policy import Policy
from tests.hostile.jobs import jobs
from tests.hostile.odd import Odd

NOW_MS = 1_800_000_000_000
Read = Callable[[Odd, Path], None]


def a_file(random: Random, folder: Path) -> tuple[str, float]:
    """One file made and read; its kind, and the seconds of CPU it took. Raises what isn't a refusal."""
    kind, read = random.choice(list(_READERS.items()))
    began_s = process_time()
    with suppress(InputError, BadArchive):
        read(Odd(random), folder)
    return kind, process_time() - began_s


def _written(odd: Odd, folder: Path, form: Any, name: str = "input.yaml") -> Path:
    if odd.random.random() < 0.6:
        form = odd.made_odd(form)
    try:
        text = msgspec.yaml.encode(form) if odd.random.random() < 0.5 else msgspec.json.encode(form)
    except (UnicodeEncodeError, msgspec.MsgspecError, OverflowError, ValueError, TypeError):
        text = repr(form).encode("utf-8", "replace")
    if odd.random.random() < 0.3:
        text = odd.cut(text)
    path = folder / name
    path.write_bytes(text)
    return path


def _job_file(odd: Odd, folder: Path) -> None:
    read_submission_file(_written(odd, folder, jobs(odd.random)))


def _script(odd: Odd, folder: Path) -> None:
    options = (
        "-n 4",
        "--time=1:00:00",
        "--array=0-9%2",
        "-c 2",
        "--mem=4G",
        "--gres=gpu:2",
        "-d afterok:1",
        "-p x",
    )
    lines = [f"#SBATCH {odd.random.choice(options)}" for _ in range(odd.random.randrange(9))]
    text = "\n".join(["#!/bin/sh", *lines, "true\n"]).encode()
    path = folder / "job.sh"
    path.write_bytes(odd.cut(text) if odd.random.random() < 0.7 else text)
    read_sbatch(path, now=datetime.fromtimestamp(NOW_MS / 1000, UTC))


def _policy(odd: Odd, folder: Path) -> None:
    form = {
        "strategy": "bin-packing",
        "weights": {"cost": 15},
        "queues": [{"name": "default", "strategy": "fair"}, {"name": "desk", "interactive": True}],
        "preemption": {"enabled": True, "min_run_time": "5m"},
        "fair_share": {"half_life": "7d", "tenants": [{"path": "vision", "weight": 2}]},
        "plugins": [{"name": "quiet-hours", "weight": 1, "settings": {"from": "22:00"}}],
    }
    read_policy(_written(odd, folder, form))


def _cluster(odd: Odd, folder: Path) -> None:
    nodes = [
        {"name": f"n{at}", "resources": {"cpu": 8, "memory": "16Gi"}, "labels": {"zone": f"z{at % 3}"}}
        for at in range(odd.random.choice((1, 3, 20)))
    ]
    named = [{**job, "name": f"j{at}"} for at, job in enumerate(jobs(odd.random)["jobs"][:5])]
    for job in named:
        for field in ("array", "depends_on", "hold", "connect_to"):
            job.pop(field, None)
    _plan(_written(odd, folder, {"nodes": nodes, "jobs": named}))


def _manifests(odd: Odd, folder: Path) -> None:
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n1", "labels": {"kubernetes.io/hostname": "n1"}},
        "status": {
            "allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    count = odd.random.choice((1, 5, 60))
    pods = [_pod(odd, at, count) for at in range(count)]
    _plan(_written(odd, folder, {"apiVersion": "v1", "kind": "List", "items": [node, *pods]}))


def _pod(odd: Odd, at: int, count: int) -> dict[str, Any]:
    labels = {"app": "a", "index": str(at)}
    gang = {"batch.scheduling.k8s.io/gang": "g"} if odd.random.random() < 0.7 else {}
    spec: dict[str, Any] = {
        "schedulerName": "batch-scheduler",
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "10m"}}}],
    }
    if odd.random.random() < 0.3:
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "a"}},
            }
        ]
    if odd.random.random() < 0.3:
        spec["tolerations"] = [{"operator": "Exists"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"p{at}",
            "namespace": "default",
            "labels": {**labels, **gang},
            "annotations": {"batch.scheduling.k8s.io/min-available": odd.random.choice((str(count), "50%"))},
        },
        "spec": spec,
    }


def _plan(path: Path) -> None:
    records = read_records(path)
    moment = Moment(records, Policy(), NOW_MS, PluginHost())
    plan = moment.plan()
    for entry in plan.waiting[:1]:
        moment.explain(entry.jobs[0])


def _archive(odd: Odd, folder: Path) -> None:
    made = io.BytesIO()
    with tarfile.open(
        fileobj=made, mode=odd.random.choice(("w", "w:gz", "w:xz")), format=tarfile.PAX_FORMAT
    ) as tar:
        for _ in range(odd.random.choice((1, 3, 20))):
            member = tarfile.TarInfo(
                odd.random.choice(("a", "b/c", "../x", "/abs", "a/../b", odd.text() or "n"))
            )
            member.type = odd.random.choice(
                (tarfile.REGTYPE,) * 3
                + (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE)
            )
            member.linkname = odd.random.choice(("a", "b/c", "../..", "/etc/passwd"))
            member.mode = odd.random.choice((0o644, 0o4755, 0o777))
            content = b"x" * odd.random.choice((0, 10, 5000))
            member.size = len(content) if member.isreg() else 0
            try:
                tar.addfile(member, io.BytesIO(content) if member.isreg() else None)
            except (UnicodeEncodeError, ValueError):
                continue
    data = made.getvalue()
    if odd.random.random() < 0.5:
        data = odd.cut(data)
    with TemporaryDirectory(dir=folder) as target:
        outside = set(os.listdir(folder))
        with opened(Path(target)) as descriptor:
            try:
                unpack(io.BytesIO(data), descriptor, ())
            finally:
                assert set(os.listdir(folder)) == outside, "an archive wrote outside of its folder"


_READERS: dict[str, Read] = {
    "job file": _job_file,
    "script": _script,
    "policy": _policy,
    "cluster": _cluster,
    "manifests": _manifests,
    "archive": _archive,
}
