"""Kubernetes manifests as kubectl prints them, into the model, with all that kube-scheduler would look at.

`manifests` finds the objects, `objects` types the fields that matter, a module each reads what they mean, and
`cluster` puts it together. Called by `rota.intake.files`.
"""

from collections.abc import Sequence

from rota.intake.document import Document
from rota.intake.kubernetes.cluster import Reading, read_cluster
from rota.intake.kubernetes.manifests import is_manifest
from rota.intake.kubernetes.notes import Note
from rota.kube_objects.pods import GangKeys
from rota.model.cluster import ClusterRecords

__all__ = ["GangKeys", "Note", "Reading", "is_manifest", "read_cluster", "records_from_manifests"]


def records_from_manifests(documents: Sequence[Document]) -> ClusterRecords:
    return read_cluster(documents).records
