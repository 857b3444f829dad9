from __future__ import annotations

import pytest

from rota.model.containers import HAS_IMAGE, IMAGE_NEEDED, RUNS_IMAGES, on_nodes_with_images
from rota.model.job import JobTemplate, TaskGroup
from rota.model.task import TaskSpec

pytestmark = pytest.mark.covers("back-3")


def test_a_job_with_an_image_goes_to_nodes_that_run_images() -> None:
    template = JobTemplate(groups=(TaskGroup(TaskSpec(node_selector=(("zone", "a"),))),))
    found = on_nodes_with_images(template, "python:3.12")
    spec = found.groups[0].spec
    assert spec.node_selector == (RUNS_IMAGES, ("zone", "a"))
    assert spec.images == ("python:3.12",)
    assert spec.tolerations == (HAS_IMAGE,)
    assert HAS_IMAGE.tolerates(IMAGE_NEEDED)
    assert on_nodes_with_images(found, "python:3.12") == found
