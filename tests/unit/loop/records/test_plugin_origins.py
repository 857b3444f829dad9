from importlib.metadata import Distribution, EntryPoint
from unittest.mock import Mock

from rota.loop.hosting.plugin_host import GROUP
from rota.loop.records.plugin_origins import PluginOrigin, origins_of
from rota.model.policy import PluginConfig, Policy, SchedulerPolicy, Selection, Strategy


def point(name: str, package: str = "", version: str = "") -> EntryPoint:
    found = EntryPoint(name, "some.module:Plugin", GROUP)
    if package:
        dist = Mock(spec=Distribution, version=version)
        dist.name = package
        vars(found).update(dist=dist)
    return found


def test_those_that_a_policy_names_and_rota_lacks() -> None:
    policy = Policy(
        (
            SchedulerPolicy(plugins=(PluginConfig("green"), PluginConfig("gpu-packing"))),
            SchedulerPolicy("second", selection=Selection(Strategy.CUSTOM, "blue")),
        )
    )
    found = [point("green", "rota-green", "1.2"), point("red", "rota-red", "3"), point("green", "copy", "0")]
    assert origins_of(policy, found) == (
        PluginOrigin("blue"),
        PluginOrigin("green", "copy", "0"),
        PluginOrigin("green", "rota-green", "1.2"),
    )


def test_most_policies_name_none() -> None:
    assert origins_of(Policy()) == ()
