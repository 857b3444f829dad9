"""Measuring, printing and keeping results: one form for all benchmarks."""

from __future__ import annotations

import gc
import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import rota

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Result:
    """`ratio` above 1 is better than the peer, whichever direction is the good one."""

    case: str
    metric: str
    higher_is_better: bool
    ours: float
    peer: float
    peer_name: str
    goal: str

    @property
    def ratio(self) -> float:
        return self.ours / self.peer if self.higher_is_better else self.peer / self.ours


def seconds(action: Callable[[], object], repeats: int = 3) -> float:
    """The best of several runs: noise of a shared machine only ever adds."""
    best = float("inf")
    for _ in range(repeats):
        gc.collect()
        gc.disable()
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
        gc.enable()
    return best


def report(name: str, results: list[Result], versions: dict[str, str]) -> None:
    table = Table(title=f"bench-{name}")
    for column in ("case", "metric", "ours", "peer", "peer is", "ratio", "goal"):
        table.add_column(column, justify="right" if column in ("ours", "peer", "ratio") else "left")
    for result in results:
        table.add_row(
            result.case,
            result.metric,
            f"{result.ours:,.4g}" if result.ours < 100 else f"{result.ours:,.0f}",
            f"{result.peer:,.4g}" if result.peer < 100 else f"{result.peer:,.0f}",
            result.peer_name,
            f"{result.ratio:.2f}",
            result.goal,
        )
    Console(width=None if os.isatty(1) else 140).print(table)
    header = {
        "benchmark": name,
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "versions": {"rota": rota.__version__, "numpy": np.__version__} | versions,
    }
    rows = [asdict(result) | {"ratio": round(result.ratio, 3)} for result in results]
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps([header, *rows], indent=2) + "\n"
    (RESULTS / f"{name}.json").write_text(text)
