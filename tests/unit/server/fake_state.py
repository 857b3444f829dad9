"""What the fake desk knows, and how it remembers what was asked of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from rota.api.people import Role
from rota.backends.backend import Health, LogChunk, LogQuery, Stream
from rota.lifecycle.state import JobState, Phase
from rota.model.calendar import Maintenance, QueueMode, QueueState, Reservation
from rota.model.extension import Answer as ExtensionAnswer
from rota.model.ids import JobId, NodeName
from rota.model.job import JobTemplate, TaskGroup
from rota.model.resources import Resources
from rota.model.run import JobSpec, Run
from rota.model.task import TaskSpec
from rota.server.identity.access import secret_hash
from rota.store.audit_record import StoredAudit
from rota.store.writing.batch import (
    Answer,
    EventRow,
    NodeSettings,
    Project,
    StoredEvent,
    Token,
)

NOW_MS = 1_800_000_000_000


def secret_of(role: Role | str) -> str:
    name = role if isinstance(role, str) else role.value
    return "rota_" + name.replace("-", "_").ljust(43, "x")


def job_state(job_id: str, project: str = "vision", **fields: Any) -> JobState:
    task = TaskSpec(requests=Resources(cpu_milli=2000, memory_bytes=2**30))
    template = JobTemplate((TaskGroup(task),), project=project, user="ada", time_limit_ms=3_600_000)
    spec = JobSpec(
        template, Run(("echo", "hello world"), outputs=("result.txt", "deep/er.txt")), name="greet"
    )
    number = int(job_id.partition(".")[0])
    return JobState(JobId(job_id), number, spec, NOW_MS - 60_000, **{"phase": Phase.PENDING, **fields})


class FakeState:
    """What was asked of it is in `changes`; a dry run isn't."""

    def __init__(self) -> None:
        self.is_ready = True
        self.is_healthy = True
        self.changes: list[tuple[Any, ...]] = []
        self.answers: dict[tuple[str, str], Answer] = {}
        self.files: dict[str, bytes] = {}
        self.error: Exception | None = None
        self.extension = ExtensionAnswer.GRANTED
        self.states = {
            state.id: state
            for state in (
                job_state("17"),
                job_state("18.0"),
                job_state("18.1"),
                job_state("19", project="secret"),
                job_state("20.0", project="secret"),
            )
        }
        self.removed: set[str] = set()
        """Jobs that were there."""
        self.silenced: set[str] = set()
        """Jobs of which the output was removed."""
        self.known_tokens = [
            Token(role.value, secret_hash(secret_of(role)), "ada", role, ("vision",), NOW_MS - 1000)
            for role in Role
        ]
        self.known_tokens.append(
            Token("stale", secret_hash(secret_of("stale")), "ada", Role.ADMIN, None, 0, expires_ms=NOW_MS)
        )
        self.known_tokens.append(
            Token("eve", secret_hash(secret_of("eve")), "eve", Role.VIEWER, ("secret",), NOW_MS)
        )
        self.known_nodes = {"n1": NodeSettings(NodeName("n1")), "n2": NodeSettings(NodeName("n2"))}
        self.queue = QueueState("default", QueueMode.OPEN)  # type: ignore[arg-type]
        self.windows = {"disks": Maintenance("disks", NOW_MS, NOW_MS + 1000)}
        self.booked = {"class": Reservation("class", NOW_MS, NOW_MS + 1, (NodeName("n1"),), ("vision/ada",))}
        self.known_projects = {
            "vision": Project("vision", "Images", NOW_MS, (("ada", Role.SUBMITTER),)),
            "secret": Project("secret", "", NOW_MS),
        }
        self.log = [
            LogChunk(0, Stream.OUT, NOW_MS, b"one\n", 1),
            LogChunk(1, Stream.ERR, NOW_MS, b"\xff\0", 2),
        ]
        self.audited: list[StoredAudit] = []
        self.stored = [
            StoredEvent(seq, EventRow(NOW_MS, "job.Started", "17", "vision", "rota", b'{"rank":0}'))
            for seq in (1, 2, 3)
        ]
        self.log_query: LogQuery | None = None
        self.is_followed = False
        self.rights_version = 0

    def _change(self, dry_run: bool, *change: Any) -> None:
        if self.error is not None:
            raise self.error
        if not dry_run:
            self.changes.append(change)

    def _keep(self, answer_of: Callable[[Any], Answer] | None, result: Any) -> None:
        if answer_of is not None:
            answer = answer_of(result)
            self.answers[answer.scope, answer.key] = answer

    async def health(self) -> list[tuple[str, Health]]:
        return [("store", Health(self.is_healthy, "no space left in /secret/place"))]

    def end(self, job_id: str, **fields: Any) -> None:
        job = JobId(job_id)
        self.states[job] = replace(self.states[job], **fields)
