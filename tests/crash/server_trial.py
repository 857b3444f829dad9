"""Servers, users who give them work, and what both say of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import TypeVar

from msgspec import json

from rota.api.jobs import JobDetail, JobDocument
from rota.sdk.client import Client
from rota.sdk.errors import RotaError
from tests.crash.diary import Diary
from tests.crash.plan import LEADS_S, LOST_AFTER_S, Plan
from tests.crash.server_cluster import ServerCluster
from tests.crash.users import Users
from tests.crash.witness import Witness

T = TypeVar("T")

_AGAIN_S = 0.2
_PATIENCE_S = 60.0
_PAGE = 1000
_LOOKED_AT = 8
"""Jobs, each time, with all their attempts."""


class ServerTrial:
    """Implements Trial."""

    def __init__(self, folder: Path, ground: Path, diary: Diary, plan: Plan) -> None:
        self.cluster = ServerCluster(folder, plan.kind)
        self._diary = diary
        self._looks = Random(f"{plan.seed} looks")
        self._witness = Witness(is_calm=not plan.length)
        self._users = Users(self.cluster, self._witness, ground, plan.seed)

    @property
    def counts(self) -> str:
        return self._witness.counts

    def begin(self) -> None:
        self._users.begin()

    def end(self) -> None:
        self._users.end()

    def unfinished(self) -> set[str]:
        return self._witness.unfinished()

    def patience_s(self) -> float:
        leads_s = LEADS_S if self.cluster.database else 0.0
        return 2 * LOST_AFTER_S + leads_s + self._users.work_s(self.unfinished())

    def look(self) -> None:
        self._users.check()
        self._witness.entries(self._diary.read())
        self._ask(lambda client: self._witness.nodes(client.nodes()))
        jobs = self._jobs()
        for job in self._looks.sample(jobs, min(_LOOKED_AT, len(jobs))):
            self._witness.attempts(self._detail(job.id))

    def finish(self) -> None:
        jobs = self._jobs()
        details = [self._detail(job.id) for job in jobs]
        events = self._ask(lambda client: list(client.events(after=0)))
        self._witness.entries(self._diary.read())
        self._witness.finished(details, events)

    def leave_evidence(self) -> None:
        """In kept.json."""
        with suppress(Exception), self.cluster.leader.asking() as client:
            kept = {
                "jobs": [client.job(job.id) for job in client.jobs(limit=_PAGE)],
                "events": list(client.events(after=0)),
            }
            (self.cluster.folder / "kept.json").write_bytes(json.format(json.encode(kept)))

    def remove(self) -> None:
        self._witness.is_done.set()
        self.cluster.remove()

    def _jobs(self) -> list[JobDocument]:
        accepted = self._witness.all_accepted()
        jobs = self._ask(lambda client: list(client.jobs(limit=_PAGE)))
        self._witness.jobs(accepted, jobs)
        return jobs

    def _detail(self, job: str) -> JobDetail:
        return self._ask(lambda client: client.job(job))

    def _ask(self, ask: Callable[[Client], T]) -> T:
        deadline_s = time.monotonic() + _PATIENCE_S
        while True:
            try:
                with self.cluster.leader.asking() as client:
                    return ask(client)
            except RotaError as error:
                if not error.may_pass or time.monotonic() > deadline_s:
                    raise
                time.sleep(_AGAIN_S)
