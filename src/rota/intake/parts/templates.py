"""What jobs of one kind have in common, as the model has it. Equal templates are one object."""

from collections.abc import Collection, Sequence

from msgspec import UNSET, UnsetType

from rota.intake.checking.fields import Amount, Field, read_each
from rota.intake.checking.names import read_labels, read_name, read_step, unknown_name
from rota.intake.checking.wording import quoted
from rota.intake.forms.blocks import read_priority
from rota.intake.forms.jobs import KIND_FIELDS, TASK_FIELDS, GroupForm, KindForm, TaskForm, TopologyForm
from rota.intake.parts.tasks import read_task, task_form
from rota.intake.parts.writing import Plain, duration_text, given, unless
from rota.model.ids import Labels, QueueName
from rota.model.interning import Interned, fingerprint
from rota.model.job import (
    AtMaintenance,
    JobTemplate,
    Percent,
    Priority,
    TaskGroup,
    TopologyMode,
    TopologyRule,
)
from rota.model.quantities import format_price, parse_count_or_percent, parse_duration_ms, parse_price_micro
from rota.model.task import TaskSpec


class TemplateReader:
    """`project` and `user` are those of jobs that name none. Without `reservations` a reservation may
    have any name."""

    def __init__(
        self, *, project: str = "default", user: str = "default", reservations: Collection[str] | None = None
    ) -> None:
        self._project = project
        self._user = user
        self._reservations = reservations
        self._templates: dict[bytes, JobTemplate] = {}
        self._specs: dict[bytes, TaskSpec] = {}
        self._intern_template = Interned[JobTemplate]()
        self._intern_spec = Interned[TaskSpec]()

    def read(self, form: KindForm, at: Field) -> JobTemplate:
        kind = fingerprint(at.data, KIND_FIELDS)
        template = self._templates.get(kind)
        if template is None:
            template = self._templates[kind] = self._intern_template(self._template(form, at))
        return template

    def _template(self, form: KindForm, at: Field) -> JobTemplate:
        groups = self._groups(form, at)
        task_count = sum(group.count for group in groups)
        project = self._project if form.project is UNSET else read_step(form.project, at.at("project"))
        return JobTemplate(
            groups=groups,
            min_available=_min_available(form, task_count, at.at("min_available")),
            namespace=project if form.namespace is UNSET else read_name(form.namespace, at.at("namespace")),
            project=project,
            user=self._user if form.user is UNSET else read_step(form.user, at.at("user")),
            queue=QueueName(read_name(form.queue, at.at("queue"))),
            scheduler=form.scheduler,
            labels=read_labels(form.labels, at.at("labels")),
            priority=read_priority(form.priority),
            may_preempt=None if form.may_preempt is UNSET else form.may_preempt,
            preemptible=form.preemptible,
            topology=_topology(form.topology, task_count, at.at("topology")),
            time_limit_ms=read_duration_ms(form.time_limit, at.at("time_limit")),
            max_cost_micro=_max_cost_micro(form, at),
            connect_to=form.connect_to,
            reservation=self._reservation(form, at.at("reservation")),
            start_within_ms=read_duration_ms(form.start_within, at.at("start_within")),
            at_maintenance=form.at_maintenance,
        )

    def _reservation(self, form: KindForm, at: Field) -> str:
        known = self._reservations
        if form.reservation and known is not None and form.reservation not in known:
            remedy = "name one of the cluster file's reservations"
            raise unknown_name("reservation", form.reservation, known, at, remedy)
        return form.reservation

    def _groups(self, form: KindForm, at: Field) -> tuple[TaskGroup, ...]:
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

    def _group(self, form: KindForm, group: GroupForm, at: Field) -> TaskGroup:
        if group.cost.max_total is not UNSET:
            raise at.at("cost", "max_total").error(
                "the cost limit belongs to the job as a whole", "move it to the job"
            )
        return TaskGroup(self._intern_spec(read_task(_with_defaults(group, form, at), at)), group.tasks)

    def _task_spec(self, form: KindForm, at: Field) -> TaskSpec:
        kind = fingerprint(at.data, TASK_FIELDS)
        spec = self._specs.get(kind)
        if spec is None:
            spec = self._specs[kind] = self._intern_spec(read_task(form, at))
        return spec


