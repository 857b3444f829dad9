"""`rota plan`: the data that programs rely on, and the tables that people read."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import yaml

from rota.loop.hosting.plugin_host import GROUP
from tests.unit.cli.calling import MIXED, MIXED_FILES, rota, write
from tests.unit.cli.manifests import kube_node, pod, widest

POLICY = ("--policy", str(MIXED / "policy.yaml"))


class TestData:
    def test_has_these_keys_and_no_others(self) -> None:
        data = rota("plan", *MIXED_FILES, *POLICY, "-o", "json").data
        assert list(data) == ["bindings", "evictions", "waiting", "starts"]
        assert {tuple(one) for one in data["bindings"]} == {("job", "task", "node")}
        assert {tuple(one) for one in data["evictions"]} == {("job", "task", "node", "for")}
        assert {tuple(one) for one in data["waiting"]} == {("job", "verdict", "reasons")}
        reasons = [reason for one in data["waiting"] for reason in one["reasons"]]
        assert {tuple(reason) for reason in reasons} == {("plugin", "message", "nodes")}
        assert {one["verdict"] for one in data["waiting"]} == {"not-now", "never"}

    def test_exactly(self, tmp_path: Path) -> None:
        files = write(
            tmp_path,
            cluster="""
                nodes:
                  - {name: small, resources: {cpu: 2}}
                  - {name: large, resources: {cpu: 4}, taints: ["dedicated=ml:NoSchedule"]}
                """,
            jobs="""
                jobs:
                  - name: old
                    priority: low
                    resources: {cpu: 2}
                    running_on: small
                  - {name: pair, tasks: 2, priority: high, resources: {cpu: 1}}
                  - {name: wide, resources: {cpu: 3}}
                """,
        )
        assert rota("plan", *files, "-o", "json").data == {
            "bindings": [
                {"job": "pair", "task": "pair/0", "node": "small"},
                {"job": "pair", "task": "pair/1", "node": "small"},
            ],
            "evictions": [{"job": "old", "task": "old/0", "node": "small", "for": "pair"}],
            "waiting": [
                {
                    "job": "old",
                    "verdict": "not-now",
                    "reasons": [
                        {"plugin": "preemption", "message": "preempted by pair, queued again", "nodes": 0}
                    ],
                },
                {
                    "job": "wide",
                    "verdict": "never",
                    "reasons": [
                        {
                            "plugin": "resources",
                            "message": "beyond every such node: asks 3 cpu, largest has 2",
                            "nodes": 1,
                        },
                        {
                            "plugin": "taints",
                            "message": "untolerated taint dedicated=ml:NoSchedule",
                            "nodes": 1,
                        },
                    ],
                },
            ],
            "starts": [],
        }

    def test_a_taint_evicts_for_nobody(self, tmp_path: Path) -> None:
        files = write(
            tmp_path,
            cluster="nodes: [{name: n, resources: {cpu: 2}, taints: ['down:NoExecute']}]",
            jobs="jobs: [{name: old, resources: {cpu: 2}, running_on: n}]",
        )
        (eviction,) = rota("plan", *files, "-o", "json").data["evictions"]
        assert eviction == {"job": "old", "task": "old/0", "node": "n", "for": None}

    def test_reasons_count_each_node_once(self) -> None:
        data = rota("plan", *MIXED_FILES, *POLICY, "-o", "json").data
        about_nodes = [
            sum(reason["nodes"] for reason in one["reasons"])
            for one in data["waiting"]
            if one["job"] in ("archive", "caption")
        ]
        assert len(set(about_nodes)) == 1

    def test_is_sorted_by_job_and_rank(self, tmp_path: Path) -> None:
        files = write(
            tmp_path,
            cluster="nodes: [{name: n, resources: {cpu: 64}}]",
            jobs="jobs: [{name: b, tasks: 12, resources: {cpu: 1}}, {name: a, priority: low}]",
        )
        tasks = [one["task"] for one in rota("plan", *files, "-o", "json").data["bindings"]]
        assert tasks == ["a/0", *(f"b/{rank}" for rank in range(12))]

    def test_yaml_says_the_same(self) -> None:
        as_json = rota("plan", *MIXED_FILES, *POLICY, "-o", "json").data
        assert yaml.safe_load(rota("plan", *MIXED_FILES, *POLICY, "-o", "yaml").out) == as_json

    def test_yaml_quotes_what_would_be_a_number(self, tmp_path: Path) -> None:
        files = write(
            tmp_path,
            cluster="nodes: [{name: '1e3', resources: {cpu: 2}}]",
            jobs="jobs: [{name: '0o17'}, {name: 'no'}]",
        )
        out = rota("plan", *files, "-o", "yaml").out
        assert "node: '1e3'" in out
        assert "job: '0o17'" in out
        assert "job: 'no'" in out

    def test_what_a_plugin_prints_is_kept_out(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        _install(monkeypatch, "Printing")
        result = rota("plan", *_small(tmp_path, plugin="stranger"), "-o", "json")
        assert len(result.data["bindings"]) == 1
        assert "a plugin was here" in result.err

    @pytest.mark.covers("decide-10")
    def test_a_plugin_that_fails_is_reported_once(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        _install(monkeypatch, "Raising")
        result = rota("plan", *_small(tmp_path, plugin="stranger"), "-o", "json")
        assert result.code == 0
        assert len(result.data["bindings"]) == 1
        (warning,) = result.err.splitlines()
        assert warning.startswith("rota: warning: plugin stranger failed in filter")
        assert "ValueError: no idea" in warning


def _install(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    found = [EntryPoint("stranger", f"tests.unit.loop.plugins_for_tests:{target}", GROUP)]
    monkeypatch.setattr("rota.loop.hosting.plugin_host.entry_points", lambda group: found)


def _small(folder: Path, plugin: str) -> tuple[str, ...]:
    cluster, jobs, policy = write(
        folder,
        cluster="nodes: [{name: n, resources: {cpu: 2}}]",
        jobs="jobs: [{name: j, resources: {cpu: 1}}]",
        policy=f"plugins: [{{name: {plugin}}}]",
    )
    return cluster, jobs, "--policy", policy


class TestPods:
    """A pod of a gang is a job to its users: it is known by its own name everywhere."""

    def test_of_a_gang_that_starts(self, tmp_path: Path) -> None:
        pods = "".join(pod(f"w{number}", gang="train") for number in range(2))
        files = write(tmp_path, cluster=kube_node("n", 2), jobs=pods)
        assert rota("plan", *files, "-o", "json").data["bindings"] == [
            {"job": "team/w0", "task": "team/w0", "node": "n"},
            {"job": "team/w1", "task": "team/w1", "node": "n"},
        ]

    def test_of_a_gang_that_waits(self, tmp_path: Path) -> None:
        pods = "".join(pod(f"w{number}", gang="train") for number in range(3))
        files = write(tmp_path, cluster=kube_node("n", 2), jobs=pods)
        waiting = rota("plan", *files, "-o", "json").data["waiting"]
        assert [one["job"] for one in waiting] == ["team/w0", "team/w1", "team/w2"]

    def test_of_a_gang_that_preempts(self, tmp_path: Path) -> None:
        running = pod("a", node="n1", cpu="2") + pod("b", node="n2", cpu="2")
        gang = "".join(pod(f"w{number}", gang="train", cpu="2", priority=1000) for number in range(2))
        nodes = kube_node("n1", 2) + kube_node("n2", 2)
        data = rota("plan", *write(tmp_path, cluster=nodes, jobs=running + gang), "-o", "json").data
        heir = {one["node"]: one["job"] for one in data["bindings"]}
        assert {one["node"]: one["for"] for one in data["evictions"]} == heir


@pytest.mark.covers("first-5")
class TestManifests:
    DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: team}
spec:
  replicas: 2
  template: {spec: {containers: [{name: main, resources: {requests: {cpu: 500m}}}]}}
---"""
    SERVICE = "\n{apiVersion: v1, kind: Service, metadata: {name: web}}\n---"

    def test_what_makes_pods_is_planned_as_the_pods_that_it_would_make(self, tmp_path: Path) -> None:
        files = write(tmp_path, cluster=kube_node("n", 2), jobs=self.DEPLOYMENT + self.SERVICE)
        result = rota("plan", *files, "-o", "json")
        assert result.code == 0
        assert [(one["job"], one["task"]) for one in result.data["bindings"]] == [
            ("team/web", "team/web-0"),
            ("team/web", "team/web-1"),
        ]
        assert "note: " in result.err
        assert "Service is not read: web" in result.err

    def test_several_files_are_read_as_one(self, tmp_path: Path) -> None:
        cluster, jobs, more = write(
            tmp_path, cluster=kube_node("n", 2), jobs=self.DEPLOYMENT, more=pod("a", gang="g")
        )
        result = rota("plan", cluster, jobs, more, jobs)
        assert (result.code, "3 of 3 tasks placed" in result.out) == (0, True)

    def test_a_file_of_which_nothing_is_read_is_an_error(self, tmp_path: Path) -> None:
        cluster, jobs = write(tmp_path, cluster=kube_node("n", 2), jobs=self.SERVICE)
        result = rota("plan", cluster, jobs)
        assert (result.code, result.out) == (1, "")
        assert "nothing in it is read: 1 Service; kinds that are read: Node, " in result.err
        assert "LeaderWorkerSet" in result.err

    def test_what_can_not_be_read_is_listed_and_the_rest_is_planned(self, tmp_path: Path) -> None:
        bad = self.DEPLOYMENT.replace("500m", "much").replace("web", "bad")
        says = "annotations: {batch.scheduling.k8s.io/min-available: %s}, labels"
        odd = pod("odd", gang="odd").replace("labels", says % "some")
        one, other = (pod(name, gang="g").replace("labels", says % least) for name, least in ("a1", "b2"))
        files = write(tmp_path, cluster=kube_node("n", 9), jobs=bad + self.DEPLOYMENT + odd + one + other)
        result = rota("plan", *files)
        assert result.code == 1
        assert "5 of 5 tasks placed" in result.out
        told = [line for line in result.err.splitlines() if "jobs.yaml:" in line]
        assert len(told) == 3
        assert any("spec.template.spec.containers[0].resources.requests.cpu" in line for line in told)
        assert any('"some" is not a count or a percentage' in line for line in told)
        assert any("team/b says 2, but team/a of the same gang says 1" in line for line in told)

    def test_a_gang_that_is_not_complete_waits(self, tmp_path: Path) -> None:
        says = 'annotations: {batch.scheduling.k8s.io/min-available: "3"}, labels'
        few = "".join(pod(name, gang="g").replace("labels", says) for name in "ab")
        runs = pod("c", node="n", gang="h", cpu="4").replace("labels", says)
        files = write(tmp_path, cluster=kube_node("n", 4), jobs=few + runs + self.DEPLOYMENT)
        result = rota("plan", *files)
        assert result.code == 2
        assert "note: " in result.err
        assert "3 pods are to start together, but the gang has 2" in result.err
        assert "0 of 2 tasks placed" in result.out  # What runs of the other gang still holds its room.


