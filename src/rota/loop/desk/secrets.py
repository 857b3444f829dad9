"""Secrets of projects, as their members see and set them: names and dates, never values."""

from __future__ import annotations

from collections.abc import Sequence

from rota.api.people import SecretDocument, SecretSource
from rota.control.access import Who
from rota.control.draft import Draft
from rota.control.errors import Conflict, NotFound
from rota.control.transactor import Transactor
from rota.control.vault import MOST_A_PROJECT, Vault, key_of
from rota.loop.live.forecaster import time_of
from rota.store.writing.batch import Removal, Secret


class SecretsDesk:
    def __init__(self, transactor: Transactor, vault: Vault) -> None:
        self._transactor = transactor
        self._memory = transactor.memory
        self.vault = vault

    async def of(self, project: str) -> Sequence[SecretDocument]:
        """By name."""
        given = {
            name: SecretDocument(project=project, name=name, source=SecretSource.SETTINGS)
            for name in self.vault.sources_of(project)
        }
        kept = {
            one.name: SecretDocument(
                project=project,
                name=one.name,
                source=SecretSource.STORE,
                set=time_of(one.set_ms),
                set_by=one.set_by,
            )
            for one in self._memory.secrets.values()
            if one.project == project
        }
        both = kept | given
        return [both[name] for name in sorted(both)]

    async def set(self, project: str, name: str, value: str, who: Who, dry_run: bool = False) -> None:
        key = key_of(project, name)
        if name in self.vault.sources_of(project):
            raise Conflict(f"the server's settings say where {name} comes from", "choose another name")

        def command(draft: Draft) -> None:
            theirs = sum(one.project == project for one in self._memory.secrets.values())
            if key not in self._memory.secrets and theirs >= MOST_A_PROJECT:
                raise Conflict(
                    f"the project {project} has {theirs} secrets, the most there may be", "remove one"
                )
            sealed = self.vault.seal(project, name, value)
            draft.batch.secrets.append(Secret(project, name, sealed, draft.now_ms, who.user))
            draft.note("secret.Set", key, who.user, {"name": name}, project)

        await self._transactor.do(command, dry_run)

    async def remove(self, project: str, name: str, who: Who, dry_run: bool = False) -> None:
        key = key_of(project, name)
        if key not in self._memory.secrets:
            raise NotFound("secret", name)

        def command(draft: Draft) -> None:
            draft.batch.removed.append((Removal.SECRET, key))
            draft.note("secret.Removed", key, who.user, {"name": name}, project)

        await self._transactor.do(command, dry_run)
