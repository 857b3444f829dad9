"""A server that knows what a test tells it, and remembers what it was asked to do.

It is the client of the SDK with another `send`: what commands ask goes through the calls themselves, and what
it answers through JSON, as with a real server. A new endpoint needs nothing here, unless its test does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote

from msgspec import Struct, json
from msgspec.structs import replace

from rota.api.audit import AuditCheckDocument, AuditDocument
from rota.api.cluster import (
    AgentDocument,
    InvitationDocument,
    MaintenanceDocument,
    NodeDocument,
    QueueDocument,
    ReservationDocument,
)
from rota.api.documents import ChangeDocument, Page
from rota.api.jobs import (
    ArrayDetail,
    EfficiencyDocument,
    ElementsDocument,
    EstimateDocument,
    JobDetail,
    JobDocument,
    MissingOutput,
    OutputDocument,
    OutputsDocument,
)
from rota.api.people import LimitsDocument, MeDocument, ProjectDocument, Role, SecretDocument, TokenDocument
from rota.api.questions import ExtendAnswer, PlanAnswer, WhyAnswer
from rota.api.service import EventDocument
from rota.lifecycle.state import Phase
from rota.sdk.call import Call
from rota.sdk.client import Client
from rota.sdk.errors import NotFound
from rota.sdk.job_calls import JobForm, LogChunk
from rota.store.reading.folded import TELLING
from tests.unit.answers import submitted
from tests.unit.cli.documents import NOW, a_job, a_queue, detail

T = TypeVar("T")


class Asked(NamedTuple):
    """A change that was asked for."""

    verb: str
    name: str
    fields: dict[str, Any]
    """Of the body, as JSON has them, and whether it was a dry run."""


class FakeServer(Client):
    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.submitted: list[JobForm] = []
        self.uploaded: list[bytes] = []
        self.details: dict[str, list[JobDetail]] = {}
        """How a job stands, each time that it is asked for; the last for ever."""
        self.filters: Mapping[str, Any] = {}
        self.warnings: list[str] = []
        self.chunks: list[list[LogChunk]] = []
        """Of each time that logs are asked for."""
        self.logs_of: list[str] = []
        self.log_queries: list[dict[str, Any]] = []
        self.kept: dict[str, dict[tuple[int, str], bytes]] = {}
        """Output files of jobs, by rank and path. Those in a folder `bin` are executable."""
        self.missing: dict[str, list[MissingOutput]] = {}
        self.happened: list[EventDocument] = []
        self.node_list: list[NodeDocument] = []
        self.queue_list: list[QueueDocument] = []
        self.project_list: list[ProjectDocument] = []
        self.token_list: list[TokenDocument] = []
        self.secret_list: list[SecretDocument] = []
        self.agent_list: list[AgentDocument] = []
        self.audit_list: list[AuditDocument] = []
        self.audit_check = AuditCheckDocument(records=2, first=1, last=2, head="ab" * 32, broken=None)
        self.maintenance_list: list[MaintenanceDocument] = []
        self.reservation_list: list[ReservationDocument] = []
        self.estimates: dict[str, EstimateDocument] = {}
        self.efficiencies: dict[str, EfficiencyDocument] = {}
        self.limits_answer: LimitsDocument | None = None
        self.plan_answer = PlanAnswer(jobs=[], changes=[])
        self.why_answer: WhyAnswer | None = None
        self.extension: ExtendAnswer | Exception | None = None
        self.at_once: int | None = None
        """Of all arrays."""
        self.refusals: dict[str, Exception] = {}
        """Of changes of these jobs."""
        self.refusal: Exception | None = None
        """Of every change."""
        self.refuses_after: tuple[int, Exception] | None = None
        """So many submissions are taken before."""

    def has(self, *jobs: JobDocument | JobDetail) -> None:
        for one in jobs:
            full = one if isinstance(one, JobDetail) else detail(one)
            self.details.setdefault(full.job.id, []).append(full)

    def close(self) -> None:
        """There is no connection."""

    def send(self, call: Call[T]) -> T:
        _, *steps = map(unquote, call.path.split("/"))
        params = dict(call.params)
        if call.method == "GET" and steps[2:3] == ["outputs"] and steps[3:]:
            kept = self.kept[steps[1]]
            return call.read(kept[int(params.get("rank", 0)), "/".join(steps[3:])])
        if call.method == "GET":
            answer = self._looked_up(steps, params)
        elif steps[0] == "files":
            self.uploaded.append(call.body or b"")
            answer = hashlib.sha256(call.body or b"").hexdigest()
        else:
            answer = self._done(call.method, steps, json.decode(call.body or b"null") or {}, params)
        return call.read(json.encode(answer))

    def _looked_up(self, steps: Sequence[str], params: Mapping[str, str]) -> object:
        match steps:
            case ["jobs"]:
                self.filters = params
                return Page(items=self._found(params))
            case ["jobs" | "arrays" as noun, job, *question]:
                return self._about(noun, job, *question)
            case ["nodes", name]:
                return next(one for one in self.node_list if one.name == name)
            case ["projects", project, "secrets"]:
                return Page(items=[one for one in self.secret_list if one.project == project])
            case ["me"]:
                return MeDocument(user="ada", role=Role.SUBMITTER, projects=["vision"])
            case ["limits"]:
                self.asked.append(Asked("limits", params.get("user", ""), {"project": params.get("project")}))
                return self.limits_answer
            case ["audit", "check"]:
                return self.audit_check
            case [noun]:
                self.filters = params
                return Page(items=getattr(self, f"{noun.removesuffix('s')}_list"))
        raise AssertionError(f"nobody asks for {steps}")

    def _about(self, noun: str, job: str, question: str = "") -> object:
        match question:
            case "why":
                return self.why_answer
            case "eta":
                return self.estimates[job]
            case "eff":
                return self.efficiencies[job]
            case "outputs":
                return self._outputs(job)
            case _:
                return self._array_detail(job) if noun == "arrays" else self._detail(job)

    def _outputs(self, job: str) -> OutputsDocument:
        self._detail(job)
        items = [
            OutputDocument(rank=rank, path=path, size_bytes=len(data), executable="bin" in path.split("/"))
            for (rank, path), data in self.kept.get(job, {}).items()
        ]
        return OutputsDocument(items=items, missing=self.missing.get(job, []))

    def _found(self, params: Mapping[str, str]) -> list[JobDocument]:
        jobs = [steps[0].job for steps in self.details.values()]
        phases = params["phase"].split(",") if "phase" in params else None
        found = [
            job
            for job in jobs
            if (phases is None or job.phase.value in phases) and params.get("name") in (None, job.name)
            if "array" not in params or job.array == params["array"]
        ]
        return found if params.get("fold") != "true" else self._folded(found)

    def _folded(self, found: list[JobDocument]) -> list[JobDocument]:
        numbers = dict.fromkeys(job.array or job.id for job in found)
        return [self._array(number) or self.details[number][0].job for number in numbers]

    def _array(self, number: str) -> JobDocument | None:
        jobs = [steps[0].job for steps in self.details.values() if steps[0].job.array == number]
        if not jobs:
            return None
        phases = {phase: sum(job.phase is phase for job in jobs) for phase in Phase}
        elements = ElementsDocument(
            size=len(jobs), phases={phase: n for phase, n in phases.items() if n}, at_once=self.at_once
        )
        telling = next(job for phase in TELLING for job in jobs if job.phase is phase)
        return replace(telling, id=number, array=None, elements=elements)

    def _array_detail(self, number: str) -> ArrayDetail:
        array = self._array(number)
        assert array is not None
        jobs = [steps[0].job for steps in self.details.values() if steps[0].job.array == number]
        first = {phase: [job.id for job in jobs if job.phase is phase][:20] for phase in array.phases}
        return ArrayDetail(array=array, spec={"command": "true"}, first=first, estimate=None)

    def _detail(self, job: str) -> JobDetail:
        if job not in self.details and self._array(job) is not None:
            raise NotFound(f"{job} is an array of jobs", data={"array": job})
        if job not in self.details:
            raise NotFound(f"there is no job {job}", help="`rota ls --all` lists them")
        steps = self.details[job]
        return steps.pop(0) if len(steps) > 1 else steps[0]

    def _done(
        self, method: str, steps: Sequence[str], body: dict[str, Any], params: Mapping[str, str]
    ) -> object:
        dry_run = params.get("dry_run") == "true"
        match method, steps:
            case "POST", ["plan"]:
                self.submitted += body["jobs"]
                return self.plan_answer
            case "POST", ["jobs"]:
                return self._submitted(body["jobs"], dry_run)
            case "POST", ["jobs", job, "extend"]:
                self.asked.append(Asked("extend", job, {**body, "dry_run": dry_run}))
                if isinstance(self.extension, Exception):
                    raise self.extension
                return self.extension
            case "POST", ["auth", "sign-out"]:
                verb, name = "sign out", "t1"
            case "POST", ["tokens"]:
                verb, name = "token", body.pop("user")
            case "POST", ["agents", "tokens"]:
                verb, name = "invite", body.pop("name", "")
            case "POST", [_, name, verb]:
                pass
            case "DELETE", [*_, noun, name]:
                verb = f"remove {noun.removesuffix('s')}"
            case _, [*_, noun, name]:
                verb = noun.removesuffix("s")
        refusal = self.refusal or self.refusals.get(name)
        if refusal is not None:
            raise refusal
        self.asked.append(Asked(verb, name, {**body, "dry_run": dry_run}))
        return self._after(verb, name, body, dry_run)

    def _submitted(self, jobs: list[JobForm], dry_run: bool) -> Struct:
        if self.refusal is not None:
            raise self.refusal
        if self.refuses_after is not None:
            left, error = self.refuses_after
            if left == 0:
                raise error
            self.refuses_after = left - 1, error
        self.submitted += jobs
        made = [a_job(str(17 + index), name=job.get("name", "job")) for index, job in enumerate(jobs)]
        return submitted(made, dry_run=dry_run, warnings=self.warnings)

    def _after(self, verb: str, name: str, body: dict[str, Any], dry_run: bool) -> object:
        """What was changed, as it then is: as far as anybody looks at it."""
        times = {"start": NOW, "end": NOW, "created": NOW, "expires": NOW}
        match verb:
            case "node":
                return next(one for one in self.node_list if one.name == name)
            case "queue":
                return a_queue(name, **body)
            case "maintenance":
                return {"nodes": [], **body, "name": name, **times}
            case "reservation":
                return {"resources": None, "gpus": 0, **body, "name": name, **times}
            case "project":
                return {"description": "", "members": {}, **body, "name": name, **times}
            case "token":
                secret = None if dry_run else "rota_secret"
                return {"projects": None, **body, **times, "id": "t1", "user": name, "last_used": None} | {
                    "secret": secret
                }
            case "invite":
                token = None if dry_run else f"rotajoin_{'s' * 150}"
                pool, labels, taints = (body.get(field) for field in ("pool", "labels", "taints"))
                return InvitationDocument(
                    id="j1",
                    name=name or None,
                    pool=pool,
                    labels=labels or {},
                    taints=taints or [],
                    expires=NOW,
                    token=token,
                )
            case _:
                return ChangeDocument(dry_run=dry_run, changed=[name])

    # -- streams

    def logs(
        self,
        job: str,
        *,
        ranks: Sequence[int] = (),
        since: datetime | None = None,
        follow: bool = False,
        tail: int | None = None,
    ) -> Iterator[LogChunk]:
        if job not in self.details and self._array(job) is not None:
            raise NotFound(f"{job} is an array of jobs", data={"array": job})
        self.logs_of.append(job)
        self.log_queries.append({"ranks": tuple(ranks), "since": since, "follow": follow, "tail": tail})
        return iter(self.chunks.pop(0) if self.chunks else ())

    def events(
        self,
        *,
        follow: bool = False,
        after: int | None = None,
        last: int | None = None,
        kind: str | None = None,
        subject: str | None = None,
        project: str | None = None,
    ) -> Iterator[EventDocument]:
        self.filters = {
            "follow": follow,
            "after": after,
            "last": last,
            "kind": kind,
            "subject": subject,
            "project": project,
        }
        return iter(self.happened)