class TestTables:
    def test_fit_into_80_columns(self) -> None:
        for form in ("table", "wide"):
            assert widest(rota("plan", *MIXED_FILES, *POLICY, "-o", form, columns=80).out) <= 80

    def test_use_200(self) -> None:
        result = rota("plan", *MIXED_FILES, *POLICY, columns=200)
        assert 80 < widest(result.out) <= 200
        (line,) = [line for line in result.lines if line.startswith("render")]
        assert "spot-16#1" in line

    def test_even_long_names_fit(self, tmp_path: Path) -> None:
        name = "team-" + "x" * 150
        files = write(
            tmp_path,
            cluster=f"nodes: [{{name: {name}, resources: {{cpu: 2}}}}]",
            jobs=f"jobs: [{{name: {name}}}, {{name: {name}-2, resources: {{cpu: 4}}}}]",
        )
        for form in ("table", "wide"):
            assert widest(rota("plan", *files, "-o", form, columns=80).out) <= 80

    def test_many_tasks_are_one_row(self, tmp_path: Path) -> None:
        files = write(
            tmp_path,
            cluster="nodes: [{name: n, count: 20, resources: {cpu: 5}}]",
            jobs="jobs: [{name: sweep, tasks: 100, resources: {cpu: 1}}]",
        )
        assert rota("plan", *files).lines == [
            "Starts",
            "JOB    TASKS  NODES",
            "sweep    100  n-[0-19] ×5",
            "",
            "100 of 100 tasks placed on 20 nodes",
        ]

    def test_many_jobs_that_differ_in_a_number_are_one_row(self, tmp_path: Path) -> None:
        jobs = "".join(f"  - {{name: ci-{number}, resources: {{cpu: 1}}}}\n" for number in range(12))
        files = write(
            tmp_path,
            cluster="nodes: [{name: n, count: 3, resources: {cpu: 4}}]",
            jobs=f"jobs:\n{jobs}",
        )
        assert "ci-[0-11]     12  n-[0-2] ×4" in rota("plan", *files).lines

    def test_a_part_of_a_job(self, tmp_path: Path) -> None:
        files = write(
            tmp_path,
            cluster="nodes: [{name: n, resources: {cpu: 3}}]",
            jobs="jobs: [{name: part, tasks: 9, min_available: 1, resources: {cpu: 1}}]",
        )
        out = rota("plan", *files).out
        assert "part  3 of 9  n ×3" in out
        assert "3 of 9 tasks placed on 1 node" in out

    def test_nodes_that_are_yet_to_be_started(self, tmp_path: Path) -> None:
        files = write(
            tmp_path,
            cluster="offers: [{name: std, limit: 2, resources: {cpu: 2}, price_per_hour: 0.4, startup: 90s}]",
            jobs="jobs: [{name: a, tasks: 2, resources: {cpu: 2}}]",
        )
        table = rota("plan", *files)
        assert "to be started: std#0, std#1" in table.out
        assert table.lines[-1] == "2 of 2 tasks placed on 2 nodes (2 to be started) · 0.80/h (0.80 new)"
        assert "in 1m30s" in rota("plan", *files, "-o", "wide", columns=120).out

    def test_wide_has_more_columns(self) -> None:
        out = rota("plan", *MIXED_FILES, *POLICY, "-o", "wide", columns=160).out
        (row,) = [line.split() for line in out.splitlines() if "finetune" in line and "train-0 " in line][:1]
        assert row == ["finetune", "high", "1", "train-0", "now", "0,1,2,3", "gpu", "local", "9.60"]

    def test_evictions_say_why_and_for_whom(self) -> None:
        out = rota("plan", *MIXED_FILES, *POLICY).out
        assert "sweep-weekend      2  train-0, train-1  preempted        finetune" in out
        assert "website            1  k8s-edge          NoExecute taint" in out

    def test_names_are_no_markup(self, tmp_path: Path) -> None:
        files = write(
            tmp_path,
            cluster="nodes: [{name: '[red]n', resources: {cpu: 2}}]",
            jobs="jobs: [{name: '[bold]:smile:'}]",
        )
        out = rota("plan", *files).out
        assert "[bold]:smile:" in out
        assert "[red]n" in out

    def test_nothing_to_do(self, tmp_path: Path) -> None:
        files = write(
            tmp_path,
            cluster="nodes: [{name: n, resources: {cpu: 2}}]",
            jobs="jobs: [{name: a, running_on: n}]",
        )
        assert rota("plan", *files) == (0, "no task waited to be placed\n", "")


