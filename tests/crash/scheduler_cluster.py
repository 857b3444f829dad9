"""A scheduler with agents and two controllers, which are processes of their own."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.crash.cluster import Cluster
from tests.crash.plan import AGENTS, LOST_AFTER_S
from tests.crash.relay import Place, Relays
from tests.crash.victims import Controller, Scheduler
from tests.real.scheduler.stand import CONTROLLERS
from tests.real.server.rota_server import eventually


class SchedulerCluster(Cluster):
    def __init__(self, folder: Path, ground: Path, seed: int) -> None:
        self.controllers: dict[str, Controller] = {}
        self._ground = ground
        self._seed = seed
        self.scheduler = Scheduler(folder / "scheduler", LOST_AFTER_S)
        super().__init__(folder)

    def _start(self) -> None:
        self.scheduler.start()
        agents = Path(self.scheduler.target.removeprefix("unix:"))
        controllers = _port(self.scheduler.controllers)
        ways: dict[str, tuple[Place, ...]] = dict.fromkeys(AGENTS, (agents,))
        self.relays = Relays(ways | dict.fromkeys(CONTROLLERS, (controllers,)))
        for name in AGENTS:
            self._start_agent_by_relays(name)
        for name in CONTROLLERS:
            [target] = self.relays.listen(name)
            self.controllers[name] = Controller(
                self.folder / f"controller-{name}", name, target, self._ground, self._seed
            )

    def until_well(self) -> None:
        """There is always something to tell: more is submitted than there is room for."""
        before = {name: one.ledger.count_told() for name, one in self.controllers.items()}
        self.scheduler.until_ready()
        for name, controller in self.controllers.items():
            eventually(partial(_is_told_more, controller, before[name]), f"news for {name}")

    def ended_by_themselves(self) -> list[str]:
        gone = [] if self.scheduler.is_there else ["the scheduler"]
        gone += [f"controller {name}" for name, one in self.controllers.items() if not one.is_there]
        return gone + self._agents_gone()

    def remove(self) -> None:
        for controller in self.controllers.values():
            controller.kill()
        self.scheduler.kill()
        super().remove()


def _is_told_more(controller: Controller, than: int) -> bool:
    return controller.ledger.count_told() > than


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])
