"""What the server asks for: all that `control` can do for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Protocol, TypeVar

from rota.api.documents import (
    EstimateDocument,
    LimitsDocument,
    NodeDocument,
    QueueDocument,
    SecretDocument,
    StatsDocument,
)
from rota.api.questions import PlanAnswer
from rota.backends.backend import Health, LogChunk, LogQuery
from rota.backends.roster import AgentSeen
from rota.control.access import Who
from rota.intake.submissions import Submission
from rota.lifecycle.state import JobState
from rota.model.calendar import Maintenance, QueueState, Reservation
from rota.model.extension import Extension
from rota.model.ids import JobId, NodeName
from rota.store.audit_list import AuditFilter
from rota.store.audit_record import AuditCheck, StoredAudit
from rota.store.batch import (
    Agent,
    AgentNode,
    Answer,
    Attempt,
    JoinToken,
    NodeSettings,
    Project,
    StoredEvent,
    Token,
)
from rota.store.queries import EventFilter, JobFilter
from rota.trust.enrol import Admission
from rota.views.why.view import WhyView

R = TypeVar("R")
AnswerOf = Callable[[R], Answer] | None
"""Makes of a result what is kept for its idempotency key, in the same transaction as the change."""


class AgentDesk(Protocol):
    """Who may attend as an agent."""

    async def agents(self) -> Sequence[tuple[Agent, AgentSeen | None]]:
        """By name, with what is seen of each."""

    async def invite(
        self,
        name: str,
        node: AgentNode,
        who: Who,
        dry_run: bool = False,
        answer_of: AnswerOf[JoinToken] = None,
    ) -> tuple[JoinToken, str]:
        """And its text, which is told this once. An empty name: whatever the agent calls itself."""

    async def join(self, token_id: str, name: str, request: str, proof: str) -> Admission: ...

    async def renew(self, header: str | None, body: bytes, request: str) -> Admission: ...

    async def revoke(self, name: str, who: Who, dry_run: bool = False) -> None: ...


class SecretDesk(Protocol):
    """Secrets of projects. Values go in, and never come out."""

    async def of(self, project: str) -> Sequence[SecretDocument]: ...
    async def set(self, project: str, name: str, value: str, who: Who, dry_run: bool = False) -> None: ...
    async def remove(self, project: str, name: str, who: Who, dry_run: bool = False) -> None: ...


class Desk(Protocol):
    """Raises the errors of `rota.control.errors`. A dry run checks all and changes nothing."""

    @property
    def is_ready(self) -> bool: ...

    async def health(self) -> Sequence[tuple[str, Health]]:
        """Of the store and of each backend, by name."""

    async def stats(self) -> StatsDocument: ...

    # -- jobs

    async def submit(
        self,
        submission: Submission,
        who: Who,
        dry_run: bool = False,
        answer_of: AnswerOf[Sequence[JobState]] = None,
    ) -> Sequence[JobState]: ...

    async def cancel(
        self,
        job_id: JobId,
        who: Who,
        message: str,
        dry_run: bool = False,
        answer_of: AnswerOf[Sequence[JobState]] = None,
    ) -> Sequence[JobState]: ...

    async def hold(
        self, job_id: JobId, who: Who, dry_run: bool = False, answer_of: AnswerOf[Sequence[JobState]] = None
    ) -> Sequence[JobState]: ...

    async def release(
        self, job_id: JobId, who: Who, dry_run: bool = False, answer_of: AnswerOf[Sequence[JobState]] = None
    ) -> Sequence[JobState]: ...

    async def extend(
        self,
        job_id: JobId,
        time_limit_ms: int,
        who: Who,
        dry_run: bool = False,
        answer_of: AnswerOf[Extension] = None,
    ) -> Extension:
        """Granted or not: only a granted one has changed something, and is kept for its key."""

    async def job(self, job_id: JobId) -> JobState | None: ...

    async def jobs(
        self, job_filter: JobFilter, after: str | None, limit: int
    ) -> tuple[Sequence[JobState], str | None]:
        """Newest first, and the cursor of the next page."""

    async def job_with_attempts(self, job_id: JobId) -> tuple[JobState, Sequence[Attempt]] | None:
        """As they were at one moment."""

    async def why(self, job_id: JobId, rank: int | None, who: Who) -> WhyView:
        """Without jobs that they may not see."""

    async def eta(self, job_id: JobId) -> EstimateDocument: ...

    async def plan(self, submission: Submission, who: Who) -> PlanAnswer: ...

    async def limits(self, user: str, project: str, is_exempt: bool) -> LimitsDocument:
        """`is_exempt`: from what is said of nobody in particular."""

    # -- files

    def logs(self, query: LogQuery) -> AsyncIterator[Sequence[LogChunk]]: ...

    def output(self, job_id: JobId, rank: int, path: str, epoch: int = 0) -> AsyncIterator[bytes]:
        """Raises FileNotFoundError before the first bytes, or NotFound."""

    async def put_file(self, sha256: str, chunks: AsyncIterator[bytes], user: str) -> bool:
        """Whether it is new. It is put in place once `chunks` has ended, and not at all if that raises."""

    # -- events

    async def events(
        self, after_seq: int, limit: int, event_filter: EventFilter
    ) -> Sequence[StoredEvent]: ...

    async def latest_events(self, count: int, event_filter: EventFilter) -> Sequence[StoredEvent]:
        """The oldest of them first."""

    def follow(
        self, after_seq: int | None, event_filter: EventFilter, last: int | None = None
    ) -> AsyncIterator[Sequence[StoredEvent]]:
        """After that event, or the last so many first; neither: from now on."""

    # -- what operators set

    async def nodes(self) -> Sequence[NodeDocument]: ...
    async def node_settings(self, name: NodeName) -> NodeSettings | None: ...
    async def set_node(
        self, settings: NodeSettings, who: Who, dry_run: bool = False, version: str | None = None
    ) -> None:
        """`version`: of the settings that it must still have, as of `control.versions`."""

    async def queues(self) -> Sequence[QueueDocument]: ...
    async def set_queue(self, state: QueueState, who: Who, dry_run: bool = False) -> None: ...
    async def maintenance(self) -> Sequence[Maintenance]: ...
    async def set_maintenance(self, window: Maintenance, who: Who, dry_run: bool = False) -> None: ...
    async def remove_maintenance(self, name: str, who: Who, dry_run: bool = False) -> None: ...
    async def reservations(self) -> Sequence[Reservation]: ...
    async def set_reservation(self, reservation: Reservation, who: Who, dry_run: bool = False) -> None: ...
    async def remove_reservation(self, name: str, who: Who, dry_run: bool = False) -> None: ...

    # -- agents

    @property
    def enrolment(self) -> AgentDesk: ...

    # -- who may what

    async def projects(self) -> Sequence[Project]: ...
    async def set_project(
        self, project: Project, who: Who, dry_run: bool = False, version: str | None = None
    ) -> None:
        """`version`: that it must still have."""

    async def remove_project(self, name: str, who: Who, dry_run: bool = False) -> None: ...
    @property
    def secrets(self) -> SecretDesk: ...

    async def tokens(self) -> Sequence[Token]: ...
    async def add_token(
        self,
        token: Token,
        who: Who,
        dry_run: bool = False,
        answer_of: AnswerOf[Token] = None,
        most: int | None = None,
    ) -> None:
        """`most`: so many of one user may be valid at once."""

    async def remove_token(self, token_id: str, who: Who, dry_run: bool = False) -> Sequence[str]:
        """With all that were made with it: the ids of all."""

    async def token_named(self, secret_sha256: str) -> Token | None: ...
    async def token_with_id(self, token_id: str) -> Token | None: ...

    @property
    def rights_version(self) -> int:
        """Counts up whenever somebody may have lost a right: a project or a token was changed or removed."""

    # -- who did what

    async def audit(
        self, audit_filter: AuditFilter, after: str | None, limit: int
    ) -> tuple[Sequence[StoredAudit], str | None]:
        """Newest first, and the cursor of the next page."""

    async def check_audit(self) -> AuditCheck:
        """Whether all records follow from each other."""

    async def answer(self, scope: str, key: str) -> Answer | None: ...
