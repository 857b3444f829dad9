"""What older releases of kube-scheduler do otherwise: left out of the comparison with them, and no more.

docs/kubernetes.md names each of these rules.
"""

from __future__ import annotations

from tests.real.kube.control_plane import release
from tests.real.kube.said import PREEMPTION

_LACKS_ONLY_WHAT_IS_ASKED = (1, 30)
"""Before, a node that holds more of something than it has refuses pods that ask for none of it, too."""
_KNOWS_WHAT_IS_HOPELESS = (1, 34)
"""Before, preemption is tried even where a pod asks for more than the node has at all, and for pods that are
refused before any node is asked: what is said of it then differs, and nobody goes in vain."""


def counts_what_is_asked() -> bool:
    return release() >= _LACKS_ONLY_WHAT_IS_ASKED


def comparable(said: tuple[str, ...]) -> tuple[str, ...]:
    if release() >= _KNOWS_WHAT_IS_HOPELESS or PREEMPTION not in said:
        return said
    return said[: said.index(PREEMPTION)]
