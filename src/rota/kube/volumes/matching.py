"""Which volumes would do for a claim, and which it gets: the smallest."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec import Struct

from rota.kube_objects.objects.metadata import Quantity
from rota.kube_objects.objects.volumes import PersistentVolume, PersistentVolumeClaim
from rota.kube_objects.selectors import as_labels, label_selector
from rota.kube_objects.volumes import ClaimKey, class_of, key_of_claim, terms_of
from rota.model.ids import Labels
from rota.model.quantities import QuantityError, parse_quantity
from rota.model.selectors import NodeTerm, Selector

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
_FILESYSTEM = "Filesystem"


class Wanted(Struct, frozen=True, cache_hash=True):
    """What a claim asks of a volume. Claims that ask for the same are served alike."""

    storage_class: str
    size_bytes: int
    modes: tuple[str, ...] = ()
    volume_mode: str = _FILESYSTEM
    attributes_class: str = ""
    selector: Selector | None = None
    claim: ClaimKey | None = None
    """Where a volume is kept for this very claim; None: for nobody."""
    selected_node: str = ""
    """Where somebody has asked for its volume to be made."""

    def includes(self, other: Wanted) -> bool:
        """Whether every volume that would do for the other would do for this."""
        return (
            (self.storage_class, self.volume_mode) == (other.storage_class, other.volume_mode)
            and self.attributes_class == other.attributes_class
            and self.size_bytes <= other.size_bytes
            and set(self.modes) <= set(other.modes)
            and self.selector in (None, other.selector)
            and self.claim == other.claim
        )

    @property
    def text(self) -> str:
        parts = [self.storage_class, str(self.size_bytes), "+".join(self.modes), self.volume_mode]
        if self.attributes_class:
            parts.append(self.attributes_class)
        if self.selector is not None:
            parts += (
                f"{one.key} {one.operator.value} {','.join(one.values)}" for one in self.selector.requirements
            )
        return "/".join((*parts, *(self.claim or ())))


class Spare(Struct, frozen=True):
    """A volume that no claim is bound to."""

    name: str
    storage_class: str
    size_bytes: int
    modes: frozenset[str]
    volume_mode: str
    attributes_class: str
    labels: Labels
    terms: tuple[NodeTerm, ...]
    """Of the nodes on which it can be used; empty: on all."""
    kept_for: ClaimKey | None = None
    kept_for_uid: str = ""

    def serves(self, wanted: Wanted) -> bool:
        if self.size_bytes < wanted.size_bytes or self.volume_mode != wanted.volume_mode:
            return False
        if self.attributes_class != wanted.attributes_class or self.storage_class != wanted.storage_class:
            return False
        if self.kept_for is not None:
            return self.kept_for == wanted.claim
        selector = wanted.selector
        return self.modes.issuperset(wanted.modes) and (selector is None or selector.selects(self.labels))


def as_spare(volume: PersistentVolume) -> Spare | None:
    """None: it is nobody's to choose."""
    spec, phase = volume.spec, volume.status and volume.status.phase
    if spec is None or volume.metadata.deletion_timestamp is not None:
        return None
    reference = spec.claim_ref
    if phase != "Available" and not (reference is not None and phase in (None, "", "Pending")):
        return None
    return Spare(
        name=volume.metadata.name or "",
        storage_class=class_of(volume),
        size_bytes=size_of((spec.capacity or {}).get("storage")),
        modes=frozenset(spec.access_modes or ()),
        volume_mode=spec.volume_mode or _FILESYSTEM,
        attributes_class=spec.volume_attributes_class_name or "",
        labels=as_labels(volume.metadata.labels),
        terms=terms_of(volume),
        kept_for=None if reference is None else ClaimKey(reference.namespace, reference.name),
        kept_for_uid="" if reference is None else reference.uid,
    )


def as_wanted(claim: PersistentVolumeClaim, kept: Iterable[Spare] = ()) -> Wanted:
    """`kept`: volumes that are kept for certain claims."""
    spec, key = claim.spec, key_of_claim(claim)
    requests = spec and spec.resources and spec.resources.requests
    is_kept = any(one.kept_for == key and one.kept_for_uid in ("", claim.metadata.uid or "") for one in kept)
    return Wanted(
        storage_class=class_of(claim),
        size_bytes=size_of((requests or {}).get("storage")),
        modes=tuple(sorted((spec and spec.access_modes) or ())),
        volume_mode=(spec and spec.volume_mode) or _FILESYSTEM,
        attributes_class=(spec and spec.volume_attributes_class_name) or "",
        selector=label_selector(spec.selector) if spec and spec.selector else None,
        claim=key if is_kept else None,
        selected_node=str((claim.metadata.annotations or {}).get(SELECTED_NODE, "")),
    )


def is_bound(claim: PersistentVolumeClaim) -> bool:
    """By both sides: a volume that was only named may turn out to be another's."""
    has_volume = claim.spec is not None and bool(claim.spec.volume_name)
    return has_volume and BIND_COMPLETED in (claim.metadata.annotations or {})


def chosen(wanted: Wanted, spares: Iterable[Spare], taken: Collection[str] = ()) -> Spare | None:
    """One that is kept for the claim, or else the smallest."""
    serving = [one for one in spares if one.name not in taken and one.serves(wanted)]
    if wanted.claim is not None:
        # Whoever has a volume of its own gets no other.
        serving = [one for one in serving if one.kept_for is not None]
    return min(serving, key=lambda one: (one.size_bytes, one.name), default=None)


def size_of(quantity: Quantity | None) -> int:
    """In bytes; none, if nobody can tell."""
    try:
        return 0 if quantity is None else parse_quantity(quantity)
    except QuantityError:
        return 0
