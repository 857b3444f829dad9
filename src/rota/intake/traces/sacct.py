"""What `sacct -P` exports of Slurm's accounting: a header, then a line a job, columns parted by `|`.

    sacct -a -P -S 2024-01-01 -o JobID,User,Account,Partition,Submit,Start,End,ElapsedRaw,TimelimitRaw,\\
        NNodes,NCPUS,ReqTRES,AllocTRES,State,QOS

| sacct | here |
|---|---|
| JobID | job id, array tasks (`12_3`) and parts of heterogeneous jobs (`12+1`) as jobs of their own |
| Submit | `arrival_ms`, counted from the first one, which is `epoch_ms` |
| Start − Submit | `waited_ms`; End − Submit for a job that was cancelled before it ran |
| ElapsedRaw, or Elapsed, or End − Start | `run_ms` |
| TimelimitRaw (minutes), or Timelimit | `time_limit_ms`; None for UNLIMITED and Partition_Limit |
| NNodes | a gang of one task a node |
| cpu, mem, gres/gpu of ReqTRES, or AllocTRES | what these ask for together, dealt out as evenly as can be |
| AllocCPUS, NCPUS, ReqCPUS | the CPUs, where no TRES names them |
| User, Account, Partition | user, project, queue |
| QOS | label `qos` of the job |
| State | `outcome` |

Needed: JobID, Submit, State, one way to tell the run time, one to tell the CPUs. Columns that aren't named
here are ignored. That goes for Priority, too: Slurm computes it from age, share and size while a job waits,
so it isn't anything that the user gave.

Left out and counted: steps (`12.batch`), and jobs that still wait or run, as nobody knows how long they will
take. sacct promises no order; the jobs are sorted by Submit. Times without a zone are in `time_zone`.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal

from rota.intake.errors import InputError
from rota.intake.traces._notes import Notes
from rota.intake.traces._rows import WHOLE, Header, Row
from rota.intake.traces._text import Line, lines_of
from rota.intake.traces._tres import SIZE_COLUMNS, groups_of
from rota.model.ids import JobId, Labels, QueueName
from rota.model.job import Job, JobTemplate
from rota.model.workload import RecordedEnd, SimJob, Workload

_OUTCOMES: Mapping[str, RecordedEnd] = {
    "COMPLETED": RecordedEnd.COMPLETED,
    "FAILED": RecordedEnd.FAILED,
    "NODE_FAIL": RecordedEnd.FAILED,
    "BOOT_FAIL": RecordedEnd.FAILED,
    "OUT_OF_MEMORY": RecordedEnd.FAILED,
    "LAUNCH_FAILED": RecordedEnd.FAILED,
    "RECONFIG_FAIL": RecordedEnd.FAILED,
    "DEADLINE": RecordedEnd.CANCELLED,
    "CANCELLED": RecordedEnd.CANCELLED,
    "REVOKED": RecordedEnd.CANCELLED,
    "TIMEOUT": RecordedEnd.TIMED_OUT,
    "PREEMPTED": RecordedEnd.UNKNOWN,
    "REQUEUED": RecordedEnd.UNKNOWN,
}
_UNFINISHED: Mapping[str, str] = {
    "PENDING": "jobs that still waited, left out",
    "REQUEUE_HOLD": "jobs that still waited, left out",
    "REQUEUE_FED": "jobs that still waited, left out",
    "SPECIAL_EXIT": "jobs that still waited, left out",
    "RUNNING": "jobs that still ran, left out",
    "SUSPENDED": "jobs that still ran, left out",
    "RESIZING": "jobs that still ran, left out",
    "COMPLETING": "jobs that still ran, left out",
    "CONFIGURING": "jobs that still ran, left out",
    "STOPPED": "jobs that still ran, left out",
    "SIGNALING": "jobs that still ran, left out",
    "STAGE_OUT": "jobs that still ran, left out",
}
_NO_LIMIT = frozenset(("", "UNLIMITED", "Partition_Limit", "INVALID"))
_NO_TIME = frozenset(("", "Unknown", "None", "N/A"))

_JOB_ID = re.compile(r"\d+(?:_\d+|_\[[\d,:%-]+\](?:%\d+)?|\+\d+)?", re.ASCII)
_STEP_ID = re.compile(rf"{_JOB_ID.pattern}\.\S+", re.ASCII)
_CLOCK = re.compile(r"(?:(\d{1,8})-)?(?:(\d{1,8}):)?(\d{1,2}):(\d{1,2})(\.\d{1,9})?", re.ASCII)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def sacct_from(text: str, file: str, *, name: str = "", time_zone: tzinfo = UTC) -> Workload:
    lines = [line for line in lines_of(text.replace("\r\n", "\n"), file) if line.text.strip()]
    if not lines:
        raise InputError(file, "is empty", "export it with sacct -P")
    header = Header(lines[0], "|")
    _check_columns(header)
    reader = _Reader(header, time_zone)
    for line in lines[1:]:
        reader.read(line)
    if len(lines) == 1:
        raise header.line.error(
            1, "", "there are no jobs below the header", "widen the period with -S and -E"
        )
    return reader.workload(name or file)


def _check_columns(header: Header) -> None:
    for needed in ("JobID", "Submit", "State"):
        if needed not in header:
            raise header.missing(needed, "this column is missing", "add it to sacct -o")
    ways = (("ElapsedRaw",), ("Elapsed",), ("Start", "End"))
    if not any(all(column in header for column in way) for way in ways):
        raise header.missing("ElapsedRaw", "no column has the run time of jobs", "add it to sacct -o")
    if not any(column in header for column in SIZE_COLUMNS):
        raise header.missing("ReqTRES", "no column has the number of CPUs of jobs", "add it to sacct -o")


class _Reader:
    def __init__(self, header: Header, time_zone: tzinfo) -> None:
        self._header = header
        self._time_zone = time_zone
        self._notes = Notes()
        self._lines: dict[str, int] = {}
        self._templates: dict[tuple[str, ...], JobTemplate] = {}
        self._jobs: list[SimJob] = []
        """Arrivals still count from 1970."""

    def read(self, line: Line) -> None:
        row = Row(self._header, line)
        job_id = row["JobID"]
        if _STEP_ID.fullmatch(job_id):
            self._notes.count("steps of jobs, left out: each job as a whole is there", line.number)
            return
        if not _JOB_ID.fullmatch(job_id):
            raise row.error("JobID", f'"{job_id}" is not a job id', "it is like 12, 12_3 or 12+1")
        if job_id in self._lines:
            problem = f"job {job_id} is on line {self._lines[job_id]} already"
            raise row.error("JobID", problem, "export without --duplicates")
        self._lines[job_id] = line.number
        submit_ms = self._time(row, "Submit")
        if submit_ms is None:
            raise row.error("Submit", "is unknown", "a job without a submit time can't be replayed")
        # "CANCELLED by 1000", and in short forms "CANCELLED+".
        state = row["State"].split(" ")[0].rstrip("+")
        if state in _UNFINISHED:
            self._notes.count(_UNFINISHED[state], line.number)
            return
        if state not in _OUTCOMES:
            raise row.error("State", f'"{row["State"]}" is not a state of a job', "export the long form, -P")
        start_ms = self._time(row, "Start", not_before=("Submit", submit_ms))
        self._add(row, job_id, submit_ms, start_ms, _OUTCOMES[state])

    def _add(self, row: Row, job_id: str, submit_ms: int, start_ms: int | None, outcome: RecordedEnd) -> None:
        end_ms = self._time(row, "End", not_before=("Submit", submit_ms))
        run_ms = self._run_ms(row, start_ms)
        if run_ms is None:
            if outcome is not RecordedEnd.CANCELLED:
                self._notes.count("jobs whose run time is unknown, left out", row.line.number)
                return
            run_ms = 0
        left_queue_ms = end_ms if start_ms is None else start_ms
        self._jobs.append(
            SimJob(
                job=Job(JobId(job_id), self._template(row), submit_ms),
                arrival_ms=submit_ms,
                run_ms=run_ms,
                outcome=outcome,
                waited_ms=None if left_queue_ms is None else left_queue_ms - submit_ms,
            )
        )

    def workload(self, name: str) -> Workload:
        first_ms = min((one.arrival_ms for one in self._jobs), default=0)
        jobs = (
            SimJob(
                job=Job(one.job.id, one.job.template, one.arrival_ms - first_ms),
                arrival_ms=one.arrival_ms - first_ms,
                run_ms=one.run_ms,
                outcome=one.outcome,
                waited_ms=one.waited_ms,
            )
            for one in sorted(self._jobs, key=lambda one: one.arrival_ms)
        )
        return Workload(name=name, jobs=tuple(jobs), epoch_ms=first_ms, notes=self._notes.all())

    # -- times

    def _time(self, row: Row, column: str, not_before: tuple[str, int] | None = None) -> int | None:
        text = row[column]
        if text in _NO_TIME:
            return None
        time_ms = self._time_ms(row, column, text)
        if not_before is not None and time_ms < not_before[1]:
            raise row.error(column, f"{text} is before {not_before[0]}", "correct one of them")
        return time_ms

    def _time_ms(self, row: Row, column: str, text: str) -> int:
        if WHOLE.fullmatch(text):
            # As with SLURM_TIME_FORMAT=%s.
            return int(text) * 1000
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise row.error(column, f'"{text}" is not a time', "it is like 2024-05-01T12:00:00") from None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=self._time_zone)
        time_ms = (moment - _EPOCH) // timedelta(milliseconds=1)
        if time_ms < 0:
            raise row.error(column, f"{text} is before 1970", "correct it")
        return time_ms

    def _run_ms(self, row: Row, start_ms: int | None) -> int | None:
        """None: unknown."""
        if row["ElapsedRaw"]:
            return row.whole("ElapsedRaw") * 1000
        if row["Elapsed"] and row["Elapsed"] not in _NO_TIME:
            return _clock_ms(row, "Elapsed")
        end_ms = self._time(row, "End", None if start_ms is None else ("Start", start_ms))
        return None if start_ms is None or end_ms is None else end_ms - start_ms

    # -- what jobs of a kind have in common

    def _template(self, row: Row) -> JobTemplate:
        kind = tuple(row[column] for column in _KIND_COLUMNS)
        template = self._templates.get(kind)
        if template is None:
            template = self._templates[kind] = JobTemplate(
                groups=groups_of(row),
                user=_step(row, "User"),
                project=_step(row, "Account"),
                queue=QueueName(_step(row, "Partition")),
                labels=_labels(row),
                time_limit_ms=_limit_ms(row),
            )
        return template


_KIND_COLUMNS = ("User", "Account", "Partition", "QOS", "TimelimitRaw", "Timelimit", "NNodes", *SIZE_COLUMNS)


def _clock_ms(row: Row, column: str) -> int:
    match = _CLOCK.fullmatch(row[column])
    if match is None:
        raise row.error(column, f'"{row[column]}" is not a duration', "it is like 1-02:03:04 or 02:03:04")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups()[:4])
    fraction_ms = int(Decimal(match[5] or 0) * 1000)
    return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + fraction_ms


def _limit_ms(row: Row) -> int | None:
    if row["TimelimitRaw"] not in _NO_LIMIT:
        return row.whole("TimelimitRaw") * 60_000 or None
    if row["Timelimit"] not in _NO_LIMIT:
        return _clock_ms(row, "Timelimit") or None
    return None


def _step(row: Row, column: str) -> str:
    text = row[column]
    if "/" in text or " " in text or not text.isprintable():
        raise row.error(column, f'"{text}" contains a slash, a space or a control character', "rename it")
    return text or "default"


def _labels(row: Row) -> Labels:
    return (("qos", row["QOS"]),) if row["QOS"] else ()
