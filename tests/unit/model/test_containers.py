from __future__ import annotations

import pytest

from rota.model.containers import HAS_IMAGE, IMAGE_NEEDED, RUNS_IMAGES, on_nodes_with_images
from rota.model.job import JobTemplate, TaskGroup
from rota.model.resources import Resources
from rota.model.run import Run, Service
from rota.model.task import TaskSpec

pytestmark = pytest.mark.covers("back-3")


def test_a_job_with_an_image_goes_to_nodes_that_run_images() -> None:
    template = JobTemplate(groups=(TaskGroup(TaskSpec(node_selector=(("zone", "a"),))),))
    found = on_nodes_with_images(template, Run(image="python:3.12"))
    spec = found.groups[0].spec
    assert spec.node_selector == (RUNS_IMAGES, ("zone", "a"))
    assert spec.images == ("python:3.12",)
    assert spec.tolerations == (HAS_IMAGE,)
    assert HAS_IMAGE.tolerates(IMAGE_NEEDED)
    assert spec.requests == Resources(250, 512 << 20)
    assert on_nodes_with_images(found, Run(image="python:3.12")) == found


@pytest.mark.covers("pod-4")
@pytest.mark.parametrize(
    "asked, limits, counted",
    [
        (Resources(50), Resources(), Resources(50, 512 << 20)),
        (Resources(0, 7), Resources(100), Resources(100, 7)),
        (Resources(1, 2, 3), Resources(4, 5), Resources(1, 2, 3)),
    ],
)
def test_what_its_container_is_given_counts(asked: Resources, limits: Resources, counted: Resources) -> None:
    template = JobTemplate(groups=(TaskGroup(TaskSpec(requests=asked, limits=limits)),))
    assert on_nodes_with_images(template, Run(image="i")).groups[0].spec.requests == counted


@pytest.mark.covers("pod-1")
def test_services_take_their_room_beside_it() -> None:
    services = (Service("a", "db:1", requests=Resources(1000, 1 << 30)), Service("b", "cache:1"))
    run = Run(image="i", services=services)
    template = JobTemplate(groups=(TaskGroup(TaskSpec(requests=Resources(1, 1))),))
    found = on_nodes_with_images(template, run)
    spec = found.groups[0].spec
    assert spec.overhead == Resources(1250, (1 << 30) + (512 << 20))
    assert spec.images == ("cache:1", "db:1", "i")
    assert on_nodes_with_images(found, run) == found
