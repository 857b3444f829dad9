"""The same cluster gives the same plan, however it came to be told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import TypeVar

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rota.engine import decide
from rota.model.cluster import ClusterRecords
from rota.model.ids import JobId
from rota.model.job import JobRecord
from rota.model.plan import Plan
from rota.model.vocabulary import read_coded
from rota.snapshot import ClusterState
from tests.builders import PLUGINS
from tests.properties.carry_out import plan_for
from tests.properties.clusters import Situation, situations
from tests.words import NOW_MS

T = TypeVar("T")


@pytest.mark.covers("decide-1")
@given(situations(), st.randoms(use_true_random=False))
def test_whatever_order_nodes_and_jobs_come_in(situation: Situation, random: Random) -> None:
    records, policy = situation.records, situation.policy
    shuffled = ClusterRecords(
        _shuffled(records.nodes, random),
        _shuffled(records.offers, random),
        _shuffled(records.jobs, random),
        records.usage,
    )
    tenants = _shuffled(policy.fair_share.tenants, random)
    retold = replace(policy, fair_share=replace(policy.fair_share, tenants=tenants))
    assert plan_for(shuffled, retold, NOW_MS) == plan_for(records, policy, NOW_MS)


@pytest.mark.covers("decide-1")
@given(situations(), st.randoms(use_true_random=False))
def test_whatever_happened_before(situation: Situation, random: Random) -> None:
    """Jobs that came, changed and went leave no trace in a state that is kept current."""
    records, policy = situation.records, situation.policy
    state = ClusterState(policy.defaults)
    for node in _shuffled(records.nodes, random):
        state.set_node(node)
    for offer in records.offers:
        state.set_offer(offer)
    passing = [replace(record.job, id=JobId(f"gone-{record.job.id}")) for record in records.jobs]
    for record in _history(records.jobs, random):
        state.set_job(record)
    for job, record in zip(passing, records.jobs, strict=True):
        state.set_job(replace(record, job=job))
        if random.random() < 0.2:
            decide(state.snapshot(), policy, NOW_MS, PLUGINS)
    for job in _shuffled(tuple(passing), random):
        state.remove_job(job.id)
        if random.random() < 0.2:
            state.snapshot()
    assert decide(state.snapshot(), policy, NOW_MS, PLUGINS) == plan_for(records, policy, NOW_MS)


def _history(jobs: tuple[JobRecord, ...], random: Random) -> list[JobRecord]:
    """Each job first as it may have been: waiting, with fewer retries, or with another priority."""
    earlier = []
    for record in _shuffled(jobs, random):
        template = replace(record.job.template, priority=random.choice((-7, record.job.template.priority)))
        earlier.append(JobRecord(replace(record.job, template=template, retries=random.choice((0, 1)))))
    return [*earlier, *_shuffled(jobs, random)]


def _shuffled(things: tuple[T, ...], random: Random) -> tuple[T, ...]:
    return tuple(random.sample(things, len(things)))


_OTHER_PROCESS = """
import sys
import msgspec
from rota.model.cluster import ClusterRecords
from rota.model.policy import Policy
from tests.properties.carry_out import plan_for
from tests.words import NOW_MS

cases = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=list[tuple[ClusterRecords, Policy]])
plans = [plan_for(records, policy, NOW_MS) for records, policy in cases]
sys.stdout.buffer.write(msgspec.msgpack.encode(plans))
"""


@pytest.mark.slow
@pytest.mark.covers("decide-1")
@settings(max_examples=3)
@given(st.lists(situations(), min_size=12, max_size=12), st.integers(1, 2**32 - 1))
def test_whatever_the_process(batch: list[Situation], hash_seed: int) -> None:
    cases = [(one.records, one.policy) for one in batch]
    other = subprocess.run(
        [sys.executable, "-c", _OTHER_PROCESS],
        input=msgspec.msgpack.encode(cases),
        capture_output=True,
        check=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
    )
    plans = msgspec.msgpack.decode(other.stdout, type=list[Plan], dec_hook=read_coded)
    assert plans == [plan_for(records, policy, NOW_MS) for records, policy in cases]
