"""Commands called in this process, as a shell would call them."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pytest

from rota.cli.main import run

MIXED = Path(__file__).parents[3] / "examples" / "mixed"
MIXED_FILES = tuple(str(MIXED / name) for name in ("cluster.yaml", "jobs.yaml"))


class Result(NamedTuple):
    code: object
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


def rota(*arguments: str, columns: int = 80, environment: Mapping[str, str] | None = None) -> Result:
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    settings = {"COLUMNS": str(columns), **(environment or {})}
    with (
        mock.patch.dict(os.environ, settings),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as end,
    ):
        run(arguments)
    return Result(end.value.code, _written(out), _written(err))


def _written(stream: io.TextIOWrapper) -> str:
    """Bytes that are no text, as jobs may write them, are kept apart from all that is."""
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode("utf-8", "surrogateescape")


def write(folder: Path, **texts: str) -> tuple[str, ...]:
    """Writes `cluster="…"` to cluster.yaml and so on; gives the paths."""
    paths = []
    for name, text in texts.items():
        path = folder / f"{name}.yaml"
        path.write_text(text)
        paths.append(str(path))
    return tuple(paths)
