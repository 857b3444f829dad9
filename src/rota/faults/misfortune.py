"""Lets happen what a scenario says that goes wrong, each at its time; and ends it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rota.faults import scenario as faults
from rota.faults.event_loop import OUTSIDE
from rota.faults.network import Conditions
from rota.faults.scenario import Fault
from rota.faults.store import Weather

if TYPE_CHECKING:
    from rota.faults.world import World


class Misfortune:
    def __init__(self, world: World) -> None:
        self._world = world
        self._is_over = False

    def begin(self) -> None:
        for fault in self._world.scenario.faults:
            self._later(fault.at_s, lambda fault=fault: self._strike(fault))  # type: ignore[misc]

    def end(self) -> None:
        """All is well from now on, and everything is up again."""
        self._is_over = True
        world = self._world
        self._calm_network()
        world.network.cut_off.clear()
        self._calm_disk()
        self._believe_backend()
        for agent in world.agents.values():
            agent.come_up()
        if world.server is not None and world.server.is_stopping:
            world.kill_server()
        world.start_server()

    def _later(self, delay_s: float, do: Callable[[], None]) -> None:
        def unless_over() -> None:
            if not self._is_over:
                do()

        self._world.loop.call_later(delay_s, unless_over, context=OUTSIDE)

    def _strike(self, fault: Fault) -> None:
        world = self._world
        world.witness.note(f"fault: {fault}")
        match fault:
            case faults.ServerCrash():
                world.loop.after_steps(fault.after_steps, lambda: self._crash_server(fault))
            case faults.ServerRestart():
                world.stop_server()
                self._later(fault.down_s, self._restart_server)
            case faults.AgentCrash():
                agent = world.agents[fault.node]
                agent.go_down(fault.power_is_lost, fault.is_wiped)
                self._later(fault.down_s, agent.come_up)
            case faults.ConnectionBreaks():
                world.agents[fault.node].hang_up()
            case faults.Partition():
                world.network.cut_off.update(fault.nodes)
                self._later(fault.for_s, lambda: world.network.cut_off.difference_update(fault.nodes))
            case faults.BadNetwork():
                world.network.conditions = Conditions(fault.drops, fault.duplicates, fault.delays)
                self._later(fault.for_s, self._calm_network)
            case faults.DiskFull():
                world.weather.is_full = True
                self._later(fault.for_s, self._calm_disk)
            case faults.DiskSlow():
                world.slowest_s = fault.longest_s
                self._later(fault.for_s, self._calm_disk)
            case faults.CommitsInDoubt():
                world.weather.loses_connection = fault.rate
                world.slowest_s = fault.longest_s
                self._later(fault.for_s, self._calm_disk)
            case faults.BackendInDoubt():
                self._doubt_backend(fault.rate)
                self._later(fault.for_s, self._believe_backend)
            case faults.ClockJump():
                world.witness.clocks_are_right = False
                world.clock_off_ms[fault.node] = world.clock_off_ms.get(fault.node, 0) + fault.by_ms

    def _crash_server(self, fault: faults.ServerCrash) -> None:
        if not self._is_over:
            self._world.kill_server(fault.power_is_lost)
            self._later(fault.down_s, self._world.start_server)

    def _restart_server(self) -> None:
        """One that hasn't stopped by now is killed, as supervisors do."""
        self._world.kill_server()
        self._world.start_server()

    def _calm_network(self) -> None:
        self._world.network.conditions = Conditions()

    def _calm_disk(self) -> None:
        weather, calm = self._world.weather, Weather()
        weather.is_full, weather.loses_connection = calm.is_full, calm.loses_connection
        self._world.slowest_s = 0.002

    def _doubt_backend(self, rate: float) -> None:
        self._world.backend_doubts = rate
        if self._world.server is not None:
            self._world.server.backend.doubts = rate

    def _believe_backend(self) -> None:
        self._doubt_backend(0.0)
