"""How jobs with an image and nodes that run images find each other: by a fact of the node, and a taint."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from rota.model.job import JobTemplate
from rota.model.node import FACTS
from rota.model.resources import Resources
from rota.model.run import Run, Service
from rota.model.taints import Effect, Taint, Toleration
from rota.model.task import TaskSpec

RUNS_IMAGES = (f"{FACTS}containers", "yes")
"""The label of nodes that run a job's image. Jobs that name an image select it."""
IMAGE_NEEDED = Taint(f"{FACTS}image", Effect.NO_SCHEDULE, "needed")
"""Of nodes that have no image for jobs that name none. Jobs that do tolerate it."""
HAS_IMAGE = Toleration(IMAGE_NEEDED.key, value=IMAGE_NEEDED.value, effect=IMAGE_NEEDED.effect)


DEFAULT_REQUESTS = Resources(cpu_milli=250, memory_bytes=512 << 20)
"""Of tasks with an image that ask for nothing: their containers are given that, so it counts."""


def on_nodes_with_images(template: JobTemplate, run: Run) -> JobTemplate:
    """The same for a job that runs in an image. To do it twice is to do it once."""
    groups = tuple(replace(group, spec=_in_image(group.spec, run)) for group in template.groups)
    return replace(template, groups=groups)


def _in_image(spec: TaskSpec, run: Run) -> TaskSpec:
    others = tuple(label for label in spec.node_selector if label[0] != RUNS_IMAGES[0])
    return replace(
        spec,
        requests=_requests(spec.requests, spec.limits),
        overhead=_of_services(run.services) if run.services else spec.overhead,
        node_selector=tuple(sorted((*others, RUNS_IMAGES))),
        tolerations=spec.tolerations if HAS_IMAGE in spec.tolerations else (*spec.tolerations, HAS_IMAGE),
        images=tuple(sorted({*spec.images, run.image, *(service.image for service in run.services)})),
    )


def _of_services(services: Iterable[Service]) -> Resources:
    """They take their room beside the task."""
    total = Resources()
    for service in services:
        total = total.plus(service_requests(service))
    return total


def service_requests(service: Service) -> Resources:
    return _requests(service.requests, Resources())


def _requests(asked: Resources, limits: Resources) -> Resources:
    """Where it has a limit, that is what it asks for, as everywhere."""
    return replace(
        asked,
        cpu_milli=asked.cpu_milli or limits.cpu_milli or DEFAULT_REQUESTS.cpu_milli,
        memory_bytes=asked.memory_bytes or limits.memory_bytes or DEFAULT_REQUESTS.memory_bytes,
    )
