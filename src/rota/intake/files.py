"""The entry for callers: files of clusters, jobs and policies, in Rota's own form or in Kubernetes'."""

import os
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from rota.intake.calendars import CalendarReader
from rota.intake.checking.fields import raise_all
from rota.intake.clusters import ClusterReader
from rota.intake.documents.document import Document, read_documents
from rota.intake.documents.source import MAX_BYTES
from rota.intake.errors import InputError
from rota.intake.jobs import JobReader
from rota.intake.kubernetes import ClusterObjects, Note, is_manifest
from rota.intake.policies import policy_from
from rota.model.cluster import ClusterRecords
from rota.model.node import Node
from rota.model.policy import Policy

PathLike = str | os.PathLike[str]
OnNote = Callable[[Note], None]
"""Is told what was left out of Kubernetes manifests and why. Of Rota's own files nothing ever is."""


class Trouble(NamedTuple):
    """With pods, or with what makes them; all else was read."""

    faults: tuple[InputError, ...] = ()
    """What can't be used, and was left out or is assumed otherwise."""
    incomplete: tuple[InputError, ...] = ()
    """Gangs that wait for pods which aren't there."""
    held: int = 0
    """Pods that wait for something that isn't in these files."""


OnTrouble = Callable[[Trouble], None]


def _ignore(note: Note) -> None:
    pass


def read_records(
    cluster_path: PathLike,
    *jobs_paths: PathLike,
    max_bytes: int = MAX_BYTES,
    on_note: OnNote = _ignore,
    on_trouble: OnTrouble | None = None,
) -> ClusterRecords:
    """The cluster and all jobs of these files. They may be the same file, which is then read once.
    `on_trouble`: is told of pods that can't be used, and the rest is read; without it, they are errors."""
    cluster_documents = read_documents(cluster_path, max_bytes=max_bytes)
    read: list[PathLike] = [cluster_path]
    job_documents: list[Document] = []
    for path in jobs_paths:
        if not any(_is_same_file(other, path) for other in read):
            job_documents += read_documents(path, max_bytes=max_bytes)
            read.append(path)
    return records_from_documents(cluster_documents, job_documents, on_note=on_note, on_trouble=on_trouble)


def records_from_documents(
    cluster_documents: Sequence[Document],
    job_documents: Sequence[Document] = (),
    *,
    on_note: OnNote = _ignore,
    on_trouble: OnTrouble | None = None,
) -> ClusterRecords:
    """The same for what is read already."""
    # All manifests are read as one: pods of one file may name priority classes or nodes of the other.
    documents = (*cluster_documents, *job_documents)
    objects = ClusterObjects(one for one in documents if is_manifest(one))
    own_files = {one.path for one in documents if not is_manifest(one)}
    raise_all([error for error in objects.unread_files() if error.file not in own_files])

    cluster_reader = ClusterReader(objects.nodes)
    clusters = [cluster_reader.read_document(one) for one in cluster_documents if not is_manifest(one)]
    nodes = [*objects.nodes, *(node for cluster in clusters for node in cluster.nodes)]

    of_kubernetes = _manifests_read(objects, nodes, on_note, on_trouble)

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


def _manifests_read(
    objects: ClusterObjects, nodes: Sequence[Node], on_note: OnNote, on_trouble: OnTrouble | None
) -> ClusterRecords:
    reading = objects.read(nodes)
    if on_trouble is None:
        raise_all([*reading.faults, *reading.incomplete])
    elif reading.faults or reading.incomplete or reading.held:
        on_trouble(Trouble(reading.faults, reading.incomplete, reading.held))
    for note in reading.notes:
        on_note(note)
    return reading.records


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
