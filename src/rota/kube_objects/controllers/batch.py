"""Jobs, CronJobs and JobSets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rota.kube_objects.controllers.to_come import (
    TEMPLATE,
    MadePod,
    PodSet,
    PodsToCome,
    Surroundings,
    check_count,
    name_of,
    numbered,
    one_or,
)
from rota.kube_objects.errors import FieldPath
from rota.kube_objects.objects.controllers import CronJob, JobSet, ReplicatedJob
from rota.kube_objects.objects.metadata import Condition, Metadata
from rota.kube_objects.objects.workloads import Job, JobSpec, JobStatus

_ENDINGS = frozenset({"Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"})
_OVER = frozenset({"Completed", "Failed"})
"""Of a JobSet."""
_INDEX = "batch.kubernetes.io/job-completion-index"
_JOB_SET = "jobset.sigs.k8s.io/"


def of_job(found: Job, around: Surroundings) -> Iterator[PodsToCome]:
    if found.metadata.deletion_timestamp is None:
        number = _wanted_pods(found.spec, found.status or JobStatus())
        number -= around.active_of("Job", found.metadata)
        yield PodsToCome(name_of(found), (_of_spec(found, found.spec, TEMPLATE, number, around),))


def of_cron_job(found: CronJob, around: Surroundings) -> Iterator[PodsToCome]:
    """As if it were due now."""
    job = found.spec.job_template
    if not found.spec.suspend:
        at = ("spec", "jobTemplate", *TEMPLATE)
        number = _wanted_pods(job.spec, JobStatus())
        yield PodsToCome(name_of(found), (_of_spec(found, job.spec, at, number, around),))


def _of_spec(found: Job | CronJob, spec: JobSpec, at: FieldPath, number: int, around: Surroundings) -> PodSet:
    name = name_of(found)
    pods = numbered(found, name, number, around)
    if spec.completion_mode == "Indexed":
        pods = tuple(MadePod(one.name, {_INDEX: one.name.rpartition("-")[2]}) for one in pods)
    return PodSet(spec.template, at, pods, _labels_of_job(name))


def _labels_of_job(name: str) -> dict[str, str]:
    return {"job-name": name, "batch.kubernetes.io/job-name": name}


def _wanted_pods(spec: JobSpec, status: JobStatus) -> int:
    """How many it would have run at this time."""
    if _has(_ENDINGS, status.conditions) or spec.suspend:
        return 0
    succeeded = status.succeeded or 0
    parallelism = one_or(spec.parallelism)
    if spec.completions is None and spec.parallelism is not None:
        # A work queue: after the first success the others only finish.
        return 0 if succeeded else parallelism
    return min(parallelism, one_or(spec.completions) - succeeded)


def _has(types: frozenset[str], conditions: Iterable[Condition] | None) -> bool:
    return any(one.type in types and one.status == "True" for one in conditions or ())


# -- JobSets


def of_job_set(found: JobSet, around: Surroundings) -> Iterator[PodsToCome]:
    """All its Jobs start together."""
    conditions = found.status.conditions if found.status else None
    if found.spec.suspend or _has(_OVER, conditions) or around.active_of("JobSet", found.metadata):
        return
    sets = tuple(
        pods
        for index, replicated in enumerate(found.spec.replicated_jobs or ())
        for pods in _of_replicated(found, replicated, ("spec", "replicatedJobs", index), around)
    )
    yield PodsToCome(name_of(found), sets, together=sum(len(one.pods) for one in sets))


def _of_replicated(
    found: JobSet, replicated: ReplicatedJob, at: FieldPath, around: Surroundings
) -> Iterator[PodSet]:
    name = replicated.name or "job"
    spec = replicated.template.spec
    number = _wanted_pods(spec, JobStatus())
    check_count(number * one_or(replicated.replicas), (*at, "replicas"))
    for job_index in range(one_or(replicated.replicas)):
        job = f"{name_of(found)}-{name}-{job_index}"
        labels = {
            **_labels_of_job(job),
            f"{_JOB_SET}jobset-name": name_of(found),
            f"{_JOB_SET}replicatedjob-name": name,
            f"{_JOB_SET}replicatedjob-replicas": str(one_or(replicated.replicas)),
            f"{_JOB_SET}job-index": str(job_index),
        }
        labels |= (replicated.template.metadata or Metadata()).labels or {}
        pods = tuple(MadePod(f"{job}-{index}", {_INDEX: str(index)}) for index in range(number))
        yield PodSet(spec.template, (*at, "template", *TEMPLATE), pods, labels)
