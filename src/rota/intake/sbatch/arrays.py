"""What a script finds out about the array that it is in, as a whole."""

from collections.abc import Sequence
from itertools import pairwise

from msgspec.structs import replace

from rota.intake.job_files import JobData, JobFile


def with_array_names(jobs: JobFile) -> JobFile:
    """Its jobs know how many indexes there are, and which: the server gives each only its own."""
    entries = jobs.submission.entries
    return replace(
        jobs, jobs=tuple(_named(job, entry.array) for job, entry in zip(jobs.jobs, entries, strict=True))
    )


def _named(job: JobData, array: Sequence[int] | None) -> JobData:
    if not array:
        return job
    steps = {after - before for before, after in pairwise(array)}
    about = {
        "SLURM_ARRAY_TASK_COUNT": str(len(array)),
        "SLURM_ARRAY_TASK_MIN": str(min(array)),
        "SLURM_ARRAY_TASK_MAX": str(max(array)),
        "SLURM_ARRAY_TASK_STEP": str(steps.pop() if len(steps) == 1 else 1),
    }
    return {**job, "environment": {**job.get("environment", {}), **about}}
