"""What is refused of what agents say, and that the rest is taken as it is."""

from contextlib import suppress

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from rota.backends.agents.claims import (
    Refusal,
    WrongProtocol,
    believable_node,
    believable_ref,
    believable_refs,
    check_name,
    check_protocol,
)
from rota.wire import agents_pb2 as wire

pytestmark = pytest.mark.covers("ops-3")

CAPACITY = {"cpu_milli": 1000, "memory_bytes": 1, "storage_bytes": 0, "slots": 1}


def node(**fields: object) -> wire.Node:
    capacity = wire.Resources()
    for name, amount in CAPACITY.items():
        setattr(capacity, name, amount)
    message = wire.Node(capacity=capacity)
    for name, value in fields.items():
        setattr(message.capacity if name in CAPACITY else message, name, value)
    return message


def test_the_least_that_a_machine_has() -> None:
    believed = believable_node("n", "agents", node())
    assert (believed.name, believed.spec.backend, believed.spec.pool) == ("n", "agents", "default")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("cpu_milli", 0),
        ("cpu_milli", -1),
        ("cpu_milli", 2**60),
        ("memory_bytes", 0),
        ("storage_bytes", -1),
        ("slots", 0),
        ("gpus", -1),
        ("gpus", 10_000),
        ("load_milli", -50),
        ("memory_used_bytes", -1),
        ("memory_others_bytes", 2**60),
        ("price_micro_per_hour", -1),
        ("pool", "x" * 2000),
        ("gpu_model", "x" * 2000),
    ],
)
def test_amounts_that_cannot_be(field: str, value: object) -> None:
    with pytest.raises(Refusal, match=f"node.*{field}"):
        believable_node("n", "agents", node(**{field: value}))


def test_labels_taints_and_resources_that_cannot_be() -> None:
    too_many = node()
    too_many.labels.update({str(number): "" for number in range(300)})
    empty = node()
    empty.taints.add(key="", effect="NoSchedule")
    unknown = node()
    unknown.taints.add(key="a", effect="Sometimes")
    negative = node()
    negative.capacity.extended["fpga"] = -1
    for message, field in (
        (too_many, "labels"),
        (empty, "taints"),
        (unknown, "Sometimes"),
        (negative, "fpga"),
    ):
        with pytest.raises(Refusal, match=field):
            believable_node("n", "agents", message)


@given(st.binary(max_size=200))
def test_whatever_a_message_holds_it_is_believed_or_refused(data: bytes) -> None:
    with suppress(DecodeError, Refusal):
        believed = believable_node("n", "agents", wire.Node.FromString(data))
        assert believed.spec.capacity.cpu_milli > 0


@pytest.mark.parametrize("name", ["a", "node-1.example.org", "N_1", "x" * 253])
def test_names(name: str) -> None:
    check_name(name)


@pytest.mark.parametrize("name", ["", ".", "a/b", "../a", "a\n", "ä", "-a", "x" * 254, "a b"])
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(Refusal, match="name"):
        check_name(name)


@pytest.mark.parametrize(
    "ref",
    [
        wire.TaskRef(job="1", rank=0, fence=0),
        wire.TaskRef(job="1", rank=-1, fence=1),
        wire.TaskRef(job="", rank=0, fence=1),
        wire.TaskRef(job="1/2", rank=0, fence=1),
        wire.TaskRef(job="1.x", rank=0, fence=1),
    ],
)
def test_what_is_no_task(ref: wire.TaskRef) -> None:
    with pytest.raises(Refusal, match="ref"):
        believable_ref(ref)


def test_more_tasks_than_a_machine_can_have() -> None:
    with pytest.raises(Refusal, match="tasks"):
        believable_refs([wire.TaskRef(job="1", rank=0, fence=1)] * 200_001)


@pytest.mark.parametrize(("protocol", "older"), [(2, "the server"), (0, "the agent")])
def test_versions_that_do_not_fit(protocol: int, older: str) -> None:
    with pytest.raises(WrongProtocol, match=f"upgrade {older}"):
        check_protocol(protocol)
