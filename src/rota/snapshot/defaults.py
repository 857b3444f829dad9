"""What is filled into a job when it comes in, so that nobody has to look it up later.

cpu, memory   as stated, else its limit, else what its platform asks for, else the platform's limit,
              else what is assumed of all that say nothing
the others    the same, but nothing is assumed
limits        as stated, else its platform's, but never less than what it asks for
overhead      as stated, else its runtime's
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from rota.model.cluster import ClusterRecords
from rota.model.job import Job, JobTemplate
from rota.model.policy import Defaults, PlatformDefaults
from rota.model.resources import Resources
from rota.model.task import CPU, GPU, MEMORY, OTHERS, TaskSpec


def admit(template: JobTemplate, defaults: Defaults) -> JobTemplate:
    """The template with all that it left open filled in. What has come in already is passed on as it is."""
    groups = tuple(replace(group, spec=_admit_spec(group.spec, defaults)) for group in template.groups)
    return replace(template, groups=groups) if groups != template.groups else template


def assumed_for(records: ClusterRecords, defaults: Defaults) -> Defaults:
    """Of a cluster in a file. Where a node doesn't state its memory, nobody is assumed to need any, and so
    with cpu: else what doesn't state it could never run there."""
    capacities = [node.spec.capacity for node in records.nodes]
    capacities += [offer.spec.capacity for offer in records.offers]
    assumed = defaults.assumed
    return replace(
        defaults,
        assumed=Resources(
            cpu_milli=assumed.cpu_milli if all(one.cpu_milli for one in capacities) else 0,
            memory_bytes=assumed.memory_bytes if all(one.memory_bytes for one in capacities) else 0,
        ),
    )


def come_in(records: ClusterRecords, defaults: Defaults) -> ClusterRecords:
    """A cluster in a file, all of whose jobs have come in."""
    assumed = assumed_for(records, defaults)
    admitted: dict[JobTemplate, JobTemplate] = {}

    def came(job: Job) -> Job:
        template = admitted.get(job.template)
        if template is None:
            template = admitted[job.template] = admit(job.template, assumed)
        return job if template is job.template else replace(job, template=template)

    return replace(
        records,
        jobs=tuple(replace(one, job=came(one.job)) for one in records.jobs),
        conditional=tuple(replace(one, job=came(one.job)) for one in records.conditional),
    )


def _admit_spec(spec: TaskSpec, defaults: Defaults) -> TaskSpec:
    if spec.left_open == ():
        return spec
    platform = dict(defaults.platforms).get(spec.platform, PlatformDefaults())
    overhead = spec.overhead
    if overhead == Resources():
        overhead = dict(defaults.runtimes).get(spec.runtime, Resources())
    if spec.left_open is None:
        return replace(
            spec,
            requests=_first(spec.requests, spec.limits, platform.requests, platform.limits),
            limits=_filled(spec.limits, platform.limits),
            overhead=overhead,
        )
    requests = _requests(spec, spec.left_open, platform, defaults.assumed)
    limits = _limits(spec, requests, platform)
    is_held_to_memory = MEMORY not in spec.left_open or bool(limits.memory_bytes)
    unlimited = spec.unlimited if is_held_to_memory else tuple(sorted({*spec.unlimited, MEMORY}))
    return replace(
        spec,
        requests=requests,
        limits=limits,
        unlimited=unlimited,
        gpu=platform.gpu if GPU in spec.left_open else spec.gpu,
        overhead=overhead,
        left_open=(),
    )


def _requests(
    spec: TaskSpec, left_open: Iterable[str], platform: PlatformDefaults, assumed: Resources
) -> Resources:
    filled = _first(spec.requests, spec.limits, platform.requests, platform.limits, assumed)
    # A 0 that somebody stated is one.
    return replace(
        filled if OTHERS in left_open else spec.requests,
        cpu_milli=filled.cpu_milli if CPU in left_open else spec.requests.cpu_milli,
        memory_bytes=filled.memory_bytes if MEMORY in left_open else spec.requests.memory_bytes,
    )


def _limits(spec: TaskSpec, requests: Resources, platform: PlatformDefaults) -> Resources:
    """Whoever asks for more than his platform allows by default means it."""
    default = _without(_most(platform.limits, requests), spec.unlimited)
    return _filled(spec.limits, default)


def _first(*alternatives: Resources) -> Resources:
    filled = Resources()
    for one in alternatives:
        filled = _filled(filled, one)
    return filled


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


def _most(limits: Resources, requests: Resources) -> Resources:
    """Each limit that there is, raised to what is asked for."""
    asked = dict(requests.extended)
    return Resources(
        limits.cpu_milli and max(limits.cpu_milli, requests.cpu_milli),
        limits.memory_bytes and max(limits.memory_bytes, requests.memory_bytes),
        limits.storage_bytes and max(limits.storage_bytes, requests.storage_bytes),
        limits.slots and max(limits.slots, requests.slots),
        tuple((name, max(amount, asked.get(name, 0))) for name, amount in limits.extended),
    )


def _without(limits: Resources, names: Iterable[str]) -> Resources:
    left_out = set(names)
    return Resources(
        0 if "cpu" in left_out else limits.cpu_milli,
        0 if "memory" in left_out else limits.memory_bytes,
        0 if "storage" in left_out else limits.storage_bytes,
        0 if "slots" in left_out else limits.slots,
        tuple((name, amount) for name, amount in limits.extended if name not in left_out),
    )
