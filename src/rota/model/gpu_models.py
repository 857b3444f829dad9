"""Names of GPU models: people write `H200` for what its driver calls "NVIDIA H200"."""

from __future__ import annotations

import re
from functools import lru_cache

_BETWEEN = re.compile(r"[\s_/-]+", re.ASCII)
_CUT = "mig"
"""A word in the names of parts of a GPU that is cut into instances."""


def is_model(asked: str, model: str) -> bool:
    """Whether all words of the name that was asked for are in that of the model, case aside. A part of a GPU
    is none, unless it is asked for as a part, or by its profile."""
    if asked == model:
        return True
    wanted, words = _words(asked), _words(model)
    if not wanted or not wanted <= words:
        return False
    return _CUT not in words or _CUT in wanted or any("g." in word for word in wanted)


@lru_cache(4096)
def _words(name: str) -> frozenset[str]:
    return frozenset(filter(None, _BETWEEN.split(name.casefold())))
