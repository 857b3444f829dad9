"""The Standard Workload Format of the Parallel Workloads Archive: 18 numbers a job, -1 = not known.

https://www.cs.huji.ac.il/labs/parallel/workload/swf.html

| SWF | here |
|---|---|
| job number (1) | job id, filled up with zeros so that equal submit times keep the order of the file |
| submit time (2), wait time (3), run time (4) | `arrival_ms`, `waited_ms`, `run_ms` |
| processors requested (8), or else allocated (5) | tasks, see below |
| time requested (9) | `time_limit_ms`; None where unknown or 0 |
| status (11) | `outcome`; 5 with no run time: cancelled while it waited, `run_ms` 0 |
| user (12), group (13), queue (15) | user `user-7`, project `group-3`, queue `queue-1` |
| `MaxProcs`, or else `MaxNodes` | the machine, unless the caller says how many `processors` |
| `UnixStartTime` | `epoch_ms` |

Left out and counted: parts of checkpointed jobs (status 2, 3, 4: the whole job has a line of its own), jobs
whose run time or size is unknown. Not modelled, and counted where they are given: memory, partitions, and
that a job waits for another. Submit times that are negative or fall, and fewer jobs than the header
announces, are errors: the format rules them out.

**Processors as tasks.** `tasks="processors"` makes p processors p tasks of 1 CPU, a gang. `tasks="whole"`
makes as few tasks as there can be: one for each full node, and one for the rest. On one node of all
processors, the default then, that is one task a job. The engine then has one node to look at and one task to
place and to report. Processors of an SWF machine are all alike, so both give the same schedules, unless a
policy plans starts ahead: those are on certain nodes. Take "processors" to see each of them placed.
"""

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from rota.intake.errors import InputError, Position
from rota.intake.traces._notes import Notes
from rota.intake.traces._swf_columns import (
    COLUMN,
    UNKNOWN,
    check_numbers,
    column_error,
    milliseconds,
    named,
)
from rota.intake.traces._text import Line, lines_of
from rota.model.ids import JobId, NodeName, QueueName
from rota.model.job import Job, JobTemplate, TaskGroup
from rota.model.node import Node, NodeSpec
from rota.model.resources import Resources
from rota.model.task import TaskSpec
from rota.model.workload import RecordedEnd, SimJob, Workload, cpu_milli_of

Tasks = Literal["processors", "whole"]

MAX_PROCESSORS = 1_000_000_000
MAX_NODES = 1_000_000

_OUTCOMES = {
    "1": RecordedEnd.COMPLETED,
    "0": RecordedEnd.FAILED,
    "5": RecordedEnd.CANCELLED,
    "-1": RecordedEnd.UNKNOWN,
}
_PARTS = frozenset(("2", "3", "4"))
_HEADER = re.compile(r";\s*(\w+):\s*(.*)")


class _Record(NamedTuple):
    """A job as it stands in the file, before its id can be filled up."""

    line: Line
    number: int
    template: JobTemplate
    arrival_ms: int
    run_ms: int
    outcome: RecordedEnd
    waited_ms: int | None


def swf_from(
    text: str,
    file: str,
    *,
    name: str = "",
    processors: int | None = None,
    processors_per_node: int | None = None,
    tasks: Tasks = "processors",
) -> Workload:
    """`processors_per_node` is 1 by default, and all of them with `tasks="whole"`."""
    lines = lines_of(text, file)
    header, jobs = _parted(lines)
    reader = _Reader(_machine_size(header, processors), processors_per_node, tasks)
    for line in jobs:
        reader.read(line)
    _check_whole(file, header, jobs)
    if not jobs:
        raise InputError(file, "has no jobs", "give a file with a line for each")
    return reader.workload(file, name or file, _whole_number(header, "UnixStartTime") or 0)


def _parted(lines: list[Line]) -> tuple[dict[str, tuple[str, Line]], list[Line]]:
    header: dict[str, tuple[str, Line]] = {}
    jobs = []
    for line in lines:
        if line.text.startswith(";"):
            if match := _HEADER.match(line.text):
                header[match[1]] = match[2].strip(), line
        elif line.text.strip():
            jobs.append(line)
    return header, jobs


