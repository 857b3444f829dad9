"""A real server whose decisions take as long as a test says: they burn processor time, as real ones do."""

from __future__ import annotations

import os
from pathlib import Path

from tests.planting.switch import ROOT
from tests.real.server.rota_server import eventually

_SITE = """
import os
import time

import rota.loop.desk.job_admission
import rota.loop.live.loop
import rota.loop.desk.preview
import rota.loop.desk.questions
import rota.loop.live.small_decisions

FOLDER = {folder!r}


def slowed(what, real):
    def burning(*args, **kwargs):
        slow, begun = os.path.join(FOLDER, "slow-" + what), os.path.join(FOLDER, "begun-" + what)
        until = time.monotonic() + 120
        if os.path.exists(slow):
            open(begun, "w").close()
        while os.path.exists(slow) and time.monotonic() < until:
            for number in range(20_000):
                number * number
        return real(*args, **kwargs)

    return burning


# This server has one node and one job: that would be decided in the event loop.
rota.loop.live.small_decisions.MOST_NODES = 0

for what, module, name in (
    ("decision", rota.loop.live.loop, "decide"),
    ("question", rota.loop.desk.questions, "explain"),
    ("question", rota.loop.desk.preview, "decide"),
    ("question", rota.loop.desk.questions, "extend"),
    ("admission", rota.loop.desk.job_admission, "explain"),
):
    setattr(module, name, slowed(what, getattr(module, name)))
"""


class Slow:
    """`decision`, `question` or `admission`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        (folder / "sitecustomize.py").write_text(_SITE.format(folder=str(folder)))

    @property
    def environment(self) -> dict[str, str]:
        before = os.environ.get("PYTHONPATH")
        return {"PYTHONPATH": os.pathsep.join([str(self._folder), *([before] if before else []), str(ROOT)])}

    def begin(self, what: str) -> None:
        """Those that begin from now on don't end until `end`."""
        (self._folder / f"begun-{what}").unlink(missing_ok=True)
        (self._folder / f"slow-{what}").touch()

    def until_begun(self, what: str) -> None:
        eventually((self._folder / f"begun-{what}").exists, f"a {what} to begin")

    def end(self, what: str) -> None:
        (self._folder / f"slow-{what}").unlink()
