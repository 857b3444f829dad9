"""How it went so far."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """Of the steps of a job so far, or of all jobs that one needs."""

    SUCCESS = "success"
    FAILURE = "failure"
    CANCELLED = "cancelled"