def _whole_number(header: Mapping[str, tuple[str, Line]], key: str) -> int | None:
    if key not in header:
        return None
    value, line = header[key]
    # Some archives put words after the number.
    match = re.match(r"\d{1,12}(?![\d.])", value, re.ASCII)
    if match is None:
        if value.startswith("-1"):
            return None
        raise line.error(line.text.find(value) + 1, key, f'"{value}" is not a whole number', "correct it")
    return int(match[0])


def _machine_size(header: Mapping[str, tuple[str, Line]], given: int | None) -> int | None:
    if given is not None:
        return given
    for key in ("MaxProcs", "MaxNodes"):
        if size := _whole_number(header, key):
            if size > MAX_PROCESSORS:
                line = header[key][1]
                raise line.error(1, key, f"{size:,} is absurdly large", f"give at most {MAX_PROCESSORS:,}")
            return size
    return None


def _check_whole(file: str, header: Mapping[str, tuple[str, Line]], jobs: list[Line]) -> None:
    announced = [
        (count, key) for key in ("MaxJobs", "MaxRecords") if (count := _whole_number(header, key)) is not None
    ]
    if announced and len(jobs) < min(announced)[0]:
        count, key = min(announced)
        end = jobs[-1].number if jobs else header[key][1].number
        raise InputError(
            file,
            f"ends after {len(jobs):,} of the {count:,} jobs that its header announces",
            f"download the file again; for an excerpt, give all of it with --first {len(jobs)},"
            f" or correct {key}",
            position=Position(end, 1),
        )


