"""What older releases of kube-scheduler do otherwise: left out of the comparison with them, and no more.

docs/kubernetes.md names each of these rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tests.real.kube.control_plane import release
from tests.real.kube.said import ANY, PREEMPTION

_LACKS_ONLY_WHAT_IS_ASKED = (1, 30)
"""Before, a node that holds more of something than it has refuses pods that ask for none of it, too."""
_COUNTS_ALL_NODES = (1, 34)
"""Before, nodes that a rule leaves out ahead of all others (names in affinity terms, volumes) aren't counted,
and a node that is named and isn't there is an error."""
_KNOWS_WHAT_IS_HOPELESS = (1, 34)
"""Before, preemption is tried even where a pod asks for more than the node has at all, and for pods that are
refused before any node is asked: what is said of it then differs, and nobody goes in vain."""
_OLD_WORDS = {
    "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode": (
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by"
        " another pod"
    ),
    "node(s) had volume node affinity conflict": "node(s) didn't match PersistentVolume's node affinity",
}
_NO_SUCH_NODE = "nodeinfo not found for node name"


def counts_what_is_asked() -> bool:
    return release() >= _LACKS_ONLY_WHAT_IS_ASKED


def is_same(ours: tuple[str, ...], theirs: tuple[str, ...]) -> bool:
    """Of what both say of a pod."""
    ours, theirs = _comparable(ours), _comparable(theirs)
    if ours == theirs:
        return True
    if theirs and theirs[-1] == ANY:
        return ours[: len(theirs) - 1] == theirs[:-1]
    if release() >= _COUNTS_ALL_NODES or not theirs:
        return False
    if theirs[0].startswith(_NO_SUCH_NODE):
        return True
    return ours[0] == theirs[0] and _counts(theirs[1:]) <= _counts(ours[1:])


def _comparable(said: tuple[str, ...]) -> tuple[str, ...]:
    for old, new in _OLD_WORDS.items():
        said = tuple(one.replace(old, new) for one in said)
    if PREEMPTION in said and release() < _KNOWS_WHAT_IS_HOPELESS:
        said = said[: said.index(PREEMPTION)]
    return (*said[:1], *sorted(said[1:])) if PREEMPTION not in said else said


def _counts(said: Iterable[str]) -> Counter[str]:
    parts = (one.partition(" ") for one in said)
    return Counter({reason: int(count) for count, _, reason in parts if count.isdecimal()})
