"""GPU packing on the openb trace, through the production engine: `make bench-openb [SEEDS="42 43"]`.

BestFit and FGD stand beside their published values, which shows that it is the same experiment; Rota's policy
beside FGD of the same run, at loads of 100 % and 130 %, and by the share of the pods that is placed.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from bench.harness import Result, report
from rota.intake.traces.openb import read_arrivals, read_nodes, read_pods
from rota.simulate.openb import PackingResult, run

TRACE = Path(os.environ.get("OPENB", Path(__file__).parents[2] / "shared" / "traces" / "openb"))
VARIANTS = ("default", "cpu050", "gpuspec10", "multigpu20", "gpushare40")
SEEDS = range(42, 52)
LOADS = (100, 130)
PUBLISHED = {"best-fit-gpu": "BestFit", "fgd": "FGD"}
OURS, PEER = "gpu-packing", "fgd"
CLASSES = ("cpu-only", "share", "1-gpu", "multi-gpu")


def outcomes(variant: str, seeds: Sequence[int]) -> dict[str, list[PackingResult]]:
    nodes = read_nodes(str(TRACE / "openb_node_list_gpu_node.csv"))
    pods = read_pods(str(TRACE / f"openb_pod_list_{variant}.csv"))
    found: dict[str, list[PackingResult]] = {policy: [] for policy in (*PUBLISHED, OURS)}
    for seed in seeds:
        arrivals = read_arrivals(str(TRACE / f"arrivals_{variant}.json.gz"), seed, len(nodes), len(pods))
        for policy, of_seeds in found.items():
            of_seeds.append(run(nodes, pods, arrivals, policy))
            print(f"{variant}, seed {seed}, {policy}: {of_seeds[-1].allocated[130]}", file=sys.stderr)
    return found


def results(variant: str, seeds: Sequence[int], found: dict[str, list[PackingResult]]) -> Iterator[Result]:
    published = json.loads((TRACE / "scoreboard.json").read_text())["variants"][variant]

    def allocated(policy: str, load: int) -> float:
        return round(fmean(outcome.allocated[load] for outcome in found[policy]), 3)

    for load in LOADS:
        metric = f"GPU allocated % at {load} %"
        for policy, name in PUBLISHED.items():
            of_seed = published[name]["per_seed"][str(load)]
            theirs = round(fmean(of_seed[seed - SEEDS[0]] for seed in seeds), 3)
            case = f"{variant}, {policy}"
            yield Result(case, metric, True, allocated(policy, load), theirs, f"{name}, published", "± 0.05")
        ours, theirs = allocated(OURS, load), allocated(PEER, load)
        goal = f"+ 0.5; is {ours - theirs:+.2f}"
        yield Result(f"{variant}, {OURS}", metric, True, ours, theirs, PEER, goal)
    for name in CLASSES:
        ours, theirs = (
            round(100 * fmean(outcome.placed[name] for outcome in found[policy]), 2)
            for policy in (OURS, PEER)
        )
        goal = "not clearly fewer"
        yield Result(f"{variant}, {OURS}", f"{name} pods placed %", True, ours, theirs, PEER, goal)


def main() -> None:
    seeds = [int(seed) for seed in os.environ.get("SEEDS", "").split()] or list(SEEDS)
    rows = [row for variant in VARIANTS for row in results(variant, seeds, outcomes(variant, seeds))]
    report("openb", rows, {"seeds": " ".join(map(str, seeds))})


if __name__ == "__main__":
    main()
