"""A job's state as bytes, apart from what it shares with others: an array stores its script once, and all
that is submitted from one shell the environment."""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

from msgspec import Struct, json
from msgspec.structs import replace

from rota.lifecycle.state import JobState
from rota.model.ids import Labels
from rota.model.job import JobTemplate
from rota.model.run import JobSpec, OnTaskFailure, Retry, Run


class SharedSpec(Struct, frozen=True, omit_defaults=True):
    """The part of a JobSpec that many jobs have in common, and that can be large."""

    template: JobTemplate
    run: Run
    retry: Retry = Retry()
    on_task_failure: OnTaskFailure = OnTaskFailure.FAIL_JOB


_NO_TEMPLATE = JobTemplate(groups=())
_NO_RUN = Run()
_NO_RETRY = Retry()

_encoder = json.Encoder()
_states = json.Decoder(JobState)
_shared = json.Decoder(SharedSpec)
_environments = json.Decoder(Labels)


def shared_part(spec: JobSpec) -> SharedSpec:
    return SharedSpec(spec.template, spec.run, spec.retry, spec.on_task_failure)


class Part(NamedTuple):
    """Something that is kept once, however many refer to it."""

    digest: bytes
    body: bytes


class EncodedSpec(NamedTuple):
    digest: bytes
    """Of all of it."""
    body: bytes
    """Without its environment."""
    environment: Part | None
    """None: it is empty."""


def encode_shared(shared: SharedSpec) -> EncodedSpec:
    run = shared.run
    if not run.environment:
        body = _encoder.encode(shared)
        return EncodedSpec(sha256(body).digest(), body, None)
    own = _encoder.encode(run.environment)
    environment = Part(sha256(own).digest(), own)
    body = _encoder.encode(replace(shared, run=replace(run, environment=())))
    return EncodedSpec(sha256(body + environment.digest).digest(), body, environment)


def decode_environment(body: bytes) -> Labels:
    return _environments.decode(body)


def decode_shared(body: bytes, environment: Labels | None = None) -> SharedSpec:
    """None: it is in the body, or empty."""
    shared = _shared.decode(body)
    if environment is None:
        return shared
    return replace(shared, run=replace(shared.run, environment=environment))


def encode_state(state: JobState) -> bytes:
    """With its own part of the spec in place: a field added to JobSpec is kept without being named here."""
    own = replace(
        state.spec,
        template=_NO_TEMPLATE,
        run=_NO_RUN,
        retry=_NO_RETRY,
        on_task_failure=OnTaskFailure.FAIL_JOB,
    )
    return _encoder.encode(replace(state, spec=own))


def decode_state(body: bytes, shared: SharedSpec) -> JobState:
    state = _states.decode(body)
    spec = replace(
        state.spec,
        template=shared.template,
        run=shared.run,
        retry=shared.retry,
        on_task_failure=shared.on_task_failure,
    )
    return replace(state, spec=spec)
