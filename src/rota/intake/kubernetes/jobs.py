"""Batch Jobs: the pods that they are yet to create."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import count, islice

from msgspec import structs

from rota.kube_objects.errors import FieldError, FieldPath
from rota.kube_objects.namespaces import namespace_of
from rota.kube_objects.objects.metadata import Metadata
from rota.kube_objects.objects.pods import Pod
from rota.kube_objects.objects.workloads import Job, JobStatus
from rota.kube_objects.pods import Note, PodReader, PodTask
from rota.model import job as model
from rota.model.ids import JobId, TaskName

MAX_TASKS = 1_000_000
TEMPLATE: FieldPath = ("spec", "template")
_ENDINGS = frozenset({"Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"})


class BatchJobReader:
    def __init__(self, pod_reader: PodReader, pods: Iterable[Pod], pod_names: Collection[TaskName]) -> None:
        self._pod_reader = pod_reader
        self._pod_names = pod_names
        self._missing = 0
        self._uids_of_active: defaultdict[tuple[str, str], list[str | None]] = defaultdict(list)
        for pod in filter(_is_active, pods):
            for owner in pod.metadata.owner_references or ():
                if owner.kind == "Job":
                    self._uids_of_active[namespace_of(pod.metadata), owner.name].append(owner.uid)

    def missing_pods(self, job: Job, note: Note) -> list[PodTask]:
        """Those that it would create now, all alike. FieldError where its template isn't valid."""
        pod = self._read_template(job, note)
        number = max(0, _wanted_pods(job) - self._active_pods(job))
        self._missing += number
        if self._missing > MAX_TASKS:
            problem = f"with this Job more than {MAX_TASKS:,} pods are yet to be created"
            raise FieldError(("spec", "parallelism"), problem, "lower it, or split the file")
        names = (TaskName(f"{pod.name}-{index}") for index in count())
        free = (name for name in names if name not in self._pod_names)
        return [structs.replace(pod, name=name) for name in islice(free, number)]

    def _read_template(self, job: Job, note: Note) -> PodTask:
        namespace, name = namespace_of(job.metadata), job.metadata.name or ""
        template = job.spec.template
        given = template.metadata or Metadata()
        metadata = Metadata(
            name=name,
            namespace=namespace,
            labels={"job-name": name, "batch.kubernetes.io/job-name": name, **(given.labels or {})},
            annotations=given.annotations,
            creation_timestamp=job.metadata.creation_timestamp,
        )
        pod = Pod(metadata, structs.replace(template.spec, node_name=None))
        try:
            task = self._pod_reader.read(pod, note)
        except FieldError as error:
            raise FieldError((*TEMPLATE, *error.path), error.problem, error.remedy) from None
        if template.spec.node_name:
            group = model.TaskGroup(structs.replace(task.spec, node_name=template.spec.node_name))
            task = structs.replace(task, template=structs.replace(task.template, groups=(group,)))
        # A pod of the same name is another job of the model already.
        is_taken = task.name in self._pod_names
        return structs.replace(task, batch_job=JobId(f"{namespace}/job:{name}" if is_taken else task.name))

    def _active_pods(self, job: Job) -> int:
        """By owner; a Job of the same name that was there before had another uid."""
        uid = job.metadata.uid
        uids = self._uids_of_active.get((namespace_of(job.metadata), job.metadata.name or ""), ())
        return sum(uid is None or one is None or one == uid for one in uids)


def as_job(pods: Sequence[PodTask]) -> model.JobRecord:
    """The pods of one Job; each may start by itself."""
    first = pods[0]
    group = model.TaskGroup(first.spec, len(pods))
    template = structs.replace(first.template, groups=(group,), min_available=1)
    names = tuple(pod.name for pod in pods)
    return model.JobRecord(model.Job(first.batch_job, template, first.submitted_ms, task_names=names))


def _is_active(pod: Pod) -> bool:
    """Counts for its Job: neither ended nor being deleted."""
    phase = pod.status.phase if pod.status else None
    return phase not in ("Succeeded", "Failed") and pod.metadata.deletion_timestamp is None


def _wanted_pods(job: Job) -> int:
    """How many it would have run at this time."""
    spec, status = job.spec, job.status or JobStatus()
    has_ended = any(one.type in _ENDINGS and one.status == "True" for one in status.conditions or ())
    if has_ended or spec.suspend or job.metadata.deletion_timestamp is not None:
        return 0
    succeeded = status.succeeded or 0
    parallelism = 1 if spec.parallelism is None else spec.parallelism
    if spec.completions is None and spec.parallelism is not None:
        # A work queue: after the first success the others only finish.
        return 0 if succeeded else parallelism
    return min(parallelism, (1 if spec.completions is None else spec.completions) - succeeded)
