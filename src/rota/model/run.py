"""What a job's tasks execute, and what becomes of the job when they end."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from rota.model.ids import JobId, Labels
from rota.model.job import JobTemplate
from rota.model.resources import Resources


class InputFile(Struct, frozen=True, cache_hash=True, omit_defaults=True):
    """Put into the task's folder before it starts: all of a job's files, or the task fails."""

    path: str
    """Where, relative to the task's folder."""
    sha256: str
    size_bytes: int
    executable: bool = False
    unpack: bool = False
    """A tar archive: its members are put in place below `path` instead."""


class Stdin(Enum):
    """What a task reads as its standard input."""

    NONE = "none"
    """Nothing: it ends at once."""
    PIPE = "pipe"
    """What the job's user sends while it runs."""
    TERMINAL = "terminal"
    """The same, and what it writes goes to that terminal, too."""


class Service(Struct, frozen=True, cache_hash=True, omit_defaults=True):
    """A container that runs beside each task, as a database for its tests, and is there before it starts."""

    name: str
    """By which the task reaches it."""
    image: str
    command: tuple[str, ...] = ()
    """Empty: that of its image."""
    environment: Labels = ()
    ready: tuple[str, ...] = ()
    """A command in its container: once that succeeds, the task starts. Empty: once the container runs."""
    requests: Resources = Resources()


WINDOW = (24, 80)
"""Rows and columns of a terminal of which nobody said how large it is."""


class Run(Struct, frozen=True, cache_hash=True, omit_defaults=True):
    """Either a command or a script. Every task executes it, and knows its rank from the environment."""

    command: tuple[str, ...] = ()
    script: str = ""
    """With its `#!` line; without one, for /bin/sh. `command` holds its arguments then."""
    directory: str = ""
    """Where it runs; empty: in a folder of its own that is removed when the task has ended."""
    environment: Labels = ()
    secrets: Labels = ()
    """Variables, each with the name of a secret of the project. Values are looked up when a task starts."""
    files: tuple[InputFile, ...] = ()
    outputs: tuple[str, ...] = ()
    """Files that are kept when a task has ended, relative to its folder; those that don't exist aren't."""
    warn_signal: str = "SIGTERM"
    warn_before_ms: int = 0
    """The signal is sent so long before the time limit; 0: not at all."""
    grace_ms: int = 10_000
    """Between SIGTERM and SIGKILL when the task is to stop."""
    slurm_names: bool = False
    """Its environment also has the names that scripts written for Slurm read: SLURM_JOB_ID and so on."""
    script_name: str = ""
    """What people call the script."""
    stdout: str = ""
    stderr: str = ""
    """Files that it writes to instead of what `rota logs` shows, below `directory` unless they begin with /.
    `%j` and so on stand for what `dispatch` puts there. Without a file of its own, stderr goes to that of
    stdout."""
    append: bool = False
    """To what these files hold already."""
    stdin: Stdin = Stdin.NONE
    window: tuple[int, int] = WINDOW
    """Of a terminal when it starts: rows and columns."""
    image: str = ""
    """Of the container that it runs in; empty: the backend's, or none where it has no containers."""
    services: tuple[Service, ...] = ()

    @property
    def takes_input(self) -> bool:
        return self.stdin is not Stdin.NONE


MOST_RETRIES = 1000
"""Of one job, whatever it asks for."""
BACKOFF_MS, MAX_BACKOFF_MS = 10_000, 3_600_000


class Retry(Struct, frozen=True, cache_hash=True, omit_defaults=True):
    """How often a job that failed is tried again, and after which pause. Tasks that were evicted or lost
    with their node are tried again without counting."""

    limit: int = 0
    backoff_ms: int | None = None
    """Before the first retry; doubled each time, with jitter of up to a half more. None: as the policy says
    when the job comes in, or else BACKOFF_MS."""
    max_backoff_ms: int | None = None
    """None: as the policy says, or else MAX_BACKOFF_MS."""
    exit_codes: tuple[int, ...] = ()
    """Only after these; empty: after any."""


class OnTaskFailure(Enum):
    """What becomes of a job of several tasks when one of them fails."""

    FAIL_JOB = "fail-job"
    RESTART_JOB = "restart-job"
    RESTART_TASK = "restart-task"
    CONTINUE = "continue"
    """Goes on while as many tasks as `min_available` run or have succeeded."""


class After(Enum):
    SUCCESS = "success"
    FAILURE = "failure"
    ANY = "any"


class Dependency(Struct, frozen=True, cache_hash=True, omit_defaults=True):
    """It may start once that job has ended so."""

    job: JobId
    after: After = After.SUCCESS


class JobSpec(Struct, frozen=True, omit_defaults=True):
    """All that a user said of a job, and what its limits made of it when it came in."""

    template: JobTemplate
    run: Run
    name: str = ""
    retry: Retry = Retry()
    on_task_failure: OnTaskFailure = OnTaskFailure.FAIL_JOB
    depends_on: tuple[Dependency, ...] = ()
    held: bool = False
    """Waits until somebody releases it."""
    wait_for_nodes: bool = False
    """It is kept waiting, rather than refused, if no node that is there could ever run it."""
    start_after_ms: int = 0
    start_before_ms: int | None = None
    deadline_ms: int | None = None
    """It must have ended by then: it has to start a time limit earlier, and is ended then at the latest."""
    array_index: int | None = None
    """One of an array of equal jobs; its index is in the environment."""
    log_bytes: int | None = None
    """Not the user's to say: by the limits of the policy so much is kept of each task's output."""
