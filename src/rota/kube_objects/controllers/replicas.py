"""Deployments, ReplicaSets, ReplicationControllers, StatefulSets, and bare templates."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from rota.kube_objects.controllers.to_come import (
    TEMPLATE,
    MadePod,
    PodSet,
    PodsToCome,
    Surroundings,
    absent,
    name_of,
    numbered,
    one_or,
)
from rota.kube_objects.namespaces import namespace_of
from rota.kube_objects.objects.controllers import (
    BarePodTemplate,
    Deployment,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from rota.kube_objects.objects.pods import PodTemplate
from rota.kube_objects.objects.volumes import ClaimVolume, Volume

_POD_NAME, _POD_INDEX = "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"


def of_replicas(
    found: Deployment | ReplicaSet | ReplicationController, around: Surroundings
) -> Iterator[PodsToCome]:
    spec = found.spec
    if spec.paused:
        return
    number = one_or(spec.replicas) - around.active_of(type(found).__name__, found.metadata)
    pods = numbered(found, name_of(found), number, around)
    yield PodsToCome(name_of(found), (PodSet(spec.template, TEMPLATE, pods),))


def of_stateful_set(found: StatefulSet, around: Surroundings) -> Iterator[PodsToCome]:
    """Its pods keep their names and their claims. Each is known by itself."""
    spec, name = found.spec, name_of(found)
    first = (spec.ordinals and spec.ordinals.start) or 0
    named = (
        MadePod(f"{name}-{index}", {_POD_NAME: f"{name}-{index}", _POD_INDEX: str(index)})
        for index in range(first, first + one_or(spec.replicas))
    )
    for pod in absent(found, named, around):
        template = _with_claims(found, pod.name, around)
        yield PodsToCome(pod.name, (PodSet(template, TEMPLATE, (pod,)),))


def _with_claims(found: StatefulSet, pod: str, around: Surroundings) -> PodTemplate:
    """With those of its claims that are there already: their volumes may be on certain nodes. The others are
    made with the pod."""
    spec, namespace = found.spec, namespace_of(found.metadata)
    volumes = list(spec.template.spec.volumes or ())
    for claim in spec.volume_claim_templates or ():
        claim_name = f"{claim.metadata.name}-{pod}"
        if (namespace, claim_name) in around.claims:
            volume = Volume(name=claim.metadata.name or "", persistent_volume_claim=ClaimVolume(claim_name))
            volumes.append(volume)
    return replace(spec.template, spec=replace(spec.template.spec, volumes=volumes or None))


def of_bare_template(found: BarePodTemplate, around: Surroundings) -> Iterator[PodsToCome]:
    pod = MadePod(name_of(found))
    if not around.is_there(found.metadata, pod.name):
        yield PodsToCome(pod.name, (PodSet(found.template, ("template",), (pod,)),))
