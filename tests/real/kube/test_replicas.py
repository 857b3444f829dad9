"""`rota kube-scheduler` as processes: whoever leads is killed or frozen, also between two binds of a gang."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from rota.kube.api.client import Selection
from rota.kube.api.informer import Informer
from rota.kube.api.resources import PODS
from rota.kube_objects.objects.pods import Pod
from tests.real.conftest import missing
from tests.real.kube.cluster import Cluster
from tests.real.kube.conftest import new_namespace
from tests.real.kube.control_plane import ControlPlane, Missing, free_ports
from tests.real.kube.pods import Place, eventually, place_in
from tests.real.kube.processes import Schedulers
from tests.real.kube.torture import one_round

pytestmark = [pytest.mark.slow, pytest.mark.covers("kube-4", "kube-6")]

GANG = 200


@pytest.fixture
def schedulers(cluster: Cluster, tmp_path: Path) -> Iterator[Schedulers]:
    made = Schedulers(tmp_path, cluster)
    yield made
    made.end()


async def _get(port: int, path: str) -> str:
    def ask() -> str:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
                return str(answer.read().decode())
        except (urllib.error.URLError, OSError):
            return ""

    return await asyncio.to_thread(ask)


def _options(place: Place, port: int) -> tuple[str, ...]:
    return "--scheduler-name", place.scheduler_name, "--metrics-bind-address", f"127.0.0.1:{port}"


@pytest.fixture(scope="module")
def audited() -> Iterator[ControlPlane]:
    try:
        control_plane = ControlPlane(is_audited=True)
    except Missing as error:
        missing(str(error))
    with control_plane:
        yield control_plane


@pytest.mark.since("1.30", "the API server's record tells apart tokens of one account only since then")
def test_leaders_are_killed_and_frozen_under_load(audited: ControlPlane) -> None:
    """More of this: make torture-kube"""
    seen = asyncio.run(one_round(audited, new_namespace(audited.cluster), seed=1))
    assert not seen.faults, str(seen)
    assert (seen.killed, seen.frozen) == (3, 2)
    assert seen.pods > 100


async def test_the_leader_is_killed_between_two_binds(
    cluster: Cluster, namespace: str, schedulers: Schedulers
) -> None:
    async with place_in(cluster, namespace) as place:
        nodes = await place.add_nodes("a", "b", "c", cpu=str(GANG))
        await asyncio.gather(
            *(place.add_pod(f"p{number}", gang="g", least=str(GANG)) for number in range(GANG))
        )
        informer = Informer(place.client, PODS, Selection(namespace))
        leading: list[subprocess.Popen[bytes]] = []

        def kill_at_first_bind(old: Pod | None, new: Pod | None) -> None:
            if new is not None and new.spec.node_name and leading:
                leading.pop().kill()

        informer.subscribe(kill_at_first_bind)
        watching = asyncio.create_task(informer.run())
        await informer.synced.wait()
        ports = free_ports(2)
        first = schedulers.start(*_options(place, ports[0]), namespace=namespace)
        leading.append(first)
        await asyncio.to_thread(first.wait)
        bound_before = len(await place.bound())
        assert 0 < bound_before < GANG
        second = schedulers.start(*_options(place, ports[1]), namespace=namespace)

        async def is_whole() -> bool:
            return len(await place.bound()) == GANG

        await eventually(is_whole)
        watching.cancel()
        used = Counter((await place.bound()).values())
        assert set(used) <= set(nodes)
        figures = await _get(ports[1], "/metrics")
        (bound_after,) = re.findall(r'schedule_attempts_total\{result="scheduled"\} (\d+)', figures)
        assert bound_before + int(bound_after) == GANG, "each is bound once"
        assert await _get(ports[1], "/healthz") == "ok"
        second.terminate()
        assert await asyncio.to_thread(second.wait) == 0


@pytest.mark.covers("kube-1")
async def test_a_dry_run_does_nothing(cluster: Cluster, namespace: str, schedulers: Schedulers) -> None:
    async with place_in(cluster, namespace) as place:
        (node,) = await place.add_nodes("a", cpu="1")
        await place.add_pod("fits")
        await place.add_pod("too-large", cpu="2")
        await place.add_pod("lonely", gang="g", least="2")
        ended = await asyncio.to_thread(
            subprocess.run,
            schedulers.command("--scheduler-name", place.scheduler_name, "--dry-run"),
            capture_output=True,
            text=True,
        )
        assert ended.returncode == 2, ended.stderr  # Some wait.
        bound, too_large, lonely = ended.stdout.splitlines()
        assert bound == f"bind {namespace}/fits to {node}"
        assert too_large.startswith(f"wait {namespace}/too-large: 0/")
        assert lonely == f"wait {namespace}/lonely: gang g: 1 of 2 pods present; they start together"
        assert not await place.bound()


def test_what_cant_be_used_is_said(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rota", "kube-scheduler", "--kubeconfig", str(tmp_path / "missing")]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 1
    assert "missing" in ended.stderr
    assert "Traceback" not in ended.stderr
