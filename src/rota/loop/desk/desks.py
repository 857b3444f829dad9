"""All desks of a live cluster. Each is about one noun; a route of the server names those that it needs."""

from __future__ import annotations

from dataclasses import dataclass

from rota.backends.registry import Registry
from rota.control.allowing import Allowing
from rota.control.enrolment import Enrolment
from rota.control.transactor import Transactor
from rota.control.vault import Vault
from rota.loop.desk.answers import AnswersDesk
from rota.loop.desk.audit import AuditDesk
from rota.loop.desk.calendar import CalendarDesk
from rota.loop.desk.events import EventsDesk
from rota.loop.desk.input import InputDesk
from rota.loop.desk.jobs import JobsDesk
from rota.loop.desk.limits import LimitsDesk
from rota.loop.desk.nodes import NodesDesk
from rota.loop.desk.output import OutputDesk, PutFile
from rota.loop.desk.people import PeopleDesk
from rota.loop.desk.plugins import PluginsDesk
from rota.loop.desk.question_pool import DEFAULT_LIMITS, QuestionLimits
from rota.loop.desk.questions import QuestionsDesk
from rota.loop.desk.queues import QueuesDesk
from rota.loop.desk.quotas import QuotasDesk
from rota.loop.desk.secrets import SecretsDesk
from rota.loop.desk.status import StatusDesk
from rota.loop.desk.usage import UsageDesk
from rota.loop.live.forecaster import Forecaster
from rota.loop.live.loop import LiveLoop


@dataclass(frozen=True)
class LiveDesks:
    jobs: JobsDesk
    questions: QuestionsDesk
    output: OutputDesk
    input: InputDesk
    events: EventsDesk
    nodes: NodesDesk
    queues: QueuesDesk
    plugins: PluginsDesk
    calendar: CalendarDesk
    people: PeopleDesk
    secrets: SecretsDesk
    limits: LimitsDesk
    usage: UsageDesk
    quotas: QuotasDesk
    audit: AuditDesk
    status: StatusDesk
    answers: AnswersDesk
    agents: Enrolment | None
    """None: this cluster takes no agents."""
    allowing: Allowing
    """What comes in is held to limits here."""

    def close(self) -> None:
        self.jobs.close()
        self.questions.close()


def live_desks(
    transactor: Transactor,
    live: LiveLoop,
    forecaster: Forecaster,
    backends: Registry,
    put_file: PutFile,
    vault: Vault,
    enrolment: Enrolment | None = None,
    limits: QuestionLimits = DEFAULT_LIMITS,
) -> LiveDesks:
    allowing = Allowing(live.policy, transactor.memory)
    status = StatusDesk(transactor, live, backends)
    jobs = JobsDesk(transactor, live, allowing, vault, limits)
    return LiveDesks(
        jobs=jobs,
        questions=QuestionsDesk(transactor, live, forecaster, allowing, jobs.as_submitted, limits),
        output=OutputDesk(transactor, backends, put_file),
        input=InputDesk(transactor.memory, backends),
        events=EventsDesk(transactor),
        nodes=NodesDesk(transactor, status.health),
        queues=QueuesDesk(transactor, live),
        plugins=PluginsDesk(transactor.memory, live),
        calendar=CalendarDesk(transactor),
        people=PeopleDesk(transactor),
        secrets=SecretsDesk(transactor, vault),
        limits=LimitsDesk(transactor, live, allowing),
        usage=UsageDesk(transactor),
        quotas=QuotasDesk(transactor, live),
        audit=AuditDesk(transactor.store),
        status=status,
        answers=AnswersDesk(transactor.store),
        agents=enrolment,
        allowing=allowing,
    )
