"""Jobs in Rota's own form, as in JOBS.yaml. The form itself is described in docs/files.md."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from msgspec import UNSET, UnsetType

from rota.intake._amounts import Totals
from rota.intake._fields import Amount, Field, raise_all, read_each
from rota.intake._forms import read_priority
from rota.intake._interning import Interned, fingerprint
from rota.intake._job_forms import (
    KIND_FIELDS,
    TASK_FIELDS,
    GroupForm,
    JobForm,
    JobsForm,
    TaskForm,
    TopologyForm,
)
from rota.intake._names import UniqueNames, read_labels, read_name, read_step, unknown_name
from rota.intake._running import read_done, read_placements
from rota.intake._starts import read_period, read_promise
from rota.intake._tasks import read_task
from rota.intake._wording import quoted
from rota.intake.convert import MAX_ERRORS, convert
from rota.intake.document import Document
from rota.intake.errors import InputError
from rota.model.ids import JobId, NodeName, QueueName
from rota.model.job import (
    Job,
    JobRecord,
    JobTemplate,
    Percent,
    TaskGroup,
    TopologyMode,
    TopologyRule,
)
from rota.model.node import Node
from rota.model.quantities import (
    parse_count_or_percent,
    parse_duration_ms,
    parse_price_micro,
    parse_timestamp_ms,
)
from rota.model.task import TaskSpec

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
        self._reservations = reservations
        self._names = UniqueNames("job")
        self._partners: dict[str, str] = {}
        self._templates: dict[bytes, JobTemplate] = {}
        self._specs: dict[bytes, TaskSpec] = {}
        self._intern_template = Interned[JobTemplate]()
        self._intern_spec = Interned[TaskSpec]()
        self._totals = Totals("tasks")
        self._task_count = 0
        self._undated = 0
        for record in others:
            self._names.claim(record.job.id, None)

    def read_document(self, document: Document) -> list[JobRecord]:
        data = document.data
        if isinstance(data, dict) and "nodes" in data:
            raise document.error(
                ("nodes",), "nodes stand in a file of jobs", "give the cluster first, then the jobs"
            )
        return self.read(convert(document, JobsForm).jobs, Field(document).at("jobs"))

    def read(self, forms: Sequence[JobForm], at: Field) -> list[JobRecord]:
        return read_each(forms, self._read, at)

    def check_partners(self) -> None:
        """To be called once all jobs are read: a partner may come after the job that names it."""
        errors = (error for job in self._partners if (error := self._partner_error(job)) is not None)
        raise_all(list(islice(errors, MAX_ERRORS)))
        raise_all([self._circle_error(circle) for circle in islice(_circles(self._partners), MAX_ERRORS)])

    def _read(self, form: JobForm, at: Field) -> JobRecord:
        name = read_name(form.name, at.at("name"))
        self._names.claim(name, at.at("name"))
        template = self._template(form, at)
        self._count(template, at)
        if form.connect_to:
            self._partners[name] = form.connect_to
        start_after_ms, start_before_ms = read_period(form, at)
        job = Job(
            id=JobId(name),
            template=template,
            submitted_ms=self._submitted_ms(form, at),
            retries=form.retries,
            preempted_by=self._preempted_by(form, at),
            start_after_ms=start_after_ms,
            start_before_ms=start_before_ms,
        )
        placements = read_placements(form, template, self._nodes, at)
        record = JobRecord(job, placements, read_done(form, template, placements, at))
        return read_promise(form, record, self._nodes, at)

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

    def _count(self, template: JobTemplate, at: Field) -> None:
        self._task_count += template.task_count
        if self._task_count > MAX_TASKS:
            raise at.error(f"with this job there are more than {MAX_TASKS:,} tasks", "split the file")
        for group in template.groups:
            self._totals.add(group.spec.requests, group.count, at.at("resources"))

    # -- what jobs of a kind have in common

    def _template(self, form: JobForm, at: Field) -> JobTemplate:
        kind = fingerprint(at.data, KIND_FIELDS)
        template = self._templates.get(kind)
        if template is None:
            template = self._templates[kind] = self._intern_template(self._read_template(form, at))
        return template

    def _read_template(self, form: JobForm, at: Field) -> JobTemplate:
        groups = self._groups(form, at)
        task_count = sum(group.count for group in groups)
        return JobTemplate(
            groups=groups,
            min_available=_min_available(form, task_count, at.at("min_available")),
            namespace=read_name(form.namespace, at.at("namespace")),
            project=read_step(form.project, at.at("project")),
            user=read_step(form.user, at.at("user")),
            queue=QueueName(read_name(form.queue, at.at("queue"))),
            scheduler=form.scheduler,
            labels=read_labels(form.labels, at.at("labels")),
            priority=read_priority(form.priority),
            may_preempt=None if form.may_preempt is UNSET else form.may_preempt,
            preemptible=form.preemptible,
            topology=_topology(form.topology, task_count, at.at("topology")),
            time_limit_ms=_duration_ms(form.time_limit, at.at("time_limit")),
            max_cost_micro=_max_cost_micro(form, at),
            connect_to=form.connect_to,
            reservation=self._reservation(form, at.at("reservation")),
            start_within_ms=_duration_ms(form.start_within, at.at("start_within")),
            at_maintenance=form.at_maintenance,
        )

    def _reservation(self, form: JobForm, at: Field) -> str:
        known = self._reservations
        if form.reservation and known is not None and form.reservation not in known:
            remedy = "name one of the cluster file's reservations"
            raise unknown_name("reservation", form.reservation, known, at, remedy)
        return form.reservation

    def _groups(self, form: JobForm, at: Field) -> tuple[TaskGroup, ...]:
        if form.groups is UNSET:
            return (TaskGroup(self._task_spec(form, at), 1 if form.tasks is UNSET else form.tasks),)
        if form.tasks is not UNSET:
            raise at.at("tasks").error("a job has either tasks or groups", "give each group its tasks")
        if not form.groups:
            raise at.at("groups").error("no groups", "give at least one, or tasks instead")
        read_task(form, at)  # so that what is wrong with the job's own fields is said of them
        return tuple(
            read_each(
                form.groups, lambda group, group_at: self._group(form, group, group_at), at.at("groups")
            )
        )

    def _group(self, form: JobForm, group: GroupForm, at: Field) -> TaskGroup:
        if group.cost.max_total is not UNSET:
            raise at.at("cost", "max_total").error(
                "the most that all may cost is the job's", "move it to the job"
            )
        return TaskGroup(self._intern_spec(read_task(_with_defaults(group, form, at), at)), group.tasks)

    def _task_spec(self, form: JobForm, at: Field) -> TaskSpec:
        kind = fingerprint(at.data, TASK_FIELDS)
        spec = self._specs.get(kind)
        if spec is None:
            spec = self._specs[kind] = self._intern_spec(read_task(form, at))
        return spec

    # -- partners

    def _partner_error(self, job: str) -> InputError | None:
        partner = self._partners[job]
        if partner == job:
            return self._at_partner(job).error("a job can't connect to itself", "name another job")
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


def _with_defaults(group: GroupForm, form: JobForm, at: Field) -> TaskForm:
    """The group's own fields, and the job's where the group has none."""
    given = at.data
    assert isinstance(given, dict)
    return TaskForm(
        **{name: getattr(group if name in given else form, name) for name in TaskForm.__struct_fields__}
    )


def _duration_ms(value: Amount | UnsetType, at: Field) -> int | None:
    if value is UNSET:
        return None
    duration_ms = at.read(parse_duration_ms, value)
    if duration_ms == 0:
        raise at.error("no time at all", "give more than 0, or leave it out")
    return duration_ms


def _min_available(form: JobForm, task_count: int, at: Field) -> int | Percent | None:
    if form.min_available is UNSET:
        return None
    wanted = at.read(parse_count_or_percent, form.min_available)
    if wanted.percent_hundredths is not None:
        percent, rest = divmod(wanted.percent_hundredths, 100)
        if rest:
            raise at.error(f"{wanted} is no whole percentage", "round it")
        if percent == 0:
            raise at.error("0% of the tasks is no job", "give 1% to 100%")
        return Percent(percent)
    count = wanted.of(task_count)
    if not 1 <= count <= task_count:
        raise at.error(f"{count} of {task_count} tasks", f"give 1 to {task_count}, or a percentage")
    return count


def _max_cost_micro(form: JobForm, at: Field) -> int | None:
    if form.cost.max_total is UNSET:
        return None
    cost_at = at.at("cost", "max_total")
    if form.time_limit is UNSET:
        raise cost_at.error("nobody can say what a job without a time limit will cost", "add time_limit")
    return cost_at.read(parse_price_micro, form.cost.max_total)


def _topology(forms: Sequence[TopologyForm], task_count: int, at: Field) -> tuple[TopologyRule, ...]:
    rules: dict[str, TopologyRule] = {}
    for index, form in enumerate(forms):
        key = read_name(form.key, at.at(index, "key"))
        if key in rules:
            raise at.at(index, "key").error(f"{quoted(key)} has a rule already", "remove one")
        if isinstance(form.tasks, int):
            if form.tasks > task_count:
                raise at.at(index, "tasks").error(
                    f"{task_count} tasks can't be in {form.tasks} domains", f"give at most {task_count}"
                )
            rules[key] = TopologyRule(key, TopologyMode.COUNT, form.tasks)
        else:
            rules[key] = TopologyRule(key, TopologyMode(form.tasks))
    return tuple(rules[key] for key in sorted(rules))
