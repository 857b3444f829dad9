"""The policy and settings, read again while everything runs: all of it is right, or nothing changes."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import structlog
from msgspec import Struct

from rota.api.service import ChangedField, HomelessJobs, ReloadDocument
from rota.control.access import SYSTEM
from rota.control.draft import Draft
from rota.control.errors import BadInput, ControlError
from rota.intake.documents.document import read_documents
from rota.intake.errors import InputError
from rota.intake.files import read_policy
from rota.lifecycle.state import Phase
from rota.loop.hosting.plugin_host import PluginHost
from rota.loop.live.history import Retention
from rota.loop.live.runtime import Runtime
from rota.model.policy import Policy
from rota.server.service.differences import differences
from rota.settings.errors import SettingsError
from rota.settings.load import Resolved
from rota.settings.settings import Settings

log = structlog.get_logger()


CHANGEABLE = ("logs.level", "server.history.", "audit.keep", "audit.records")
"""Settings that can change while the server runs, or what they begin with."""
_ELSEWHERE = ("agent.", "client.")
"""Of no server."""
_TURN_S = 30.0


class SettingsSource(Struct, frozen=True):
    """Settings as they were at the start, and how to read them again."""

    resolved: Resolved
    reread: Callable[[], Resolved]


class PolicyFile(Struct, frozen=True):
    """A policy, and the file as it is written."""

    policy: Policy
    written: object


def read_policy_file(path: str) -> PolicyFile:
    """Raises InputError. Empty: the default policy."""
    if not path:
        return PolicyFile(Policy(), {})
    policy = read_policy(path, PluginHost().names)
    return PolicyFile(policy, read_documents(path)[0].data)


class Reloading:
    """What routes and SIGHUP call."""

    def __init__(
        self,
        source: SettingsSource,
        file: PolicyFile,
        runtime: Runtime,
        retention_of: Callable[[Settings], Retention],
    ) -> None:
        self._resolved = source.resolved
        self._reread = source.reread
        self._file = file
        self._runtime = runtime
        self._retention_of = retention_of
        self._one_at_a_time = asyncio.Lock()

    async def reload(self, by: str, dry_run: bool = False) -> ReloadDocument:
        """Raises BadInput, which names file, line and field, and Unavailable."""
        async with self._one_at_a_time:
            resolved, file = await asyncio.to_thread(self._read)
            document = self._document(resolved, file, dry_run)
            if not dry_run and (document.changes or document.settings):
                await self._take(resolved, file, document, by)
            return document

    async def reload_unasked(self) -> None:
        """At SIGHUP: nobody is there to be answered."""
        try:
            document = await self.reload(SYSTEM)
        except ControlError as error:
            log.error("server.not_reloaded", why=error.message)
            return
        if not document.changes and not document.settings:
            log.info("server.reloaded", changes=0)

    def _read(self) -> tuple[Resolved, PolicyFile]:
        try:
            resolved = self._reread()
            return resolved, read_policy_file(resolved.settings.server.policy)
        except InputError as error:
            raise BadInput("policy", "; ".join(map(str, error.all)), "nothing was changed") from None
        except SettingsError as error:
            raise BadInput("settings", str(error), "nothing was changed") from None

    def _document(self, resolved: Resolved, file: PolicyFile, dry_run: bool) -> ReloadDocument:
        old, new = (
            {one.key: one.value for one in some.rows() if not one.key.startswith(_ELSEWHERE)}
            for some in (self._resolved, resolved)
        )
        changed = _changed(old, new)
        # Written in another way is no change.
        is_same = file.policy == self._file.policy
        return ReloadDocument(
            policy=resolved.settings.server.policy,
            changes=[] if is_same else differences(self._file.written, file.written),
            settings=[one for one in changed if one.field.startswith(CHANGEABLE)],
            # Another policy file is read at once.
            restart=[one for one in changed if not one.field.startswith((*CHANGEABLE, "server.policy"))],
            homeless=self._homeless(file.policy),
            dry_run=dry_run,
        )

    def _homeless(self, policy: Policy) -> list[HomelessJobs]:
        names = policy.queue_names
        counts = Counter(
            state.spec.template.queue
            for state in self._runtime.memory.jobs.values()
            if state.phase in (Phase.CREATED, Phase.PENDING) and state.spec.template.queue not in names
        )
        return [HomelessJobs(queue=queue, jobs=count) for queue, count in sorted(counts.items())]

    async def _take(self, resolved: Resolved, file: PolicyFile, document: ReloadDocument, by: str) -> None:
        changes = [one.field for one in (*document.changes, *document.settings)]

        def note(draft: Draft) -> None:
            draft.note("server.Reloaded", "server", by, {"changes": changes})

        await self._runtime.set_policy(file.policy, note, _TURN_S)
        self._runtime.set_retention(self._retention_of(resolved.settings))
        logging.getLogger().setLevel(resolved.settings.logs.level.upper())
        self._resolved, self._file = resolved, file
        log.info("server.reloaded", changes=len(changes), fields=changes[:20], by=by)


def _changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[ChangedField]:
    return [
        ChangedField(field=key, before=_shown(old.get(key)), after=_shown(new.get(key)))
        for key in dict.fromkeys((*old, *new))
        if old.get(key) != new.get(key)
    ]


def _shown(value: object) -> str | None:
    return None if value is None else str(value)
