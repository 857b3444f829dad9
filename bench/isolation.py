"""What it costs to keep jobs apart, in each way. As another account than root, those without rights alone."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from bench.harness import Result, report
from bench.isolated_tasks import NO_RIGHTS

WAYS = ("none", "project", "user", "sandbox") if os.geteuid() == 0 else ("none", "sandbox")


def measured(way: str) -> float:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        os.chmod(folder, 0o711)
        if way == "sandbox" and os.geteuid() == 0:
            os.chown(folder, NO_RIGHTS, NO_RIGHTS)
        command = [sys.executable, "-m", "bench.isolated_tasks", way, folder]
        return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main() -> None:
    bare = round(measured("bare"), 2)
    results = [
        Result(way, "ms cpu/task", False, round(measured(way), 2), bare, "bare posix_spawn", "–")
        for way in WAYS
    ]
    report("isolation", results, {"kernel": os.uname().release})


if __name__ == "__main__":
    main()
