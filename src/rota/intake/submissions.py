"""Jobs that are to run, as people send them: `{"jobs": [...]}` in the form of docs/files.md.

    bytes ──► plain data ──► forms ──► entries ──► expand(first number) ──► specs, one for each job
    JSON      checked        typed     equal parts     arrays unrolled, jobs of the
              for depth                are shared      same submission found by number

Nothing here knows which jobs there are already: whoever gives out numbers looks up the others.
"""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from rota.intake.checking.convert import MAX_ERRORS, convert
from rota.intake.checking.fields import Field, raise_all
from rota.intake.checking.names import MAX_LENGTH, read_name, unknown_name
from rota.intake.checking.plurals import by_known_names
from rota.intake.checking.wording import quoted
from rota.intake.documents.document import Document, document_of
from rota.intake.documents.json_body import decode_json_body
from rota.intake.errors import InputError, format_path
from rota.intake.forms.jobs import STATE_FIELDS, DependencyForm, SubmissionForm
from rota.intake.forms.jobs import SubmittedForm as SubmittedForm
from rota.intake.jobs import MAX_TASKS
from rota.intake.parts.amounts import Totals
from rota.intake.parts.arrays import MAX_ELEMENTS, read_array
from rota.intake.parts.runs import SECRET_NAME as SECRET_NAME
from rota.intake.parts.runs import RunReader, Stage, check_input, read_retry, stage_uploaded
from rota.intake.parts.runs import is_variable as is_variable
from rota.intake.parts.starts import read_deadline_ms, read_stated_period
from rota.intake.parts.templates import TemplateReader
from rota.model.ids import JobId
from rota.model.job import ArrayLimit
from rota.model.run import After, Dependency, JobSpec, Run

MAX_ENTRIES = 10_000
"""Jobs of one submission, an array counting as one."""

_JOB_ID = re.compile(r"\d{1,18}(\.\d{1,9})?", re.ASCII)
_NOT_OF_A_NAME = re.compile(r"[^A-Za-z0-9_.+@=-]+", re.ASCII)


class Sibling(Struct, frozen=True):
    """Another job of the same submission, by its place there: it comes earlier."""

    entry: int
    after: After = After.SUCCESS


class Entry(Struct, frozen=True, omit_defaults=True):
    """One job as submitted, or a whole array of equal ones."""

    spec: JobSpec
    """`depends_on` and the template's `connect_to` are those with a number already."""
    array: tuple[int, ...] | None = None
    """The indexes; None: just one job."""
    siblings: tuple[Sibling, ...] = ()
    """What it depends on besides."""
    connect_to: int | None = None
    """The entry that it is placed along with."""
    at_once: int | None = None
    """Of an array: so many of its jobs run at the same time, at most."""

    @property
    def job_count(self) -> int:
        return 1 if self.array is None else len(self.array)


class Submission(Struct, frozen=True):
    entries: tuple[Entry, ...]
    warnings: tuple[str, ...] = ()

    @property
    def job_count(self) -> int:
        return sum(entry.job_count for entry in self.entries)


class Expanded(Struct, frozen=True):
    """One job. Its number follows that of the job before it."""

    spec: JobSpec
    entry: int
    """Which entry of the submission it comes from."""
    is_element: bool
    """Of an array, whose number is that of its first element."""
    number: int


def expand(submission: Submission, first_number: int, most: int | None = None) -> list[Expanded]:
    """The submission's jobs in order, when they are given `job_count` numbers from `first_number` on. `most`:
    once there are so many, an array is its first element alone."""
    ids: list[JobId] = []
    jobs: list[Expanded] = []
    number = first_number
    for place, entry in enumerate(submission.entries):
        ids.append(JobId(str(number)))
        spec = _with_siblings(entry, ids)
        if entry.array is None:
            jobs.append(Expanded(spec, place, False, number))
        else:
            if entry.at_once is not None:
                limit = ArrayLimit(ids[-1], entry.at_once)
                spec = replace(spec, template=replace(spec.template, array_limit=limit))
            indexes = entry.array if most is None else entry.array[: max(1, most - len(jobs))]
            jobs += [
                Expanded(replace(spec, array_index=index), place, True, number + at)
                for at, index in enumerate(indexes)
            ]
        number += entry.job_count
    return jobs


