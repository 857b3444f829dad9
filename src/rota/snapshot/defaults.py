"""What is filled into a job when it comes in, so that nobody has to look it up later."""

from __future__ import annotations

from msgspec.structs import replace

from rota.model.job import JobTemplate
from rota.model.policy import Defaults, PlatformDefaults
from rota.model.resources import Resources
from rota.model.task import TaskSpec


def admit(template: JobTemplate, defaults: Defaults) -> JobTemplate:
    """The template with its platform's requests and limits and its runtime's overhead filled in."""
    groups = tuple(replace(group, spec=_admit_spec(group.spec, defaults)) for group in template.groups)
    return replace(template, groups=groups) if groups != template.groups else template


def _admit_spec(spec: TaskSpec, defaults: Defaults) -> TaskSpec:
    platform = dict(defaults.platforms).get(spec.platform, PlatformDefaults())
    overhead = spec.overhead
    if overhead == Resources():
        overhead = dict(defaults.runtimes).get(spec.runtime, Resources())
    return replace(
        spec,
        requests=_filled(_filled(_filled(spec.requests, spec.limits), platform.requests), platform.limits),
        limits=_filled(spec.limits, platform.limits),
        overhead=overhead,
    )


def _filled(given: Resources, fallback: Resources) -> Resources:
    """Each amount as given, or where none is given, as the fallback says."""
    extended = dict(fallback.extended) | dict(given.extended)
    return Resources(
        given.cpu_milli or fallback.cpu_milli,
        given.memory_bytes or fallback.memory_bytes,
        given.storage_bytes or fallback.storage_bytes,
        given.slots or fallback.slots,
        tuple(sorted(extended.items())),
    )
