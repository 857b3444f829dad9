"""A Pod as a task of the model."""

from collections.abc import Callable, Mapping
from enum import Enum
from operator import attrgetter
from typing import NamedTuple, TypeAlias

import msgspec
from msgspec import Struct, structs

from rota.kube_objects.affinity import AffinityReader, as_spread
from rota.kube_objects.belonging import NOTHING_SAID, Belonging, belonging_of, is_of_its_node
from rota.kube_objects.errors import FieldError
from rota.kube_objects.gpus import GPU_DEVICE, GpuWish, SharedGpus, device_of, gpu_wish, with_gpus
from rota.kube_objects.namespaces import Namespaces, namespace_of
from rota.kube_objects.objects.affinity import NodeAffinity
from rota.kube_objects.objects.pods import Pod, PodNeeds, PodSpec, PodStatus
from rota.kube_objects.priority import PriorityClasses
from rota.kube_objects.resources import (
    as_resources,
    is_resize_infeasible,
    pod_limits,
    pod_requests,
    read_amounts,
)
from rota.kube_objects.selectors import as_labels, node_term, node_terms
from rota.kube_objects.taints import as_toleration
from rota.kube_objects.times import as_ms
from rota.kube_objects.volumes import VolumeReader
from rota.model.ids import JobId, NodeName, QueueName, TaskName
from rota.model.interning import Interned
from rota.model.job import Job, JobRecord, JobTemplate, Placement, TaskGroup
from rota.model.quantities import CountOrPercent, QuantityError, parse_count_or_percent
from rota.model.resources import HostPort
from rota.model.selectors import PreferredNodeTerm
from rota.model.task import ENDING, TaskSpec, one_at_a_time

DEFAULT_SCHEDULER = "default-scheduler"
"""Every pod that names no scheduler gets this name in Kubernetes: it stands for no choice."""


class GangKeys(NamedTuple):
    """How pods say which gang they belong to, and how many of it must start together."""

    label: str = "batch.scheduling.k8s.io/gang"
    annotation: str = "batch.scheduling.k8s.io/min-available"


DEFAULT_GANG_KEYS = GangKeys()


class PodState(Enum):
    WAITING = "waiting"
    GATED = "gated"
    RUNNING = "running"
    DONE = "done"
    """It has succeeded, or runs out of reach: there is nothing to decide about it."""
    GONE = "gone"
    """It failed, or was deleted before it ran."""


NO_SHARED_GPUS = SharedGpus()

Note: TypeAlias = Callable[[str, str], None]
"""Takes a reason, and the name of what it is about."""


def no_note(_reason: str, _subject: str) -> None:
    """In a live cluster nothing is left out."""


class PodTask(Struct, frozen=True):
    """A pod as a task, while it is open whether it is a job of its own or one of a gang."""

    name: TaskName
    state: PodState
    template: JobTemplate
    """Of the pod as a job of its own."""
    submitted_ms: int
    node: NodeName = NodeName("")
    started_ms: int = 0
    gang: str = ""
    min_available: CountOrPercent | None = None
    batch_job: JobId = JobId("")
    """The Job that is yet to create it, as a job of the model."""
    gpu_devices: tuple[int, ...] = ()
    """Of a pod that runs: of which it has a share."""

    @property
    def spec(self) -> TaskSpec:
        return self.template.groups[0].spec

    def placement(self, rank: int) -> Placement:
        return Placement(rank, self.node, self.started_ms, self.gpu_devices)

    def as_job(self) -> JobRecord:
        job = Job(JobId(self.name), self.template, self.submitted_ms, task_names=(self.name,))
        return JobRecord(job, (self.placement(0),) if self.state is PodState.RUNNING else ())


