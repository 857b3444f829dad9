"""Decides recorded cycles again: as they were, or under another policy.

Each cycle is decided on what it was decided on when it was recorded. What another policy would have
made of the cycles before is not carried forward: that is what a simulation is for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rota import __version__
from rota.engine.decide import decide
from rota.intake.errors import InputError
from rota.loop.hosting.plugin_host import PluginHost
from rota.loop.records.canonical import encoded
from rota.loop.records.cycles import Cycle, CycleFolder
from rota.loop.records.inputs import Delta, Inputs
from rota.loop.records.plugin_origins import PluginOrigin, origins_of
from rota.model.cluster import ClusterRecords
from rota.model.plan import Plan
from rota.model.policy import Policy
from rota.snapshot.defaults import admit
from rota.snapshot.state import ClusterState


class OtherPlugin(NamedTuple):
    """A plugin that took part when cycles were recorded, and isn't the same here."""

    recorded: PluginOrigin
    here: PluginOrigin


@dataclass(frozen=True)
class Replayed:
    number: int
    now_ms: int
    input_hash: bytes
    recorded: Plan
    decided: Plan
    is_equal: bool
    """Byte for byte, in the encoding that equal plans have in common."""


class Replay:
    def __init__(self, folder: Path, host: PluginHost, policy: Policy | None = None) -> None:
        """`policy`: the one to decide by; None: for each cycle its own. Raises InputError if the
        folder is none that cycles were recorded in."""
        self._folder = CycleFolder(folder)
        self._host = host
        self._policy = policy
        self.other_versions: dict[str, None] = {}
        """Of Rota, that recorded cycles."""
        self.other_plugins: dict[OtherPlugin, None] = {}

    @property
    def damage(self) -> list[InputError]:
        """What couldn't be read, so far."""
        return self._folder.damage

    def cycles(self, only: int | None = None) -> Iterator[Replayed]:
        """All that can be read, or the one with that number."""
        table = _Table()
        for cycle in self._folder.cycles(only):
            policy = self._policy or cycle.policy
            table.lay(cycle, policy)
            if only is None or cycle.number == only:
                self._note_origin(cycle)
                yield self._replayed(cycle, policy, table.state)

    def _replayed(self, cycle: Cycle, policy: Policy, state: ClusterState) -> Replayed:
        with self._host.in_force(policy) as plugins:
            plan = decide(state.snapshot(), policy, cycle.now_ms, plugins)
        is_equal = encoded(plan) == encoded(cycle.plan)
        return Replayed(cycle.number, cycle.now_ms, cycle.input_hash, cycle.plan, plan, is_equal)

    def _note_origin(self, cycle: Cycle) -> None:
        if cycle.version != __version__:
            self.other_versions[cycle.version] = None
        # Under another policy those plugins have no say.
        if self._policy is None and cycle.plugins:
            here = {origin.name: origin for origin in origins_of(cycle.policy)}
            for recorded in cycle.plugins:
                if here.get(recorded.name) != recorded:
                    other = OtherPlugin(recorded, here.get(recorded.name, PluginOrigin(recorded.name)))
                    self.other_plugins[other] = None


class _Table:
    """The cluster as a cycle saw it, in a state that goes along with the changes."""

    def __init__(self) -> None:
        self.state = ClusterState()
        self._policy: Policy | None = None

    def lay(self, cycle: Cycle, policy: Policy) -> None:
        is_other_admission = self._policy is None or self._policy.defaults != policy.defaults
        self._policy = policy
        if cycle.is_base or is_other_admission or None in cycle.delta.offers.values():
            self.state = ClusterState(policy.defaults)
            self.state.load(_records_of(cycle.inputs))
        else:
            _change(self.state, cycle.delta)
        told = {
            admit(template, policy.defaults): quantiles
            for template, quantiles in cycle.inputs.run_times.items()
        }
        self.state.set_run_times(lambda template: told.get(template, ()))


def _records_of(inputs: Inputs) -> ClusterRecords:
    return ClusterRecords(
        tuple(inputs.nodes.values()),
        tuple(inputs.offers.values()),
        tuple(inputs.jobs.values()),
        inputs.usage,
        inputs.calendar,
    )


def _change(state: ClusterState, delta: Delta) -> None:
    for name, node in delta.nodes.items():
        if node is None:
            state.remove_node(name)
        else:
            state.set_node(node)
    for offer in delta.offers.values():
        assert offer is not None
        state.set_offer(offer)
    for job_id, record in delta.jobs.items():
        if record is None:
            state.remove_job(job_id)
        else:
            state.set_job(record)
    if delta.usage is not None:
        state.set_usage(delta.usage)
    if delta.calendar is not None:
        state.set_calendar(delta.calendar)
