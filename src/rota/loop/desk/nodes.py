"""Nodes as people see and set them: what they have, what of it is taken, what operators did to them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

from rota.api.cluster import NodeDocument
from rota.backends.backend import Health
from rota.control.access import Who
from rota.control.draft import Draft
from rota.control.errors import NotFound
from rota.control.memory import Memory
from rota.control.transactor import Transactor
from rota.control.versions import check_version, version_of
from rota.model.ids import NodeName
from rota.model.node import Node, NodeSpec
from rota.model.quantities import format_price
from rota.model.resources import WHOLE_GPU_MILLI, Resources
from rota.model.taints import Taint
from rota.store.writing.batch import NodeSettings

Healths = Sequence[tuple[str, Health]]
"""Of the store and of each backend, by name."""
NOWHERE = ""
"""The backend of a node that none has at the moment."""


class NodesDesk:
    """Nodes, and what operators set of them."""

    def __init__(self, transactor: Transactor, health: Callable[[], Awaitable[Healths]]) -> None:
        self._transactor = transactor
        self._memory = transactor.memory
        self._health = health

    async def nodes(self) -> Sequence[NodeDocument]:
        return node_documents(self._memory, dict(await self._health()))

    async def node_settings(self, name: NodeName) -> NodeSettings | None:
        self._check_known(name)
        return self._memory.node_settings.get(name)

    async def set_node(
        self, settings: NodeSettings, who: Who, dry_run: bool = False, version: str | None = None
    ) -> None:
        """`version`: of the settings that it must still have, as of `control.versions`."""
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


def node_documents(memory: Memory, healths: Mapping[str, Health]) -> list[NodeDocument]:
    used: dict[NodeName, Resources] = {}
    gpu_milli: dict[NodeName, int] = {}
    tasks: dict[NodeName, int] = {}
    for state in (memory.jobs[job_id] for job_id in memory.on_nodes):
        for task in state.live:
            if task.holds_room:
                spec = state.spec.template.spec_of(task.rank)
                used[task.node] = used.get(task.node, Resources()).plus(spec.requests)
                gpu_milli[task.node] = gpu_milli.get(task.node, 0) + spec.gpu.total_milli
                tasks[task.node] = tasks.get(task.node, 0) + 1
    return [
        _document(
            node,
            memory,
            used.get(node.name, Resources()),
            gpu_milli.get(node.name, 0),
            tasks.get(node.name, 0),
            healths.get(node.spec.backend),
        )
        for node in sorted((*memory.nodes(), *_away(memory)), key=lambda node: node.name)
    ]


def _away(memory: Memory) -> Iterator[Node]:
    """Those that operators did something to and that aren't there: so that they can see it, and undo it."""
    for name, settings in memory.node_settings.items():
        if memory.node(name) is None and settings != NodeSettings(name):
            spec = NodeSpec(Resources(), backend=NOWHERE, pool="", taints=settings.taints)
            yield Node(name, spec, ready=False, cordoned=settings.cordoned or settings.draining)


def _document(
    node: Node, memory: Memory, used: Resources, gpu_milli: int, tasks: int, health: Health | None
) -> NodeDocument:
    settings = memory.node_settings.get(node.name)
    messages = [settings.message if settings else ""]
    if node.spec.backend == NOWHERE:
        messages.append("it isn't there")
    if health is not None:
        messages += [health.message, dict(health.of_nodes).get(node.name, "")]
    return NodeDocument(
        name=node.name,
        backend=node.spec.backend,
        pool=node.spec.pool,
        ready=node.ready,
        cordoned=node.cordoned,
        draining=settings.draining if settings else False,
        labels=dict(node.spec.labels),
        taints=[_taint_text(taint) for taint in node.spec.taints],
        capacity=_amounts(node.spec.capacity),
        used=_amounts(used),
        gpus=node.spec.gpus.count,
        gpus_used=gpu_milli / WHOLE_GPU_MILLI,
        gpu_model=node.spec.gpus.model,
        tasks=tasks,
        load=node.load_milli / 1000,
        message="; ".join(filter(None, messages)),
        price_per_hour=format_price(price) if (price := node.spec.price_micro_per_hour) else None,
        version=version_of(settings or NodeSettings(node.name)),
    )


def _amounts(resources: Resources) -> dict[str, float | int]:
    return {
        "cpu": resources.cpu_milli / 1000,
        "memory": resources.memory_bytes,
        "storage": resources.storage_bytes,
        **dict(resources.extended),
    }


def _taint_text(taint: Taint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect.value}"
