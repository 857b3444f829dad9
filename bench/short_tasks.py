"""How fast others run `/bin/true` on this machine, as many at a time as it has cores."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

CORES = os.cpu_count() or 1
HYPERQUEUE = "0.27.0"
_CACHE = Path(__file__).parents[1] / ".cache"


def bare_rate(tasks: int) -> float:
    """posix_spawn and wait, with nothing around it."""
    start = time.perf_counter()
    left, running = tasks, 0
    while left or running:
        while left and running < CORES:
            os.posix_spawn("/bin/true", ["true"], {})
            left, running = left - 1, running + 1
        os.wait()
        running -= 1
    return tasks / (time.perf_counter() - start)


def hyperqueue_rate(tasks: int) -> float:
    python = _hyperqueue()
    with TemporaryDirectory() as folder:
        script = str(Path(__file__).with_name("hq_peer.py"))
        # -P: the folder of this benchmark is no place to import from.
        command = [str(python), "-P", script, str(tasks), str(CORES), folder]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout.split()[-1])


def _hyperqueue() -> Path:
    """A Python that has it, in a venv of its own."""
    folder = _CACHE / f"hyperqueue-{HYPERQUEUE}"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, f"hyperqueue=={HYPERQUEUE}"], check=True)
        (folder / "complete").touch()
    return python
