"""Maintenance, reservations and states of queues become the cluster's calendar."""

from textwrap import dedent

import pytest

from rota.intake.documents.document import parse_documents
from rota.intake.files import records_from_documents
from rota.loop.on_files import latest_time_ms
from rota.model.calendar import Maintenance, QueueMode, QueueState, Reservation
from rota.model.cluster import Calendar, ClusterRecords
from rota.model.ids import NodeName, QueueName
from rota.model.resources import Resources

GIB = 2**30
EIGHT_MS = 1_767_254_400_000
HOUR_MS = 3_600_000
N0, N1 = NodeName("n-0"), NodeName("n-1")
NODES = "nodes: [{name: n, count: 2, resources: {cpu: 8, memory: 8Gi}, gpus: 4}]\n"


def records(text: str) -> ClusterRecords:
    return records_from_documents(parse_documents(text.encode(), "cluster.yaml"))


def read(text: str) -> Calendar:
    return records(NODES + dedent(text)).calendar


def test_a_cluster_without_one_has_an_empty_calendar() -> None:
    assert read("") == Calendar()


@pytest.mark.covers("time-5")
@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        (
            "{name: patch, start: 2026-01-01T08:00:00Z, end: 2026-01-01T10:00:00Z}",
            Maintenance("patch", EIGHT_MS, EIGHT_MS + 2 * HOUR_MS),
        ),
        (
            "{name: patch, start: 2026-01-01T08:00:00Z, for: 2h}",
            Maintenance("patch", EIGHT_MS, EIGHT_MS + 2 * HOUR_MS),
        ),
        (
            "{name: patch, start: 2026-01-01T09:00:00+01:00, for: 90, nodes: [n-1, n-0, n-1]}",
            Maintenance("patch", EIGHT_MS, EIGHT_MS + 90_000, (N0, N1)),
        ),
        ("{name: patch, start: 0, for: 9999d}", Maintenance("patch", 0, 9999 * 24 * HOUR_MS)),
    ],
)
def test_maintenance(written: str, wanted: Maintenance) -> None:
    assert read(f"maintenance: [{written}]").maintenance == (wanted,)


def test_maintenance_across_a_change_of_clocks_lasts_as_long_as_it_says() -> None:
    [by_end, by_length] = read("""
        maintenance:
        - {name: a, start: 2026-03-29T01:30:00+01:00, end: 2026-03-29T03:30:00+02:00}
        - {name: b, start: 2026-03-29T01:30:00+01:00, for: 1h}
    """).maintenance
    assert by_end.end_ms == by_length.end_ms


@pytest.mark.covers("time-4")
@pytest.mark.parametrize(
    ("written", "share", "gpus"),
    [
        ("", None, 0),
        (", resources: {cpu: 2, memory: 1Gi}", Resources(2000, GIB), 0),
        (", resources: {cpu: 8}, gpus: 4", Resources(8000), 4),
        (", gpus: 1", Resources(), 1),
        (", resources: {slots: 110}", Resources(slots=110), 0),
    ],
)
def test_reservation(written: str, share: Resources | None, gpus: int) -> None:
    [found] = read(f"""
        reservations:
        - {{name: exam, start: 2026-01-01T08:00:00Z, for: 1h, nodes: [n-1, n-0],
           tenants: [vision/ada, audio, audio]{written}}}
    """).reservations
    tenants = ("audio", "vision/ada")
    assert found == Reservation("exam", EIGHT_MS, EIGHT_MS + HOUR_MS, (N0, N1), tenants, share, gpus)


@pytest.mark.covers("time-4")
@pytest.mark.parametrize(
    "fields",
    [
        # One after the other.
        ("start: 0, for: 1h, nodes: [n-0]", "start: 3600, for: 1h, nodes: [n-0]"),
        # Side by side.
        ("start: 0, for: 1h, nodes: [n-0]", "start: 0, for: 1h, nodes: [n-1]"),
        # Shares that are the whole node together.
        (
            "start: 0, for: 1h, nodes: [n-0], resources: {cpu: 3}, gpus: 1",
            "start: 0, for: 1h, nodes: [n-0], resources: {cpu: 5}, gpus: 3",
        ),
        # The third takes the place of the first.
        (
            "start: 0, for: 1h, nodes: [n-0], resources: {cpu: 4}",
            "start: 0, for: 3h, nodes: [n-0], resources: {cpu: 4}",
            "start: 3600, for: 1h, nodes: [n-0], resources: {cpu: 4}",
            "start: 10800, for: 1h, nodes: [n-0]",
        ),
    ],
)
def test_reservations_that_fit_together(fields: tuple[str, ...]) -> None:
    entries = "\n".join(f"- {{name: r{at}, tenants: [a], {one}}}" for at, one in enumerate(fields))
    assert len(read(f"reservations:\n{entries}").reservations) == len(fields)


def test_maintenance_may_overlap_with_anything() -> None:
    found = read("""
        maintenance: [{name: a, start: 0, for: 2h}, {name: b, start: 60, for: 2h}]
        reservations: [{name: c, start: 0, for: 2h, nodes: [n-0], tenants: [x]}]
    """)
    assert (len(found.maintenance), len(found.reservations)) == (2, 1)


@pytest.mark.covers("time-6")
def test_states_of_queues() -> None:
    found = read("""
        queues:
        - {name: batch, state: paused, since: 2026-01-01T08:00:00Z, message: Disks are full.}
        - {name: old, state: closed}
        - {name: new, state: open}
    """).queues
    assert found == (
        QueueState(QueueName("batch"), QueueMode.PAUSED, EIGHT_MS, "Disks are full."),
        QueueState(QueueName("old"), QueueMode.CLOSED),
        QueueState(QueueName("new"), QueueMode.OPEN),
    )


def test_nodes_may_come_in_another_document() -> None:
    text = f"""maintenance: [{{name: a, start: 0, for: 1h, nodes: [k1]}}]
---
reservations: [{{name: b, start: 0, for: 1h, nodes: [n-0, k1], tenants: [x]}}]
---
{NODES}---
apiVersion: v1
kind: Node
metadata: {{name: k1}}
status: {{allocatable: {{cpu: "8", pods: "10"}}}}
"""
    found = records(text).calendar
    assert found.maintenance[0].nodes == ("k1",)
    assert found.reservations[0].nodes == ("k1", "n-0")


def test_what_is_announced_ahead_is_not_the_present() -> None:
    """A plan is made as of the latest time that files speak of as past."""
    text = """
        nodes: [{name: n, resources: {cpu: 8}}]
        maintenance: [{name: patch, start: 2027-01-01T00:00:00Z, for: 1h}]
        reservations: [{name: exam, start: 2028-01-01T00:00:00Z, for: 1h, nodes: [n], tenants: [x]}]
        jobs:
        - {name: a, submitted: 2026-01-01T08:00:00Z, promised: {start: 2026-01-02T00:00:00Z, on: n}}
        - {name: b, start_after: 2026-06-01T00:00:00Z, start_before: 2026-07-01T00:00:00Z}
    """
    assert latest_time_ms(records(text)) == EIGHT_MS
