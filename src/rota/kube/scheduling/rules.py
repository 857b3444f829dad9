"""What a decision on a live cluster goes by, beside the policy: kube-scheduler's rules, and plugins that the
policy names, under guard."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rota.engine.plugin import Plugins, RefusalOrder
from rota.kube.scheduling.filters import KUBE_FILTERS
from rota.loop.hosting.plugin_host import CALL_LIMIT_S, PluginHost
from rota.loop.hosting.time_limit import TimeLimit
from rota.model.policy import Policy
from rota.plugins import SCORES


@contextmanager
def rules_of(policy: Policy, host: PluginHost) -> Iterator[Plugins]:
    with TimeLimit(CALL_LIMIT_S) as guard:
        yield Plugins(
            KUBE_FILTERS,
            SCORES,
            host.makers(policy),
            guard,
            RefusalOrder.AS_ASKED,
            evicts_elsewhere=False,
        )
