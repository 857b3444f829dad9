"""A round: a cluster that works while one thing after the other goes wrong, and is looked at after each."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import TypeVar

from msgspec import json

from rota.api.documents import JobDetail, JobDocument
from rota.sdk.client import Client
from rota.sdk.errors import RotaError
from tests.crash import plan as faults
from tests.crash.cluster import Cluster
from tests.crash.diary import Diary
from tests.crash.plan import AGENTS, LEADS_S, LOST_AFTER_S, Plan, Point
from tests.crash.strike import strike
from tests.crash.users import Users
from tests.crash.witness import Broken, Witness, demand

T = TypeVar("T")

_WORKS_BEFORE_S = 1.0
_LOOK_S = 0.2
_PATIENCE_S = 60.0
_PAGE = 1000
_LOOKED_AT = 8
"""Jobs, each time, with all their attempts."""
_OF_DATABASE = (faults.DatabaseKilled, faults.DatabaseFrozen, faults.SessionKilled, faults.SessionFrozen)


class Failed(Exception):
    """With all that is known of how it came about."""


class Round:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.folder = Path(tempfile.mkdtemp(prefix=f"rota-crash-{plan.seed}-"))
        self.notes: list[str] = []
        self._began_s = time.monotonic()
        self._damages = Random(f"{plan.seed} damage")
        self._looks = Random(f"{plan.seed} looks")
        self._witness = Witness()
        self._ground = self.folder / "ground"
        self._diary = Diary(self._ground, list(AGENTS))

    def run(self) -> str:
        """What was seen. Raises Failed, with logs left behind; and Missing."""
        try:
            cluster = Cluster(self.folder, self.plan.kind)
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        self._note(f"a cluster: {self.plan.kind.value}")
        try:
            self._torture(cluster)
        except Exception as error:
            self._leave_evidence(cluster)
            raise Failed(self._told(error)) from error
        finally:
            self._witness.is_done.set()
            cluster.remove()
        shutil.rmtree(self.folder, ignore_errors=True)
        return f"{self._witness.counts}, {time.monotonic() - self._began_s:.0f} s"

    def _torture(self, cluster: Cluster) -> None:
        users = Users(cluster, self._witness, self._ground, self.plan.seed)
        users.begin()
        time.sleep(_WORKS_BEFORE_S)
        for point in self.plan.points:
            self._hit(cluster, point)
            users.check()
            self._look(cluster)
        well_s = time.monotonic()
        users.end()
        self._drain(cluster, users, well_s)
        self._finish(cluster)

    def _hit(self, cluster: Cluster, point: Point) -> None:
        time.sleep(point.after_s)
        healing: list[tuple[float, bool, Callable[[], None]]] = []
        for number, fault in enumerate(point.faults):
            if number:
                time.sleep(point.apart_s)
            self._note(str(fault))
            heal = strike(cluster, self.plan.kind, fault, self._damages, self._note)
            healing.append((time.monotonic() + fault.for_s, not isinstance(fault, _OF_DATABASE), heal))
        # A server doesn't start without its database.
        for until_s, _, heal in sorted(healing, key=lambda one: one[1]):
            time.sleep(max(0.0, until_s - time.monotonic()))
            heal()
        gone = cluster.ended_by_themselves()
        demand(not gone, "I0", f"{gone} ended")
        cluster.until_it_leads()

    # -- looking

    def _look(self, cluster: Cluster) -> None:
        self._witness.entries(self._diary.read())
        self._ask(cluster, lambda client: self._witness.nodes(client.nodes()))
        jobs = self._jobs(cluster)
        for job in self._looks.sample(jobs, min(_LOOKED_AT, len(jobs))):
            self._witness.attempts(self._detail(cluster, job.id))

    def _drain(self, cluster: Cluster, users: Users, well_s: float) -> None:
        self._look(cluster)
        patience_s = 2 * LOST_AFTER_S + (0 if self.plan.kind.is_sqlite else LEADS_S)
        until_s = well_s + patience_s + users.work_s(self._witness.unfinished())
        while unfinished := self._witness.unfinished():
            demand(
                time.monotonic() < until_s,
                "I5",
                f"{until_s - well_s:.0f} s after the faults, these haven't ended: {', '.join(unfinished)}",
            )
            time.sleep(_LOOK_S)
            self._look(cluster)
        self._note(f"drained {time.monotonic() - well_s:.1f} s after the faults")

    def _finish(self, cluster: Cluster) -> None:
        jobs = self._jobs(cluster)
        details = [self._detail(cluster, job.id) for job in jobs]
        events = self._ask(cluster, lambda client: list(client.events(after=0)))
        self._witness.entries(self._diary.read())
        self._witness.finished(details, events)

    def _jobs(self, cluster: Cluster) -> list[JobDocument]:
        accepted = self._witness.all_accepted()
        jobs = self._ask(cluster, lambda client: list(client.jobs(limit=_PAGE)))
        self._witness.jobs(accepted, jobs)
        return jobs

    def _detail(self, cluster: Cluster, job: str) -> JobDetail:
        return self._ask(cluster, lambda client: client.job(job))

    def _ask(self, cluster: Cluster, ask: Callable[[Client], T]) -> T:
        deadline_s = time.monotonic() + _PATIENCE_S
        while True:
            try:
                with cluster.leader.asking() as client:
                    return ask(client)
            except RotaError as error:
                if not error.may_pass or time.monotonic() > deadline_s:
                    raise
                time.sleep(_LOOK_S)

    # -- telling

    def _leave_evidence(self, cluster: Cluster) -> None:
        """As far as anybody still answers."""
        with suppress(Exception), cluster.leader.asking() as client:
            kept = {
                "jobs": [client.job(job.id) for job in client.jobs(limit=_PAGE)],
                "events": list(client.events(after=0)),
            }
            (self.folder / "kept.json").write_bytes(json.format(json.encode(kept)))

    def _note(self, text: str) -> None:
        self.notes.append(f"{time.monotonic() - self._began_s:7.2f}  {text}")

    def _told(self, error: BaseException) -> str:
        what = str(error) if isinstance(error, Broken) else f"{type(error).__name__}: {error}"
        return "\n".join(
            [
                f"seed {self.plan.seed} breaks {what}",
                *(f"  {note}" for note in self.notes),
                f"  logs, what is kept (kept.json) and what tasks wrote (ground/diary): {self.folder}",
                f"  again: make torture FIRST_SEED={self.plan.seed} N={self.plan.length}",
            ]
        )
