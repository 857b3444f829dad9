"""The console script `batch-scheduler`, which the container image starts: options are those of
`rota kube-scheduler`, and anything else is a command of rota."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn

from rota.cli import main


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    words = list(sys.argv[1:] if arguments is None else arguments)
    main.run(["kube-scheduler", *words] if _are_options(words) else words)


def _are_options(words: Sequence[str]) -> bool:
    return not words or (words[0].startswith("-") and words[0] != "--version")
