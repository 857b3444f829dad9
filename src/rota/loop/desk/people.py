"""Who may do what: projects with their members, and tokens."""

from __future__ import annotations

from collections.abc import Sequence

from rota.control.access import Who
from rota.control.draft import Draft
from rota.control.errors import NotFound
from rota.control.tokens import check_token, crowded_out, with_descendants
from rota.control.transactor import Transactor
from rota.control.versions import check_version
from rota.loop.desk.answers import AnswerOf, keep_answer
from rota.store.writing.batch import Project, Removal, Token


class PeopleDesk:
    def __init__(self, transactor: Transactor) -> None:
        self._transactor = transactor
        self._memory = transactor.memory

    @property
    def rights_version(self) -> int:
        """Counts up whenever somebody may have lost a right: a project or a token was changed or removed."""
        return self._memory.rights_version

    async def projects(self) -> Sequence[Project]:
        return tuple(self._memory.projects.values())

    async def set_project(
        self, project: Project, who: Who, dry_run: bool = False, version: str | None = None
    ) -> None:
        """`version`: that it must still have."""

        def command(draft: Draft) -> None:
            check_version("project", project.name, draft.project(project.name), project, version)
            draft.batch.projects.append(project)
            draft.note("project.Changed", project.name, who.user, project, project.name)

        await self._transactor.do(command, dry_run)

    async def remove_project(self, name: str, who: Who, dry_run: bool = False) -> None:
        if name not in self._memory.projects:
            raise NotFound("project", name)

        def command(draft: Draft) -> None:
            draft.batch.removed.append((Removal.PROJECT, name))
            secrets = [key for key, one in self._memory.secrets.items() if one.project == name]
            draft.batch.removed.extend((Removal.SECRET, key) for key in secrets)
            draft.note("project.Removed", name, who.user, {})

        await self._transactor.do(command, dry_run)

    async def tokens(self) -> Sequence[Token]:
        return tuple(self._memory.tokens.values())

    async def token_named(self, secret_sha256: str) -> Token | None:
        return self._memory.tokens.get(secret_sha256)

    async def token_with_id(self, token_id: str) -> Token | None:
        return self._memory.tokens_by_id.get(token_id)

    async def add_token(
        self,
        token: Token,
        who: Who,
        dry_run: bool = False,
        answer_of: AnswerOf[Token] = None,
        most: int | None = None,
    ) -> None:
        """`most`: so many of one user may be valid at once."""

        def command(draft: Draft) -> None:
            check_token(draft, token, most)
            if token.browser and most is not None:
                for one in crowded_out(draft, token, most):
                    _remove(draft, one.id, who)
            draft.batch.tokens.append(token)
            about = {"id": token.id, "user": token.user, "role": token.role.value, "parent": token.parent}
            draft.note("token.Made", token.id, who.user, about)
            keep_answer(draft, answer_of, token)

        await self._transactor.do(command, dry_run)

    async def remove_token(self, token_id: str, who: Who, dry_run: bool = False) -> Sequence[str]:
        """With all that were made with it, which would be worth nothing any more: the ids of all."""

        def command(draft: Draft) -> Sequence[str]:
            ids = _remove(draft, token_id, who)
            if not ids:
                raise NotFound("token", token_id)
            return ids

        return await self._transactor.do(command, dry_run)


def _remove(draft: Draft, token_id: str, who: Who) -> Sequence[str]:
    ids = with_descendants(token_id, draft.tokens())
    for one in ids:
        draft.batch.removed.append((Removal.TOKEN, one))
        draft.note("token.Revoked", one, who.user, {} if one == token_id else {"with": token_id})
    return ids
