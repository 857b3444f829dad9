"""The console script `rota`."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from functools import partial
from typing import NoReturn

from rota.cli.exits import ensure_streams, exit_code
from rota.cli.shortcut import shortcut

_COLLECTED_AFTER = (50_000, 20, 100)


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    # Nearly all that a short command makes are its modules, and they stay: looking for garbage among them,
    # while they are made and at last when Python ends, took as long as asking a server.
    gc.set_threshold(*_COLLECTED_AFTER)
    ensure_streams()
    words = sys.argv[1:] if arguments is None else arguments
    code = exit_code(shortcut(words) or partial(_by_declarations, words))
    gc.freeze()
    sys.exit(code)


def _by_declarations(words: Sequence[str]) -> int | None:
    from rota.cli.all_commands import command

    code: int | None = command()(words or ["--help"], prog_name="rota", standalone_mode=False)
    return code