def _with_defaults(group: GroupForm, form: KindForm, at: Field) -> TaskForm:
    """The group's own fields, and the job's where the group has none."""
    given = at.data
    assert isinstance(given, dict)
    return TaskForm(
        **{name: getattr(group if name in given else form, name) for name in TaskForm.__struct_fields__}
    )


def read_duration_ms(value: Amount | UnsetType, at: Field) -> int | None:
    if value is UNSET:
        return None
    duration_ms = at.read(parse_duration_ms, value)
    if duration_ms == 0:
        raise at.error("the duration is 0", "give more than 0, or leave it out")
    return duration_ms


def _min_available(form: KindForm, task_count: int, at: Field) -> int | Percent | None:
    if form.min_available is UNSET:
        return None
    wanted = at.read(parse_count_or_percent, form.min_available)
    if wanted.percent_hundredths is not None:
        percent, rest = divmod(wanted.percent_hundredths, 100)
        if rest:
            raise at.error(f"{wanted} is not a whole percentage", "round it")
        if percent == 0:
            raise at.error("0% of the tasks is no job", "give 1% to 100%")
        return Percent(percent)
    count = wanted.of(task_count)
    if not 1 <= count <= task_count:
        raise at.error(f"{count} of {task_count} tasks", f"give 1 to {task_count}, or a percentage")
    return count


def _max_cost_micro(form: KindForm, at: Field) -> int | None:
    if form.cost.max_total is UNSET:
        return None
    cost_at = at.at("cost", "max_total")
    if form.time_limit is UNSET:
        raise cost_at.error("the cost of a job without a time limit is unknown", "add time_limit")
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


def template_form(template: JobTemplate) -> Plain:
    fields = given(
        {
            "namespace": template.namespace if template.namespace != template.project else None,
            "queue": template.queue if template.queue != "default" else None,
            "scheduler": template.scheduler,
            "topology": [
                {"key": rule.key, "tasks": rule.count if rule.mode is TopologyMode.COUNT else rule.mode.value}
                for rule in template.topology
            ],
            "time_limit": duration_text(template.time_limit_ms),
            "start_within": duration_text(template.start_within_ms),
            "at_maintenance": unless(template.at_maintenance, AtMaintenance.REQUEUE),
            "reservation": template.reservation,
            "connect_to": template.connect_to,
            "labels": dict(template.labels),
            **_tasks_form(template),
        }
    )
    if template.priority != Priority.MEDIUM:
        fields["priority"] = priority_form(template.priority)
    if not template.preemptible:
        fields["preemptible"] = False
    if template.may_preempt is not None:
        fields["may_preempt"] = template.may_preempt
    if template.max_cost_micro is not None:
        fields.setdefault("cost", {})["max_total"] = format_price(template.max_cost_micro)
    match template.min_available:
        case Percent(value):
            fields["min_available"] = f"{value}%"
        case int(count):
            fields["min_available"] = count
    return fields


def priority_form(priority: int) -> str | int:
    return next((one.name.lower() for one in Priority if one == priority), priority)


def _tasks_form(template: JobTemplate) -> Plain:
    [first, *others] = template.groups
    if not others and first.spec.labels == template.labels:
        return {"tasks": first.count if first.count > 1 else None, **task_form(first.spec)}
    return {"groups": [_group_form(group, template.labels) for group in template.groups]}


def _group_form(group: TaskGroup, labels_of_job: Labels) -> Plain:
    fields = {"tasks": group.count, **given(task_form(group.spec))}
    if group.spec.labels != labels_of_job:
        fields["labels"] = dict(group.spec.labels)
    return fields
