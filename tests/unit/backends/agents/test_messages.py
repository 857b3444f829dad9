"""What is put on the wire comes off it as it was."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.backends.agents.messages import (
    node_from,
    node_to,
    ref_from,
    ref_to,
    report_from,
    report_to,
    start_from,
    start_to,
    text,
)
from rota.backends.backend import TaskEnded, TaskRef, TaskReport, TaskReturned, TaskStart, TaskStarted
from rota.lifecycle.state import EndReason, TaskEnd, Used
from rota.model.ids import JobId, NodeName
from rota.model.node import Gpus, Node, NodeSpec
from rota.model.resources import Resources
from rota.model.run import InputFile, Run
from rota.model.taints import Effect, Taint
from rota.wire import agents_pb2 as wire

amounts = st.integers(0, 2**53)
words = st.text(st.characters(codec="utf-8"), max_size=8)
pairs = st.dictionaries(words, words, max_size=3).map(lambda labels: tuple(sorted(labels.items())))
refs = st.builds(TaskRef, words.map(JobId), amounts, amounts)
resources = st.builds(
    Resources,
    amounts,
    amounts,
    amounts,
    amounts,
    st.dictionaries(words, amounts, max_size=2).map(lambda names: tuple(sorted(names.items()))),
)
runs = st.builds(
    Run,
    command=st.lists(words, max_size=3).map(tuple),
    script=words,
    directory=words,
    environment=pairs,
    files=st.lists(st.builds(InputFile, words, words, amounts, st.booleans(), st.booleans()), max_size=2).map(
        tuple
    ),
    outputs=st.lists(words, max_size=2).map(tuple),
    warn_signal=words,
    warn_before_ms=amounts,
    grace_ms=amounts,
)
starts = st.builds(
    TaskStart,
    refs,
    st.just(NodeName("n")),
    runs,
    environment=pairs,
    hosts=st.lists(words.map(NodeName), max_size=2).map(tuple),
    limits=resources,
    log_bytes=st.none() | amounts,
    time_limit_ms=st.none() | amounts,
    end_before_ms=st.none() | amounts,
    lane=words,
    standby=st.booleans(),
)
ends = st.builds(
    TaskEnd,
    st.sampled_from(EndReason),
    st.none() | st.integers(0, 255),
    st.none() | st.integers(1, 64),
    words,
    st.builds(Used, amounts, amounts),
)
reports = st.one_of(
    st.builds(TaskStarted, refs, amounts),
    st.builds(TaskEnded, refs, amounts, ends),
    st.builds(TaskReturned, refs, amounts),
)


def over_the_wire(message: Any) -> Any:
    return type(message).FromString(message.SerializeToString())


@given(starts)
def test_starts(start: TaskStart) -> None:
    assert start_from(over_the_wire(start_to(start, 0)), NodeName("n")) == start


def test_the_latest_end_is_by_the_agents_clock() -> None:
    start = TaskStart(TaskRef(JobId("1"), 0, 1), NodeName("n"), Run(), end_before_ms=10_000)
    assert start_to(start, 3_000).end_before_ms == 7_000


@given(reports)
def test_reports(report: TaskReport) -> None:
    assert report_from(report.ref, over_the_wire(report_to(report)), 0) == report


def test_times_are_moved_to_the_servers_clock() -> None:
    ref = TaskRef(JobId("1"), 0, 1)
    assert report_from(ref, report_to(TaskStarted(ref, 100)), 50) == TaskStarted(ref, 150)


def test_other_news_is_no_report() -> None:
    assert report_from(TaskRef(JobId("1"), 0, 1), wire.TaskNews(output=wire.Output()), 0) is None


def test_a_reason_that_there_is_not() -> None:
    with pytest.raises(ValueError, match="bliss"):
        report_from(TaskRef(JobId("1"), 0, 1), wire.TaskNews(ended=wire.Ended(reason="bliss")), 0)


@given(refs)
def test_refs(ref: TaskRef) -> None:
    assert ref_from(over_the_wire(ref_to(ref))) == ref


def test_nodes_with_a_coarser_load() -> None:
    spec = NodeSpec(
        Resources(4000, 1 << 34, 1 << 40, 110, (("fpga", 2),)),
        Gpus(2, "H100"),
        backend="agents",
        pool="fast",
        labels=(("a", "b"),),
        taints=(Taint("k", Effect.NO_EXECUTE, "v"),),
        price_micro_per_hour=7,
    )
    message = over_the_wire(node_to(Node(NodeName("n"), spec, load_milli=777), "all is well"))
    assert node_from("n", "agents", message) == Node(NodeName("n"), spec, load_milli=750)
    assert message.message == "all is well"


@pytest.mark.covers("agent-2")
def test_memory_in_use_goes_along() -> None:
    node = Node(NodeName("n"), NodeSpec(Resources(1000, 1 << 34), backend="agents"), True, False, 0, 7, 5)
    assert node_from("n", "agents", over_the_wire(node_to(node, ""))) == node


@pytest.mark.covers("agent-2")
def test_agents_and_servers_of_before_know_nothing_of_memory_in_use() -> None:
    """An old agent sends none, and its node counts as before. An old server skips what it doesn't know."""
    spec = NodeSpec(Resources(1000, 1 << 34, slots=1), backend="agents")
    new = node_to(Node(NodeName("n"), spec, memory_used_bytes=7, memory_others_bytes=5), "")
    old = _as_of_before(new)
    assert not old.memory_used_bytes
    assert node_from("n", "agents", old) == Node(NodeName("n"), spec)
    numbers = {field.name: field.number for field in wire.Node.DESCRIPTOR.fields}
    assert {numbers.pop("memory_used_bytes"), numbers.pop("memory_others_bytes")} == {10, 11}
    assert sorted(numbers.values()) == list(range(1, 10)), "the numbers of before mean what they meant"


def _as_of_before(message: wire.Node) -> wire.Node:
    """The bytes that an agent of before would send: without the fields that it doesn't have."""
    kept = wire.Node()
    kept.CopyFrom(message)
    for name in ("memory_used_bytes", "memory_others_bytes"):
        kept.ClearField(name)
    return wire.Node.FromString(kept.SerializeToString())


def test_text_that_is_no_unicode_is_sent_as_something_readable() -> None:
    assert text("caf\udce9: no such file") == "caf\\udce9: no such file"
