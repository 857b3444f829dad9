"""What has to go before anybody is placed: by a taint, or because maintenance has begun."""

from __future__ import annotations

import numpy as np

from rota.engine.calendar.entries import positions_of
from rota.engine.evicting.evict import Evictor
from rota.model.ids import JobId
from rota.model.plan import EvictionCause
from rota.model.taints import Effect, bears_until_ms
from rota.snapshot.arrays import Bools
from rota.snapshot.state import Snapshot


def evict_by_taints(evictor: Evictor, snapshot: Snapshot, now_ms: int) -> None:
    """NoExecute: what runs there without the toleration goes, once its time is over."""
    nodes, running = snapshot.nodes, snapshot.running
    expelling = [
        [taint for taint in taints if taint.effect is Effect.NO_EXECUTE] for taints in nodes.taint_sets
    ]
    if not any(expelling) or not len(running):
        return
    taint_set = nodes.taint_set[running.node]
    there = np.flatnonzero(np.array([bool(taints) for taints in expelling])[taint_set])
    gone = np.zeros(len(running), dtype=np.bool_)
    for task, number in zip(there.tolist(), taint_set[there].tolist(), strict=True):
        template, group = running.kinds[int(running.spec[task])]
        tolerations = template.groups[group].spec.tolerations
        until = [bears_until_ms(taint, tolerations) for taint in expelling[number]]
        gone[task] = any(end is not None and end <= now_ms for end in until)
    if gone.any():
        _evict(gone, EvictionCause.TAINT, evictor, snapshot)


def evict_by_maintenance(evictor: Evictor, snapshot: Snapshot, now_ms: int) -> None:
    """What still runs on nodes whose maintenance has begun goes."""
    nodes, running = snapshot.nodes, snapshot.running
    gone = np.zeros(len(running), dtype=np.bool_)
    for window in snapshot.calendar.maintenance:
        if window.start_ms <= now_ms < window.end_ms:
            gone |= np.isin(running.node, positions_of(nodes, window.nodes))
    if gone.any():
        gone &= evictor.victims.alive
        _evict(gone, EvictionCause.MAINTENANCE, evictor, snapshot)


def _evict(gone: Bools, cause: EvictionCause, evictor: Evictor, snapshot: Snapshot) -> None:
    """These tasks, and the rest of gangs that can't do without them."""
    running, victims = snapshot.running, evictor.victims
    for job in sorted(set(running.job[gone].tolist())):
        members = victims.tasks_of(job)
        leaving = [task for task in members if gone[task]]
        if len(members) - len(leaving) < running.min_running[job]:
            leaving = members
        victims.lift(leaving)
        evictor.record(leaving, cause, JobId(""))
