"""A cluster as it isn't, to be decided about: what would become of a pod if something else was so."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from rota.kube.mirror.gangs import gang_id_of
from rota.kube_objects.gangs import as_gang
from rota.kube_objects.pods import GangKeys, PodState, PodTask
from rota.model.ids import TaskName
from rota.model.job import JobRecord
from rota.model.policy import Defaults
from rota.snapshot.state import ClusterState


def with_record(
    state: ClusterState, record: JobRecord, defaults: Defaults, *, is_alone: bool = False
) -> ClusterState:
    """The same with another record of a job; `is_alone`: nobody else who waits gets its room."""
    supposed = ClusterState(defaults)
    supposed.load(state.records())
    for other in supposed.records().jobs if is_alone else ():
        if not other.placements:
            supposed.remove_job(other.job.id)
    supposed.set_job(record)
    return supposed


def released(task: PodTask, gang: Sequence[PodTask], missing: int, gang_keys: GangKeys) -> JobRecord:
    """As if nothing held a pod, or any of its gang, and so many more pods like it were there."""
    if not gang:
        return _unheld(task).as_job()
    like_it = [replace(task, name=TaskName(f"{task.name} ({number})")) for number in range(missing)]
    record = as_gang(gang_id_of(task), [_unheld(one) for one in (*gang, *like_it)], gang_keys).record
    assert record is not None, "this one waits"
    return record


def those_present(gang: Sequence[PodTask], gang_keys: GangKeys) -> JobRecord | None:
    """As if no more were needed than could start; None: none could."""
    ready = [
        replace(one, min_available=None) for one in gang if one.state not in (PodState.GATED, PodState.GONE)
    ]
    return as_gang(gang_id_of(ready[0]), ready, gang_keys).record if ready else None


def _unheld(task: PodTask) -> PodTask:
    state = PodState.WAITING if task.state is PodState.GATED else task.state
    return replace(task, state=state, min_available=None)
