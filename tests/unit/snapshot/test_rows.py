"""Host ports as resources: the shares by which each conflict is a lack of room."""

from itertools import product

import pytest

from rota.model.resources import WHOLE_DISK, HostPort
from rota.snapshot import rows
from rota.snapshot.rows import (
    FIXED_NAMES,
    ResourceRows,
    is_amount,
    is_port,
    port_amounts,
    port_capacity,
    volume_capacity,
)
from tests.builders import Cluster

EVERYWHERE = HostPort(80)
ONE = HostPort(80, address="10.0.0.1")
OTHER = HostPort(80, address="10.0.0.2")


def fit_together(*ports: HostPort) -> bool:
    taken: dict[str, int] = {}
    for port in ports:
        for name, amount in port_amounts(port):
            taken[name] = taken.get(name, 0) + amount
    return all(amount <= port_capacity(name) for name, amount in taken.items())


@pytest.mark.parametrize(
    ("ports", "fit"),
    [
        ((EVERYWHERE,), True),
        ((EVERYWHERE, EVERYWHERE), False),
        ((EVERYWHERE, ONE), False),
        ((ONE, ONE), False),
        ((ONE, OTHER), True),
        ((ONE, OTHER, EVERYWHERE), False),
        ((EVERYWHERE, HostPort(81)), True),
        ((EVERYWHERE, HostPort(80, "UDP")), True),
        ((ONE, HostPort(80, "UDP", "10.0.0.1")), True),
    ],
)
def test_a_port_on_every_address_conflicts_with_all_and_one_on_an_address_with_its_own(
    ports: tuple[HostPort, ...], fit: bool
) -> None:
    assert fit_together(*ports) is fit


def test_many_addresses_of_one_port_fit_on_a_node() -> None:
    assert fit_together(*(HostPort(80, address=f"10.0.{a}.{b}") for a, b in product(range(8), range(250))))


@pytest.mark.covers("kube-3")
@pytest.mark.parametrize(("held", "asked"), [(EVERYWHERE, ONE), (ONE, EVERYWHERE), (ONE, ONE)])
def test_a_port_that_is_taken_sends_the_task_to_another_node(held: HostPort, asked: HostPort) -> None:
    cluster = (
        Cluster()
        .nodes("n1 n2", cpu=8)
        .running("old", on=["n1"], spec={"ports": (held,)})
        .running("full", on=["n2"], cpu=7)
        .job("new", cpu=1, spec={"ports": (asked,)})
    )
    assert cluster.plan().places("new") == ["n2"]


def test_fixed_rows_come_first_then_the_others_by_name() -> None:
    index = ResourceRows(["fpga", "port:TCP/80", "asic", "cpu", "fpga"])
    assert index.names == (*FIXED_NAMES, "asic", "fpga", "port:TCP/80")
    assert [index.row[name] for name in index.names] == list(range(len(index)))


def test_the_constants_are_where_the_names_are() -> None:
    row = ResourceRows([]).row
    assert [row[name] for name in ("cpu", "memory", "slots", "shares", "storage")] == [
        rows.CPU,
        rows.MEMORY,
        rows.SLOTS,
        rows.SHARES,
        rows.STORAGE,
    ]
    assert [row["gpu"], row["gpu-idle"], row["gpu-best"]] == [rows.GPU_MILLI, rows.GPU_IDLE, rows.GPU_BEST]
    assert len(row) == rows.GPU_ROWS


@pytest.mark.parametrize(("name", "port"), [("port:TCP/80", True), ("ports", False), ("cpu", False)])
def test_ports_are_known_by_their_names(name: str, port: bool) -> None:
    assert is_port(name) is port


def test_ports_and_volumes_are_no_amounts() -> None:
    names = ["cpu", "fpga", "port:TCP/80", "disk:d", "volumes:driver", "unbound:local"]
    assert [name for name in names if is_amount(name)] == ["cpu", "fpga"]


def test_what_nodes_have_of_volumes_if_they_say_nothing() -> None:
    assert volume_capacity("disk:d") == WHOLE_DISK
    assert volume_capacity("volumes:driver") > 1_000_000
    assert volume_capacity("unbound:local") == 0
