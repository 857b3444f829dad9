"""Plugins: where they come from, what they do, and what went wrong with them."""

from __future__ import annotations

from datetime import datetime

from msgspec import field

from rota.api.documents import Document


class PluginFaultDocument(Document, frozen=True, kw_only=True):
    """What went wrong with one call of a plugin, since the server started."""

    call: str
    """As in "filter"; "load": it couldn't be made."""
    count: int
    """Once for each job and decision."""
    first: datetime
    last: datetime
    error: str | None
    """The latest; null: it was about a job that you may not see."""
    job: str | None
    """The job that it was about; null: about none, or one that you may not see."""


class PluginDocument(Document, frozen=True, kw_only=True):
    name: str
    package: str
    version: str
    usable: bool
    fault: str
    """Why it can't be used; empty: it can."""
    does: list[str] = field(default_factory=list)
    """What it is asked for: "filter", "score", "choose_devices", "prepare", "on_job_scheduled"."""
    schedulers: list[str] = field(default_factory=list)
    """Whose policies name it."""
    faults: list[PluginFaultDocument] = field(default_factory=list)
