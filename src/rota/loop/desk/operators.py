"""What operators see and set: nodes, queues, the calendar, projects, tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from rota.api.documents import NodeDocument, QueueDocument
from rota.backends.backend import Health
from rota.backends.registry import Registry
from rota.control.access import Who
from rota.control.bookings import check_room
from rota.control.draft import Draft
from rota.control.errors import Conflict, NotFound
from rota.control.tokens import check_token, with_descendants
from rota.control.transactor import Transactor
from rota.control.versions import check_version
from rota.lifecycle.state import Phase
from rota.loop.desk.nodes import node_documents
from rota.loop.live.forecaster import time_of
from rota.loop.live.loop import LiveLoop
from rota.model.calendar import Maintenance, QueueMode, QueueState, Reservation
from rota.model.ids import NodeName, QueueName
from rota.store.batch import Answer, NodeSettings, Project, Removal, Token


class OperatorDesk:
    def __init__(self, transactor: Transactor, live: LiveLoop, backends: Registry) -> None:
        self._transactor = transactor
        self._memory = transactor.memory
        self._live = live
        self._backends = backends

    async def health(self) -> Sequence[tuple[str, Health]]:
        fault = self._transactor.fault
        return [("store", Health(not fault, fault)), *(await self._backends.health()).items()]

    # -- nodes, queues, calendar

    async def nodes(self) -> Sequence[NodeDocument]:
        healths = dict(await self.health())
        return node_documents(self._memory, healths)

    async def node_settings(self, name: NodeName) -> NodeSettings | None:
        self._check_known(name)
        return self._memory.node_settings.get(name)

    async def set_node(
        self, settings: NodeSettings, who: Who, dry_run: bool = False, version: str | None = None
    ) -> None:
        """`version`: of the settings that it must still have."""
        self._check_known(settings.name)

        def command(draft: Draft) -> None:
            check_version("node", settings.name, draft.node_settings(settings.name), settings, version)
            draft.batch.node_settings.append(settings)
            draft.note("node.Changed", settings.name, who.user, settings)

        await self._transactor.do(command, dry_run)

    def _check_known(self, name: NodeName) -> None:
        """There, or at least something was done to it: what was may be undone while it is away."""
        if self._memory.node(name) is None and name not in self._memory.node_settings:
            raise NotFound("node", name)

    async def queues(self) -> Sequence[QueueDocument]:
        placed = (self._memory.jobs[job_id] for job_id in self._memory.on_nodes)
        running = Counter(one.spec.template.queue for one in placed if one.phase is not Phase.PENDING)
        oldest: dict[QueueName, int] = {}
        for state in self._memory.jobs.values():
            queue = state.spec.template.queue
            if state.phase is Phase.PENDING:
                oldest[queue] = min(oldest.get(queue, state.submitted_ms), state.submitted_ms)
        policies = {queue.name: queue for one in self._live.policy.schedulers for queue in one.queues}
        names = dict.fromkeys((*policies, *self._memory.queues, *self._memory.pending, *running))
        now_ms = self._transactor.now_ms()
        return [
            QueueDocument(
                name=name,
                state=known.mode if (known := self._memory.queues.get(QueueName(name))) else QueueMode.OPEN,
                since=time_of(known.since_ms) if known else None,
                message=known.message if known else "",
                interactive=name in policies and policies[name].interactive,
                waiting=self._memory.pending.get(QueueName(name), 0),
                running=running[QueueName(name)],
                longest_wait_s=(now_ms - oldest[QueueName(name)]) / 1000 if name in oldest else None,
            )
            for name in names
        ]

    async def set_queue(self, state: QueueState, who: Who, dry_run: bool = False) -> None:
        def command(draft: Draft) -> None:
            draft.batch.queues.append(state)
            draft.note("queue.Changed", state.name, who.user, state)

        await self._transactor.do(command, dry_run)

    async def maintenance(self) -> Sequence[Maintenance]:
        return tuple(self._memory.maintenance.values())

    async def set_maintenance(self, window: Maintenance, who: Who, dry_run: bool = False) -> None:
        self._check_nodes(window.nodes)

        def command(draft: Draft) -> None:
            if window.name in self._memory.reservations:
                raise Conflict(f'a reservation is named "{window.name}" already', "choose another name")
            draft.batch.maintenance.append(window)
            draft.note("maintenance.Announced", window.name, who.user, window)

        await self._transactor.do(command, dry_run)

    async def remove_maintenance(self, name: str, who: Who, dry_run: bool = False) -> None:
        if name not in self._memory.maintenance:
            raise NotFound("maintenance", name)
        await self._remove(Removal.MAINTENANCE, "maintenance.Withdrawn", name, who, dry_run)

    async def reservations(self) -> Sequence[Reservation]:
        return tuple(self._memory.reservations.values())

    async def set_reservation(self, reservation: Reservation, who: Who, dry_run: bool = False) -> None:
        self._check_nodes(reservation.nodes)

        def command(draft: Draft) -> None:
            if reservation.name in self._memory.maintenance:
                raise Conflict(f'maintenance is named "{reservation.name}" already', "choose another name")
            check_room(reservation, self._memory.reservations.values(), self._memory.nodes())
            draft.batch.reservations.append(reservation)
            draft.note("reservation.Made", reservation.name, who.user, reservation)

        await self._transactor.do(command, dry_run)

    async def remove_reservation(self, name: str, who: Who, dry_run: bool = False) -> None:
        if name not in self._memory.reservations:
            raise NotFound("reservation", name)
        await self._remove(Removal.RESERVATION, "reservation.Withdrawn", name, who, dry_run)

    def _check_nodes(self, names: Iterable[NodeName]) -> None:
        for name in names:
            if self._memory.node(name) is None:
                raise NotFound("node", name)

    # -- who may what

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

    @property
    def rights_version(self) -> int:
        return self._memory.rights_version

    async def add_token(
        self,
        token: Token,
        who: Who,
        dry_run: bool = False,
        answer_of: Callable[[Token], Answer] | None = None,
        most: int | None = None,
    ) -> None:
        """`most`: the number of valid tokens that one user may have."""

        def command(draft: Draft) -> None:
            check_token(draft, token, most)
            draft.batch.tokens.append(token)
            about = {"id": token.id, "user": token.user, "role": token.role.value, "parent": token.parent}
            draft.note("token.Made", token.id, who.user, about)
            if answer_of is not None:
                draft.batch.answers.append(answer_of(token))

        await self._transactor.do(command, dry_run)

    async def remove_token(self, token_id: str, who: Who, dry_run: bool = False) -> Sequence[str]:
        """With all that were made with it, which would be worth nothing any more: the ids of all."""

        def command(draft: Draft) -> Sequence[str]:
            ids = with_descendants(token_id, draft.tokens())
            if not ids:
                raise NotFound("token", token_id)
            for one in ids:
                draft.batch.removed.append((Removal.TOKEN, one))
                draft.note("token.Revoked", one, who.user, {} if one == token_id else {"with": token_id})
            return ids

        return await self._transactor.do(command, dry_run)

    async def _remove(self, kind: Removal, event: str, name: str, who: Who, dry_run: bool) -> None:
        def command(draft: Draft) -> None:
            draft.batch.removed.append((kind, name))
            draft.note(event, name, who.user, {})

        await self._transactor.do(command, dry_run)
