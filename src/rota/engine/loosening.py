"""A rule that a job is let off: what a filter offers where it keeps a job waiting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from rota.model.explanation import Change
from rota.model.ids import NodeName
from rota.model.job import JobTemplate
from rota.model.task import TaskSpec

SpecChange = Callable[[TaskSpec], TaskSpec]


def _nothing(_: NodeName) -> Change | None:
    return None


@dataclass(frozen=True)
class Loosening:
    change: Change
    template: JobTemplate
    """Of the job, so changed."""
    on_node: Callable[[NodeName], Change | None] = _nothing
    """What could be done to a node instead, so that it takes the job as it is; None: nothing, or it takes
    it already."""


def with_specs(template: JobTemplate, change: SpecChange) -> JobTemplate:
    groups = tuple(replace(group, spec=change(group.spec)) for group in template.groups)
    return replace(template, groups=groups)
