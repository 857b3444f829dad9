"""A round: a cluster that works while one thing after the other goes wrong, and is looked at after each."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.crash.diary import Diary
from tests.crash.faults import OfDatabase
from tests.crash.plan import AGENTS, Kind, Plan, Point
from tests.crash.rules import Broken, demand
from tests.crash.scheduler_trial import SchedulerTrial
from tests.crash.server_trial import ServerTrial
from tests.crash.strike import strike
from tests.crash.trial import Trial

_WORKS_BEFORE_S = 1.0
_LOOK_S = 0.2


class Failed(Exception):
    """With all that is known of how it came about."""


class Round:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.folder = Path(tempfile.mkdtemp(prefix=f"rota-crash-{plan.seed}-"))
        self.notes: list[str] = []
        self._began_s = time.monotonic()
        self._damages = Random(f"{plan.seed} damage")

    def run(self) -> str:
        """What was seen. Raises Failed, with logs left behind; and Missing."""
        try:
            trial = self._trial()
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        self._note(f"a cluster: {self.plan.kind.value}")
        try:
            self._torture(trial)
        except Exception as error:
            trial.leave_evidence()
            raise Failed(self._told(error)) from error
        finally:
            trial.remove()
        shutil.rmtree(self.folder, ignore_errors=True)
        return f"{trial.counts}, {time.monotonic() - self._began_s:.0f} s"

    def _trial(self) -> Trial:
        ground = self.folder / "ground"
        diary = Diary(ground, list(AGENTS))
        kind = SchedulerTrial if self.plan.kind is Kind.SCHEDULER else ServerTrial
        return kind(self.folder, ground, diary, self.plan)

    def _torture(self, trial: Trial) -> None:
        trial.begin()
        time.sleep(_WORKS_BEFORE_S)
        for point in self.plan.points:
            self._hit(trial, point)
            trial.look()
        well_s = time.monotonic()
        trial.end()
        self._drain(trial, well_s)
        trial.finish()

    def _hit(self, trial: Trial, point: Point) -> None:
        time.sleep(point.after_s)
        healing: list[tuple[float, bool, Callable[[], None]]] = []
        for number, fault in enumerate(point.faults):
            if number:
                time.sleep(point.apart_s)
            self._note(str(fault))
            heal = strike(trial.cluster, fault, self._damages, self._note)
            healing.append((time.monotonic() + fault.for_s, not isinstance(fault, OfDatabase), heal))
        # A server doesn't start without its database.
        for until_s, _, heal in sorted(healing, key=lambda one: one[1]):
            time.sleep(max(0.0, until_s - time.monotonic()))
            heal()
        gone = ", ".join(trial.cluster.ended_by_themselves())
        demand(not gone, "I0", f"{gone} ended")
        trial.cluster.until_well()

    def _drain(self, trial: Trial, well_s: float) -> None:
        trial.look()
        until_s = well_s + trial.patience_s()
        while unfinished := trial.unfinished():
            demand(
                time.monotonic() < until_s,
                "I5",
                f"{until_s - well_s:.0f} s after the faults, these haven't ended: {', '.join(unfinished)}",
            )
            time.sleep(_LOOK_S)
            trial.look()
        self._note(f"drained {time.monotonic() - well_s:.1f} s after the faults")

    # -- telling

    def _note(self, text: str) -> None:
        self.notes.append(f"{time.monotonic() - self._began_s:7.2f}  {text}")

    def _told(self, error: BaseException) -> str:
        what = str(error) if isinstance(error, Broken) else f"{type(error).__name__}: {error}"
        return "\n".join(
            [
                f"seed {self.plan.seed} breaks {what}",
                *(f"  {note}" for note in self.notes),
                f"  logs, what is kept (kept.json, ledger.db), what tasks wrote (diary): {self.folder}",
                f"  again: make torture FIRST_SEED={self.plan.seed} N={self.plan.length}",
            ]
        )
