"""Looks at a server while it is being attacked: its memory, and how long its loop was silent."""

from __future__ import annotations

import re
from pathlib import Path

from tests.real.server.rota_server import RotaServer

SILENCE = re.compile(r"^rota_loop_longest_silence_seconds (\S+)$", re.MULTILINE)


class Watch:
    def __init__(self, server: RotaServer) -> None:
        self._server = server
        self.longest_silence_s = 0.0
        self._first_bytes = 0
        self.most_bytes = 0

    def look(self) -> None:
        self.most_bytes = max(self.most_bytes, self._memory_bytes())
        if not self._first_bytes:
            self._first_bytes = self.most_bytes
        status, text, _ = self._server.rest("GET", "/metrics")
        assert status == 200, f"/metrics answered {status}"
        self.hear(text)

    def hear(self, metrics: bytes) -> None:
        """The longest silence is that since the last time that anybody asked: an input may have."""
        found = SILENCE.search(metrics.decode())
        assert found is not None, "the server doesn't tell how long its loop was silent"
        self.longest_silence_s = max(self.longest_silence_s, float(found[1]))

    @property
    def grown_bytes(self) -> int:
        return self.most_bytes - self._first_bytes

    def _memory_bytes(self) -> int:
        status = Path(f"/proc/{self._server.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) * 1024
