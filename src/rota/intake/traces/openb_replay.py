"""openb's pods as a workload, and its nodes as the machine: when each pod came, and how long it ran.

    name,cpu_milli,memory_mib,num_gpu,gpu_milli[,gpu_spec][,qos][,pod_phase],creation_time,deletion_time,
    scheduled_time

| openb | here |
|---|---|
| name | job id; a pod is a job of one task |
| creation_time | `arrival_ms` |
| scheduled_time − creation_time | `waited_ms` |
| deletion_time − scheduled_time | `run_ms` |
| num_gpu, gpu_milli, gpu_spec | whole GPUs or a share of one, and the models that will do |
| qos | label `qos` of the job |
| pod_phase | `outcome`: Succeeded, Failed; how others ended, nobody knows |

Times are seconds from the beginning of the trace. There are no tenants, no queues and no time limits.

A pod without a scheduled_time was deleted while it waited: cancelled, with a run time of 0. A pod without a
deletion_time outlived the trace, and is taken to end with it: so do the public lists themselves, where the
end of the trace stands as deletion_time of every pod that still ran. Both are counted. The public lists are
in the order of names; pods are sorted by creation_time, and those that were out of order are counted.
"""

from typing import NamedTuple

from rota.intake.errors import InputError
from rota.intake.traces._notes import Notes
from rota.intake.traces._rows import Header, Row
from rota.intake.traces.openb import NODE_COLUMNS, POD_COLUMNS, node_of, parted, pod_of, require, rows_of
from rota.model.ids import JobId, Labels, NodeName
from rota.model.job import Job, JobTemplate, TaskGroup
from rota.model.node import Node
from rota.model.task import TaskSpec
from rota.model.workload import RecordedEnd, SimJob, Workload

_TIME_COLUMNS = ("creation_time", "deletion_time", "scheduled_time")
_OUTCOMES = {
    "": RecordedEnd.UNKNOWN,
    "Pending": RecordedEnd.UNKNOWN,
    "Running": RecordedEnd.UNKNOWN,
    "Unknown": RecordedEnd.UNKNOWN,
    "Succeeded": RecordedEnd.COMPLETED,
    "Failed": RecordedEnd.FAILED,
}
_RAN = frozenset(("Running", "Succeeded", "Failed"))


def is_pod_list(first_line: bytes) -> bool:
    return b"num_gpu" in _columns(first_line)


def is_node_list(first_line: bytes) -> bool:
    columns = _columns(first_line)
    return b"sn" in columns and b"cpu_milli" in columns


def _columns(first_line: bytes) -> list[bytes]:
    return first_line.removeprefix(b"\xef\xbb\xbf").strip().split(b",")


def machine_from(text: str, file: str) -> tuple[Node, ...]:
    lines: dict[str, int] = {}
    return tuple(
        Node(NodeName(_claimed(row, "sn", lines)), node_of(row).spec)
        for row in rows_of(text, file, NODE_COLUMNS)
    )


def openb_from(text: str, file: str, *, name: str = "") -> Workload:
    header, lines = parted(text, file)
    require(header, POD_COLUMNS)
    _require_times(header)
    reader = _Reader()
    for line in lines:
        reader.read(Row(header, line))
    if not lines:
        raise InputError(file, "there are no pods", "give a list of at least one")
    return reader.workload(name or file)


def _require_times(header: Header) -> None:
    for column in _TIME_COLUMNS:
        if column not in header:
            raise header.missing(
                column,
                "this column is missing: it says when pods arrived and how long they ran",
                f"give a list with {', '.join(_TIME_COLUMNS)}; `rota sim openb` packs pods without times",
            )


class _Pod(NamedTuple):
    """As it stands in the file, before the end of the trace is known."""

    line: int
    job: Job
    outcome: RecordedEnd
    created_s: int
    scheduled_s: int | None
    deleted_s: int | None


