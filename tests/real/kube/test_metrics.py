"""What is served at /metrics, beside what kube-scheduler itself serves there."""

from __future__ import annotations

import asyncio
import ssl
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from prometheus_client.parser import text_string_to_metric_families

from rota.kube.api.resources import PODS
from tests.real.kube.conftest import created_namespace
from tests.real.kube.control_plane import ControlPlane, free_ports
from tests.real.kube.pods import Place, eventually, place_in, pod_for
from tests.real.kube.processes import Schedulers

pytestmark = [pytest.mark.slow, pytest.mark.covers("kube-10", "kube-7", "first-5")]

_ADDED = ("le", "quantile")


class Family(Struct, frozen=True):
    kind: str
    labels: frozenset[str]
    buckets: tuple[float, ...]


def families(text: str) -> Mapping[str, Family]:
    found = {}
    for family in text_string_to_metric_families(text):
        samples = [one for one in family.samples if not one.name.endswith("_created")]
        bounds = sorted({float(one.labels["le"]) for one in samples if "le" in one.labels})
        labels = frozenset(label for one in samples for label in one.labels if label not in _ADDED)
        found[family.name] = Family(family.type, labels, tuple(bounds))
    return found


def _read(url: str) -> str:
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    with urllib.request.urlopen(url, context=trusting if url.startswith("https") else None) as answer:
        text: str = answer.read().decode()
        return text


async def test_what_kube_scheduler_has_a_name_for_is_the_same_here(
    breakable: ControlPlane, tmp_path: Path
) -> None:
    """Both have bound a pod, refused one, and made room for one."""
    cluster, namespace = breakable.cluster, await created_namespace(breakable.cluster)
    ours, theirs = free_ports(2)
    schedulers = Schedulers(tmp_path, cluster)
    breakable.start_scheduler(
        f"--secure-port={theirs}",
        "--bind-address=127.0.0.1",
        f"--cert-dir={tmp_path}",
        "--authorization-always-allow-paths=/metrics",
        "--authentication-skip-lookup=true",
    )
    async with place_in(cluster, namespace) as place:
        address = ("--metrics-bind-address", f"127.0.0.1:{ours}")
        schedulers.start("--scheduler-name", place.scheduler_name, "--no-leader-elect", *address)
        names = (place.scheduler_name, "default-scheduler")
        try:
            for number, name in enumerate(names):
                (node,) = await place.add_nodes(f"n{number}", cpu="2", of=str(number))
                place.scheduler_name, only = name, {"nodeSelector": {**place.selector, "of": str(number)}}
                body = {"terminationGracePeriodSeconds": 0, **only}
                await _add(place, f"low{number}", "2", **body)

                async def low_runs(pod: str = f"low{number}", node: str = node) -> bool:
                    return (await place.bound()).get(pod) == node

                await eventually(low_runs)
                await _add(place, f"refused{number}", "8", **only)
                await _add(place, f"high{number}", "2", priorityClassName="system-node-critical", **only)

                async def high_runs(pod: str = f"high{number}", node: str = node) -> bool:
                    return (await place.bound()).get(pod) == node

                await eventually(high_runs)
            text = await asyncio.to_thread(_read, f"http://127.0.0.1:{ours}/metrics")
            mine = {
                name: one
                for name, one in families(text).items()
                if name.startswith("scheduler_") and not name.endswith("_created")
            }
            other = families(await asyncio.to_thread(_read, f"https://127.0.0.1:{theirs}/metrics"))
        finally:
            schedulers.end()
            breakable.stop_scheduler()
    assert len(mine) == 10
    for name, family in mine.items():
        assert other[name] == family, name
    for line in (
        'scheduler_pending_pods{queue="unschedulable"} 1.0',
        "scheduler_preemption_victims_sum 1.0",
        f'rota_worker_utilisation{{node="{namespace}-n0",resource="cpu"}} 1.0',
    ):
        assert line in text, line
    assert "rota_queue_wait_seconds_count{" in text


async def _add(place: Place, name: str, cpu: str, **spec: Any) -> None:
    await place.client.create(PODS, pod_for(place.scheduler_name, name, cpu, **spec), place.namespace)
