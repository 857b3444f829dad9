"""Writes down each cycle: what it was decided by, the hash of that, and the plan."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from msgspec.msgpack import Encoder

from rota.loop.records.cycle_entry import CycleEntry, written_changes, written_plan
from rota.loop.records.cycle_files import CycleWriter
from rota.loop.records.inputs import Inputs, templates_of
from rota.loop.records.plugin_origins import origins_of
from rota.model.cluster import ClusterRecords
from rota.model.job import JobTemplate
from rota.model.plan import Plan
from rota.model.policy import Policy
from rota.snapshot.state import RunTimes


class Recorder:
    """Records cycles into a folder, after those that it holds already.

    Only what changed since the cycle before is written. It is found by comparing objects, which takes
    a fraction of a microsecond for each that didn't.
    """

    def __init__(self, folder: Path) -> None:
        self._writer = CycleWriter(folder)
        self._encoder = Encoder()
        self._inputs = Inputs()
        self._policy: Policy | None = None
        self._plan = Plan()
        self._numbers: dict[JobTemplate, int] = {}
        """Of the templates in the file that is being written."""

    def decided(
        self, records: ClusterRecords, run_times: RunTimes, policy: Policy, now_ms: int, plan: Plan
    ) -> None:
        """A cycle: all that its plan was made from, and the plan."""
        asked = ((template, run_times(template)) for template in templates_of(records.jobs))
        delta = self._inputs.delta_to(records, {template: told for template, told in asked if told})
        self._inputs.apply(delta)
        if self._writer.wants_base:
            self._writer.begin_file()
            self._numbers.clear()
            self._policy, self._plan = None, Plan()
            delta = self._inputs.everything()
        is_new_policy = policy != self._policy
        entry = CycleEntry(
            self._writer.next_number,
            now_ms,
            self._inputs.hash_with(policy, now_ms),
            written_changes(delta, self._numbers),
            written_plan(plan, self._plan),
            policy if is_new_policy else None,
            origins_of(policy) if is_new_policy else (),
        )
        self._writer.append(self._encoder.encode(entry))
        self._policy, self._plan = policy, plan

    def close(self) -> None:
        self._writer.close()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
