"""Workloads in Rota's own form: jobs as in JOBS.yaml, each with when it arrives and how long it runs.

    workload:
      - name: train
        arrival: 10m
        runs: 2h
        time_limit: 4h
        tasks: 4
        resources: {cpu: 8}
      - name: notebook
        runs: 30m
        repeat: {count: 20, every: 15m}   # notebook-0 at 0, notebook-1 at 15m, …
        resources: {cpu: 1}

The order in the file doesn't matter, except among jobs that arrive at the same time.
"""

from collections.abc import Sequence

from msgspec import UNSET, UnsetType

from rota.intake.checking.convert import convert
from rota.intake.checking.fields import Amount, Field, read_each
from rota.intake.checking.names import UniqueNames
from rota.intake.documents.document import Document
from rota.intake.forms.blocks import Form, Positive
from rota.intake.forms.jobs import JobForm
from rota.intake.jobs import MAX_TASKS, JobReader
from rota.model.ids import JobId
from rota.model.job import Job, JobRecord
from rota.model.quantities import MAX_AMOUNT, parse_duration_ms
from rota.model.workload import SimJob, Workload

_OF_REAL_JOBS = ("submitted", "running_on", "started", "done", "preempted_by", "retries", "promised")
_OF_REAL_TIME = ("start_after", "start_before", "deadline")


class _RepeatForm(Form):
    count: Positive
    every: Amount


class _SimJobForm(JobForm, kw_only=True):
    runs: Amount
    arrival: Amount = 0
    repeat: _RepeatForm | UnsetType = UNSET


class _WorkloadForm(Form):
    workload: tuple[_SimJobForm, ...]


def own_from(documents: Sequence[Document], *, name: str = "") -> Workload:
    reader = _Reader()
    jobs = [job for document in documents for job in reader.read(document)]
    reader.check()
    return Workload(name=name or documents[0].path, jobs=tuple(sorted(jobs, key=lambda one: one.arrival_ms)))


class _Reader:
    def __init__(self) -> None:
        self._jobs = JobReader({})
        self._names = UniqueNames("job")
        self._task_count = 0
        self._connected: list[tuple[str, Field]] = []
        self._repeated: dict[str, int] = {}

    def read(self, document: Document) -> list[SimJob]:
        forms = convert(document, _WorkloadForm).workload
        at = Field(document).at("workload")
        records = self._jobs.read(forms, at)
        expanded = read_each(zip(forms, records, strict=True), self._expand, at)
        return [job for jobs in expanded for job in jobs]

    def check(self) -> None:
        """To be called once all documents are read: a partner may come after the job that names it."""
        self._jobs.check_partners()
        for partner, at in self._connected:
            if partner in self._repeated:
                raise at.error(
                    f'"{partner}" is repeated: there are {self._repeated[partner]} of it',
                    "name a job that is there once",
                )

    def _expand(self, given: tuple[_SimJobForm, JobRecord], at: Field) -> list[SimJob]:
        form, record = given
        data = at.data
        assert isinstance(data, dict)
        for field in _OF_REAL_JOBS:
            if field in data:
                raise at.at(field).error("a job of a workload hasn't begun yet", "use arrival and runs")
        for field in _OF_REAL_TIME:
            if field in data:
                raise at.at(field).error(
                    "a workload begins at 0, not at a time of the calendar", "use arrival or start_within"
                )
        arrival_ms = at.at("arrival").read(parse_duration_ms, form.arrival)
        run_ms = at.at("runs").read(parse_duration_ms, form.runs)
        if form.connect_to:
            self._connected.append((form.connect_to, at.at("connect_to")))
        names, arrivals = [form.name], [arrival_ms]
        if form.repeat is not UNSET:
            every_ms = at.at("repeat", "every").read(parse_duration_ms, form.repeat.every)
            self._repeated[form.name] = form.repeat.count
            names = [f"{form.name}-{number}" for number in range(form.repeat.count)]
            if arrival_ms + every_ms * form.repeat.count > MAX_AMOUNT:
                raise at.at("repeat").error("the last of them would never arrive", "repeat it less often")
            arrivals = [arrival_ms + number * every_ms for number in range(form.repeat.count)]
        self._count(record.job.template.task_count * len(names), at)
        for name in names:
            self._names.claim(name, at.at("name"))
        return [
            SimJob(Job(JobId(name), record.job.template, arrival), arrival, run_ms)
            for name, arrival in zip(names, arrivals, strict=True)
        ]

    def _count(self, task_count: int, at: Field) -> None:
        self._task_count += task_count
        if self._task_count > MAX_TASKS:
            raise at.error(f"with this job there are more than {MAX_TASKS:,} tasks", "split the file")