class PodReader:
    """Reads pods in the light of the objects around them. Equal pods share one spec and template."""

    def __init__(
        self,
        priorities: PriorityClasses,
        namespaces: Namespaces,
        volumes: VolumeReader,
        gang_keys: GangKeys,
        shared_gpus: SharedGpus = NO_SHARED_GPUS,
    ) -> None:
        self._priorities = priorities
        self._namespaces = namespaces
        self._volumes = volumes
        self._gang_keys = gang_keys
        self._shared_gpus = shared_gpus
        self._undated = 0
        self._spec_by_needs: dict[bytes, TaskSpec] = {}
        self._specs: Interned[TaskSpec] = Interned()
        self._templates: Interned[JobTemplate] = Interned()

    def read(self, pod: Pod, note: Note = no_note) -> PodTask:
        """FieldError where the pod isn't valid. `note` is called with what isn't known and is left out."""
        namespace, name = namespace_of(pod.metadata), pod.metadata.name or ""
        status = pod.status or _NO_STATUS
        if pod.spec.resource_claims and _state(pod, status) is PodState.WAITING:
            # On a node without its devices, the kubelet wouldn't let it start.
            raise FieldError(
                ("spec", "resourceClaims"),
                "devices that are claimed (ResourceClaims) can't be given to it",
                "ask for devices as extended resources, or leave the pod to kube-scheduler",
            )
        wish, device = self._gpus(pod)
        created_ms = as_ms(pod.metadata.creation_timestamp)
        gang = (pod.metadata.labels or {}).get(self._gang_keys.label, "")
        return PodTask(
            name=TaskName(f"{namespace}/{name}"),
            state=_state(pod, status),
            template=self._template(pod, namespace, name, wish, note),
            submitted_ms=created_ms or self._next_undated(),
            node=NodeName(pod.spec.node_name or ""),
            started_ms=as_ms(status.start_time) or created_ms,
            gpu_devices=() if device is None else (device,),
            gang=gang,
            min_available=self._min_available(pod.metadata.annotations) if gang else None,
        )

    def _gpus(self, pod: Pod) -> tuple[GpuWish | None, int | None]:
        """What it asks for beyond resources, and which device it has. One that runs has what it was given by
        us, whatever it says."""
        if not pod.spec.node_name:
            return gpu_wish(pod), None
        if GPU_DEVICE not in (pod.metadata.annotations or ()):
            return None, None
        try:
            wish = gpu_wish(pod)
        except FieldError:
            return None, None
        device = device_of(pod, wish, self._shared_gpus)
        return (None, None) if device is None else (wish, device)

    def _next_undated(self) -> int:
        """Pods that were never created come before all others, in the order in which they were written."""
        self._undated += 1
        return self._undated - 1

    def _template(self, pod: Pod, namespace: str, name: str, wish: GpuWish | None, note: Note) -> JobTemplate:
        spec, priority = pod.spec, self._priorities.of(pod.spec)
        if not self._priorities.knows(spec):
            note(
                f"its priority class {spec.priority_class_name} is not in these files, so it has none",
                f"{namespace}/{name}",
            )
        deadline_s = spec.active_deadline_seconds
        said = _belonging(pod)
        task = self._task_spec(pod, namespace, note)
        if said.exclusive or is_of_its_node(pod.metadata):
            task = self._specs(
                structs.replace(task, exclusive=said.exclusive, of_its_node=not said.exclusive)
            )
        if wish is not None:
            task = self._specs(with_gpus(task, wish, self._shared_gpus))
        return self._templates(
            JobTemplate(
                groups=(TaskGroup(task),),
                namespace=namespace,
                project=said.project or namespace,
                user=said.user or "default",
                queue=QueueName(said.queue or "default"),
                scheduler="" if spec.scheduler_name == DEFAULT_SCHEDULER else spec.scheduler_name or "",
                priority=priority.value,
                may_preempt=priority.may_preempt,
                time_limit_ms=None if deadline_s is None else 1000 * deadline_s,
            )
        )

    def _task_spec(self, pod: Pod, namespace: str, note: Note) -> TaskSpec:
        needs = _encode_needs(pod, namespace)
        spec = self._spec_by_needs.get(needs)
        if spec is None:
            spec = self._specs(self._read_spec(pod, namespace, note))
            self._spec_by_needs[needs] = spec
        if pod.spec.node_name and pod.metadata.deletion_timestamp is not None:
            spec = self._specs(structs.replace(spec, labels=tuple(sorted((*spec.labels, ENDING)))))
        return self._specs(self._with_volumes(spec, pod)) if pod.spec.volumes else spec

    def _with_volumes(self, spec: TaskSpec, pod: Pod) -> TaskSpec:
        needs = self._volumes.needs_of(pod)
        alone = [one_at_a_time(name) for name in needs.alone]
        return structs.replace(
            spec,
            volume_nodes=needs.nodes,
            attached=needs.attached,
            labels=tuple(sorted((*spec.labels, *(label for label, _ in alone)))),
            job_affinity=(*spec.job_affinity, *(rule for _, rule in alone)),
        )

    def _read_spec(self, pod: Pod, namespace: str, note: Note) -> TaskSpec:
        spec, labels = pod.spec, pod.metadata.labels
        affinity = AffinityReader(namespace, labels, self._namespaces)
        requests = pod_requests(pod)
        # To the model a limit without a request is a request. In Kubernetes a request of 0 is one of 0.
        limits = {name: limit for name, limit in pod_limits(pod).items() if requests.get(name)}
        node_affinity = (spec.affinity and spec.affinity.node_affinity) or NodeAffinity()
        task = TaskSpec(
            requests=as_resources(requests),
            limits=as_resources(limits),
            overhead=as_resources(read_amounts(spec.overhead, ("spec", "overhead"))),
            ports=_host_ports(spec),
            labels=as_labels(labels),
            node_selector=as_labels(spec.node_selector),
            node_affinity=node_terms(node_affinity.required),
            preferred_nodes=tuple(
                PreferredNodeTerm(one.weight, term)
                for one in node_affinity.preferred or ()
                if (term := node_term(one.preference)) is not None
            ),
            job_affinity=affinity.read(spec),
            spread=tuple(as_spread(one, labels) for one in spec.topology_spread_constraints or ()),
            tolerations=tuple(as_toleration(one) for one in spec.tolerations or ()),
            runtime=spec.runtime_class_name or "",
            images=_images(spec),
        )
        for unknown in sorted(affinity.unknown_namespaces):
            note("its labels are not in these files, so namespaceSelectors miss it", unknown)
        return task

    def _min_available(self, annotations: Mapping[str, object] | None) -> CountOrPercent | None:
        key = self._gang_keys.annotation
        if annotations is None or key not in annotations:
            return None
        path = ("metadata", "annotations", key)
        try:
            wanted = parse_count_or_percent(annotations[key])
        except QuantityError as error:
            raise FieldError(path, error.problem, error.remedy) from None
        if not wanted.count and not wanted.percent_hundredths:
            raise FieldError(path, f"a gang can't start with {wanted} of its pods", "give at least 1")
        return wanted


