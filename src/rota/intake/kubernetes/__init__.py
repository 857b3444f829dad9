"""Kubernetes manifests as kubectl prints them, into the model, with all that kube-scheduler would look at.

`manifests` finds the objects, `cluster` puts together what they mean, which `rota.kube_objects` knows.
Called by `rota.intake.files`.
"""

from collections.abc import Sequence

from rota.intake.documents.document import Document
from rota.intake.kubernetes.cluster import ClusterObjects, Reading, read_cluster
from rota.intake.kubernetes.manifests import is_manifest
from rota.intake.kubernetes.notes import Note
from rota.kube_objects.pods import GangKeys
from rota.model.cluster import ClusterRecords

__all__ = [
    "ClusterObjects",
    "GangKeys",
    "Note",
    "Reading",
    "is_manifest",
    "read_cluster",
    "records_from_manifests",
]


def records_from_manifests(documents: Sequence[Document]) -> ClusterRecords:
    return read_cluster(documents).records
