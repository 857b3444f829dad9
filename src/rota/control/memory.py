"""All that is unfinished, in memory: what drafts are made on, and what the engine is shown.

Changed only by `absorb`, after a transaction was kept: what is in memory is in the store.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Generator, Iterable, Iterator, Mapping

from rota.backends.backend import TaskRef
from rota.control.charges import Charges
from rota.control.rooms import StandbyRooms, array_of, inheriting
from rota.control.shown_node import shown_node
from rota.lifecycle.retry import within_pause
from rota.lifecycle.state import JobState, LiveTask, Phase
from rota.limits.applying import Owner
from rota.limits.checking import owner_of
from rota.model.calendar import Maintenance, QueueState, Reservation
from rota.model.cluster import Calendar
from rota.model.ids import JobId, NodeName, QueueName
from rota.model.node import Node
from rota.model.policy import Policy
from rota.snapshot.state import ClusterState
from rota.store.reading.load import Loaded
from rota.store.writing.batch import (
    Agent,
    Attempt,
    Batch,
    JoinToken,
    NodeSettings,
    Project,
    Removal,
    Secret,
    Token,
)

_WAITING = (Phase.CREATED, Phase.PENDING)
REMEMBERED = 10_000
"""Jobs that have ended and are still at hand, the latest."""


class Memory:
    """More than twenty methods, because one change of a job moves all tables together: jobs, who waits, who
    depends on whom, arrays, rooms, and the engine's state. Apart, they could contradict each other."""

    def __init__(self, policy: Policy, epoch: int = 0) -> None:
        """`epoch`: of the server that leads, see `lifecycle.fences`."""
        self.policy = policy
        self.epoch = epoch
        self._clear()

    def _clear(self) -> None:
        """Nothing is known."""
        policy = self.policy
        self.jobs: dict[JobId, JobState] = {}
        self.ended: OrderedDict[JobId, JobState] = OrderedDict()
        self.node_settings: dict[NodeName, NodeSettings] = {}
        self.queues: dict[QueueName, QueueState] = {}
        self.maintenance: dict[str, Maintenance] = {}
        self.reservations: dict[str, Reservation] = {}
        self.projects: dict[str, Project] = {}
        self.tokens: dict[str, Token] = {}
        """By the hash of the secret."""
        self.tokens_by_id: dict[str, Token] = {}
        self.rights_version = 0
        """Counts up whenever somebody may have lost a right: a project or a token was changed or removed."""
        self.join_tokens: dict[str, JoinToken] = {}
        self.agents: dict[str, Agent] = {}
        self.secrets: dict[str, Secret] = {}
        """By project/name."""
        self.cluster = ClusterState(policy.defaults)
        self.vacating: dict[NodeName, set[TaskRef]] = {}
        """Tasks that were evicted and haven't stopped yet."""
        self.pending: dict[QueueName, int] = {}
        """How many jobs wait in each queue."""
        self.waiting: dict[Owner, int] = {}
        """How many jobs wait of each owner, those that are held or wait for others included."""
        self.on_nodes: set[JobId] = set()
        """Jobs that have tasks there: mostly few of all."""
        self.last_number = 0
        """Of all jobs in memory so far, the highest."""
        self.charges = Charges(policy.fair_share)
        self._reported: dict[NodeName, Node] = {}
        self._shown: dict[NodeName, Node] = {}
        self._in_cluster: set[JobId] = set()
        self._dependents: dict[JobId, dict[JobId, None]] = {}
        self._elements: dict[str, set[JobId]] = {}
        self._rooms = StandbyRooms()

    # -- looking

    def job(self, job_id: JobId) -> JobState | None:
        """Also one that has ended not long ago."""
        return self.jobs.get(job_id) or self.ended.get(job_id)

    def elements(self, array: str) -> list[JobId]:
        """Of an array, those that are unfinished, in order."""
        return sorted(self._elements.get(array, ()), key=_element_index)

    def leaves_room(self, ended: Attempt) -> bool:
        """To whoever comes: nobody of its array stands by where it ended."""
        array = array_of(ended.job)
        return not (array and self._rooms.are_waiting(array, ended.node))

    def standing_by(self, job_id: JobId, node: NodeName) -> list[JobId]:
        """Who would start there as soon as this job's task ends."""
        array = array_of(job_id)
        return self._rooms.waiting(array, node) if array else []

    def heirs(self, changed: Mapping[JobId, JobState]) -> list[JobState]:
        """Those on standby to whom these changes leave a room, as they then are."""
        heirs = self._rooms.heirs(self.jobs, changed)
        return [inheriting(changed.get(job_id) or self.jobs[job_id]) for job_id in heirs]

    def dependents(self, job_id: JobId) -> Iterable[JobId]:
        return tuple(self._dependents.get(job_id, ()))

    @property
    def calendar(self) -> Calendar:
        return Calendar(
            tuple(self.maintenance.values()), tuple(self.reservations.values()), tuple(self.queues.values())
        )

    @property
    def shown(self) -> Mapping[NodeName, Node]:
        """The nodes, as the engine is shown them now: another mapping after each change."""
        return self._shown

    def nodes(self) -> Iterator[Node]:
        """As the engine is shown them: what backends report, with what operators did."""
        return iter(self._shown.values())

    def node(self, name: NodeName) -> Node | None:
        return self._shown.get(name)

    # -- what the nodes are

    def set_nodes(self, nodes: Iterable[Node]) -> bool:
        """All nodes there are; tells whether that changed anything."""
        self._reported = {node.name: node for node in nodes}
        return self._show_nodes()

    def _show_nodes(self) -> bool:
        shown = {
            name: shown_node(node, self.agents.get(name), self.node_settings.get(name))
            for name, node in self._reported.items()
        }
        if shown == self._shown:
            return False
        for name in self._shown.keys() - shown.keys():
            self.cluster.remove_node(name)
        for name, node in shown.items():
            if self._shown.get(name) != node:
                self.cluster.set_node(node)
        self._shown = shown
        return True

    def set_policy(self, policy: Policy) -> None:
        """What is known stays known, and is seen by the new policy from now on."""
        before, self.policy = self.policy, policy
        if policy.fair_share != before.fair_share:
            self.charges.set_fair_share(policy.fair_share)
        if policy.defaults != before.defaults:
            self.cluster = self.cluster.with_defaults(policy.defaults)

    # -- what was kept

    def reload(self, loaded: Loaded, now_ms: int) -> None:
        """Takes what is kept for what is true, whatever was in memory."""
        nodes = list(self._reported.values())
        rights_version = self.rights_version
        self._clear()
        self.load(loaded, now_ms)
        self.rights_version += rights_version + 1
        self.set_nodes(nodes)

    def load(self, loaded: Loaded, now_ms: int | None = None) -> None:
        """All that was kept, at the start. `now_ms`: pauses that are too long by that are shortened."""
        self.charges = Charges(self.policy.fair_share, loaded.usage)
        self.cluster.set_usage(self.charges.usage())
        self._rooms.changed({}, loaded.jobs)
        for job in loaded.jobs:
            self._put(job if now_ms is None or not job.not_before_ms else within_pause(job, now_ms))
        self._absorb_settings(
            Batch(
                node_settings=list(loaded.node_settings),
                queues=list(loaded.queues),
                maintenance=list(loaded.maintenance),
                reservations=list(loaded.reservations),
                projects=list(loaded.projects),
                tokens=list(loaded.tokens),
                join_tokens=list(loaded.join_tokens),
                agents=list(loaded.agents),
                secrets=list(loaded.secrets),
            )
        )

    def absorb(self, batch: Batch) -> None:
        for _ in self.absorbing(batch, len(batch.jobs) + 1):
            pass

    def absorbing(self, batch: Batch, slice_size: int) -> Generator[None, None, None]:
        """With a break after so many jobs. Whoever looks meanwhile sees some of it: nothing may be tried on a
        draft before it is done."""
        self.charges.saved(batch.usage)
        self._rooms.changed(self.jobs, batch.jobs)
        for count, job in enumerate(batch.jobs, 1):
            self._put(job)
            if count % slice_size == 0:
                yield
        for attempt in batch.attempts:
            if attempt.ended_ms is not None and (state := self.job(attempt.job)) is not None:
                self.charges.add(state.spec.template, attempt)
        self._absorb_settings(batch)

    def _absorb_settings(self, batch: Batch) -> None:
        for settings in batch.node_settings:
            self.node_settings[settings.name] = settings
        for queue in batch.queues:
            self.queues[queue.name] = queue
        self.maintenance.update((one.name, one) for one in batch.maintenance)
        self.reservations.update((one.name, one) for one in batch.reservations)
        self.projects.update((one.name, one) for one in batch.projects)
        self.tokens.update((one.secret_sha256, one) for one in batch.tokens)
        self.tokens_by_id.update((one.id, one) for one in batch.tokens)
        self.join_tokens.update((one.id, one) for one in batch.join_tokens)
        self.agents.update((one.name, one) for one in batch.agents)
        self.secrets.update((f"{one.project}/{one.name}", one) for one in batch.secrets)
        for kind, name in batch.removed:
            self._remove(kind, name)
        if batch.projects or batch.removed:
            self.rights_version += 1
        if batch.queues or batch.maintenance or batch.reservations or batch.removed:
            self.cluster.set_calendar(self.calendar)
        if batch.node_settings or batch.agents or batch.removed:
            self._show_nodes()

    def _remove(self, kind: Removal, name: str) -> None:
        match kind:
            case Removal.MAINTENANCE:
                self.maintenance.pop(name, None)
            case Removal.RESERVATION:
                self.reservations.pop(name, None)
            case Removal.PROJECT:
                self.projects.pop(name, None)
            case Removal.TOKEN:
                token = self.tokens_by_id.pop(name, None)
                if token is not None:
                    self.tokens.pop(token.secret_sha256, None)
            case Removal.JOIN_TOKEN:
                self.join_tokens.pop(name, None)
            case Removal.SECRET:
                self.secrets.pop(name, None)
            case Removal.AGENT:
                self.agents.pop(name, None)
            case Removal.NODE_SETTINGS:
                self.node_settings.pop(NodeName(name), None)

    def settle_usage(self) -> None:
        """Shows the engine what was charged since the last time."""
        if self.charges.has_changed:
            self.cluster.set_usage(self.charges.usage())
            self.charges.has_changed = False

    def _put(self, state: JobState) -> None:
        before = self.jobs.get(state.id)
        self.last_number = max(self.last_number, state.number)
        self._count(before, -1)
        self._note_vacating(before, state)
        if state.is_over:
            self._let_go(state)
        else:
            self.jobs[state.id] = state
            self._count(state, 1)
            if state.live:
                self.on_nodes.add(state.id)
            else:
                self.on_nodes.discard(state.id)
            for dependency in state.depends_on:
                self._dependents.setdefault(dependency.job, {}).setdefault(state.id)
            array = array_of(state.id)
            if array:
                self._elements.setdefault(array, set()).add(state.id)
        self._show_job(state)

    def _count(self, state: JobState | None, sign: int) -> None:
        if state is None or state.phase not in _WAITING:
            return
        template = state.spec.template
        if state.phase is Phase.PENDING:
            self.pending[template.queue] = self.pending.get(template.queue, 0) + sign
        owner = owner_of(template)
        count = self.waiting.get(owner, 0) + sign
        if count:
            self.waiting[owner] = count
        else:
            self.waiting.pop(owner, None)

    def _note_vacating(self, before: JobState | None, after: JobState) -> None:
        if before is not None:
            for task in before.live:
                if task.evicted:
                    self.vacating.get(task.node, set()).discard(_ref(after.id, task))
        for task in after.live:
            if task.evicted:
                self.vacating.setdefault(task.node, set()).add(_ref(after.id, task))

    def _let_go(self, state: JobState) -> None:
        before = self.jobs.pop(state.id, None)
        self.on_nodes.discard(state.id)
        if before is not None:
            for dependency in before.depends_on:
                self._dependents.get(dependency.job, {}).pop(state.id, None)
        self._dependents.pop(state.id, None)
        array = array_of(state.id)
        if array and array in self._elements:
            self._elements[array].discard(state.id)
            if not self._elements[array]:
                del self._elements[array]
        self.ended[state.id] = state
        if len(self.ended) > REMEMBERED:
            self.ended.popitem(last=False)

    def _show_job(self, state: JobState) -> None:
        """Jobs that are held or wait for others are none of the engine's business."""
        is_shown = not state.is_over and state.phase is not Phase.CREATED
        if is_shown:
            self.cluster.set_job(state.record())
            self._in_cluster.add(state.id)
        elif state.id in self._in_cluster:
            self.cluster.remove_job(state.id)
            self._in_cluster.discard(state.id)


def _element_index(job_id: JobId) -> int:
    return int(job_id.partition(".")[2])


def _ref(job_id: JobId, task: LiveTask) -> TaskRef:
    return TaskRef(job_id, task.rank, task.fence)
