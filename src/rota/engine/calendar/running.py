"""What runs, as the calendar sees it: columns of who holds what where, and until when."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rota.engine.calendar.durations import Lengths
from rota.engine.calendar.timeline import Devices, Ends, Holding
from rota.engine.placing.topology import Footprint
from rota.model.ids import JobId
from rota.model.job import JobTemplate
from rota.snapshot.arrays import Bools, Int64s
from rota.snapshot.demand import Demand
from rota.snapshot.state import Snapshot


@dataclass(frozen=True, eq=False)
class Running:
    position: Int64s
    kind: Int64s
    started_ms: Int64s
    devices: Sequence[Devices]
    """Empty: nobody has any."""
    templates: Sequence[JobTemplate]
    """Of each kind, like the next two."""
    demands: Sequence[Demand]
    footprint: Callable[[int], Footprint]

    def of_kinds(self, wanted: Sequence[bool]) -> Running:
        """Only tasks of the kinds that are wanted."""
        return self if all(wanted) else self.only(np.array(wanted)[self.kind])

    def only(self, wanted: Bools) -> Running:
        return replace(
            self,
            position=self.position[wanted],
            kind=self.kind[wanted],
            started_ms=self.started_ms[wanted],
            devices=self.devices and [self.devices[at] for at in np.flatnonzero(wanted).tolist()],
        )

    def ends(self, lengths: Lengths, now_ms: int) -> Ends:
        at_ms = lengths.ends_ms(self.templates, self.kind, self.started_ms, now_ms)
        return Ends(at_ms, self.position, self.kind, self.demands, self.devices)

    def held(self) -> list[Holding]:
        places = zip(self.position.tolist(), self.kind.tolist(), strict=True)
        devices = self.devices or [()] * len(self.kind)
        return [Holding(at, self.demands[kind], got) for (at, kind), got in zip(places, devices, strict=True)]


def running_without(
    gone: Collection[tuple[JobId, int]], snapshot: Snapshot, footprint: Callable[[int], Footprint]
) -> Running:
    """All that runs but for these tasks, named by job and rank. `footprint`: of a kind."""
    running = snapshot.running
    demands = [snapshot.demand(template.groups[group].spec) for template, group in running.kinds]
    found = Running(
        running.node.astype(np.int64),
        running.spec.astype(np.int64),
        running.started_ms,
        [task.placement.gpu_devices for task in running.tasks] if any(d.uses_gpu for d in demands) else (),
        [template for template, _ in running.kinds],
        demands,
        footprint,
    )
    if not gone:
        return found
    staying = [(task.job.id, task.placement.rank) not in gone for task in running.tasks]
    return found.only(np.array(staying, dtype=np.bool_))
