"""Lets happen what a scenario says that goes wrong, each at its time; and ends it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.faults import scenario, troubles
from tests.faults.cluster import Cluster
from tests.faults.disk import Weather
from tests.faults.event_loop import OUTSIDE
from tests.faults.network import LONGEST_DELAY_S, Conditions

if TYPE_CHECKING:
    from tests.faults.world import World


class Misfortune:
    """Of machines, clocks and the network."""

    def __init__(self, cluster: Cluster[Any]) -> None:
        self._cluster = cluster
        self._is_over = False

    def begin(self) -> None:
        for fault in self._cluster.scenario.faults:
            self._later(fault.at_s, lambda fault=fault: self._strikes(fault))  # type: ignore[misc]

    def end(self) -> None:
        """All is well from now on, and everything is up again."""
        self._is_over = True
        self._calm_network()
        self._cluster.network.cut_off.clear()
        for machine in self._cluster.machines.values():
            machine.come_up()

    def _later(self, delay_s: float, do: Callable[[], None]) -> None:
        self._cluster.loop.call_later(delay_s, self._unless_over, do, context=OUTSIDE)

    def _after_steps(self, count: int, do: Callable[[], None]) -> None:
        self._cluster.loop.after_steps(count, lambda: self._unless_over(do))

    def _unless_over(self, do: Callable[[], None]) -> None:
        if not self._is_over:
            do()

    def _strikes(self, fault: Any) -> None:
        self._cluster.witness.note(f"fault: {fault}")
        self._strike(fault)

    def _strike(self, fault: Any) -> None:
        cluster = self._cluster
        match fault:
            case troubles.AgentCrash():
                cluster.witness.ends_are_seen = False
                machine = cluster.machines[fault.node]
                if fault.power_is_lost or fault.is_wiped:
                    machine.lose_power(fault.is_wiped)
                else:
                    machine.kill_agent()
                self._later(fault.down_s, machine.come_up)
            case troubles.KeeperCrash():
                cluster.witness.ends_are_seen = False
                cluster.machines[fault.node].kill_keeper(fault.after_calls)
            case troubles.ConnectionBreaks():
                cluster.hosts[fault.host].break_all()
            case troubles.Partition():
                cluster.network.cut_off.update(fault.hosts)
                self._later(fault.for_s, lambda: cluster.network.cut_off.difference_update(fault.hosts))
            case troubles.BadNetwork():
                cluster.witness.clocks_seem_off_ms = 2 * int(LONGEST_DELAY_S * 1000)
                cluster.witness.ends_are_seen = False
                cluster.network.conditions = Conditions(fault.drops, fault.duplicates, fault.delays)
                self._later(fault.for_s, self._calm_network)
            case troubles.ClockJump():
                cluster.witness.clocks_are_right = False
                cluster.clock_off_ms[fault.host] = cluster.clock_off_ms.get(fault.host, 0) + fault.by_ms

    def _calm_network(self) -> None:
        self._cluster.network.conditions = Conditions()


class ServerMisfortune(Misfortune):
    """Of a server, its store and its backend as well."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._world = world

    def end(self) -> None:
        super().end()
        self._calm_disk()
        self._believe_backend()
        world = self._world
        if world.server is not None and world.server.is_stopping:
            world.kill_server()
        world.start_server()

    def _strike(self, fault: Any) -> None:
        world = self._world
        match fault:
            case scenario.ServerCrash():
                self._begin_crash(fault)
            case scenario.ServerRestart():
                world.stop_server()
                self._later(fault.down_s, self._restart_server)
            case scenario.DiskFull():
                world.weather.is_full = True
                self._later(fault.for_s, self._calm_disk)
            case scenario.DiskSlow():
                world.slowest_s = fault.longest_s
                self._later(fault.for_s, self._calm_disk)
            case scenario.CommitsInDoubt():
                world.weather.loses_connection = fault.rate
                world.slowest_s = fault.longest_s
                self._later(fault.for_s, self._calm_disk)
            case scenario.BackendInDoubt():
                world.backend_doubts = fault.rate
                self._later(fault.for_s, self._believe_backend)
            case _:
                super()._strike(fault)

    def _begin_crash(self, fault: scenario.ServerCrash) -> None:
        def begin() -> None:
            self._after_steps(fault.after_steps, lambda: self._crash_server(fault))

        if fault.in_commit:
            self._world.disk.once_written(begin)
        else:
            begin()

    def _crash_server(self, fault: scenario.ServerCrash) -> None:
        self._world.kill_server(fault.power_is_lost)
        self._later(fault.down_s, self._world.start_server)

    def _restart_server(self) -> None:
        """One that hasn't stopped by now is killed, as supervisors do."""
        self._world.kill_server()
        self._world.start_server()

    def _calm_disk(self) -> None:
        weather, calm = self._world.weather, Weather()
        weather.is_full, weather.loses_connection = calm.is_full, calm.loses_connection
        self._world.slowest_s = 0.002

    def _believe_backend(self) -> None:
        self._world.backend_doubts = 0.0
