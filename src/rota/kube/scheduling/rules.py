"""What a decision on a live cluster goes by, beside the policy: kube-scheduler's rules, and plugins that the
policy names, under guard."""

from __future__ import annotations

from contextlib import AbstractContextManager

from rota.engine.plugin import Plugins, RefusalOrder
from rota.kube.scheduling.filters import KUBE_FILTERS
from rota.loop.hosting.plugin_host import PluginHost
from rota.model.policy import Policy
from rota.plugins import SCORES

KUBE_RULES = Plugins(KUBE_FILTERS, SCORES, refusal_order=RefusalOrder.AS_ASKED, evicts_elsewhere=False)


def rules_of(policy: Policy, host: PluginHost) -> AbstractContextManager[Plugins]:
    return host.in_force(policy, KUBE_RULES)