class TestColour:
    ESCAPE = "\x1b["

    def test_none_where_nobody_sees_it(self) -> None:
        assert self.ESCAPE not in rota("plan", *MIXED_FILES, *POLICY).out

    def test_if_forced(self) -> None:
        result = rota("plan", *MIXED_FILES, *POLICY, environment={"FORCE_COLOR": "1", "TERM": "xterm"})
        assert "\x1b[31mnever" in result.out

    def test_never_against_no_color(self) -> None:
        environment = {"FORCE_COLOR": "1", "NO_COLOR": "1", "TERM": "xterm"}
        out = rota("plan", *MIXED_FILES, *POLICY, environment=environment).out
        assert "\x1b[31m" not in out
        assert "\x1b[33m" not in out

    def test_never_in_data(self) -> None:
        environment = {"FORCE_COLOR": "1", "TERM": "xterm"}
        assert self.ESCAPE not in rota("plan", *MIXED_FILES, "-o", "json", environment=environment).out


TAINTED = """
    nodes:
      - name: n
        resources: {cpu: 2}
        taints: [{key: down, effect: NoExecute, added: "2026-01-01T00:00:00Z"}]
    """
PATIENT = """
    jobs:
      - name: patient
        running_on: n
        tolerations: [{key: down, effect: NoExecute, seconds: 60}]
    """


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 200])
def test_on_a_real_terminal(columns: int) -> None:
    code, out = on_terminal(columns, "plan", *MIXED_FILES, *POLICY)
    assert code == 2
    assert "\x1b[31mnever" in out
    plain = re.sub(r"\x1b\[[0-9;]*m", "", out)
    assert widest(plain) <= columns
    assert (widest(plain) > 80) == (columns > 80)


