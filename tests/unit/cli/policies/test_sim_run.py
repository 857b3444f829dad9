"""`rota sim run` and `rota sim compare`."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from rota.cli.policies.options import SimOptions
from rota.cli.policies.sim.experiment import read_experiment
from tests.unit.cli.calling import Result, rota, write

TRACES = Path(__file__).parents[3] / "data" / "traces"
GANG = str(TRACES / "knavigator-gang.json")
CLUSTER = "nodes: [{name: n, resources: {cpu: 4}}]"
WORKLOAD = """
workload:
  - {name: a, runs: 10m, time_limit: 20m, resources: {cpu: 3}, user: ada}
  - {name: b, arrival: 1m, runs: 10m, time_limit: 20m, resources: {cpu: 3}, user: bob}
  - {name: c, arrival: 2m, runs: 5m, time_limit: 5m, resources: {cpu: 1}, user: ada}
"""
FIFO = "queues: [{name: default, strategy: fifo, strict: true}]"


def run(folder: Path, *arguments: str, workload: str = WORKLOAD, columns: int = 80) -> Result:
    cluster, jobs = write(folder, cluster=CLUSTER, workload=workload)
    return rota("sim", "run", "--workload", jobs, "--cluster", cluster, *arguments, columns=columns)


class TestRun:
    def test_json(self, tmp_path: Path) -> None:
        result = run(tmp_path, "-o", "json")
        assert (result.code, result.err) == (0, "")
        data = result.data
        assert (data["workload"], data["policy"], data["seed"], data["nodes"]) == (
            "workload",
            "default",
            0,
            1,
        )
        metrics = data["metrics"]
        assert (metrics["jobs"], metrics["started"], metrics["makespan_ms"]) == (3, 3, 1_200_000)
        assert metrics["mean_wait_ms"] == 9 * 60_000 / 3
        assert metrics["gpu_allocation"] is None
        assert data["never_started"] == []

    def test_a_table(self, tmp_path: Path) -> None:
        result = run(tmp_path)
        assert result.lines[0] == "workload: 3 jobs on 1 node"
        assert ["mean", "wait", "3", "min"] in [line.split() for line in result.lines]
        assert not any("GPU" in line for line in result.lines)

    def test_the_ideal_of_the_gang_workload(self) -> None:
        metrics = rota("sim", "run", "-w", GANG, "-o", "json").data["metrics"]
        assert (metrics["makespan_ms"], metrics["gpu_allocation"]) == (1_080_000, 1)

    def test_notes_of_the_workload_are_talk(self, tmp_path: Path) -> None:
        [cluster] = write(
            tmp_path, cluster="nodes: [{name: n, count: 4, resources: {cpu: 8, memory: 64Gi}, gpus: 8}]"
        )
        result = rota("sim", "run", "-w", str(TRACES / "sacct.txt"), "-c", cluster, "-o", "json")
        assert result.data["metrics"]["jobs"] == 6
        assert "rota: note: steps of jobs, left out" in result.err

    def test_quotas_of_the_workload_hold_unless_the_policy_has_its_own(self, tmp_path: Path) -> None:
        own, life = write(
            tmp_path, own="tenants: {nobody: {quota: {cpu: 1}}}", life="fair_share: {half_life: 1h}"
        )
        options = SimOptions(workload=str(TRACES / "kueue-baseline.yaml"))
        experiment = read_experiment(options, [own, life])
        (_, with_own), (_, without) = experiment.policies
        assert [tenant.path for tenant in with_own.fair_share.tenants] == ["nobody"]
        given = experiment.workload.fair_share
        assert given is not None
        assert without.fair_share == replace(given, half_life_ms=3_600_000)

    def test_jobs_that_never_start_are_told(self, tmp_path: Path) -> None:
        huge = "workload: [{name: huge, runs: 1m, resources: {cpu: 9}}, {name: a, runs: 1m}]"
        result = run(tmp_path, "-o", "json", workload=huge)
        assert result.code == 0
        assert "warning: 1 job never started, first huge: beyond every such node: asks 9 cpu" in result.err
        [never] = result.data["never_started"]
        assert (never["job"], never["verdict"]) == ("huge", "never")

    def test_a_report(self, tmp_path: Path) -> None:
        result = run(tmp_path, "--report", str(tmp_path / "report"))
        assert result.err == f"rota: report: {tmp_path / 'report' / 'index.html'}\n"
        assert "<html" in (tmp_path / "report" / "index.html").read_text()

    @pytest.mark.covers("why-4")
    def test_a_record_of_every_cycle(self, tmp_path: Path) -> None:
        assert run(tmp_path, "--record", str(tmp_path / "record")).code == 0
        assert rota("replay", str(tmp_path / "record")).code == 0

    def test_pods_and_nodes_of_openb(self) -> None:
        openb = TRACES.parent / "openb"
        files = "-w", str(openb / "pods.csv"), "-c", str(openb / "nodes.csv")
        result = rota("sim", "run", *files, "-o", "json")
        assert (result.data["nodes"], result.data["metrics"]["jobs"]) == (31, 204)
        assert "rota: note: pods that were never scheduled" in result.err


class TestChanges:
    def test_a_load(self, tmp_path: Path) -> None:
        calm = run(tmp_path, "--load", "0.1", "-o", "json").data["metrics"]
        assert calm["mean_wait_ms"] == 0
        busy = run(tmp_path, "--load", "5", "-o", "json").data["metrics"]
        assert busy["mean_wait_ms"] > 0

    @pytest.mark.covers("time-2")
    def test_interactive_jobs_are_promised_a_start(self, tmp_path: Path) -> None:
        metrics = run(tmp_path, "--interactive", "1", "-o", "json").data["metrics"]
        assert metrics["promises_given"] >= 1
        assert metrics["promises_kept"] == metrics["promises_given"]

    def test_careless_limits(self, tmp_path: Path) -> None:
        assert run(tmp_path, "--limits", "round").code == 0

    def test_cycles_at_most_so_often(self, tmp_path: Path) -> None:
        assert run(tmp_path, "--every", "1h", "-o", "json").data["metrics"]["cycles"] == 2


class TestCompare:
    def policies(self, folder: Path, count: int = 2) -> list[str]:
        named = {f"policy-number-{number}": FIFO if number % 2 else "{}" for number in range(count)}
        return [argument for path in write(folder, **named) for argument in ("--policy", path)]

    def test_json(self, tmp_path: Path) -> None:
        [cluster, jobs] = write(tmp_path, cluster=CLUSTER, workload=WORKLOAD)
        result = rota("sim", "compare", "-w", jobs, "-c", cluster, *self.policies(tmp_path), "-o", "json")
        assert [one["policy"] for one in result.data] == ["policy-number-0", "policy-number-1"]

    @pytest.mark.parametrize("columns, tables", [(80, 3), (200, 1)])
    @pytest.mark.slow
    def test_tables_fit_the_terminal(self, tmp_path: Path, columns: int, tables: int) -> None:
        arguments = self.policies(tmp_path, 9)
        result = rota("sim", "compare", "-w", GANG, *arguments, columns=columns)
        assert result.code == 0
        assert max(map(len, result.lines)) <= columns
        assert sum(line.startswith("MEASURE") for line in result.lines) == tables
        assert all(result.out.count(f"policy-number-{number}") == 1 for number in range(9))

    def test_policies_of_the_same_name_are_told_apart(self, tmp_path: Path) -> None:
        (tmp_path / "x").mkdir()
        paths = [*write(tmp_path, p="{}"), *write(tmp_path / "x", p=FIFO)]
        result = rota("sim", "compare", "-w", GANG, "-p", paths[0], "-p", paths[1], "-o", "json")
        assert [one["policy"] for one in result.data] == paths

    def test_the_same_policy_twice(self, tmp_path: Path) -> None:
        [path] = write(tmp_path, p="{}")
        result = rota("sim", "compare", "-w", GANG, "-p", path, "-p", path)
        assert result.code == 1
        assert "given twice" in result.err

    def test_a_report_holds_all(self, tmp_path: Path) -> None:
        folder = tmp_path / "report"
        rota("sim", "compare", "-w", GANG, *self.policies(tmp_path), "--report", str(folder))
        assert "policy-number-1" in (folder / "index.html").read_text()


class TestBadInput:
    @pytest.mark.parametrize(
        "arguments, message",
        [
            (("--load", "0"), "--load"),
            (("--interactive", "1.5"), "--interactive"),
            (("--every", "soon"), '"soon" is not a duration'),
            (("--limits", "lax"), "unknown kind of limits: lax; choose from round, habit"),
            (("--format", "swff"), 'there is no format "swff"; did you mean "swf"?'),
            (("--whole",), "the format rota has no option tasks"),
        ],
    )
    def test_options(self, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
        result = run(tmp_path, *arguments)
        assert (result.code, result.out) == (1, "")
        assert message in result.err

    def test_a_workload_without_jobs(self, tmp_path: Path) -> None:
        result = run(tmp_path, workload="workload: []")
        assert result.code == 1
        assert "workload.yaml: has no jobs" in result.err

    def test_a_load_that_there_is_none_of(self, tmp_path: Path) -> None:
        result = run(tmp_path, "--load", "1", workload="workload: [{name: a, runs: 1m}]")
        assert result.code == 1
        assert "--load: no load without CPUs and jobs that arrive over time" in result.err

    def test_a_workload_without_nodes(self, tmp_path: Path) -> None:
        [jobs] = write(tmp_path, workload=WORKLOAD)
        result = rota("sim", "run", "-w", jobs)
        assert result.code == 1
        assert "doesn't say which nodes there are; give them: --cluster FILE" in result.err

    def test_a_cluster_with_jobs(self, tmp_path: Path) -> None:
        cluster, jobs = write(tmp_path, cluster=f"{CLUSTER}\njobs: [{{name: old}}]", workload=WORKLOAD)
        result = rota("sim", "run", "-w", jobs, "-c", cluster)
        assert result.code == 1
        assert "cluster.yaml: has jobs, such as old; remove them: jobs come from the workload" in result.err

    def test_a_cluster_without_nodes(self, tmp_path: Path) -> None:
        cluster, jobs = write(tmp_path, cluster="nodes: []", workload=WORKLOAD)
        result = rota("sim", "run", "-w", jobs, "-c", cluster)
        assert result.code == 1
        assert "cluster.yaml: has no nodes" in result.err

    def test_a_cluster_that_lacks_a_node_on_which_something_runs(self, tmp_path: Path) -> None:
        [cluster] = write(tmp_path, cluster=CLUSTER)
        workload = str(TRACES / "scheduler-perf.json")
        result = rota("sim", "run", "-w", workload, "--which", "preemption", "-c", cluster)
        assert result.code == 1
        assert "run without --cluster" in result.err
