"""A job's state as bytes, apart from what it shares with others: an array stores its script once."""

from __future__ import annotations

from hashlib import sha256

from msgspec import Struct, json
from msgspec.structs import replace

from rota.lifecycle.state import JobState
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


def shared_part(spec: JobSpec) -> SharedSpec:
    return SharedSpec(spec.template, spec.run, spec.retry, spec.on_task_failure)


def encode_shared(shared: SharedSpec) -> tuple[bytes, bytes]:
    """Its digest, and itself."""
    body = _encoder.encode(shared)
    return sha256(body).digest(), body


def decode_shared(body: bytes) -> SharedSpec:
    return _shared.decode(body)


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