class _Reader:
    def __init__(self) -> None:
        self._notes = Notes()
        self._lines: dict[str, int] = {}
        self._templates: dict[tuple[TaskSpec, Labels], JobTemplate] = {}
        self._pods: list[_Pod] = []
        self._latest_created_s = 0

    def read(self, row: Row) -> None:
        name = _claimed(row, "name", self._lines)
        created_s = row.whole("creation_time")
        scheduled_s = _time_s(row, "scheduled_time", ("creation_time", created_s))
        after = ("creation_time", created_s) if scheduled_s is None else ("scheduled_time", scheduled_s)
        deleted_s = _time_s(row, "deletion_time", after)
        outcome = _outcome(row, scheduled_s)
        if created_s < self._latest_created_s:
            self._notes.count(
                "pods listed after one that came later, sorted by creation_time", row.line.number
            )
        self._latest_created_s = max(self._latest_created_s, created_s)
        job = Job(JobId(name), self._template(row), created_s * 1000)
        self._pods.append(_Pod(row.line.number, job, outcome, created_s, scheduled_s, deleted_s))

    def _template(self, row: Row) -> JobTemplate:
        labels: Labels = (("qos", row["qos"]),) if row["qos"] else ()
        spec = pod_of(row).spec
        template = self._templates.get((spec, labels))
        if template is None:
            template = self._templates[spec, labels] = JobTemplate((TaskGroup(spec),), labels=labels)
        return template

    def workload(self, name: str) -> Workload:
        times = ((pod.created_s, pod.scheduled_s or 0, pod.deleted_s or 0) for pod in self._pods)
        end_s = max(map(max, times))
        jobs = [self._sim_job(pod, end_s) for pod in sorted(self._pods, key=lambda pod: pod.created_s)]
        return Workload(name=name, jobs=tuple(jobs), notes=self._notes.all())

    def _sim_job(self, pod: _Pod, end_s: int) -> SimJob:
        deleted_s = end_s if pod.deleted_s is None else pod.deleted_s
        if pod.scheduled_s is None:
            self._notes.count("pods that were never scheduled: cancelled after as long a wait", pod.line)
            run_s, waited_s, outcome = 0, deleted_s - pod.created_s, RecordedEnd.CANCELLED
        else:
            if pod.deleted_s is None:
                self._notes.count("pods that outlived the trace, taken to end with it", pod.line)
            run_s, waited_s, outcome = (
                deleted_s - pod.scheduled_s,
                pod.scheduled_s - pod.created_s,
                pod.outcome,
            )
        return SimJob(pod.job, pod.created_s * 1000, run_s * 1000, outcome, waited_ms=waited_s * 1000)


def _claimed(row: Row, column: str, lines: dict[str, int]) -> str:
    """A name that can stand for a job or a node, and that no line before has."""
    name = row[column]
    if not name or " " in name or not name.isprintable():
        problem = f'"{name}" is empty, or has spaces or control characters'
        raise row.error(column, problem, "give it a name")
    if name in lines:
        raise row.error(column, f"{name} is on line {lines[name]} already", "remove one of them")
    lines[name] = row.line.number
    return name


def _time_s(row: Row, column: str, not_before: tuple[str, int]) -> int | None:
    if not row[column]:
        return None
    time_s = row.whole(column)
    before, before_s = not_before
    if time_s < before_s:
        raise row.error(column, f"{time_s} is before {before}, {before_s}", "correct one of them")
    return time_s


def _outcome(row: Row, scheduled_s: int | None) -> RecordedEnd:
    phase = row["pod_phase"]
    if phase not in _OUTCOMES:
        raise row.error(
            "pod_phase", f'"{phase}" is not a phase', f"give one of {', '.join(filter(None, _OUTCOMES))}"
        )
    if phase in _RAN and scheduled_s is None:
        raise row.error("scheduled_time", f"is missing, though the pod is {phase}", "give it, in seconds")
    return _OUTCOMES[phase]
