"""Attacks a real server, all readers and the client, by seeds: python -m tests.hostile --seconds 600"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from bench.harness import report
from tests.hostile.campaign import Campaign


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=600, help="for so long at most")
    parser.add_argument("--inputs", type=int, default=10**9, help="so many at most")
    parser.add_argument("--keep", action="store_true", help="keep the figures in bench/results")
    asked = parser.parse_args()
    # Whoever ends this doesn't want to be left with a server.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    began_s = monotonic()
    with TemporaryDirectory(prefix="rota-hostile-") as folder:
        outcome = Campaign(Path(folder), asked.seed).run(asked.inputs, asked.seconds)
    print(*outcome.table(), sep="\n")
    complaints = outcome.complaints()
    for complaint in complaints[:50]:
        print(f"FAULT {complaint}")
    took_s = monotonic() - began_s
    print(f"seed {asked.seed}: {len(complaints)} faults in {took_s:.0f} s")
    if asked.keep:
        report("hostile", outcome.results(took_s), {})
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