def _with_siblings(entry: Entry, ids: Sequence[JobId]) -> JobSpec:
    spec = entry.spec
    if entry.siblings:
        found = tuple(Dependency(ids[one.entry], one.after) for one in entry.siblings)
        spec = replace(spec, depends_on=(*spec.depends_on, *found))
    if entry.connect_to is not None:
        spec = replace(spec, template=replace(spec.template, connect_to=ids[entry.connect_to]))
    return spec


def read_submission(body: bytes, default_project: str, default_user: str) -> Submission:
    """Of the body of a request. InputError names the field and what to do; its file is empty."""
    return read_submission_document(
        document_of(decode_json_body(body)), project=default_project, user=default_user
    )


def read_submission_document(
    document: Document, *, project: str = "default", user: str = "default", stage: Stage = stage_uploaded
) -> Submission:
    document, forms = _forms(document)
    at = Field(document).at("jobs")
    reader = _Reader(TemplateReader(project=project, user=user), stage)
    entries: list[Entry] = []
    errors: list[InputError] = []
    for index, form in enumerate(forms):
        try:
            entries.append(reader.read(form, at.at(index)))
        except InputError as error:
            errors.extend(error.all)
            if len(errors) >= MAX_ERRORS:
                break
            reader.skip(form)
    raise_all(errors)
    return Submission(tuple(entries), tuple(reader.warnings))


def _forms(document: Document) -> tuple[Document, Sequence[SubmittedForm]]:
    data = document.data
    if not isinstance(data, dict):
        raise document.error((), "expected a mapping with `jobs`", 'write it like {"jobs": [...]}')
    jobs = data.get("jobs")
    if isinstance(jobs, list):
        if not jobs:
            raise document.error(("jobs",), "no jobs", "give at least one")
        if len(jobs) > MAX_ENTRIES:
            raise document.error(
                ("jobs",), f"{len(jobs):,} jobs at once", f"give at most {MAX_ENTRIES:,}, or an array"
            )
    if not document.has_nonfinite:
        try:
            return document, msgspec.convert(data, SubmissionForm).jobs
        except msgspec.ValidationError:
            raise_all(_state_errors(jobs, document)[:MAX_ERRORS])
    document = by_known_names(document, SubmissionForm)
    return document, convert(document, SubmissionForm).jobs


def _state_errors(jobs: object, document: Document) -> list[InputError]:
    """What says how a cluster stands would else be called unknown, though it stands in the manual."""
    if not isinstance(jobs, list):
        return []
    return [
        document.error(
            ("jobs", index, field), "is for running jobs, and this job has not started yet", "remove it"
        )
        for index, job in enumerate(jobs)
        if isinstance(job, dict)
        for field in job
        if field in STATE_FIELDS
    ]


