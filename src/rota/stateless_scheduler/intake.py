"""Whether what a controller says of an action can be: as a job, or refused with the field and the reason."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from rota.backends.agents.claims import Refusal, check_name
from rota.backends.process.beneath import Leaves, parts_of
from rota.intake.errors import InputError
from rota.intake.submissions import Entry, read_submission
from rota.model.ids import DEFAULT_PROJECT, NodeName
from rota.model.policy import Defaults
from rota.model.run import InputFile, JobSpec, Retry
from rota.snapshot.defaults import admit
from rota.stateless_scheduler.actions import Place
from rota.wire import controllers_pb2 as wire

LONGEST_ID = 200
LONGEST_JOB = 1 << 16
LARGEST_FILES_BYTES = 1 << 20
"""All files of an action together."""
_MOST_FILES = 100
_MOST_FENCE = 2**53
_REMEMBERED = 1_000
DEFAULTS = Defaults()
_AS_SAID = "give what the scheduler said"
_OF_CONTROLLERS = "that is for the controller to decide: submit it when it is to run"


class ActionRefused(Exception):
    """What can't be, where, and what to do."""

    def __init__(self, field: str, problem: str, remedy: str) -> None:
        super().__init__(f"{field}: {problem}; {remedy}")
        self.field = field
        self.problem = problem
        self.remedy = remedy


class Asked(Struct, frozen=True):
    """An action that can be."""

    spec: JobSpec
    files: tuple[tuple[str, bytes], ...]
    """By hash."""
    place: Place | None
    submitted_ms: int
    last_fence: int = 0
    """The highest that it ever had, as its controller knows."""


def check_id(action: str) -> None:
    if not 0 < len(action) <= LONGEST_ID or not action.isprintable():
        raise ActionRefused(
            "id", "can't be the id of an action", f"give up to {LONGEST_ID} characters that can be printed"
        )


class Intake:
    """Of one controller. Equal jobs are read once."""

    def __init__(self, controller: str, defaults: Defaults = DEFAULTS) -> None:
        self._controller = controller
        self._defaults = defaults
        self._jobs: dict[str, JobSpec] = {}

    def read(self, action: wire.Action, now_ms: int) -> Asked:
        """Raises ActionRefused."""
        check_id(action.id)
        if len(action.job) > LONGEST_JOB:
            raise ActionRefused("job", f"longer than {LONGEST_JOB:,}", "give what is long as a file")
        spec = self._jobs.get(action.job)
        if spec is None:
            spec = self._read_job(action.job)
            if len(self._jobs) >= _REMEMBERED:
                self._jobs.clear()
            self._jobs[action.job] = spec
        if action.files:
            spec = replace(spec, run=replace(spec.run, files=tuple(_files(action.files))))
        if action.output_bytes < 0:
            raise ActionRefused("output_bytes", f"{action.output_bytes} can't be", "give how much has come")
        if not 0 <= action.last_fence < _MOST_FENCE:
            raise ActionRefused(
                "last_fence", f"{action.last_fence} is not a fence that the scheduler gave", _AS_SAID
            )
        return Asked(
            spec,
            tuple((_hash(file.data), file.data) for file in action.files),
            _place(action.placement) if action.HasField("placement") else None,
            min(action.submitted_ms, now_ms) if action.submitted_ms > 0 else now_ms,
            action.last_fence,
        )

    def _read_job(self, text: str) -> JobSpec:
        try:
            submission = read_submission(f'{{"jobs": [{text}]}}'.encode(), DEFAULT_PROJECT, self._controller)
        except InputError as error:
            field = ".".join(map(str, ("job", *error.path[2:])))
            raise ActionRefused(field, error.problem, error.remedy or "correct it") from None
        entry = submission.entries[0]
        if len(submission.entries) > 1:
            raise ActionRefused("job", "these are several", "submit an action for each")
        _check_alone(entry)
        return replace(entry.spec, template=admit(entry.spec.template, self._defaults))


def _check_alone(entry: Entry) -> None:
    spec = entry.spec
    if entry.array is not None or spec.template.task_count != 1:
        field = "job.array" if entry.array is not None else "job.tasks"
        raise ActionRefused(field, "an action is one task", "submit an action for each")
    if spec.depends_on or spec.template.connect_to:
        field = "job.depends_on" if spec.depends_on else "job.connect_to"
        raise ActionRefused(field, "actions aren't ordered here", _OF_CONTROLLERS)
    if spec.held:
        raise ActionRefused("job.hold", "actions aren't held here", _OF_CONTROLLERS)
    if spec.retry != Retry():
        raise ActionRefused("job.retry", "actions aren't tried again here", "submit it again when it failed")
    if spec.run.files:
        raise ActionRefused("job.files", "there is nowhere to upload them", "give them as the action's files")


def _files(files: Iterable[wire.InlineFile]) -> list[InputFile]:
    found: list[InputFile] = []
    size_bytes = 0
    for index, file in enumerate(files):
        size_bytes += len(file.data)
        if size_bytes > LARGEST_FILES_BYTES or index >= _MOST_FILES:
            raise ActionRefused(
                "files",
                f"more than {_MOST_FILES}, or {LARGEST_FILES_BYTES >> 20} MiB together",
                "let the action fetch what is larger",
            )
        try:
            parts_of(file.path)
        except Leaves as error:
            raise ActionRefused(
                f"files.{index}.path", str(error), "give a path below the action's folder"
            ) from None
        found.append(InputFile(file.path, _hash(file.data), len(file.data), file.executable))
    return found


def _hash(data: bytes) -> str:
    return sha256(data).hexdigest()


def _place(placement: wire.Placement) -> Place:
    try:
        check_name(placement.node)
    except Refusal as refusal:
        raise ActionRefused("placement.node", str(refusal), _AS_SAID) from None
    if not 1 <= placement.fence < _MOST_FENCE or any(device < 0 for device in placement.gpu_devices):
        raise ActionRefused(
            "placement", f"{placement.fence} is not a fence that the scheduler gave", _AS_SAID
        )
    return Place(NodeName(placement.node), placement.fence, tuple(placement.gpu_devices))
