"""Words for the reasons of plugins and for the changes that they propose. A new plugin has its words here."""

from __future__ import annotations

from rota.model.containers import IMAGE_NEEDED, RUNS_IMAGES
from rota.model.node import MACHINE, MOUNT
from rota.plugins.backend import NotOfBackend
from rota.plugins.gpu_model import AllowGpuModel, OtherGpuModel
from rota.plugins.memory import MemoryFull
from rota.plugins.node_affinity import DropNodeAffinity, NodeAffinityUnmet
from rota.plugins.node_name import OtherNodeNamed
from rota.plugins.node_ready import NodeCordoned, NodeNotReady
from rota.plugins.node_selector import DropNodeSelector, LabelNode, NodeSelectorUnmet
from rota.plugins.pool import AllowPool, NotInPool
from rota.plugins.price import TooExpensive
from rota.plugins.taints import Tolerate, UntoleratedPassingTaint, UntoleratedTaint
from rota.views.amounts import price_text
from rota.views.conditions import terms_text
from rota.views.saying import ChangeWords, ReasonWords, always, proposed, said


def _pool(reason: NotInPool) -> str:
    if not reason.pools:
        return "no pool that job, queue and tenant have in common"
    return f"not in pool {', '.join(reason.pools)}"


def _taint(reason: UntoleratedTaint | UntoleratedPassingTaint) -> str:
    if reason.key == IMAGE_NEEDED.key:
        return "runs only jobs that name an image"
    others = f" and {reason.others} others" if reason.others else ""
    return f"untolerated taint {taint_name(reason)}{others}"


def taint_name(reason: UntoleratedTaint | UntoleratedPassingTaint) -> str:
    if reason.effect is None:
        return f"{reason.key}: {reason.value}"
    return f"{reason.key}{f'={reason.value}' if reason.value else ''}:{reason.effect.value}"


def _price(reason: TooExpensive) -> str:
    allowed, cheapest = price_text(reason.limit_micro), price_text(reason.cheapest_micro)
    return f"too dear: allows {allowed}, cheapest {cheapest}"


def _node_selector(reason: NodeSelectorUnmet) -> str:
    if _is_of_a_folder(reason.key):
        return "doesn't have the folder that the job was submitted from"
    if reason.key == RUNS_IMAGES[0]:
        return "runs no containers, and the job names an image"
    return f"node selector {reason.key}={reason.value} doesn't match"


def _drop_node_selector(change: DropNodeSelector) -> str:
    if _is_of_a_folder(change.key):
        return (
            "name a folder that its nodes have (--dir), take files along (--file),"
            " or run it in an empty folder (--clean)"
        )
    if change.key == RUNS_IMAGES[0]:
        return "run it without an image"
    return f"drop the node selector {change.key}={change.value}"


def _tolerate(change: Tolerate) -> str:
    if any(taint.key == IMAGE_NEEDED.key for taint in change.taints):
        return "name an image (--image)"
    return f"tolerate {', '.join(taint.notation for taint in change.taints)}"


def _is_of_a_folder(label: str) -> bool:
    return label == MACHINE or label.startswith(MOUNT)


PLUGIN_REASONS: ReasonWords = dict(
    (
        always(NodeNotReady, "node not ready"),
        always(NodeCordoned, "node cordoned"),
        always(MemoryFull, "memory is full: other programs use it"),
        said(OtherNodeNamed, lambda r: f"only node {r.node} will do"),
        said(NotInPool, _pool),
        said(NotOfBackend, lambda r: f"not of backend {', '.join(r.backends)}"),
        said(NodeSelectorUnmet, _node_selector),
        said(NodeAffinityUnmet, lambda r: f"node affinity {terms_text(r.terms)} doesn't match"),
        said(UntoleratedTaint, _taint),
        said(UntoleratedPassingTaint, _taint),
        said(OtherGpuModel, lambda r: f"no GPU of model {' or '.join(r.models)}"),
        said(TooExpensive, _price),
    )
)
PLUGIN_CHANGES: ChangeWords = dict(
    (
        proposed(Tolerate, _tolerate),
        proposed(DropNodeSelector, _drop_node_selector),
        proposed(LabelNode, lambda c: f"give node {c.node} the label {c.key}={c.value}"),
        proposed(DropNodeAffinity, lambda c: "drop the node affinity"),
        proposed(AllowPool, lambda c: f"allow the pool {c.pool}"),
        proposed(AllowGpuModel, lambda c: f"allow the GPU model {c.model}"),
    )
)
