"""Workloads and jobs for the simulator."""

from __future__ import annotations

from typing import Unpack

from msgspec.structs import replace

from rota.model.workload import SimJob, Workload
from tests.builders import Cluster
from tests.words import JobWords, job

NODES = Cluster().node("n", cpu=4).records.nodes


def sim_job(name: str, *, at: float = 0, runs: float = 60, **words: Unpack[JobWords]) -> SimJob:
    """Times are seconds from the beginning of the workload."""
    arrival_ms = int(at * 1000)
    arrived = replace(job(name, words), submitted_ms=arrival_ms)
    return SimJob(arrived, arrival_ms, int(runs * 1000))


def workload(*jobs: SimJob, epoch_ms: int = 0) -> Workload:
    return Workload("w", jobs, NODES, epoch_ms=epoch_ms)
