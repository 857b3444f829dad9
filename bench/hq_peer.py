"""Prints HyperQueue's tasks a second: `python hq_peer.py TASKS CORES FOLDER`, in the venv that has it."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from hyperqueue import Job, LocalCluster  # type: ignore[import-not-found]
from hyperqueue.cluster import WorkerConfig  # type: ignore[import-not-found]


def main(tasks: int, cores: int, folder: Path) -> None:
    with LocalCluster(str(folder), WorkerConfig(cores=cores)) as cluster:
        client = cluster.client()
        job = Job(default_workdir=folder)
        for _ in range(tasks):
            job.program(["/bin/true"], stdout=None, stderr=None)
        start = time.perf_counter()
        client.wait_for_jobs([client.submit(job)])
        print(tasks / (time.perf_counter() - start))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
