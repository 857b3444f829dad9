"""A compiler over a cluster as builders make it."""

from rota.engine.compile import Compiler, topology_of
from rota.engine.outside import OutsidePlugins
from rota.engine.placing.board import Board
from rota.engine.placing.work import Work
from rota.engine.scope import Turn
from rota.model.ids import JobId
from rota.model.policy import (
    Policy,
    QueuePolicy,
)
from rota.snapshot import snapshot_of
from tests.builders import PLUGINS, Cluster
from tests.words import NOW_MS


class Compiling:
    def __init__(
        self, cluster: Cluster, policy: Policy | None = None, queue: QueuePolicy | None = None
    ) -> None:
        policy = policy or Policy()
        self.snapshot = snapshot_of(cluster.records)
        self.queue = queue or QueuePolicy()
        self.compiler = Compiler(
            self.snapshot,
            Board(self.snapshot),
            topology_of(self.snapshot),
            policy,
            NOW_MS,
            PLUGINS,
            OutsidePlugins(PLUGINS, self.snapshot),
        )
        self.turn = Turn(policy.schedulers[0], self.queue)

    def work(self, name: str = "j") -> Work:
        [lane] = [lane for lane in self.snapshot.waiting.lanes() if any(j.id == name for j in lane.view()[0])]
        return self.compiler.work(self.turn, lane, self.snapshot.jobs[JobId(name)].job)

    def nodes(self, name: str = "j") -> list[str]:
        """Where the first group may go."""
        mask = self.work(name).signatures[0].static_mask
        return [node for node, may in zip(self.snapshot.nodes.names, mask, strict=True) if may]
