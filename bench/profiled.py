"""`python -m bench.profiled FILE server …`: `rota` with a profile of the thread that decides and answers, in
FILE.loop, and of the one that writes, in FILE.writer."""

from __future__ import annotations

import cProfile
import sys
from pathlib import Path

from rota.cli.main import run
from rota.store.store import Store
from rota.store.writing.batch import Batch


def main(file: Path, arguments: list[str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    writer, commit = cProfile.Profile(), Store.commit

    def profiled_commit(self: Store, batch: Batch) -> int:
        return writer.runcall(commit, self, batch)

    Store.commit = profiled_commit  # type: ignore[method-assign]
    loop = cProfile.Profile()
    try:
        loop.runcall(run, arguments)
    finally:
        loop.dump_stats(file.with_suffix(".loop"))
        writer.dump_stats(file.with_suffix(".writer"))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