def _belonging(pod: Pod) -> Belonging:
    """FieldError: what it says can't be used. Of a pod that runs already that matters to nobody."""
    try:
        return belonging_of(pod.metadata)
    except FieldError:
        if not pod.spec.node_name:
            raise
        return NOTHING_SAID


def _state(pod: Pod, status: PodStatus) -> PodState:
    if status.phase == "Succeeded":
        return PodState.DONE
    if status.phase == "Failed":
        return PodState.GONE
    if pod.spec.node_name:
        return PodState.RUNNING
    if pod.metadata.deletion_timestamp is not None:
        return PodState.GONE
    return PodState.GATED if pod.spec.scheduling_gates else PodState.WAITING


_NO_STATUS = PodStatus()
_needs_of = attrgetter(*PodNeeds.__struct_fields__)
_encode = msgspec.json.Encoder().encode


def _encode_needs(pod: Pod, namespace: str) -> bytes:
    """All that a task's spec is made of: most of what differs between pods of one kind isn't in it."""
    status = pod.status or _NO_STATUS
    resizing = (status.container_statuses, status.init_container_statuses, is_resize_infeasible(status))
    return _encode((namespace, pod.metadata.labels, _needs_of(pod.spec), resizing))


def _images(spec: PodSpec) -> tuple[str, ...]:
    """Under the names that nodes have them by."""
    containers = (*(spec.init_containers or ()), *(spec.containers or ()))
    return tuple(sorted(_full_name(container.image) for container in containers if container.image))


def _full_name(image: str) -> str:
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


def _host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    """Of what runs side by side; with the host's network every port is one of the host."""
    sidecars = (container for container in spec.init_containers or () if container.is_sidecar)
    found = set()
    for container in (*(spec.containers or ()), *sidecars):
        for port in container.ports or ():
            number = port.host_port or (port.container_port if spec.host_network else 0)
            if number:
                address = "" if port.host_ip in (None, "0.0.0.0") else port.host_ip
                found.add(HostPort(number, port.protocol or "TCP", address or ""))
    return tuple(sorted(found, key=lambda port: (port.port, port.protocol, port.address)))
