"""The runner itself: whatever a scenario gets wrong is found, and said so that one can mend it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenarios.running import complaint_about

_SITUATION = """
title: Some fit
covers: [decide-1]
cluster:
  nodes: [{name: n1, resources: {cpu: 4}, gpus: 1}, {name: n2, resources: {cpu: 2}}]
jobs:
  - {name: old, priority: low, resources: {cpu: 4}, running_on: n1}
  - {name: new, resources: {cpu: 3}, gpus: 1}
  - {name: big, resources: {cpu: 8}}
  - {name: tiny, resources: {cpu: 1}}
"""
_RIGHT = """
expect:
  placed: {new: n1, tiny: n2}
  devices: {new: [0]}
  evicted: {old: {by: new}}
  waiting:
    big: {verdict: never, because: [resources], says: asks 8 cpu, nodes: {resources: 2}}
  explains:
    big:
      outcome: waiting
      refused: {resources: [n1, n2]}
      helps: [{change: resource, subject: cpu, amount: 4}]
    tiny:
      scores: [{node: n2, utilisation: 50}]
      weights: {utilisation: 40, load: 30, affinity: 20, proximity: 10}
"""


def complaint(tmp_path: Path, text: str) -> str:
    path = tmp_path / "scenario.yaml"
    path.write_text(text, encoding="utf-8")
    return complaint_about(path, "scenario.yaml")


def test_there_is_nothing_to_say_about_what_is_right(tmp_path: Path) -> None:
    assert complaint(tmp_path, _SITUATION + _RIGHT) == ""


@pytest.mark.parametrize(
    "right, wrong, section",
    [
        ("placed: {new: n1, tiny: n2}", "placed: {}", "placed"),
        ("placed: {new: n1, tiny: n2}", "placed: {new: n2, tiny: n2}", "placed"),
        ("placed: {new: n1, tiny: n2}", "placed: {new: [n1, n1], tiny: n2}", "placed"),
        ("placed: {new: n1, tiny: n2}", "placed: {new: 2, tiny: n2}", "placed"),
        ("placed: {new: n1, tiny: n2}", "placed: {new: {n1: 2}, tiny: n2}", "placed"),
        ("placed: {new: n1, tiny: n2}", "placed: {new: n1, tiny: n2, old: n1}", "placed"),
        ("devices: {new: [0]}", "devices: {new: [1]}", "devices"),
        ("evicted: {old: {by: new}}", "evicted: {}", "evicted"),
        ("evicted: {old: {by: new}}", "evicted: {old: {by: big}}", "evicted"),
        ("evicted: {old: {by: new}}", "evicted: {old: {by: new, cause: reclaimed}}", "evicted"),
        ("evicted: {old: {by: new}}", "evicted: {old: {by: new, ranks: [1]}}", "evicted"),
        ("verdict: never", "verdict: not-now", "waiting"),
        ("because: [resources]", "because: []", "waiting"),
        ("because: [resources]", "because: [resources, taints]", "waiting"),
        ("asks 8 cpu", "asks 9 cpu", "waiting"),
        ("nodes: {resources: 2}", "nodes: {resources: 1}", "waiting"),
        ("  waiting:\n", "  waiting:\n    old: {verdict: never, because: [preemption]}\n", "waiting"),
        ("outcome: waiting", "outcome: running", "explains big"),
        ("refused: {resources: [n1, n2]}", "refused: {taints: [n1, n2]}", "explains big"),
        ("amount: 4}", "amount: 5}", "explains big"),
        ("helps: [{change: resource, subject: cpu, amount: 4}]", "helps: []", "explains big"),
        ("subject: cpu, amount: 4}]", "subject: cpu}, {change: topology}]", "explains big"),
        ("utilisation: 50", "utilisation: 51", "explains tiny"),
        ("utilisation: 50", "beauty: 100", "explains tiny"),
        ("proximity: 10}", "proximity: 11}", "explains tiny"),
        ("expect:", "expect:\n  faults: [broken]", "faults"),
    ],
)
def test_a_wrong_expectation_is_shown_beside_what_happened(
    tmp_path: Path, right: str, wrong: str, section: str
) -> None:
    assert _RIGHT.count(right) == 1
    text = complaint(tmp_path, _SITUATION + _RIGHT.replace(right, wrong))
    assert text.startswith("scenario.yaml: Some fit\n\n")
    assert f"{section}, expected:\n" in text
    assert f"{section}, actual:\n" in text
    assert text.count(", expected:\n") == 1
    assert "The whole plan:\n  placed:\n    new: [n1]" in text


@pytest.mark.parametrize(
    "right, wrong, message",
    [
        ("  placed:", "  place:", 'expect.place: unknown field; did you mean "placed"?'),
        ("verdict: never", "verdict: maybe", "expect.waiting.big.verdict: "),
        ("{by: new}", "{from: new}", "expect.evicted.old.from: unknown field"),
        ("cpu: 3", "cpu: -3", "jobs[1].resources.cpu: negative amount -3"),
        ("{cpu: 4}, gpus: 1}", "{cpu: 4}, gpu: 1}", "cluster.nodes[0].gpu: unknown field"),
        ("running_on: n1", "running_on: n3", "jobs[0].running_on: there is no node named"),
        ("covers: [decide-1]", "covers: []", "covers: "),
        ("jobs:\n", "policy: {strategie: x}\njobs:\n", "policy.strategie: unknown field"),
        ("jobs:\n", "now: soon\njobs:\n", "now: "),
    ],
)
def test_what_is_not_understood_is_an_error_with_line_and_field(
    tmp_path: Path, right: str, wrong: str, message: str
) -> None:
    text = (_SITUATION + _RIGHT).replace(right, wrong, 1)
    assert complaint(tmp_path, text).startswith(f"scenario.yaml:{_line_of(wrong, text)}: {message}")


def _line_of(part: str, text: str) -> int:
    return text[: text.index(part)].count("\n") + 1


_THEN = """
then:
  - after: 1h
    finish: [new]
    submit: [{name: newest, resources: {cpu: 1}}]
    expect:
      placed: {newest: n1}
      waiting:
        big: {verdict: never, because: [resources]}
        old: {verdict: not-now, because: [resources]}
"""


def test_a_plan_is_carried_out_before_the_next_cycle(tmp_path: Path) -> None:
    assert complaint(tmp_path, _SITUATION + _RIGHT + _THEN) == ""


def test_a_later_cycle_that_goes_another_way_is_named(tmp_path: Path) -> None:
    text = complaint(tmp_path, _SITUATION + _RIGHT + _THEN.replace("placed: {newest: n1}", "placed: {}"))
    assert text.startswith("scenario.yaml, cycle 2: Some fit\n\nplaced, expected:\n  nothing\n")


@pytest.mark.parametrize(
    "right, wrong, message",
    [
        ("finish: [new]", "finish: [newer]", "then[0].finish[0]: there is no job newer"),
        ("{cpu: 1}", "{cores: 1}", "then[0].submit[0].resources.cores: unknown resource"),
        ("after: 1h", "after: soon", "then[0].after: "),
    ],
)
def test_what_is_not_understood_of_a_later_cycle_is_an_error(
    tmp_path: Path, right: str, wrong: str, message: str
) -> None:
    text = _SITUATION + _RIGHT + _THEN.replace(right, wrong)
    assert complaint(tmp_path, text).startswith(f"scenario.yaml:{_line_of(wrong, text)}: {message}")
