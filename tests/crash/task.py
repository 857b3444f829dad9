"""What the jobs of a crash test execute: `python -I -S task.py GROUND FORM`, with a form as JSON.

A task takes, as files of the shared folder that it locks, itself and all that it was given room for: its
cpus and gibibytes on its node, its port, the node as a whole. The kernel frees these locks when the last
process of the task is gone, however it went. So what is taken already was given away twice, at that very
moment. It tells so in the diary, and goes on. What it is to write and leave can be told byte for byte.
"""

import json
import os
import signal
import subprocess
import sys
import time
from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, flock

PASSES = 2
"""Over the locks of a node: others take and leave theirs meanwhile."""
LEFT = "left"
"""A file in its folder."""
LEFT_LINES = 5_000


def main(ground: str, form: dict[str, float]) -> int:
    _, job, rank, fence = os.environ["ROTA_TASK_REF"].split("/")
    node = os.environ["ROTA_NODE"]

    def say(what: str) -> None:
        line = f"{what} {job} {rank} {fence} {node} {time.time_ns() // 1_000_000}\n"
        with open(f"{ground}/diary", "ab", buffering=0) as diary:
            diary.write(line.encode())

    say("start")
    if form.get("deaf"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if not _take(f"{ground}/tasks/{job}-{rank}"):
        say("twice")
    of_node = f"{ground}/nodes/{node}"
    if not _take(f"{of_node}/whole", LOCK_EX if form.get("exclusive") else LOCK_SH):
        say("exclusive")
    for kind in ("cpu", "memory"):
        if not _take_some(of_node, kind, int(form[kind])):
            say(kind)
    if form.get("port") and not _take(f"{of_node}/port"):
        say("port")
    if form.get("brood"):
        # Neither of its session nor waited for: it ends with the task, and has its locks until then.
        subprocess.Popen(["/bin/sleep", "60"], start_new_session=True, close_fds=False)
    _write(int(fence), int(form.get("lines", 0)), form["seconds"])
    if form.get("leaves"):
        with open(LEFT, "wb") as file:
            file.write(left_by(int(fence)))
    code = 3 if int(os.environ["ROTA_ATTEMPT"]) <= form.get("fails", 0) else 0
    say(f"end-{code}")
    return code


def text_of(fence: int, lines: int) -> bytes:
    """What such a start writes, if nobody ends it before."""
    return b"".join(_line(fence, number) for number in range(lines))


def left_by(fence: int) -> bytes:
    return _line(fence, 0) * LEFT_LINES


def _line(fence: int, number: int) -> bytes:
    return b"%d %d %s\n" % (fence, number, b"." * (number % 100))


def _write(fence: int, lines: int, seconds: float) -> None:
    """All through its life."""
    began_s = time.monotonic()
    for number in range(lines):
        os.write(sys.stdout.fileno(), _line(fence, number))
        time.sleep(max(0.0, began_s + seconds * number / lines - time.monotonic()))
    time.sleep(max(0.0, began_s + seconds - time.monotonic()))


def _take(path: str, how: int = LOCK_EX) -> bool:
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    os.set_inheritable(lock, True)
    try:
        flock(lock, how | LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return False
    return True


def _take_some(of_node: str, kind: str, wanted: int) -> bool:
    paths = [f"{of_node}/{name}" for name in os.listdir(of_node) if name.startswith(f"{kind}-")]
    for path in paths * PASSES:
        wanted -= wanted > 0 and _take(path)
    return not wanted


if __name__ == "__main__":
    # Popen objects of broods are never waited for.
    os._exit(main(sys.argv[1], json.loads(sys.argv[2])))
