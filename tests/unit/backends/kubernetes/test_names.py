from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.backends.backend import TaskRef
from rota.backends.kubernetes.names import (
    host_name,
    label_value,
    pod_name,
    pod_name_of_start,
    service_name,
)
from rota.model.ids import JobId

pytestmark = pytest.mark.covers("pod-2")

POD = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
HOST = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")

JOBS = st.one_of(st.text(min_size=1, max_size=90), st.from_regex(r"[0-9a-z.-]{1,80}", fullmatch=True))
REFS = st.builds(TaskRef, JOBS.map(JobId), st.integers(0, 9999), st.integers(1, 2**53))


def ref(job: str, rank: int = 0, fence: int = 1) -> TaskRef:
    return TaskRef(JobId(job), rank, fence)


@pytest.mark.parametrize(
    "task, name",
    [
        (ref("12"), "act-job-12"),
        (ref("12.7"), "act-job-12.7"),
        (ref("12", 3), "act-job-12-r3"),
        (ref("build-ubuntu-latest-node14"), "act-job-build-ubuntu-latest-node14"),
        (ref("Build"), "act-job-build-xbdd254b65b"),
        (ref("12-r3"), "act-job-12-r3-x262a65bf89"),
    ],
)
def test_pods(task: TaskRef, name: str) -> None:
    assert pod_name(task) == name


def test_of_a_start_hosts_and_services() -> None:
    assert pod_name_of_start(ref("12", 3, 37)) == "act-job-12-r3-f11"
    assert host_name(ref("12")) == "act-job-12-r0"
    assert service_name(JobId("12")) == "act-job-12"
    assert re.fullmatch(r"act-job-12-7-x[0-9a-f]{10}", service_name(JobId("12.7")))


@given(REFS)
def test_all_are_valid(task: TaskRef) -> None:
    for name in (pod_name(task), pod_name_of_start(task)):
        assert len(name) <= 63
        assert POD.fullmatch(name)
    for name in (host_name(task), service_name(task.job)):
        assert len(name) <= 63
        assert HOST.fullmatch(name)
    value = label_value(task.job)
    assert len(value) <= 63
    assert LABEL.fullmatch(value)


@given(REFS, REFS)
def test_no_two_are_alike(one: TaskRef, other: TaskRef) -> None:
    if (one.job, one.rank) != (other.job, other.rank):
        assert pod_name(one) != pod_name(other)
        assert host_name(one) != host_name(other)
    if one != other:
        assert pod_name_of_start(one) != pod_name_of_start(other)
    if one.job != other.job:
        assert service_name(one.job) != service_name(other.job)
        assert label_value(one.job) != label_value(other.job)
    assert pod_name(one) != pod_name_of_start(other)
