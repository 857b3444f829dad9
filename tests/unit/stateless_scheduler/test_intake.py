"""What controllers say of actions: jobs of one task, or refused with the field and the reason."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import json

from rota.model.ids import NodeName
from rota.model.policy import Defaults
from rota.model.resources import Resources
from rota.stateless_scheduler.actions import Place
from rota.stateless_scheduler.intake import ActionRefused, Asked, Intake
from rota.wire import controllers_pb2 as wire

NOW_MS = 1_000_000


def said(job: dict[str, Any] | str, **fields: Any) -> wire.Action:
    text = job if isinstance(job, str) else json.encode(job).decode()
    return wire.Action(**{"id": "a", "job": text, **fields})


def read(action: wire.Action) -> Asked:
    return Intake("ci").read(action, NOW_MS)


def test_an_action_is_a_job_as_users_submit_them() -> None:
    job = {"command": ["make", "all"], "resources": {"cpu": 2}, "project": "web", "priority": "high"}
    asked = read(said(job, submitted_ms=5))
    template = asked.spec.template
    assert asked.spec.run.command == ("make", "all")
    assert (template.project, template.user) == ("web", "ci")
    assert template.spec_of(0).requests.cpu_milli == 2000
    assert (asked.place, asked.submitted_ms) == (None, 5)


@pytest.mark.covers("decide-15")
def test_what_an_action_leaves_open_is_filled_in() -> None:
    spec = read(said({"command": "true"})).spec.template.spec_of(0)
    assert (spec.requests, spec.unlimited) == (Resources(1000, 256 << 20), ("memory",))
    defaults = Defaults(assumed=Resources(cpu_milli=500))
    asked = Intake("ci", defaults).read(said({"command": "true", "resources": {"memory": 1}}), NOW_MS)
    assert asked.spec.template.spec_of(0).requests == Resources(500, 1)


def test_files_are_known_by_their_content() -> None:
    asked = read(said({"command": "cat"}, files=[wire.InlineFile(path="in/x", data=b"x", executable=True)]))
    digest = sha256(b"x").hexdigest()
    assert asked.files == ((digest, b"x"),)
    [file] = asked.spec.run.files
    assert (file.path, file.sha256, file.size_bytes, file.executable) == ("in/x", digest, 1, True)


def test_where_it_is_known_to_be() -> None:
    placement = wire.Placement(node="n1", fence=7, gpu_devices=[0, 2])
    assert read(said({"command": "true"}, placement=placement)).place == Place(NodeName("n1"), 7, (0, 2))


def test_nobody_submits_in_the_future() -> None:
    assert read(said({"command": "true"}, submitted_ms=2**60)).submitted_ms == NOW_MS


@pytest.mark.covers("agent-7")
@pytest.mark.parametrize(
    "fields, field",
    [
        ({"depends_on": ["17"]}, "job.depends_on"),
        ({"connect_to": "17"}, "job.connect_to"),
        ({"hold": True}, "job.hold"),
        ({"retry": 1}, "job.retry"),
        ({"array": "0-3"}, "job.array"),
        ({"tasks": 2}, "job.tasks"),
        ({"files": [{"path": "a", "sha256": "0" * 64, "size": 1}]}, "job.files"),
        ({"resources": {"cpu": -1}}, "job.resources.cpu"),
        ({"nonsense": 1}, "job.nonsense"),
    ],
)
def test_what_a_scheduler_leaves_to_controllers_and_what_cannot_be(
    fields: dict[str, Any], field: str
) -> None:
    with pytest.raises(ActionRefused) as refused:
        read(said({"command": "true", **fields}))
    assert refused.value.field == field
    assert refused.value.problem
    assert refused.value.remedy


@pytest.mark.parametrize("job", ["", "{", "[]", "7", '{"command": "a"}, {"command": "b"}', "{}"])
def test_jobs_that_are_none(job: str) -> None:
    with pytest.raises(ActionRefused) as refused:
        read(said(job))
    assert refused.value.field.startswith("job")


@pytest.mark.parametrize(
    "fields, field",
    [
        ({"id": ""}, "id"),
        ({"id": "x" * 201}, "id"),
        ({"id": "a\nb"}, "id"),
        ({"output_bytes": -1}, "output_bytes"),
        ({"last_fence": -1}, "last_fence"),
        ({"last_fence": 2**60}, "last_fence"),
        ({"placement": wire.Placement(node="", fence=1)}, "placement.node"),
        ({"placement": wire.Placement(node="n1", fence=0)}, "placement"),
        ({"placement": wire.Placement(node="n1", fence=2**60)}, "placement"),
        ({"placement": wire.Placement(node="n1", fence=1, gpu_devices=[-1])}, "placement"),
        ({"files": [wire.InlineFile(path="../x")]}, "files.0.path"),
        ({"files": [wire.InlineFile(path="x", data=bytes(2 << 20))]}, "files"),
        ({"files": [wire.InlineFile(path=f"x{at}") for at in range(101)]}, "files"),
    ],
)
def test_fields_that_cannot_be(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(ActionRefused) as refused:
        read(said({"command": "true"}, **fields))
    assert refused.value.field == field


@pytest.mark.covers("ops-3")
@given(st.text(max_size=300), st.text(max_size=20), st.integers(-(2**63), 2**63 - 1))
def test_whatever_is_said(job: str, id: str, number: int) -> None:
    action = wire.Action(id=id, job=job, submitted_ms=number, output_bytes=number)
    action.placement.fence = number
    with pytest.raises(ActionRefused):
        read(action)
