"""A command for a real terminal, against a fake server: `python -m … SCENE ARGUMENTS`. It prints what was
asked of the server when it ends."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any

from rota.cli.all_commands import app
from rota.cli.exits import ensure_streams, exit_code
from rota.lifecycle.state import Phase
from rota.model.causes import Cause
from rota.sdk import client
from rota.sdk.job_calls import LogChunk
from tests.unit.cli.documents import NOW, a_job, a_node, a_queue, an_estimate, detail, over, running
from tests.unit.cli.fake_server import FakeServer


class Endless(FakeServer):
    """Its job runs and writes until it is cancelled."""

    def logs(self, job: str, **query: Any) -> Iterator[LogChunk]:
        yield LogChunk(0, "out", NOW, b"first line\r\n", 1)
        while not self.asked:
            time.sleep(0.02)
        self.details = {}
        self.has(over(Phase.CANCELLED, cause=Cause.BY_USER))


def scene(name: str) -> FakeServer:
    fake = Endless()
    fake.node_list, fake.queue_list = [a_node()], [a_queue()]
    if name == "runs":
        fake.has(detail(running(time_limit_s=3600.0)))
    else:
        fake.has(detail(a_job(), estimate=an_estimate()))
    return fake


def main() -> None:
    fake = scene(sys.argv[1])
    client.Client = lambda **given: fake  # type: ignore[assignment, misc]
    ensure_streams()
    code = exit_code(lambda: app(sys.argv[2:], prog_name="rota", standalone_mode=False))
    print(f"exit {code}, asked {[one.verb for one in fake.asked]}")


if __name__ == "__main__":
    main()
