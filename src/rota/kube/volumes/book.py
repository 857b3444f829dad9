"""All that is known of a cluster's volumes, and what follows from it for a pod.

    informers ─► claims, volumes, classes, drivers ─► needs_of(pod): where it can go, what it takes there
                                                      hold(pod): what keeps it from being decided about
    a plan ─► reserve(pod, node) ─► its volumes are its own until it is bound, or released

A volume that somebody has reserved is nobody else's, as a pod that is assumed on its node has its room.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from rota.kube.api.objects import CsiDriver, CsiNode, StorageCapacity, StorageClass, VolumeAttachment
from rota.kube.mirror.dependents import is_over
from rota.kube.mirror.reasons import Hold
from rota.kube.volumes.attaching import Attaching
from rota.kube.volumes.choosing import Choosing, named
from rota.kube.volumes.holding import hold_of
from rota.kube.volumes.matching import Wanted, as_spare, as_wanted, is_bound
from rota.kube.volumes.provisioning import Provisioning, waits_for_consumer
from rota.kube.volumes.reach import Labels, Reach
from rota.kube_objects.namespaces import name_of
from rota.kube_objects.objects.metadata import KubeObject
from rota.kube_objects.objects.pods import Pod
from rota.kube_objects.objects.volumes import PersistentVolume, PersistentVolumeClaim
from rota.kube_objects.volumes import (
    NO_VOLUMES,
    ClaimKey,
    VolumeNeeds,
    claims_of,
    class_of,
    disks_of,
    is_for_one_pod,
    key_of_claim,
    usable_on,
    volume_of,
)
from rota.model.ids import NodeName, TaskName
from rota.model.node import Node
from rota.model.task import VolumeNodes, VolumeTrouble


class Reservation(Struct, frozen=True):
    """What was chosen for a pod's claims that had no volumes."""

    node: NodeName
    volumes: dict[ClaimKey, str]
    made: tuple[ClaimKey, ...] = ()
    """Claims whose volumes are to be made for that node."""


