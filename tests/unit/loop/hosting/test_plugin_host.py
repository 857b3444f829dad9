"""Plugins from outside: found, named by policies, and kept from doing harm."""

from __future__ import annotations

import sys
from importlib.metadata import Distribution, EntryPoint
from pathlib import Path

import pytest

from rota.loop.hosting.plugin_host import GROUP, PluginHost
from rota.loop.on_files import Moment
from rota.model.cluster import ClusterRecords
from rota.model.ids import JobId, NodeName
from rota.model.job import Job, JobRecord, JobTemplate, TaskGroup
from rota.model.node import Node, NodeSpec
from rota.model.plan import Plan
from rota.model.policy import PluginConfig, Policy, SchedulerPolicy, Selection, Strategy
from rota.model.reasons import RefusedByPlugin
from rota.model.resources import Resources
from rota.model.task import TaskSpec
from rota.plugins import NAMED
from tests.unit.loop import plugins_for_tests as strangers

CALL_LIMIT_S = 0.3


def point(name: str, target: str) -> EntryPoint:
    return EntryPoint(name, f"{strangers.__name__}:{target}", GROUP)


def policy(*plugins: PluginConfig, selection: Selection | None = None) -> Policy:
    return Policy((SchedulerPolicy(plugins=plugins, selection=selection or Selection()),))


def plan(host: PluginHost, under: Policy) -> Plan:
    """One job of one task, on either of two equal nodes."""
    spec = NodeSpec(Resources(cpu_milli=4000))
    records = ClusterRecords(
        nodes=(Node(NodeName("n1"), spec), Node(NodeName("n2"), spec)),
        jobs=(JobRecord(Job(JobId("job"), JobTemplate((TaskGroup(TaskSpec(Resources(1000))),)))),),
    )
    return Moment(records, under, now_ms=0, host=host, call_limit_s=CALL_LIMIT_S).plan()


def plan_with(target: str, weight: int = 100, **settings: str) -> Plan:
    config = PluginConfig("stranger", weight, tuple(settings.items()))
    return plan(PluginHost([point("stranger", target)]), policy(config))


@pytest.mark.covers("decide-10")
class TestGoodPlugins:
    def test_filter(self) -> None:
        assert [one.node for one in plan_with("OnlyNamed", node="n2").bindings] == ["n2"]

    def test_a_refusal_has_the_plugins_name_and_words(self) -> None:
        (waiting,) = plan_with("OnlyNamed", node="elsewhere").waiting
        (refusal,) = waiting.verdict.refusals
        assert refusal.reason == RefusedByPlugin("stranger", "not the one")
        assert refusal.nodes == 2

    @pytest.mark.parametrize("node", ["n1", "n2"])
    def test_score(self, node: str) -> None:
        assert [one.node for one in plan_with("Favourite", node=node).bindings] == [node]

    @pytest.mark.covers("decide-18")
    def test_is_not_told_of_what_is_only_planned(self) -> None:
        strangers.told.clear()
        plan_with("Listener")
        assert strangers.told == []


