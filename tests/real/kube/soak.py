"""Whether `rota kube-scheduler` needs more memory the longer it runs, while pods come and go by the thousand.

    python -m tests.real.kube.soak --pods 200000

Measured is the memory of its process (RSS), each second. Of each tenth of the pods the median counts, so that
neither a peak nor a collection of garbage decides.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import monotonic

from msgspec import Struct

from bench.harness import Result, report
from tests.real.kube.churn import Churn
from tests.real.kube.conftest import new_namespace
from tests.real.kube.control_plane import ControlPlane
from tests.real.kube.manifests import NAME, NAMESPACE, apply, new_token, read_manifest
from tests.real.kube.pods import place_in
from tests.real.kube.processes import Schedulers

TENTHS = 10
MAY_GROW = 1.1
"""After the first tenth, by which everything is loaded that ever will be."""
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Sample(Struct, frozen=True):
    over: int
    """Pods that have come and gone by then."""
    at_s: float
    rss_mib: float


def rss_mib(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES / 2**20


def medians_mib(samples: list[Sample], pods: int) -> list[float]:
    """Of each tenth."""
    tenths: list[list[float]] = [[] for _ in range(TENTHS)]
    for sample in samples:
        tenths[min(TENTHS - 1, sample.over * TENTHS // pods)].append(sample.rss_mib)
    if not all(tenths):
        raise ValueError(f"{pods} pods are over too soon to see anything; use more")
    return [median(tenth) for tenth in tenths]


def results(samples: list[Sample], pods: int) -> list[Result]:
    _, second, *others = medians_mib(samples, pods)
    case = f"{pods:,} pods come and go in {samples[-1].at_s - samples[0].at_s:,.0f} s"
    rows = [
        Result(case, f"MiB of tenth {number}", False, mib, second, "tenth 2", "")
        for number, mib in enumerate(others, start=3)
    ]
    goal = f"≥ {1 / MAY_GROW:.2f}"
    return [*rows, Result(case, "MiB of the most", False, max(others), second, "tenth 2", goal)]


def progress(samples: list[Sample], pods: int) -> None:
    """A line as each twentieth is over: this takes long."""
    *_, before, now = [Sample(0, 0.0, 0.0), *samples]
    if before.over * 20 // pods != now.over * 20 // pods:
        print(f"{now.over:,} pods: {now.rss_mib:.1f} MiB", file=sys.stderr, flush=True)


async def soak(control_plane: ControlPlane, namespace: str, pods: int, seed: int) -> list[Sample]:
    async with place_in(control_plane.cluster, namespace) as place:
        await apply(place.client, read_manifest())
        place.scheduler_name = NAME
        churn, samples = Churn(place, seed), list[Sample]()
        with _scheduler(control_plane, await new_token(place.client)) as pid:
            churning = asyncio.create_task(churn.run(pods))
            while not churning.done():
                await asyncio.wait([churning], timeout=1.0)
                samples.append(Sample(min(churn.over, pods), monotonic(), rss_mib(pid)))
                progress(samples, pods)
            await churning
        return samples


@contextmanager
def _scheduler(control_plane: ControlPlane, token: str) -> Iterator[int]:
    with tempfile.TemporaryDirectory(prefix="rota-soak-") as folder:
        schedulers = Schedulers(Path(folder), control_plane.cluster)
        try:
            yield schedulers.start("--metrics-bind-address", "0", token=token, namespace=NAMESPACE).pid
        except BaseException:
            print(schedulers.logs()[-2000:], file=sys.stderr)
            raise
        finally:
            schedulers.end()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.real.kube.soak")
    parser.add_argument("--pods", type=int, default=200_000, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.pods < 1_000:
        parser.error("--pods: at least 1000, or nothing can be seen")
    # Whoever ends this doesn't want to be left with a cluster.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with ControlPlane() as control_plane:
        namespace = new_namespace(control_plane.cluster)
        samples = asyncio.run(soak(control_plane, namespace, given.pods, given.seed))
    found = results(samples, given.pods)
    report("kube-soak", found, {"kubernetes": "1.34.4"})
    return 0 if found[-1].ratio >= 1 / MAY_GROW else 1


if __name__ == "__main__":
    sys.exit(main())
