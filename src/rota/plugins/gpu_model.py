"""GPU tasks that need certain models of GPU."""

from collections.abc import Iterable, Iterator
from typing import ClassVar

import numpy as np
from msgspec.structs import replace

from rota.engine.loosening import Loosening, SpecChange, with_specs
from rota.engine.plugin import Bools, NodeFilter, TaskView
from rota.model.explanation import TypedChange
from rota.model.gpu_models import is_model
from rota.model.job import JobTemplate
from rota.model.resources import GpuRequest
from rota.model.task import TaskSpec
from rota.model.verdict import CLUSTER, Reason, Rule, TypedReason, never
from rota.snapshot.nodes import NodeColumns


class OtherGpuModel(TypedReason, frozen=True, tag="gpu model"):
    """None of the models that would do."""

    rule: ClassVar[Rule] = never("gpu-model", *CLUSTER)
    models: tuple[str, ...]


class AllowGpuModel(TypedChange, frozen=True, tag="gpu model"):
    size: ClassVar[float] = 0.45
    model: str


class GpuModelFilter(NodeFilter):
    def passes(self, task: TaskView, nodes: NodeColumns) -> Bools | None:
        gpu = task.spec.gpu
        if not gpu.count or not gpu.models:
            return None
        column = nodes.gpu_model
        # Nodes without a model have the code -1.
        will_do = [*(_is_among(model, gpu.models) for model in column.values), False]
        found: Bools = np.array(will_do, dtype=np.bool_)[column.codes]
        return found

    def refusals(self, task: TaskView, nodes: NodeColumns) -> Iterator[tuple[Reason, Bools]]:
        passes = self.passes(task, nodes)
        if passes is not None:
            yield OtherGpuModel(task.spec.gpu.models), ~passes

    def loosenings(self, template: JobTemplate, nodes: NodeColumns) -> Iterator[Loosening]:
        specs = [group.spec for group in template.groups]
        if any(spec.gpu.models for spec in specs):
            allowed = [spec.gpu.models for spec in specs if spec.gpu.count]
            for model in nodes.gpu_model.values:
                if model and not all(_is_among(model, models) for models in allowed):
                    yield Loosening(AllowGpuModel(model), with_specs(template, _allowing(model)))


def _is_among(model: str, asked: Iterable[str]) -> bool:
    return any(is_model(one, model) for one in asked)


def _allowing(model: str) -> SpecChange:
    def change(spec: TaskSpec) -> TaskSpec:
        gpu: GpuRequest = spec.gpu
        return replace(spec, gpu=replace(gpu, models=(*gpu.models, model))) if gpu.models else spec

    return change
