"""Slurm on this machine, for as long as a benchmark takes: one controller, one node, munge between them."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp

CORES = os.cpu_count() or 1
PATIENCE_S = 60.0
_SCRIPT = Path(__file__).parents[1] / "scripts" / "slurm.sh"

SETTINGS = """\
ClusterName=bench
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmctldPort={controller_port}
SlurmdPort={node_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MailProg=/bin/true
MpiDefault=none
ReturnToService=2
MaxArraySize=10001
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} State=UNKNOWN
PartitionName=bench Nodes={host} Default=YES State=UP
"""


def slurm_rate(jobs: int) -> float | None:
    """Jobs of an array of `/bin/true` a second; None where Slurm can't be had."""
    if os.geteuid() != 0 or subprocess.run([str(_SCRIPT)], capture_output=True).returncode:
        return None
    with _cluster() as environment:
        options = ["--array", f"0-{jobs - 1}", "--output", "/dev/null", "--ntasks", "1"]
        start = time.perf_counter()
        subprocess.run(
            ["sbatch", "--parsable", *options, "--wrap", "/bin/true"],
            env=environment,
            check=True,
            capture_output=True,
        )
        while _output(environment, "squeue", "--noheader"):
            time.sleep(0.2)
        return jobs / (time.perf_counter() - start)


@contextmanager
def _cluster() -> Iterator[dict[str, str]]:
    """The environment in which its commands find it."""
    folder = Path(mkdtemp(prefix="rota-slurm-"))
    # munged serves only where nobody else could put things.
    folder.chmod(0o755)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    settings = folder / "slurm.conf"
    controller_port, node_port = _free_ports(2)
    settings.write_text(
        SETTINGS.format(
            host=socket.gethostname().partition(".")[0],
            folder=folder,
            controller_port=controller_port,
            node_port=node_port,
            cores=CORES,
        )
    )
    environment = os.environ | {"SLURM_CONF": str(settings)}
    munged = ["munged", "--foreground", "--force", "--key-file", str(key)]
    munged += [f"--socket={folder}/munge.socket", f"--pid-file={folder}/munged.pid"]
    munged += [f"--log-file={folder}/munged.log", f"--seed-file={folder}/munged.seed"]
    started: list[subprocess.Popen[bytes]] = []
    try:
        for command in (munged, ["slurmctld", "-D"], ["slurmd", "-D"]):
            quiet = subprocess.DEVNULL
            started.append(subprocess.Popen(command, env=environment, stdout=quiet, stderr=quiet))
            _await_socket(folder / "munge.socket")
        _await_node(environment)
        yield environment
    finally:
        for process in reversed(started):
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE_S)
        shutil.rmtree(folder, ignore_errors=True)


def _free_ports(count: int) -> list[int]:
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in taken]
    for one in taken:
        one.close()
    return ports


def _await_socket(path: Path) -> None:
    until = time.monotonic() + PATIENCE_S
    while not path.exists():
        if time.monotonic() > until:
            raise SystemExit("munged doesn't start")
        time.sleep(0.05)


def _await_node(environment: dict[str, str]) -> None:
    until = time.monotonic() + PATIENCE_S
    while _output(environment, "sinfo", "--noheader", "--format", "%T") != "idle":
        if time.monotonic() > until:
            raise SystemExit("Slurm's node doesn't come up")
        time.sleep(0.2)


def _output(environment: dict[str, str], *command: str) -> str:
    done = subprocess.run(list(command), env=environment, capture_output=True, text=True)
    return done.stdout.strip()
