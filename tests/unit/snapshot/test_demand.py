"""A task's wishes as two vectors: what it takes of each row, and what each row must have."""

from typing import Any

import pytest

from rota.model.resources import HostPort, Resources
from rota.snapshot import rows
from rota.snapshot.demand import NOT_ASKED, Demand, demand_of, extended_names, named_amounts
from rota.snapshot.rows import ResourceRows
from tests.words import task

INDEX = ResourceRows(["fpga", "port:TCP/80", "port:TCP/80@10.0.0.1"])


def demand(**words: Any) -> Demand:
    return demand_of(task(words), INDEX)  # type: ignore[arg-type]


def taken(**words: Any) -> dict[str, int]:
    take = demand(**words).take
    return {name: int(take[row]) for name, row in INDEX.row.items() if take[row]}


def needed(**words: Any) -> dict[str, int]:
    need = demand(**words).need
    return {name: int(need[row]) for name, row in INDEX.row.items() if need[row] != NOT_ASKED}


ANY_TASK = {"slots": 1, "shares": 1}


@pytest.mark.covers("decide-2")
@pytest.mark.parametrize(
    ("words", "amounts"),
    [
        ({}, {}),
        ({"cpu": 0.5, "memory": "1Ki", "storage": "2Ki"}, {"cpu": 500, "memory": 1024, "storage": 2048}),
        ({"slots": 3}, {"slots": 3}),
        ({"extended": {"fpga": 2}}, {"fpga": 2}),
        ({"spec": {"exclusive": True}}, {"shares": rows.NODE_SHARES}),
        ({"spec": {"ports": (HostPort(80),)}}, {"port:TCP/80": rows.PORT_SHARES}),
        (
            {"spec": {"ports": (HostPort(80, address="10.0.0.1"),)}},
            {"port:TCP/80": 1, "port:TCP/80@10.0.0.1": 1},
        ),
    ],
)
def test_what_is_asked_for_is_taken_and_must_be_there(words: dict[str, Any], amounts: dict[str, int]) -> None:
    assert taken(**words) == needed(**words) == ANY_TASK | amounts


@pytest.mark.covers("decide-14")
def test_the_runtime_takes_its_overhead_on_top() -> None:
    overhead = Resources(cpu_milli=250, memory_bytes=1024, extended=(("fpga", 1),))
    words: dict[str, Any] = {"cpu": 1, "extended": {"fpga": 1}, "spec": {"overhead": overhead}}
    assert taken(**words) == ANY_TASK | {"cpu": 1250, "memory": 1024, "fpga": 2}


@pytest.mark.covers("decide-2")
@pytest.mark.parametrize(
    ("gpu", "take", "need"),
    [
        (2, {"gpu": 2000}, {"gpu": 2000, "gpu-idle": 2}),
        (1, {"gpu": 1000}, {"gpu": 1000, "gpu-idle": 1}),
        (0.3, {"gpu": 300}, {"gpu": 300, "gpu-best": 300}),
    ],
)
def test_whole_gpus_need_idle_devices_and_a_part_needs_one_with_enough_left(
    gpu: float, take: dict[str, int], need: dict[str, int]
) -> None:
    assert taken(gpu=gpu) == ANY_TASK | take
    assert needed(gpu=gpu) == ANY_TASK | need


def test_a_row_that_is_not_asked_for_is_met_even_where_it_is_overbooked() -> None:
    assert demand(cpu=1).need[rows.MEMORY] < -(10**15)


def test_the_short_list_of_rows_is_the_vector_without_the_rest() -> None:
    found = demand(cpu=1, gpu=0.5, extended={"fpga": 1})
    assert dict(found.asked) == {
        row: int(found.need[row]) for row in range(len(INDEX)) if found.need[row] > 0
    }


def test_scores_are_made_of_cpu_memory_gpu_and_slots() -> None:
    found = demand(cpu=1, memory="1Ki", storage="1Ki", gpu=2)
    assert {rows.SHARED[at]: amount for at, amount in found.shared} == {
        rows.CPU: 1000,
        rows.MEMORY: 1024,
        rows.GPU_MILLI: 2000,
        rows.SLOTS: 1,
    }


def test_zeros_have_no_name() -> None:
    assert named_amounts(Resources(cpu_milli=5, extended=(("fpga", 0), ("asic", 2)))) == {"cpu": 5, "asic": 2}


def test_extended_names_are_those_of_requests_overhead_and_ports() -> None:
    spec = task(
        {
            "extended": {"fpga": 1},
            "spec": {"overhead": Resources(extended=(("asic", 1),)), "ports": (HostPort(80),)},
        }
    )
    assert extended_names(spec) == {"fpga", "asic", "port:TCP/80"}
