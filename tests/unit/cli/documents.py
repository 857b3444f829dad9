"""Documents as a server sends them, with what a test doesn't care about filled in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from rota.api.cluster import NodeDocument, QueueDocument
from rota.api.jobs import AttemptDocument, EstimateDocument, JobDetail, JobDocument
from rota.lifecycle.state import EndReason, Phase
from rota.model.calendar import QueueMode
from rota.views.times import Clock, ms_of

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
CLOCK = Clock(ms_of(NOW), UTC)


def later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def ago(seconds: float) -> datetime:
    return later(-seconds)


def a_job(id: str = "17", **fields: Any) -> JobDocument:
    array = id.partition(".")[0] if "." in id else None
    given: dict[str, Any] = {
        "id": id,
        "name": "train",
        "project": "vision",
        "user": "ada",
        "queue": "default",
        "phase": Phase.PENDING,
        "cause": None,
        "message": "",
        "priority": 500,
        "labels": {},
        "array": array,
        "tasks": 1,
        "tasks_running": 0,
        "tasks_done": 0,
        "tasks_failed": 0,
        "nodes": [],
        "attempt": 1,
        "submitted": ago(600),
        "started": None,
        "ended": None,
        "time_limit_s": None,
        "promised": None,
        "exit_code": None,
        "command": "python train.py",
    }
    return JobDocument(**{**given, **fields})


def running(id: str = "17", **fields: Any) -> JobDocument:
    given = {"phase": Phase.RUNNING, "started": ago(120), "tasks_running": 1, "nodes": ["n1"]}
    return a_job(id, **{**given, **fields})


def over(phase: Phase, id: str = "17", **fields: Any) -> JobDocument:
    return a_job(id, **{"phase": phase, "started": ago(120), "ended": ago(60), **fields})


def an_attempt(rank: int = 0, **fields: Any) -> AttemptDocument:
    given: dict[str, Any] = {
        "rank": rank,
        "fence": rank + 1,
        "node": "n1",
        "gpu_devices": [],
        "phase": None,
        "bound": ago(121),
        "started": ago(120),
        "ended": ago(60),
        "reason": EndReason.EXITED,
        "exit_code": 0,
        "signal": None,
        "message": "",
        "cpu_s": 30.0,
        "max_memory_bytes": 2**30,
    }
    return AttemptDocument(**{**given, **fields})


def an_estimate(job: str = "17", **fields: Any) -> EstimateDocument:
    given: dict[str, Any] = {
        "job": job,
        "told": NOW,
        "expected": later(600),
        "bound": later(1800),
        "latest": None,
        "promised": False,
        "position": 3,
        "reason": None,
    }
    return EstimateDocument(**{**given, **fields})


def detail(job: JobDocument, *attempts: AttemptDocument, **fields: Any) -> JobDetail:
    given: dict[str, Any] = {
        "job": job,
        "spec": {"command": ["python", "train.py"]},
        "attempts": list(attempts),
        "depends_on": [],
        "estimate": None,
    }
    return JobDetail(**{**given, **fields})


def a_node(name: str = "n1", **fields: Any) -> NodeDocument:
    given: dict[str, Any] = {
        "name": name,
        "backend": "process",
        "pool": "default",
        "ready": True,
        "cordoned": False,
        "draining": False,
        "labels": {},
        "taints": [],
        "capacity": {"cpu": 8, "memory": 16 * 2**30},
        "used": {"cpu": 2.5, "memory": 2**30},
        "gpus": 0,
        "gpus_used": 0,
        "gpu_model": "",
        "tasks": 3,
        "load": 1.5,
        "message": "",
    }
    return NodeDocument(**{**given, **fields})


def a_queue(name: str = "default", **fields: Any) -> QueueDocument:
    given: dict[str, Any] = {
        "name": name,
        "state": QueueMode.OPEN,
        "since": None,
        "message": "",
        "interactive": False,
        "waiting": 1200,
        "running": 3,
        "longest_wait_s": 3700.0,
    }
    return QueueDocument(**{**given, **fields})
