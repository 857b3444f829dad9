"""Which nodes have volumes for claims that have none yet, and which volumes those would be.

What is reserved for somebody counts as taken. Answers are kept until something changes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from rota.kube.api.objects import StorageClass
from rota.kube.volumes.matching import Spare, Wanted, chosen
from rota.kube.volumes.provisioning import Provision, Provisioning
from rota.kube.volumes.reach import Reach
from rota.kube_objects.volumes import ClaimKey
from rota.model.ids import NodeName
from rota.model.resources import UNBOUND
from rota.model.selectors import NodeTerm, Operator, Requirement
from rota.model.task import VolumeNodes, VolumeTrouble

_NODE_NAME = "metadata.name"


class Choosing:
    def __init__(self, reach: Reach, provisioning: Provisioning, classes: Mapping[str, StorageClass]) -> None:
        self._reach = reach
        self._provisioning = provisioning
        self._classes = classes
        self._spares: dict[str, Spare] = {}
        self._reserved: set[str] = set()
        self._wanted: dict[Wanted, None] = {}
        """What pods that wait have asked for."""
        self._on_node: dict[NodeName, list[Spare]] | None = None
        self._everywhere: list[Spare] = []
        self._rules: dict[tuple[Wanted, ...], tuple[VolumeNodes, ...]] = {}

    # -- told

    def spare(self, name: str, spare: Spare | None) -> bool:
        """Whether that changes who can be served."""
        if self._spares.get(name) == spare:
            return False
        if spare is None:
            del self._spares[name]
        else:
            self._spares[name] = spare
        self.look_again()
        return True

    def reserve(self, volumes: Iterable[str]) -> None:
        self._reserved.update(volumes)
        self.look_again()

    def release(self, volumes: Iterable[str]) -> None:
        self._reserved.difference_update(volumes)
        self.look_again()

    def look_again(self) -> None:
        """Volumes, nodes, classes or space have changed; whoever waits for a volume is read again."""
        self._on_node = None
        self._rules.clear()
        self._wanted.clear()

    # -- asked

    def kept_for(self, claim: ClaimKey) -> list[Spare]:
        return [one for one in self._spares.values() if one.kept_for == claim]

    def rules(self, claims: Sequence[Wanted]) -> tuple[VolumeNodes, ...]:
        """Where all of these claims of one pod find volumes, or can have them made."""
        key = tuple(sorted(claims, key=lambda one: (one.size_bytes, one.text)))
        found = self._rules.get(key)
        if found is None:
            found = self._rules[key] = tuple(self._made_rules(key))
        return found

    def rows(self, claims: Sequence[Wanted]) -> Iterator[tuple[str, int]]:
        """What they take of the volumes that are there, where none can be made. A small volume isn't taken by
        one claim only: of those that would do for it, larger claims take some as well."""
        fixed = [one for one in claims if not self._is_made(one)]
        for wanted in dict.fromkeys(fixed):
            self._wanted[wanted] = None
            yield f"{UNBOUND}{wanted.text}", sum(wanted.includes(other) for other in fixed)

    def room(self, node: NodeName) -> Iterator[tuple[str, int]]:
        """How many volumes a node has for each kind of claim that somebody waits with."""
        for wanted in self._wanted:
            count = sum(one.serves(wanted) for one in self._usable_on(node))
            if count:
                yield f"{UNBOUND}{wanted.text}", count

    def matched(
        self, node: NodeName, claims: Sequence[tuple[ClaimKey, Wanted]]
    ) -> tuple[dict[ClaimKey, str], list[ClaimKey]] | None:
        """Volumes for claims on this node, and claims whose volumes are to be made; None: it can't be."""
        in_order = sorted(claims, key=lambda one: (one[1].size_bytes, one[1].text))
        wanted = tuple(one for _, one in in_order)
        if self._fate(node, wanted, self._provisions(wanted)) is not None:
            return None
        found = self._match(node, wanted)
        volumes = {key: spare.name for (key, _), spare in zip(in_order, found, strict=True) if spare}
        return volumes, [key for key, _ in in_order if key not in volumes]

    # -- finding

    def _made_rules(self, wanted: tuple[Wanted, ...]) -> Iterator[VolumeNodes]:
        provisions = self._provisions(wanted)
        if all(one.nodes is None for one in provisions.values()) and not any(
            one.selected_node for one in wanted
        ):
            return
        fates: dict[VolumeTrouble | None, list[NodeName]] = defaultdict(list)
        for node in self._reach.nodes:
            fates[self._fate(node, wanted, provisions)].append(node)
        for code in (VolumeTrouble.UNBOUND, VolumeTrouble.SPACE):
            if fates[code]:
                others = [node for fate, nodes in fates.items() if fate is not code for node in nodes]
                yield VolumeNodes(named(others), code)

    def _fate(
        self, node: NodeName, wanted: Sequence[Wanted], provisions: Mapping[Wanted, Provision]
    ) -> VolumeTrouble | None:
        """What is the matter with a node for claims in the order of their sizes."""
        if any(one.selected_node not in ("", node) for one in wanted):
            return VolumeTrouble.UNBOUND
        for one, spare in zip(wanted, self._match(node, wanted), strict=True):
            allowed, too_full = provisions[one]
            if spare is None and allowed is not None and node not in allowed:
                return VolumeTrouble.SPACE if node in too_full else VolumeTrouble.UNBOUND
        return None

    def _match(self, node: NodeName, wanted: Sequence[Wanted]) -> list[Spare | None]:
        """The smallest that does, for the smallest claim first; none for those whose volume is being made."""
        found: list[Spare | None] = []
        taken: set[str] = set()
        usable = self._usable_on(node)
        for one in wanted:
            spare = None if one.selected_node else chosen(one, usable, taken)
            if spare is not None:
                taken.add(spare.name)
            found.append(spare)
        return found

    def _provisions(self, wanted: Iterable[Wanted]) -> dict[Wanted, Provision]:
        return {one: self._provisioning.of(one, self._classes.get(one.storage_class)) for one in set(wanted)}

    def _is_made(self, wanted: Wanted) -> bool:
        made = self._provisioning.of(wanted, self._classes.get(wanted.storage_class))
        return made.nodes is None or bool(made.nodes) or bool(made.too_full)

    def _usable_on(self, node: NodeName) -> Collection[Spare]:
        if self._on_node is None:
            self._on_node = {}
            self._everywhere = []
            for one in self._spares.values():
                if one.name in self._reserved:
                    continue
                if not one.terms:
                    self._everywhere.append(one)
                    continue
                for name in self._reach.of(one.terms):
                    self._on_node.setdefault(name, []).append(one)
        here = self._on_node.get(node)
        return self._everywhere if here is None else [*here, *self._everywhere]


def named(nodes: Iterable[NodeName]) -> tuple[NodeTerm, ...]:
    """These nodes and no others; none of them: nowhere."""
    names = tuple(sorted(nodes))
    return (NodeTerm(names=(Requirement(_NODE_NAME, Operator.IN, names),)),) if names else ()
