"""The entry for callers: files of clusters, jobs and policies, in Rota's own form or in Kubernetes'."""

import os
from collections.abc import Callable, Collection, Sequence

from rota.intake._source import MAX_BYTES
from rota.intake.calendars import CalendarReader
from rota.intake.clusters import ClusterReader
from rota.intake.document import Document, read_documents
from rota.intake.jobs import JobReader
from rota.intake.kubernetes import Note, is_manifest, read_cluster
from rota.intake.policies import policy_from
from rota.model.cluster import ClusterRecords
from rota.model.policy import Policy

PathLike = str | os.PathLike[str]
OnNote = Callable[[Note], None]
"""Is told what was left out of Kubernetes manifests and why. Of Rota's own files nothing ever is."""


def _ignore(note: Note) -> None:
    pass


def read_records(
    cluster_path: PathLike,
    jobs_path: PathLike | None = None,
    *,
    max_bytes: int = MAX_BYTES,
    on_note: OnNote = _ignore,
) -> ClusterRecords:
    """The cluster and all jobs of both files. They may be the same file, which is then read once."""
    cluster_documents = read_documents(cluster_path, max_bytes=max_bytes)
    job_documents: tuple[Document, ...] = ()
    if jobs_path is not None and not _is_same_file(cluster_path, jobs_path):
        job_documents = read_documents(jobs_path, max_bytes=max_bytes)
    return records_from_documents(cluster_documents, job_documents, on_note=on_note)


def records_from_documents(
    cluster_documents: Sequence[Document],
    job_documents: Sequence[Document] = (),
    *,
    on_note: OnNote = _ignore,
) -> ClusterRecords:
    """The same for what is read already."""
    # All manifests are read as one: pods of one file may name priority classes or nodes of the other.
    of_kubernetes, notes = read_cluster(
        [one for one in (*cluster_documents, *job_documents) if is_manifest(one)]
    )
    for note in notes:
        on_note(note)

    cluster_reader = ClusterReader(of_kubernetes.nodes)
    clusters = [cluster_reader.read_document(one) for one in cluster_documents if not is_manifest(one)]
    nodes = [*of_kubernetes.nodes, *(node for cluster in clusters for node in cluster.nodes)]

    node_of = {node.name: node for node in nodes}

    calendar_reader = CalendarReader(node_of)
    for cluster in clusters:
        calendar_reader.read(cluster.form, cluster.at)
    calendar = calendar_reader.calendar()

    job_reader = JobReader(node_of, of_kubernetes.jobs, {one.name for one in calendar.reservations})
    jobs = [*of_kubernetes.jobs]
    for cluster in clusters:
        jobs += job_reader.read(cluster.form.jobs, cluster.at.at("jobs"))
    for document in job_documents:
        if not is_manifest(document):
            jobs += job_reader.read_document(document)
    job_reader.check_partners()

    return ClusterRecords(
        nodes=tuple(nodes),
        offers=tuple(offer for cluster in clusters for offer in cluster.offers),
        jobs=tuple(jobs),
        usage=tuple(usage for cluster in clusters for usage in cluster.usage),
        calendar=calendar,
        conditional=tuple(job_reader.conditional),
    )


def read_policy(
    path: PathLike | None, known_plugins: Collection[str] | None = None, *, max_bytes: int = MAX_BYTES
) -> Policy:
    """The default policy without a file. Without `known_plugins` a plugin may have any name."""
    if path is None:
        return Policy()
    first, *others = read_documents(path, max_bytes=max_bytes)
    if others:
        raise others[0].error((), "a policy is one document", "remove the others")
    return policy_from(first, known_plugins)


def _is_same_file(one: PathLike, other: PathLike) -> bool:
    if os.fspath(one) == os.fspath(other):
        return True
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)
