"""What goes wrong with a scheduler and its controllers, beside all that goes wrong with machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.faults.misfortune import Misfortune
from tests.faults.scheduler.scenario import ControllerCrash, SchedulerCrash, SlowLedger

if TYPE_CHECKING:
    from tests.faults.scheduler.world import SchedulerWorld


class SchedulerMisfortune(Misfortune):
    def __init__(self, world: SchedulerWorld) -> None:
        super().__init__(world)
        self._world = world

    def end(self) -> None:
        super().end()
        for controller in self._world.controllers.values():
            controller.ledger.longest_s = 0.0
            controller.start()
        self._world.start_scheduler()

    def _strike(self, fault: Any) -> None:
        match fault:
            case SchedulerCrash():
                self._after_steps(fault.after_steps, lambda: self._crash_scheduler(fault))
            case ControllerCrash():
                self._after_steps(fault.after_steps, lambda: self._crash_controller(fault))
            case SlowLedger():
                ledger = self._world.controllers[fault.controller].ledger
                ledger.longest_s = fault.longest_s
                self._later(fault.for_s, lambda: setattr(ledger, "longest_s", 0.0))
            case _:
                super()._strike(fault)

    def _crash_scheduler(self, fault: SchedulerCrash) -> None:
        self._world.kill_scheduler(fault.power_is_lost)
        self._later(fault.down_s, self._world.start_scheduler)

    def _crash_controller(self, fault: ControllerCrash) -> None:
        controller = self._world.controllers[fault.controller]
        controller.kill(fault.power_is_lost)
        self._later(fault.down_s, controller.start)
