"""What users are told on their pods: once, the latest, and not too often."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from rota.kube.api.errors import Call, KubeError, NotConnected
from rota.kube.scheduling.event_recorder import PAUSES, EventRecorder
from rota.kube_objects.objects.pods import Pod
from rota.model.ids import NodeName, TaskName
from tests.kit.virtual_time import run
from tests.unit.kube.pods import pod

P = TaskName("default/p")

pytestmark = [pytest.mark.covers("kube-7"), pytest.mark.virtual_time]


class Server:
    def __init__(self) -> None:
        self.pods: dict[TaskName, Pod] = {P: pod("p")}
        self.messages: list[str] = []
        self.events: list[dict[str, Any]] = []
        self.errors: list[KubeError] = []

    async def create(self, resource: Any, body: Any, namespace: str = "") -> Any:
        self.events.append(body)

    async def patch_status(self, resource: Any, name: str, change: Any, namespace: str = "") -> None:
        if self.errors:
            raise self.errors.pop()
        (condition,) = change["status"]["conditions"]
        assert (condition["type"], condition["status"]) == ("PodScheduled", "False")
        self.messages.append(condition["message"])


def telling(server: Server, act: Callable[[EventRecorder], Any]) -> None:
    async def main() -> None:
        recorder = EventRecorder(server, server.pods.get, "us", "me")
        task = asyncio.create_task(recorder.run())
        await act(recorder)
        await asyncio.sleep(1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run(main())


def test_why_a_pod_waits_is_a_condition_and_an_event() -> None:
    server = Server()

    async def act(recorder: EventRecorder) -> None:
        recorder.waits(P, "no room")

    telling(server, act)
    assert server.messages == ["no room"]
    (event,) = server.events
    assert (event["reason"], event["note"]) == ("FailedScheduling", "no room")
    assert event["regarding"].uid == "uid-p"


def test_the_same_is_told_once() -> None:
    server = Server()

    async def act(recorder: EventRecorder) -> None:
        for _ in range(3):
            recorder.waits(P, "no room")
            await asyncio.sleep(1)

    telling(server, act)
    assert server.messages == ["no room"]


def test_of_many_changes_the_latest_is_told_later() -> None:
    server = Server()

    async def act(recorder: EventRecorder) -> None:
        for number in range(5):
            recorder.waits(P, f"reason {number}")
            await asyncio.sleep(0.1)
        assert server.messages == ["reason 0"]
        await asyncio.sleep(PAUSES.first_s)

    telling(server, act)
    assert server.messages == ["reason 0", "reason 4"]


def test_a_pod_that_was_bound_meanwhile_is_told_nothing() -> None:
    server = Server()
    server.pods[P] = pod("p", node="n")

    async def act(recorder: EventRecorder) -> None:
        recorder.waits(P, "no room")

    telling(server, act)
    assert not server.messages


def test_of_a_pod_that_goes_while_it_is_told_nothing_is_remembered() -> None:
    """Nor said: whoever has its name next is told the same as somebody new."""
    on_their_way, sent = asyncio.Event(), asyncio.Event()

    class SlowServer(Server):
        async def patch_status(self, resource: Any, name: str, change: Any, namespace: str = "") -> None:
            on_their_way.set()
            await sent.wait()
            await super().patch_status(resource, name, change, namespace)

    server = SlowServer()

    async def act(recorder: EventRecorder) -> None:
        recorder.waits(P, "no room")
        await on_their_way.wait()
        before = server.pods.pop(P)
        recorder.forget(P)
        sent.set()
        await asyncio.sleep(1)
        assert not server.events
        server.pods[P] = replace(before, metadata=replace(before.metadata, uid="another"))
        recorder.waits(P, "no room")

    telling(server, act)
    assert server.messages == ["no room", "no room"]
    (event,) = server.events
    assert event["regarding"].uid == "another"


def test_a_server_that_is_away_is_told_later() -> None:
    server = Server()
    server.errors = [NotConnected(Call("patch", "pods/status"), "refused")]

    async def act(recorder: EventRecorder) -> None:
        recorder.waits(P, "no room")

    telling(server, act)
    assert server.messages == ["no room"]


@pytest.mark.slow
async def test_events_are_dropped_rather_than_piled_up() -> None:
    recorder = EventRecorder(Server(), lambda _: None, "us", "me")
    for _ in range(10_001):
        recorder.scheduled(pod("p"), NodeName("n"))
    assert recorder.dropped_events == 1
