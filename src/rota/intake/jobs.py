"""Jobs in Rota's own form, as in JOBS.yaml. The form itself is described in docs/files.md."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice

from msgspec import UNSET

from rota.intake.checking.convert import MAX_ERRORS, convert
from rota.intake.checking.fields import Field, raise_all, read_each
from rota.intake.checking.names import UniqueNames, read_name, unknown_name
from rota.intake.checking.plurals import by_known_names
from rota.intake.checking.wording import quoted
from rota.intake.documents.document import Document
from rota.intake.errors import InputError
from rota.intake.forms.jobs import DependencyForm, JobForm, JobsForm
from rota.intake.parts.amounts import Totals
from rota.intake.parts.arrays import read_array
from rota.intake.parts.running import read_done, read_placements
from rota.intake.parts.starts import read_period, read_promise
from rota.intake.parts.templates import TemplateReader
from rota.model.cluster import ConditionalJob
from rota.model.ids import JobId, NodeName
from rota.model.job import Job, JobRecord, JobTemplate
from rota.model.node import Node
from rota.model.quantities import parse_timestamp_ms
from rota.model.run import After, Dependency

MAX_TASKS = 1_000_000


class JobReader:
    """Reads the jobs of any number of documents as one: names are unique, partners are found."""

    def __init__(
        self,
        nodes: Mapping[NodeName, Node],
        others: Iterable[JobRecord] = (),
        reservations: Collection[str] | None = None,
    ) -> None:
        """`others`: jobs that were read elsewhere, from Kubernetes manifests. Without `reservations` a
        reservation may have any name."""
        self._nodes = nodes
        self._names = UniqueNames("job")
        self._partners: dict[str, str] = {}
        self._arrays: dict[str, tuple[JobId, ...]] = {}
        """Of each array, its elements."""
        self.conditional: list[ConditionalJob] = []
        """Those that wait for others to end, or are held; apart from those that are returned."""
        self._templates = TemplateReader(reservations=reservations)
        self._totals = Totals("tasks")
        self._task_count = 0
        self._undated = 0
        for record in others:
            self._names.claim(record.job.id, None)

    def read_document(self, document: Document) -> list[JobRecord]:
        data = document.data
        if isinstance(data, dict) and "nodes" in data:
            raise document.error(
                ("nodes",), "a file of jobs can't contain nodes", "give the cluster first, then the jobs"
            )
        document = by_known_names(document, JobsForm)
        return self.read(convert(document, JobsForm).jobs, Field(document).at("jobs"))

    def read(self, forms: Sequence[JobForm], at: Field) -> list[JobRecord]:
        return list(chain.from_iterable(read_each(forms, self._read, at)))

    def check_partners(self) -> None:
        """To be called once all jobs are read: a partner may come after the job that names it."""
        errors = (error for job in self._partners if (error := self._partner_error(job)) is not None)
        raise_all(list(islice(errors, MAX_ERRORS)))
        raise_all([self._circle_error(circle) for circle in islice(_circles(self._partners), MAX_ERRORS)])

    def _read(self, form: JobForm, at: Field) -> list[JobRecord]:
        name = read_name(form.name, at.at("name"))
        depends_on = self._dependencies(form, at.at("depends_on"))
        ids = self._ids(name, form, at)
        template = self._templates.read(form, at)
        self._count(template, len(ids), at)
        if form.connect_to:
            self._partners[name] = form.connect_to
        start_after_ms, start_before_ms = read_period(form, template.time_limit_ms, at)
        jobs = [
            Job(
                id=job_id,
                template=template,
                submitted_ms=self._submitted_ms(form, at),
                retries=form.retries,
                preempted_by=self._preempted_by(form, at),
                start_after_ms=start_after_ms,
                start_before_ms=start_before_ms,
            )
            for job_id in ids
        ]
        placements = read_placements(form, template, self._nodes, at)
        if (form.hold or depends_on) and not placements:
            self.conditional += [ConditionalJob(job, form.hold, depends_on) for job in jobs]
            return []
        done = read_done(form, template, placements, at)
        return [read_promise(form, JobRecord(job, placements, done), self._nodes, at) for job in jobs]

    def _ids(self, name: str, form: JobForm, at: Field) -> tuple[JobId, ...]:
        """Of the job, or of the elements of an array: NAME.INDEX, as a server has NUMBER.INDEX."""
        self._names.claim(name, at.at("name"))
        if form.array is UNSET:
            return (JobId(name),)
        for field, is_given in (
            ("running_on", form.running_on is not UNSET),
            ("done", bool(form.done)),
            ("promised", form.promised is not UNSET),
        ):
            if is_given:
                raise at.at(field).error("an array has elements", "write those that run as jobs of their own")
        ids = tuple(JobId(f"{name}.{index}") for index in read_array(form.array, at.at("array")).indexes)
        for job_id in ids:
            self._names.claim(job_id, at.at("name"))
        self._arrays[name] = ids
        return ids

    def _dependencies(self, form: JobForm, at: Field) -> tuple[Dependency, ...]:
        """Of jobs that stand before it, as on a server: so no two wait for each other."""
        found: dict[Dependency, None] = {}
        for index, one in enumerate(form.depends_on):
            job, after, job_at = str(one), After.SUCCESS, at.at(index)
            if isinstance(one, DependencyForm):
                job, after, job_at = str(one.job), one.after, job_at.at("job")
            if job not in self._names:
                remedy = "name a job above this one; numbers are known to servers only"
                raise unknown_name("job", job, self._names, job_at, remedy)
            ids = self._arrays.get(job, (JobId(job),))
            found |= dict.fromkeys(Dependency(job_id, after) for job_id in ids)
        return tuple(found)

    def _submitted_ms(self, form: JobForm, at: Field) -> int:
        """Jobs without a time come before all others, in the order in which they were written."""
        if form.submitted is not UNSET:
            return at.at("submitted").read(parse_timestamp_ms, form.submitted)
        self._undated += 1
        return self._undated - 1

    def _preempted_by(self, form: JobForm, at: Field) -> tuple[JobId, ...]:
        """Those jobs may be gone by now, so they needn't be known."""
        for index, other in enumerate(form.preempted_by):
            if other == form.name:
                raise at.at("preempted_by", index).error("a job can't preempt itself", "name the other job")
        return tuple(JobId(other) for other in sorted(set(form.preempted_by)))

    def _count(self, template: JobTemplate, times: int, at: Field) -> None:
        self._task_count += template.task_count * times
        if self._task_count > MAX_TASKS:
            raise at.error(f"with this job there are more than {MAX_TASKS:,} tasks", "split the file")
        for group in template.groups:
            self._totals.add(group.spec.requests, group.count * times, at.at("resources"))

    # -- partners

    def _partner_error(self, job: str) -> InputError | None:
        partner = self._partners[job]
        if partner == job:
            return self._at_partner(job).error("a job can't connect to itself", "name another job")
        if partner in self._arrays:
            return self._at_partner(job).error(
                f"{quoted(partner)} is an array", f"name one of its elements, as {self._arrays[partner][0]}"
            )
        if partner in self._names:
            return None
        return unknown_name("job", partner, self._names, self._at_partner(job), "name a job of these files")

    def _circle_error(self, circle: Sequence[str]) -> InputError:
        around = " → ".join((*circle, circle[0]))
        return self._at_partner(circle[0]).error(
            f"jobs that wait for each other: {around}", "remove one of these connect_to"
        )

    def _at_partner(self, job: str) -> Field:
        name_at = self._names.place(job)
        assert name_at is not None, "only jobs of these files have partners"
        return Field(name_at.document, (*name_at.path[:-1], "connect_to"))


def _circles(partners: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Each circle once, from the member on that comes first in the files."""
    order = {job: number for number, job in enumerate(partners)}
    done: set[str] = set()
    for start in partners:
        way: dict[str, None] = {}
        at = start
        while at in partners and at not in done and at not in way:
            way[at] = None
            at = partners[at]
        if at in way:
            circle = tuple(way)[tuple(way).index(at) :]
            first = circle.index(min(circle, key=order.__getitem__))
            yield circle[first:] + circle[:first]
        done.update(way)