def on_terminal(columns: int, *arguments: str) -> tuple[int, str]:
    unset = ("COLUMNS", "NO_COLOR", "FORCE_COLOR")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "rota", *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**environment, "TERM": "xterm"},
    )
    os.close(theirs)
    chunks = []
    # Linux says EIO, not end of file, when the last of the other side is gone.
    with suppress(OSError):
        while chunk := os.read(ours, 65536):
            chunks.append(chunk)
    os.close(ours)
    return process.wait(timeout=60), b"".join(chunks).decode()


class TestNow:
    def test_is_the_latest_time_in_the_files(self, tmp_path: Path) -> None:
        data = rota("plan", *write(tmp_path, cluster=TAINTED, jobs=PATIENT), "-o", "json").data
        assert data["evictions"] == []

    def test_can_be_given(self, tmp_path: Path) -> None:
        files = write(tmp_path, cluster=TAINTED, jobs=PATIENT)
        before = rota("plan", *files, "-o", "json", "--now", "2026-01-01T00:00:59Z").data
        after = rota("plan", *files, "-o", "json", "--now", "2026-01-01T00:01:00Z").data
        assert (len(before["evictions"]), len(after["evictions"])) == (0, 1)


def test_a_file_may_not_be_too_large() -> None:
    result = rota("plan", *MIXED_FILES, "--max-file-size", "1Ki")
    assert result.code == 1
    assert "the limit is 1,024" in result.err