@pytest.mark.covers("decide-10")
class TestBadPlugins:
    """Each harms its own verdict only: the job is placed as if the plugin weren't there."""

    @pytest.mark.parametrize(
        ("target", "call", "error"),
        [
            ("Raising", "filter", "ValueError: no idea"),
            ("RaisingOnScore", "score", "ValueError: no idea"),
            ("RaisingWhenMade", "load", "ValueError: no settings"),
            ("RaisingUnspeakably", "filter", "Escaped: raised Unspeakable, which cannot be shown"),
            ("Leaving", "filter", "Escaped: raised SystemExit: 3"),
            ("Interrupting", "filter", "Escaped: raised KeyboardInterrupt: "),
            ("ScoringText", "score", "ValueError: "),
            ("ScoringTooHigh", "score", "ValueError: scores must lie between 0 and 1000"),
            ("TooFewRows", "filter", "ValueError: filter_rows must give one boolean a node"),
            ("not_a_plugin", "load", "PluginLoadError: "),
            ("Missing", "load", "PluginLoadError: cannot be imported: AttributeError: "),
        ],
    )
    def test_one_that_fails_is_reported(self, target: str, call: str, error: str) -> None:
        result = plan_with(target)
        assert [one.node for one in result.bindings] == ["n1"]
        fault = result.faults[0]
        assert (fault.plugin, fault.call) == ("stranger", call)
        assert fault.error.startswith(error)

    @pytest.mark.parametrize(("target", "call"), [("Sleeping", "filter"), ("Looping", "score")])
    @pytest.mark.slow
    def test_one_that_hangs_is_silenced(self, target: str, call: str) -> None:
        result = plan_with(target)
        assert [one.node for one in result.bindings] == ["n1"]
        (fault,) = result.faults
        assert (fault.plugin, fault.call) == ("stranger", call)
        assert fault.error == "TimeoutError: took longer than 0.3 s"

    def test_others_still_have_their_say(self) -> None:
        host = PluginHost([point("bad", "Raising"), point("good", "OnlyNamed")])
        result = plan(host, policy(PluginConfig("bad"), PluginConfig("good", settings=(("node", "n2"),))))
        assert [one.node for one in result.bindings] == ["n2"]
        assert {fault.plugin for fault in result.faults} == {"bad"}

    def test_one_whose_module_is_missing(self) -> None:
        host = PluginHost([EntryPoint("gone", "no_such_module_at_all:Plugin", GROUP)])
        result = plan(host, policy(PluginConfig("gone")))
        assert [one.node for one in result.bindings] == ["n1"]
        (fault,) = result.faults
        assert "ModuleNotFoundError" in fault.error

    @pytest.mark.slow
    def test_one_whose_import_hangs(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "hangs_on_import.py").write_text("while True: pass")
        monkeypatch.syspath_prepend(tmp_path)
        host = PluginHost([EntryPoint("slow", "hangs_on_import:Plugin", GROUP)], import_limit_s=0.2)
        (installed,) = host.installed()
        assert installed.fault == "cannot be imported: TimeoutError: took longer than 0.2 s"


class TestFinding:
    def test_imports_only_what_a_policy_names(self) -> None:
        module = "tests.unit.loop.imported_when_named"
        sys.modules.pop(module, None)
        host = PluginHost([point("named", "OnlyNamed"), EntryPoint("other", f"{module}:Other", GROUP)])
        assert set(host.names) == {"named", "other", *NAMED}
        host.makers(policy(PluginConfig("named")))
        assert module not in sys.modules

    def test_rotas_own_need_no_installation(self) -> None:
        chosen = Selection(Strategy.CUSTOM, "gpu-packing")
        made = PluginHost([]).makers(policy(PluginConfig("fgd"), selection=chosen))
        assert made == {"fgd": NAMED["fgd"], "gpu-packing": NAMED["gpu-packing"]}

    def test_nobody_takes_the_name_of_one_of_rotas_own(self) -> None:
        host = PluginHost([point("fgd", "OnlyNamed")])
        assert host.makers(policy(PluginConfig("fgd"))) == {"fgd": NAMED["fgd"]}
        (installed,) = host.installed()
        assert installed.fault == "Rota has a plugin of this name itself; give it another"

    def test_a_selection_names_a_plugin_too(self) -> None:
        chosen = Selection(Strategy.CUSTOM, "favourite")
        host = PluginHost([point("favourite", "Favourite"), point("other", "OnlyNamed")])
        assert set(host.makers(policy(selection=chosen))) == {"favourite"}

    def test_two_packages_with_one_name_are_both_refused(self) -> None:
        host = PluginHost([_of("zebra", "Favourite"), _of("aardvark", "OnlyNamed")])
        faults = {one.package: one.fault for one in host.installed()}
        assert set(faults) == {"aardvark", "zebra"}
        assert set(faults.values()) == {"several packages offer it: aardvark, zebra; uninstall all but one"}

    def test_the_state_of_each(self) -> None:
        host = PluginHost([point("good", "Favourite"), point("bad", "not_a_plugin")])
        assert {one.name: bool(one.fault) for one in host.installed()} == {"good": False, "bad": True}


class _Package(Distribution):
    def __init__(self, name: str) -> None:
        self._metadata_text = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"

    def read_text(self, filename: str) -> str | None:
        return self._metadata_text if filename == "METADATA" else None

    def locate_file(self, path: object) -> object:  # type: ignore[override]
        raise NotImplementedError


def _of(package: str, target: str) -> EntryPoint:
    one = point("twice", target)
    vars(one).update(dist=_Package(package))
    return one
