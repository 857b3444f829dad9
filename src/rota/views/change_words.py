"""Words for the changes that the engine itself tries, by their types; those of plugins: `plugin_words`."""

from __future__ import annotations

from rota.kube_objects.priority import UsePriorityClass
from rota.model.changes import (
    AskForLess,
    DropInDomains,
    DropJobAffinity,
    DropSpread,
    DropTopology,
    PayMore,
    RaisePriority,
    ShareNodes,
    ShortenTimeLimit,
    StartWithFewer,
)
from rota.model.quantities import format_duration
from rota.views.amounts import (
    amount_text,
    asked_amount_text,
    count_text,
    noun_text,
    price_text,
    priority_text,
)
from rota.views.conditions import requirements_text
from rota.views.saying import ChangeWords, proposed


def _less(change: AskForLess) -> str:
    noun = noun_text(change.resource, of_one_device=change.of_one_device)
    asks = asked_amount_text(change.resource, change.asked)
    if not change.most:
        return f"ask for no {noun} (asks {asks})"
    return f"ask for at most {amount_text(change.resource, change.most)} {noun} (asks {asks})"


def _shorter(change: ShortenTimeLimit) -> str:
    has = format_duration(change.asked_ms) if change.asked_ms else "none"
    return f"set a time limit of at most {format_duration(change.most_ms)} (has {has})"


def _priority(change: RaisePriority) -> str:
    return f"raise the priority to {priority_text(change.priority)} (is {priority_text(change.asked)})"


def _pay(change: PayMore) -> str:
    return f"pay up to {price_text(change.price_micro)} a task (allows {price_text(change.limit_micro)})"


def _without_affinity(change: DropJobAffinity) -> str:
    return f"drop the affinity over {change.topology_key} with {requirements_text(change.requirements)}"


ENGINE_CHANGES: ChangeWords = dict(
    (
        proposed(AskForLess, _less),
        proposed(StartWithFewer, lambda c: f"start with {count_text(c.count, 'task')} (needs {c.needed})"),
        proposed(DropJobAffinity, _without_affinity),
        proposed(DropInDomains, lambda c: f"drop the rule to be in {c.count} of {c.topology_key}"),
        proposed(DropSpread, lambda c: f"drop the spread over {c.topology_key}"),
        proposed(ShareNodes, lambda c: "share nodes: drop exclusive"),
        proposed(PayMore, _pay),
        proposed(DropTopology, lambda c: f"drop the topology rule over {c.key}"),
        proposed(ShortenTimeLimit, _shorter),
        proposed(RaisePriority, _priority),
        proposed(UsePriorityClass, lambda c: f"give it the priority class {c.name}"),
    )
)
