"""`rota why`: one job, each node's verdict, the scores, and what would help."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.calling import MIXED, MIXED_FILES, Result, rota, write
from tests.unit.cli.manifests import kube_node, pod, widest

POLICY = ("--policy", str(MIXED / "policy.yaml"))


def why(job: str, *options: str, columns: int = 80) -> Result:
    return rota("why", job, *MIXED_FILES, *POLICY, *options, columns=columns)


@pytest.mark.covers("why-1")
class TestWaiting:
    def test_verdicts_are_grouped_by_reason(self) -> None:
        refusals = why("caption", "-o", "json").data["refusals"]
        assert [(one["plugin"], one["message"], len(one["nodes"])) for one in refusals] == [
            ("gpu-model", "no GPU of model L4", 20),
            ("resources", "insufficient gpu: asks 2, most free 1", 2),
        ]

    def test_each_says_whether_it_can_pass(self) -> None:
        refusals = why("caption", "-o", "json").data["refusals"]
        assert [one["verdict"] for one in refusals] == ["never", "not-now"]
        assert refusals[1]["unblocked_by"] == ["task ended", "node changed", "node added"]

    def test_every_node_has_its_verdict_once(self) -> None:
        nodes = [node for one in why("caption", "-o", "json").data["refusals"] for node in one["nodes"]]
        assert len(nodes) == len(set(nodes)) == 22

    def test_reasons_are_printed_in_words(self) -> None:
        result = why("caption", columns=120)
        assert result.lines[0].startswith("caption waits: not now, planned to start at ")
        assert result.lines[1] == "4 cpu, 16Gi memory, 2 gpu, model L4; priority low"
        assert "    2  resources  insufficient gpu: asks 2, most free 1" in result.out
        assert "until a task ends or a node changes or joins" in result.out
        assert "infer-0, infer-1" in result.out

    def test_a_reason_that_is_not_about_nodes(self, tmp_path: Path) -> None:
        files = write(
            tmp_path,
            cluster="nodes: [{name: n, resources: {cpu: 2}}]",
            jobs="jobs: [{name: a, connect_to: b}, {name: b, resources: {cpu: 8}}]",
        )
        assert "partner: waits for its partner b" in rota("why", "a", *files).lines


@pytest.mark.covers("why-2")
class TestRemedies:
    @pytest.mark.covers("time-9")
    def test_the_smallest_first(self, tmp_path: Path) -> None:
        files = write(
            tmp_path,
            cluster="""
                nodes:
                  - {name: small, resources: {cpu: 3}}
                  - {name: large, resources: {cpu: 8}, taints: ["dedicated=ml:NoSchedule"]}
                """,
            jobs="jobs: [{name: job, resources: {cpu: 4}}]",
        )
        remedies = rota("why", "job", *files, "-o", "json").data["remedies"]
        assert [(one["message"], one["starts_on"]) for one in remedies] == [
            ("ask for at most 3 cpu (asks 4)", ["small"]),
            ("tolerate dedicated=ml:NoSchedule", ["large"]),
        ]
        assert "What would make it possible, the smallest change first" in rota("why", "job", *files).lines

    def test_remedies_are_printed_in_words(self) -> None:
        lines = why("caption").lines
        at = lines.index("What would let it start now, the smallest change first")
        assert lines[at + 2].split("  ") == ["ask for at most 1 gpu (asks 2)", "infer-0"]


@pytest.mark.covers("why-3", "decide-7")
class TestScores:
    def test_by_criterion_of_the_chosen_node_and_the_next_best(self) -> None:
        data = why("search", "-o", "json").data
        assert data["outcome"] == "placed"
        assert data["weights"] == {"utilisation": 40, "load": 20, "affinity": 30, "proximity": 10}
        chosen, *others = data["scores"]
        assert chosen["node"] == data["nodes"][0]
        assert len(others) == 4
        assert set(chosen["criteria"]) == set(data["weights"])
        weighted = sum(data["weights"][name] * value for name, value in chosen["criteria"].items())
        assert chosen["total"] == pytest.approx(weighted / 100, abs=0.1)

    def test_scores_are_printed_as_a_table(self) -> None:
        lines = why("search").lines
        at = lines.index("How nodes scored for its first task, 0 to 100")
        assert lines[at + 1].split() == [
            *("NODE", "TOTAL", "UTILISATION", "×40"),
            *("LOAD", "×20", "AFFINITY", "×30", "PROXIMITY", "×10"),
        ]
        assert lines[at + 2].split()[1] == "←"

    def test_a_plugins_score_is_among_them(self, tmp_path: Path) -> None:
        cluster, jobs, policy = write(
            tmp_path,
            cluster="nodes: [{name: n, resources: {cpu: 2}}]",
            jobs="jobs: [{name: a}]",
            policy="plugins: [{name: licences, weight: 30}]",
        )
        (scores,) = rota("why", "a", cluster, jobs, "--policy", policy, "-o", "json").data["scores"]
        assert scores["criteria"]["licences"] == 100.0


class TestOutcomes:
    def test_one_that_preempts(self) -> None:
        lines = why("finetune").lines
        assert lines[0] == "finetune starts on train-0, train-1, once sweep-weekend is evicted"
        assert "22 nodes refuse it before anything is evicted" in lines

    def test_what_refused_one_that_preempts(self, tmp_path: Path) -> None:
        files = write(
            tmp_path,
            cluster="nodes: [{name: n, count: 2, resources: {cpu: 2}}]",
            jobs="""
                jobs:
                  - {name: old, tasks: 2, priority: low, resources: {cpu: 2}, running_on: [n-0, n-1]}
                  - {name: new, priority: high, resources: {cpu: 2}}
                """,
        )
        assert "2 nodes refuse it before anything is evicted" in rota("why", "new", *files).lines

    def test_one_that_is_preempted(self) -> None:
        lines = why("sweep-weekend").lines
        assert lines[0] == "sweep-weekend is evicted from train-0, train-1"
        assert lines[2] == "preemption: preempted by finetune, queued again"

    def test_one_that_runs(self) -> None:
        assert why("database").lines[0] == "database runs on cpu-b-0"


class TestNames:
    def test_a_task_of_a_job(self) -> None:
        lines = why("render/3").lines
        assert lines[0].startswith("render/3 starts on ")
        assert lines[1].startswith("of the job render: 60 tasks, each 2 cpu")

    def test_a_task_that_waits_while_others_start(self, tmp_path: Path) -> None:
        files = write(
            tmp_path,
            cluster="nodes: [{name: n, resources: {cpu: 3}}]",
            jobs="jobs: [{name: part, tasks: 9, min_available: 1, resources: {cpu: 1}}]",
        )
        assert rota("why", "part/0", *files, "-o", "json").data["nodes"] == ["n"]
        assert rota("why", "part/8", *files, "-o", "json").data["outcome"] == "waiting"

    @pytest.mark.parametrize("name", ["render/60", "render/x", "render/", "rendre"])
    def test_an_unknown_one(self, name: str) -> None:
        result = why(name)
        assert result.code == 1
        assert f'there is no job named "{name}"; did you mean "render"?' in result.err

    def test_a_pod_of_a_gang(self, tmp_path: Path) -> None:
        pods = "".join(pod(f"w{number}", gang="train") for number in range(2))
        files = write(tmp_path, cluster=kube_node("n1", 1) + kube_node("n2", 1), jobs=pods)
        data = rota("why", "team/w1", *files, "-o", "json").data
        assert data["job"] == "team/w1"
        assert len(data["nodes"]) == 1
        assert "of the gang team/gang:train: 2 tasks, each 1 cpu" in rota("why", "team/w1", *files).out


@pytest.mark.slow
def test_tables_fit_into_80_columns_and_use_200() -> None:
    for job in ("caption", "search", "archive", "finetune"):
        assert widest(why(job).out) <= 80
        assert widest(why(job, "-o", "wide").out) <= 80
        assert 80 < widest(why(job, "-o", "wide", columns=200).out) <= 200


@pytest.mark.covers("first-5")
def test_of_a_pod_priorities_are_proposed_by_the_classes_of_its_cluster(tmp_path: Path) -> None:
    pods = (
        kube_node("n", 2) + pod("runs", node="n", cpu="2", priority=10) + pod("waits", cpu="2", priority=10)
    )

    def proposed(manifests: str) -> list[str]:
        files = write(tmp_path, cluster=manifests, jobs="jobs: []")
        told = rota("why", "team/waits", *files, "-o", "json").data["remedies"]
        return [one["message"] for one in told if "priority" in one["message"]]

    assert proposed(pods) == []
    classes = "".join(
        f"""
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {{name: {name}}}
value: {value}
---"""
        for name, value in (("lowest", 5), ("urgent", 30), ("system-node-critical", 2_000_001_000))
    )
    assert proposed(pods + classes) == ["give it the priority class urgent"]