class _Reader:
    def __init__(self, templates: TemplateReader, stage: Stage) -> None:
        self.warnings: list[str] = []
        self._templates = templates
        self._runs = RunReader(stage, self._warn)
        self._totals = Totals("tasks")
        self._task_count = 0
        self._job_count = 0
        self._places: dict[str, int | None] = {}
        """Where the job of a name is; None: several bear it."""
        self._entry_count = 0

    def read(self, form: SubmittedForm, at: Field) -> Entry:
        template = self._templates.read(form, at)
        run = self._runs.read(form, template.time_limit_ms, at)
        name = _default_name(run) if form.name is UNSET else read_name(form.name, at.at("name"))
        start_after_ms, start_before_ms = read_stated_period(form, at)
        depends_on, siblings = self._dependencies(form, at.at("depends_on"))
        connect_to = self._partner(form.connect_to, at.at("connect_to"))
        array = None if form.array is UNSET else read_array(form.array, at.at("array"))
        retry = read_retry(form, at.at("retry"))
        check_input(run, retry, template.task_count, is_array=form.array is not UNSET, at=at)
        entry = Entry(
            JobSpec(
                template=template if connect_to is None else replace(template, connect_to=""),
                run=run,
                name=name,
                retry=retry,
                on_task_failure=form.on_task_failure,
                depends_on=depends_on,
                held=form.hold,
                start_after_ms=start_after_ms,
                start_before_ms=start_before_ms,
                deadline_ms=read_deadline_ms(form, start_after_ms, template.time_limit_ms, at),
            ),
            None if array is None else array.indexes,
            siblings,
            connect_to,
            None if array is None else array.at_once,
        )
        self._count(entry, at)
        self._claim(name)
        return entry

    def skip(self, form: SubmittedForm) -> None:
        """One that can't be read is still there for those that name it."""
        self._claim("" if form.name is UNSET else form.name)

    def _claim(self, name: str) -> None:
        self._places[name] = None if name in self._places else self._entry_count
        self._entry_count += 1

    def _warn(self, at: Field, text: str) -> None:
        self.warnings.append(f"{format_path(at.path)}: {text}")

    def _count(self, entry: Entry, at: Field) -> None:
        template = entry.spec.template
        self._job_count += entry.job_count
        if self._job_count > MAX_ELEMENTS:
            raise at.error(f"with this there are more than {MAX_ELEMENTS:,} jobs", "submit the rest later")
        self._task_count += template.task_count * entry.job_count
        if self._task_count > MAX_TASKS:
            raise at.error(f"with this job there are more than {MAX_TASKS:,} tasks", "submit the rest later")
        for group in template.groups:
            self._totals.add(group.spec.requests, group.count * entry.job_count, at.at("resources"))

    # -- other jobs that it names

    def _dependencies(
        self, form: SubmittedForm, at: Field
    ) -> tuple[tuple[Dependency, ...], tuple[Sibling, ...]]:
        by_id: dict[str, Dependency] = {}
        by_place: dict[int, Sibling] = {}
        for index, one in enumerate(form.depends_on):
            job, after, job_at = str(one), After.SUCCESS, at.at(index)
            if isinstance(one, DependencyForm):
                job, after, job_at = str(one.job), one.after, job_at.at("job")
            place = self._partner(job, job_at)
            known: Dependency | Sibling
            if place is None:
                known = by_id.setdefault(job, Dependency(JobId(job), after))
            else:
                known = by_place.setdefault(place, Sibling(place, after))
            if known.after is not after:
                raise job_at.error(f"{quoted(job)} is there already, after another end", "remove one")
        return tuple(by_id.values()), tuple(by_place.values())

    def _partner(self, name: str, at: Field) -> int | None:
        """The place of the job of this submission that bears the name; None: the name is a number, or
        there is none."""
        if not name:
            return None
        if name in self._places:
            place = self._places[name]
            if place is None:
                raise at.error(f"several jobs of this submission are named {quoted(name)}", "rename them")
            if _JOB_ID.fullmatch(name):
                raise at.error(
                    f"{quoted(name)} is both a job's number and the name of one here", "rename that one"
                )
            return place
        if _JOB_ID.fullmatch(name):
            return None
        remedy = "name a job above this one, or give the id of a submitted job"
        raise unknown_name("job", name, self._places, at, remedy)


def _default_name(run: Run) -> str:
    return "script" if run.script else name_from(PurePosixPath(run.command[0]).name)


def name_from(text: str) -> str:
    """A name for a job from whatever its program or script is called."""
    return _NOT_OF_A_NAME.sub("-", text).strip("-")[:MAX_LENGTH] or "job"
