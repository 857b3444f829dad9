"""Names and labels of a job's objects: valid whatever the job is called, no two alike, always the same."""

from __future__ import annotations

import hashlib
import re

from rota.backends.backend import TaskRef
from rota.model.ids import JobId

PREFIX = "act-job-"
LABELS = "act.nektos.com/"
WORKFLOW, JOB, RUN_ID = f"{LABELS}workflow", f"{LABELS}job", f"{LABELS}run-id"
BACKEND, INSTANCE = f"{LABELS}backend", f"{LABELS}instance"
KIND = "kubernetes"
"""The value of BACKEND on all that this backend makes."""

MOST_CHARACTERS = 63
_HASH_CHARACTERS = 11
_NOT_IN_LABELS = re.compile(r"[^A-Za-z0-9._-]+")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9.]+")
_NOT_IN_HOSTS = re.compile(r"[^a-z0-9]+")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def pod_name(ref: TaskRef) -> str:
    """As in act-job-12, and act-job-12-r3 for its rank 3."""
    return _fitted(ref.job, _NOT_IN_NAMES, f"-r{ref.rank}" if ref.rank else "")


def pod_name_of_start(ref: TaskRef) -> str:
    """Where the other one is taken by an earlier start of the task."""
    rank = f"-r{ref.rank}" if ref.rank else ""
    return _fitted(ref.job, _NOT_IN_NAMES, f"{rank}-f{_base36(ref.fence)}")


def host_name(ref: TaskRef) -> str:
    """Within `service_name`: the first label of the address of a task."""
    return _fitted(ref.job, _NOT_IN_HOSTS, f"-r{ref.rank}")


def service_name(job: JobId) -> str:
    """Also that of what else there is once for all tasks of a job."""
    return _fitted(job, _NOT_IN_HOSTS, "")


def of_instance(beginning: str, instance: str) -> str:
    """Of what there is once for all jobs of a server."""
    valid = _NOT_IN_HOSTS.sub("-", instance.lower()).strip("-")
    if valid != instance or len(beginning) + len(valid) >= MOST_CHARACTERS:
        valid = _with_hash(valid[:20].rstrip("-"), instance)
    return f"{beginning}-{valid}"


def label_value(text: str) -> str:
    valid = _NOT_IN_LABELS.sub("-", text).strip("-._")
    if valid == text and len(text) <= MOST_CHARACTERS:
        return text
    return _with_hash(valid[: MOST_CHARACTERS - _HASH_CHARACTERS - 1].rstrip("-._"), text)


def _fitted(job: JobId, not_allowed: re.Pattern[str], end: str) -> str:
    room = MOST_CHARACTERS - len(PREFIX) - len(end)
    valid = re.sub(r"\.[.-]+|-\.", "-", not_allowed.sub("-", job.lower())).strip("-.")
    if valid != job or len(valid) > room or _could_be_anothers(valid):
        valid = _with_hash(valid[: room - _HASH_CHARACTERS - 1].rstrip("-."), job)
    return f"{PREFIX}{valid}{end}"


def _could_be_anothers(name: str) -> bool:
    """It ends as names of ranks, starts, or of what was made valid do."""
    return re.search(r"-(r[0-9]+|f[0-9a-z]+|x[0-9a-f]{10})$", name) is not None


def _with_hash(beginning: str, text: str) -> str:
    digest = hashlib.sha256(text.encode()).hexdigest()[: _HASH_CHARACTERS - 1]
    return f"{beginning}-x{digest}" if beginning else f"x{digest}"


def _base36(number: int) -> str:
    digits = ""
    while True:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
        if not number:
            return digits
