"""A scheduler, controllers who give it work, and what they were told of it."""

from __future__ import annotations

from pathlib import Path

from rota.model.ids import JobId
from tests.crash.action_witness import ActionWitness
from tests.crash.diary import Diary
from tests.crash.plan import LOST_AFTER_S, Plan
from tests.crash.scheduler_cluster import SchedulerCluster


class SchedulerTrial:
    """Implements Trial."""

    def __init__(self, folder: Path, ground: Path, diary: Diary, plan: Plan) -> None:
        self.cluster = SchedulerCluster(folder, ground, plan.seed)
        self._diary = diary
        self._witness = ActionWitness()

    @property
    def counts(self) -> str:
        return self._witness.counts

    def begin(self) -> None:
        for controller in self.cluster.controllers.values():
            controller.start()
        self.cluster.until_well()

    def end(self) -> None:
        for controller in self.cluster.controllers.values():
            controller.submits_no_more()

    def unfinished(self) -> set[str]:
        return set(self._witness.unfinished())

    def patience_s(self) -> float:
        work_s = sum(form.takes_s for form in self._witness.unfinished().values() if not form.is_endless)
        return 2 * LOST_AFTER_S + work_s

    def look(self) -> None:
        # What has started was recorded before, what was told to have ended had been written before.
        self._witness.entries(self._diary.read())
        over: set[JobId] = set()
        for name, controller in self.cluster.controllers.items():
            told = controller.ledger.told()
            self._witness.kept(name, controller.ledger.kept())
            over |= self._witness.told(name, told)
        self._witness.check_starts()
        self._witness.entries(self._diary.read())
        self._witness.check_ends(over)

    def finish(self) -> None:
        self.look()
        self._witness.finished()

    def leave_evidence(self) -> None:
        """All of it is in the ledgers."""

    def remove(self) -> None:
        self.cluster.remove()