class _Reader:
    def __init__(self, processors: int | None, processors_per_node: int | None, tasks: Tasks) -> None:
        self._processors = processors
        self._processors_per_node = processors_per_node
        self._tasks = tasks
        self._notes = Notes()
        self._records: list[_Record] = []
        self._lines_by_number: dict[int, int] = {}
        self._last_submit = 0
        self._templates: dict[tuple[str, ...], JobTemplate] = {}
        self._specs: dict[int, TaskSpec] = {}

    def read(self, line: Line) -> None:
        fields = line.text.split()
        check_numbers(line, fields)
        number = self._job_number(line, fields)
        submit_ms = self._submit_ms(line, fields)
        if fields[COLUMN["status"]] in _PARTS:
            self._notes.count(
                "parts of checkpointed jobs, left out: each job as a whole is there", line.number
            )
            return
        if number in self._lines_by_number:
            problem = f"job {number} is on line {self._lines_by_number[number]} already"
            raise column_error(line, "job_number", problem, "give each job its own number")
        self._lines_by_number[number] = line.number
        outcome = self._outcome(line, fields)
        processors = self._size(line, fields)
        run_ms = milliseconds(line, fields, "run_time")
        if run_ms is None and outcome is RecordedEnd.CANCELLED:
            run_ms = 0
        if run_ms is None or processors is None:
            what = "run time" if run_ms is None else "size"
            self._notes.count(f"jobs whose {what} is unknown, left out", line.number)
            return
        self._count_what_is_not_modelled(line, fields)
        self._records.append(
            _Record(
                line,
                number,
                self._template(line, fields, processors),
                submit_ms,
                run_ms,
                outcome,
                milliseconds(line, fields, "wait_time"),
            )
        )

    def workload(self, file: str, name: str, start_s: int) -> Workload:
        width = len(str(max(self._lines_by_number, default=0)))
        return Workload(
            name=name,
            jobs=tuple(
                SimJob(
                    job=Job(JobId(f"{record.number:0{width}}"), record.template, record.arrival_ms),
                    arrival_ms=record.arrival_ms,
                    run_ms=record.run_ms,
                    outcome=record.outcome,
                    waited_ms=record.waited_ms,
                )
                for record in self._records
            ),
            nodes=self._nodes(file),
            epoch_ms=start_s * 1000,
            notes=self._notes.all(),
        )

    # -- columns

    def _job_number(self, line: Line, fields: list[str]) -> int:
        text = fields[COLUMN["job_number"]]
        if not text.isdecimal():
            raise column_error(line, "job_number", f"{text} is not a job number", "number the jobs from 1")
        return int(text)

    def _submit_ms(self, line: Line, fields: list[str]) -> int:
        submit_ms = milliseconds(line, fields, "submit_time")
        if submit_ms is None:
            raise column_error(
                line, "submit_time", "is unknown", "a job without a submit time can't be replayed"
            )
        if submit_ms < self._last_submit:
            raise column_error(
                line,
                "submit_time",
                f"{fields[COLUMN['submit_time']]} is before the job above, at {self._last_submit / 1000:g}",
                "sort the lines by submit time",
            )
        self._last_submit = submit_ms
        return submit_ms

    def _outcome(self, line: Line, fields: list[str]) -> RecordedEnd:
        status = fields[COLUMN["status"]]
        if status not in _OUTCOMES:
            raise column_error(line, "status", f"{status} is not a status", "give 0, 1, 2, 3, 4, 5 or -1")
        return _OUTCOMES[status]

    def _size(self, line: Line, fields: list[str]) -> int | None:
        """None: unknown."""
        for name in ("requested_processors", "allocated_processors"):
            text = fields[COLUMN[name]]
            if text == UNKNOWN:
                continue
            if not text.isdecimal():
                raise column_error(
                    line, name, f"{text} is not a number of processors", "give a whole number, or -1"
                )
            processors = int(text)
            limit = self._processors or MAX_PROCESSORS
            if processors > limit:
                raise column_error(
                    line,
                    name,
                    f"{processors:,} processors of a machine that has {limit:,}",
                    "correct MaxProcs in the header, or say how many processors there are",
                )
            if processors:
                return processors
        return None

    def _count_what_is_not_modelled(self, line: Line, fields: list[str]) -> None:
        if fields[COLUMN["requested_memory"]] != UNKNOWN:
            self._notes.count(
                "requests for memory, not modelled: the trace doesn't give the memory of nodes", line.number
            )
        if fields[COLUMN["partition_number"]] != UNKNOWN:
            self._notes.count("partitions, not modelled: all processors are alike", line.number)
        if fields[COLUMN["preceding_job"]] != UNKNOWN:
            self._notes.count(
                "jobs that wait for another, not modelled: they arrive as submitted", line.number
            )
        if fields[COLUMN["requested_time"]] == "0":
            self._notes.count("requests for the duration is 0, taken as no limit", line.number)

    # -- jobs and the machine

    def _template(self, line: Line, fields: list[str], processors: int) -> JobTemplate:
        kind = (
            str(processors),
            *(fields[COLUMN[name]] for name in ("requested_time", "user_id", "group_id", "queue_number")),
        )
        template = self._templates.get(kind)
        if template is None:
            limit_ms = milliseconds(line, fields, "requested_time")
            template = self._templates[kind] = JobTemplate(
                groups=self._groups(processors),
                user=named(line, fields, "user_id", "user"),
                project=named(line, fields, "group_id", "group"),
                queue=QueueName(named(line, fields, "queue_number", "queue")),
                time_limit_ms=limit_ms or None,
            )
        return template

    def _groups(self, processors: int) -> tuple[TaskGroup, ...]:
        if self._tasks == "processors":
            return (self._group(1, processors),)
        per_node = self._per_node or processors
        full_nodes, rest = divmod(processors, per_node)
        groups = (self._group(per_node, full_nodes), self._group(rest, 1))
        return tuple(group for group in groups if group.count and group.spec.requests.cpu_milli)

    def _group(self, cpus: int, count: int) -> TaskGroup:
        spec = self._specs.setdefault(cpus, TaskSpec(Resources(cpu_milli=cpus * 1000)))
        return TaskGroup(spec, count)

    @property
    def _per_node(self) -> int | None:
        """None: all that there are, however many that will be."""
        if self._processors_per_node is not None:
            return self._processors_per_node
        return 1 if self._tasks == "processors" else self._processors

    def _nodes(self, file: str) -> tuple[Node, ...]:
        total = self._processors
        if total is None:
            total = max((cpu_milli_of(record.template) for record in self._records), default=0) // 1000
            self._notes.remark(f"no header says how large the machine is: {total:,}, as the largest job")
        if not total:
            return ()
        per_node = min(self._per_node or total, total)
        if total // per_node > MAX_NODES:
            problem = f"{total:,} processors, {per_node:,} of them a node: too many nodes"
            raise InputError(file, problem, "put more processors into a node, or all into one")
        sizes = [per_node] * (total // per_node)
        if total % per_node:
            sizes.append(total % per_node)
        width = len(str(len(sizes) - 1))
        specs = {size: NodeSpec(Resources(cpu_milli=size * 1000, slots=size)) for size in set(sizes)}
        return tuple(
            Node(NodeName(f"node-{number:0{width}}"), specs[size]) for number, size in enumerate(sizes)
        )
