"""What a decision on a live cluster goes by, beside the policy: kube-scheduler's rules, disruption budgets,
and plugins that the policy names, under guard."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace

from rota.engine.plugin import Disruptions, Plugins, RefusalOrder
from rota.kube.scheduling.filters import KUBE_FILTERS
from rota.loop.hosting.plugin_host import PluginHost
from rota.model.policy import Policy
from rota.model.reasons import (
    ClaimInUse,
    DiskTaken,
    GangLacksRoom,
    Insufficient,
    JobAntiAffinityUnmet,
    PortTaken,
    RunningAntiAffinity,
    SpreadUneven,
    TooManyVolumes,
)
from rota.plugins import SCORES

BY_EVICTING = (
    Insufficient,
    PortTaken,
    DiskTaken,
    ClaimInUse,
    TooManyVolumes,
    JobAntiAffinityUnmet,
    RunningAntiAffinity,
    SpreadUneven,
    GangLacksRoom,
)
"""Reasons that the end of other pods could do away with."""
JOBS_SCORED = 100
"""Of so many pods and gangs that start in a cycle the log has the scores."""

KUBE_RULES = Plugins(
    KUBE_FILTERS,
    SCORES,
    refusal_order=RefusalOrder.AS_ASKED,
    evicts_elsewhere=False,
    asked_without_victims=BY_EVICTING,
    jobs_scored=JOBS_SCORED,
)


def rules_of(
    policy: Policy, host: PluginHost, disruptions: Disruptions | None
) -> AbstractContextManager[Plugins]:
    """`disruptions`: as the budgets are now; None: there are none."""
    return host.in_force(policy, replace(KUBE_RULES, disruptions=disruptions))
