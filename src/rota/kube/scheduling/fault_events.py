"""Faults of plugins as events of the pods that they were about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from rota.kube.mirror.mirror import Mirror
from rota.kube.scheduling.event_recorder import EventRecorder
from rota.loop.hosting.fault_book import FaultTally


def publishing(mirror: Mirror, recorder: EventRecorder) -> Callable[[FaultTally], Awaitable[None]]:
    async def publish(tally: FaultTally) -> None:
        """Of a gang, an event of its first pod."""
        fault = tally.latest
        if not mirror.state.has_job(fault.job):
            return
        pod = mirror.pod(mirror.state.record(fault.job).job.task_name(0))
        if pod is not None:
            note = f"plugin {fault.plugin} failed in {fault.call}, and was left out: {fault.error}"
            recorder.event(pod, "Warning", "PluginFailed", "Scheduling", note)

    return publish