class VolumeBook:
    """More than twenty methods: seven kinds of objects come in here, a pod reserves and releases, and others
    ask. What they share is who gets which volume; how many a node holds is counted by `Attaching`."""

    def __init__(self, claim_changed: Callable[[ClaimKey], None]) -> None:
        """`claim_changed` is told of claims whose pods are to be read again."""
        self._claim_changed = claim_changed
        self._claims: dict[ClaimKey, PersistentVolumeClaim] = {}
        self._volumes: dict[str, PersistentVolume] = {}
        self._classes: dict[str, StorageClass] = {}
        self._claim_of_volume: dict[str, ClaimKey] = {}
        self._reach = Reach()
        self._provisioning = Provisioning(self._reach)
        self._choosing = Choosing(self._reach, self._provisioning, self._classes)
        self._attaching = Attaching(self._claims, self._volumes, self._classes)
        self._reservations: dict[TaskName, Reservation] = {}
        self._chosen: dict[ClaimKey, Reservation] = {}
        self._undecided: set[ClaimKey] = set()
        """Claims without volumes that a pod was read with."""
        self._equipped: dict[NodeName, tuple[tuple[str, int], ...]] = {}
        """What nodes were said to have room for; nothing, if they aren't here."""
        self._has_changed_room = False

    # -- told by informers

    def volume(self, old: PersistentVolume | None, new: PersistentVolume | None) -> None:
        name = _name(old, new)
        if new is None:
            self._volumes.pop(name, None)
        else:
            self._volumes[name] = new
        if self._choosing.spare(name, None if new is None else as_spare(new)):
            self._ask_again()
        if (claim := self._claim_of_volume.get(name)) is not None:
            self._claim_changed(claim)

    def claim(self, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim | None) -> None:
        found = new or old
        assert found is not None
        key = key_of_claim(found)
        if old is not None:
            self._claims.pop(key, None)
            self._claim_of_volume.pop(volume_of(old), None)
        if new is not None:
            self._claims[key] = new
            if volume := volume_of(new):
                self._claim_of_volume[volume] = key
        self._claim_changed(key)

    def storage_class(self, old: StorageClass | None, new: StorageClass | None) -> None:
        name = _name(old, new)
        if new is None:
            self._classes.pop(name, None)
        else:
            self._classes[name] = new
        self._ask_again()
        for key, claim in self._claims.items():
            if class_of(claim) == name:
                self._claim_changed(key)

    def driver(self, old: CsiDriver | None, new: CsiDriver | None) -> None:
        self._provisioning.driver(old, new)
        self._ask_again()

    def capacity(self, old: StorageCapacity | None, new: StorageCapacity | None) -> None:
        self._provisioning.capacity(old, new)
        self._ask_again()

    def csi_node(self, old: CsiNode | None, new: CsiNode | None) -> None:
        if self._attaching.limits(NodeName(_name(old, new)), new):
            for key in self._claims:
                self._claim_changed(key)
        self._has_changed_room = True

    def attachment(self, old: VolumeAttachment | None, new: VolumeAttachment | None) -> None:
        self._attaching.attachment(_name(old, new), old, new)
        self._has_changed_room = self._has_changed_room or self._attaching.any

    # -- told by the mirror

    def node(self, name: NodeName, labels: Labels | None) -> None:
        """None: it is gone."""
        if self._reach.node(name, labels):
            self._ask_again()

    def pod(self, name: TaskName, old: Pod | None, new: Pod | None) -> None:
        node_before = old.spec.node_name if old is not None and not is_over(old) else None
        node = new.spec.node_name if new is not None and not is_over(new) else None
        is_gone = new is None or is_over(new)
        if old is not None and old.spec.volumes and (is_gone or node != node_before):
            self.release(name, old)
        if new is not None and new.spec.volumes and node and node != node_before:
            self._place(name, new, NodeName(node))

    def reserve(self, name: TaskName, pod: Pod, node: NodeName) -> bool:
        """False: what it was to get there is taken by now, and nothing is reserved."""
        if not pod.spec.volumes:
            return True
        open_claims = list(self._open_claims(pod))
        found = self._choosing.matched(node, open_claims)
        if found is None:
            return False
        if open_claims:
            reservation = Reservation(node, found[0], tuple(found[1]))
            self._reservations[name] = reservation
            self._chosen.update(dict.fromkeys((key for key, _ in open_claims), reservation))
            self._choosing.reserve(reservation.volumes.values())
            self._claim_of_volume.update((volume, key) for key, volume in reservation.volumes.items())
            self._ask_again()
        self._place(name, pod, node)
        return True

    def release(self, name: TaskName, pod: Pod) -> None:
        """It has no node any more, or is seen to have what it reserved."""
        reservation = self._reservations.pop(name, None)
        if reservation is not None:
            for key in (*reservation.volumes, *reservation.made):
                self._chosen.pop(key, None)
            self._choosing.release(reservation.volumes.values())
            self._ask_again()
        self._attaching.gone(name, claims_of(pod))
        self._use_changed(pod)

    def _place(self, name: TaskName, pod: Pod, node: NodeName) -> None:
        self._attaching.gone(name, claims_of(pod))
        self._attaching.placed(name, claims_of(pod), node)
        self._use_changed(pod)

    def _use_changed(self, pod: Pod) -> None:
        if self._attaching.any:
            self._has_changed_room = True
            for key in claims_of(pod):
                self._claim_changed(key)

    def _ask_again(self) -> None:
        self._choosing.look_again()
        undecided, self._undecided = self._undecided, set()
        self._has_changed_room = self._has_changed_room or bool(undecided)
        for key in undecided:
            self._claim_changed(key)

    # -- asked

    def hold(self, pod: Pod) -> Hold | None:
        """What of its claims keeps it from being decided about."""
        return hold_of(pod, self._claims, self._volumes, self._classes)

    def reservation(self, name: TaskName) -> Reservation | None:
        return self._reservations.get(name)

    def chosen_for(self, key: ClaimKey) -> Reservation | None:
        """What was chosen for a claim, by whichever of the pods that use it came first."""
        return self._chosen.get(key)

    def claim_of(self, key: ClaimKey) -> PersistentVolumeClaim | None:
        return self._claims.get(key)

    def volume_named(self, name: str) -> PersistentVolume | None:
        return self._volumes.get(name)

    def equipped(self, node: Node) -> Node:
        """The node, with what it has room for of volumes."""
        room = [*self._choosing.room(node.name), *self._attaching.room(node.name)]
        if room:
            self._equipped[node.name] = tuple(sorted(room))
        elif not self._equipped.pop(node.name, ()):
            return node
        spec = replace(node.spec, attachable=self._equipped.get(node.name, ()))
        return replace(node, spec=spec)

    def newly_equipped(self, nodes: Iterable[Node]) -> list[Node]:
        """Those whose room for volumes isn't what it was when they were last asked for."""
        if not self._has_changed_room:
            return []
        self._has_changed_room = False
        before = dict(self._equipped)
        equipped = [self.equipped(node) for node in nodes]
        return [node for node in equipped if node.spec.attachable != before.get(node.name, ())]

    def needs_of(self, pod: Pod) -> VolumeNeeds:
        if not pod.spec.volumes:
            return NO_VOLUMES
        name = name_of(pod.metadata)
        claims = [key for key in claims_of(pod) if key in self._claims]
        alone = {key.name for key in claims if is_for_one_pod(self._claims[key])}
        attached = [*disks_of(pod), *self._attaching.rows(name, claims)]
        nodes: list[VolumeNodes] = []
        if not pod.spec.node_name and name not in self._reservations:
            nodes += self._usable(claims)
            open_claims = [wanted for _, wanted in self._open_claims(pod)]
            if open_claims:
                self._undecided.update(claims)
                nodes += self._choosing.rules(open_claims)
                attached += self._choosing.rows(open_claims)
                self._has_changed_room = True
            nodes += self._attaching.rules(name, claims)
        return VolumeNeeds(tuple(dict.fromkeys(nodes)), tuple(sorted(attached)), tuple(sorted(alone)))

    def _usable(self, claims: list[ClaimKey]) -> Iterator[VolumeNodes]:
        for key in claims:
            chosen = self._chosen.get(key)
            bound = volume_of(self._claims[key]) if is_bound(self._claims[key]) else ""
            volume = self._volumes.get(bound or (chosen.volumes.get(key, "") if chosen else ""))
            if volume is not None:
                yield from usable_on(volume)
            elif chosen is not None and not bound:
                yield VolumeNodes(named([chosen.node]), VolumeTrouble.UNBOUND)

    def _open_claims(self, pod: Pod) -> Iterator[tuple[ClaimKey, Wanted]]:
        """Those for which a volume is to be chosen with the node, each once."""
        for key in dict.fromkeys(claims_of(pod)):
            claim = self._claims.get(key)
            if claim is None or is_bound(claim) or volume_of(claim) or key in self._chosen:
                continue
            if waits_for_consumer(self._classes.get(class_of(claim))):
                yield key, as_wanted(claim, self._choosing.kept_for(key))


def _name(old: KubeObject | None, new: KubeObject | None) -> str:
    found = new or old
    assert found is not None
    return found.metadata.name or ""
