"""Nodes that have a task's images already."""

import numpy as np
import pytest

from rota.engine.plugin import TaskView
from rota.model.ids import NodeName
from rota.model.job import JobTemplate, TaskGroup
from rota.model.node import Node, NodeSpec
from rota.model.resources import Resources
from rota.model.task import TaskSpec
from rota.plugins.images import ImageScore
from rota.snapshot.demand import demand_of
from rota.snapshot.nodes import build_columns
from rota.snapshot.rows import ResourceRows

pytestmark = pytest.mark.covers("decide-7", "kube-3")

MB = 1024 * 1024


def rated(nodes: dict[str, dict[str, int]], *images: str, **more: object) -> list[int] | None:
    index = ResourceRows(())
    spec = NodeSpec(Resources(cpu_milli=1000))
    held = [Node(NodeName(name), spec, images=images) for name, images in nodes.items()]
    task = TaskSpec(images=images, **more)  # type: ignore[arg-type]
    view = TaskView(JobTemplate((TaskGroup(task),)), task, demand_of(task, index))
    rating = ImageScore().rate(view, build_columns(held, (), index, 1))
    return None if rating is None else rating.values.tolist()


def test_more_of_its_images_are_better() -> None:
    everywhere = {"a:1": 600 * MB}
    found = rated({"m": everywhere, "n": {**everywhere, "b:1": 900 * MB}}, "a:1", "b:1")
    # (600 - 23) and (600 + 900 / 2 - 23), of 2000 - 23: the second is on half of the nodes.
    assert found == [577 * 1000 // 1977, 1027 * 1000 // 1977]


def test_small_images_make_no_difference_and_large_ones_no_more_than_large() -> None:
    assert rated({"m": {"a:1": 22 * MB}, "n": {"a:1": 22 * MB}}, "a:1") is None
    assert rated({"m": {"a:1": 5000 * MB}, "n": {"a:1": 9000 * MB}}, "a:1") == [1000, 1000]


def test_what_few_nodes_have_counts_for_less() -> None:
    alone = rated({"l": {"a:1": 500 * MB}, "m": {}, "n": {}}, "a:1")
    common = rated({"l": {"a:1": 500 * MB}, "m": {"a:1": 500 * MB}, "n": {}}, "a:1")
    assert alone is not None
    assert common is not None
    assert 0 < alone[0] < common[0] < 1000
    assert alone[1:] == [0, 0]


def test_nothing_is_said_where_nothing_is_known() -> None:
    assert rated({"m": {}, "n": {}}, "a:1") is None
    assert rated({"m": {"a:1": 900 * MB}}) is None
    assert rated({"m": {"a:1": 900 * MB}, "n": {}}, "b:1") is None


def test_who_says_where_its_data_is_goes_by_that() -> None:
    assert rated({"m": {"a:1": 900 * MB}}, "a:1", near=(("zone", "z"),)) is None


def test_sums_of_large_images_stay_numbers() -> None:
    found = rated({"m": {f"i{n}:1": 2**42 for n in range(50)}}, *(f"i{n}:1" for n in range(50)))
    assert found == [1000]
    assert np.iinfo(np.int64).max > 2**42 * 50
