"""Pods of one gang, at one moment in a live cluster: what of it counts, what must wait, and for what.

Files hold whole gangs; in a cluster pods come one after the other, fail, and are replaced.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from rota.intake.kubernetes.gangs import as_gang
from rota.intake.kubernetes.pods import GangKeys, PodState, PodTask
from rota.model.ids import JobId, TaskName
from rota.model.job import JobRecord
from rota.model.quantities import CountOrPercent


class Disagreement(Struct, frozen=True):
    """Pods of one gang say different things of how many must start together."""

    said: tuple[str, ...]
    assumed: str


class GangReading(Struct, frozen=True):
    record: JobRecord | None
    """What is to be decided about, or runs; None: nothing."""
    ready: int
    """Pods that run, are done, or could start."""
    needed: int
    """How many must start together."""
    held: tuple[TaskName, ...] = ()
    """Pods that wait for others to come."""
    torn: tuple[TaskName, ...] = ()
    """Pods that were bound, of a gang that has never had enough of them: others were there and weren't."""
    disagreement: Disagreement | None = None
    is_open_ended: bool = False
    """No number says how many pods there will be: more may be on their way."""


def gang_id_of(pod: PodTask) -> JobId:
    """No pod's name has a colon in it."""
    return JobId(f"{pod.template.namespace}/gang:{pod.gang}")


def read_gang(gang_id: JobId, pods: Sequence[PodTask], gang_keys: GangKeys) -> GangReading:
    """`pods` are all that carry the gang's label, those that have failed included."""
    present = [pod for pod in pods if pod.state is not PodState.GONE]
    agreed, disagreement = _agreed(pods, len(present))
    needed = len(present) if agreed is None else agreed.of(len(present))
    if disagreement is not None:
        pods = [replace(pod, min_available=agreed) for pod in pods]
    ready = sum(pod.state is not PodState.GATED for pod in present)
    torn = tuple(pod.name for pod in _torn(present, needed))
    is_open_ended = agreed is None or agreed.count is None
    if ready < needed:
        waiting = tuple(pod.name for pod in present if pod.state is PodState.WAITING)
        # Those that run go on, whatever the others are waiting for.
        running = [replace(pod, min_available=None) for pod in present if pod.state in _STARTED]
        record = as_gang(gang_id, running, gang_keys).record if running else None
        return GangReading(record, ready, needed, waiting, torn, disagreement, is_open_ended)
    record = as_gang(gang_id, pods, gang_keys).record
    return GangReading(record, ready, needed, (), torn, disagreement, is_open_ended)


_STARTED = frozenset({PodState.RUNNING, PodState.DONE})


def _agreed(pods: Sequence[PodTask], present: int) -> tuple[CountOrPercent | None, Disagreement | None]:
    """What they say; of several answers the one that asks for the most: nobody starts too early by it."""
    said = {pod.min_available for pod in pods if pod.min_available is not None}
    if len(said) < 2:
        return next(iter(said), None), None
    most = max(said, key=lambda one: (one.of(present), str(one)))
    return most, Disagreement(tuple(sorted(map(str, said))), str(most))


def _torn(present: Sequence[PodTask], needed: int) -> list[PodTask]:
    """A pod that replaces another comes after the gang has started; one that was left behind was there."""
    bound = [pod for pod in present if pod.state is PodState.RUNNING]
    if not bound or sum(pod.state in _STARTED for pod in present) >= needed:
        return []
    began_ms = [pod.started_ms for pod in bound if pod.started_ms > pod.submitted_ms]
    left_behind = [
        pod
        for pod in present
        if pod.state is PodState.WAITING and (not began_ms or pod.submitted_ms <= min(began_ms))
    ]
    return bound if left_behind else []
