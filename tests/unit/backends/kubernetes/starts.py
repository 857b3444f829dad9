"""Tasks and options that the tests of this folder share."""

from __future__ import annotations

from typing import Any

from rota.backends.backend import TaskRef, TaskStart
from rota.backends.kubernetes.options import PodOptions
from rota.model.ids import JobId, NodeName
from rota.model.run import Run

OPTIONS = PodOptions("rota/support:1")
RUN = Run(command=("train", "--fast"), image="python:3.12")


def ref(job: str = "12", rank: int = 0, fence: int = 1) -> TaskRef:
    return TaskRef(JobId(job), rank, fence)


def start(run: Run = RUN, **fields: Any) -> TaskStart:
    return TaskStart(fields.pop("ref", ref()), NodeName("n1"), run, **fields)
