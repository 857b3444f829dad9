"""The entry for callers: a trace of any format as a workload, and a machine to replay it on."""

import os
from collections.abc import Callable, Mapping
from datetime import UTC, tzinfo
from typing import NamedTuple

from rota.intake.checking.wording import listed, nearest, quoted
from rota.intake.documents.document import Document, parse_documents
from rota.intake.documents.source import MAX_BYTES as MAX_CLUSTER_BYTES
from rota.intake.documents.source import decode, display_name, read_bytes
from rota.intake.errors import InputError
from rota.intake.files import OnNote, records_from_documents
from rota.intake.traces._text import MAX_BYTES, unpacked
from rota.intake.traces.knavigator import knavigator_from
from rota.intake.traces.kueue import kueue_from
from rota.intake.traces.openb_replay import is_node_list, is_pod_list, machine_from, openb_from
from rota.intake.traces.own import own_from
from rota.intake.traces.sacct import sacct_from
from rota.intake.traces.scheduler_perf import scheduler_perf_from
from rota.intake.traces.swf import Tasks, swf_from
from rota.model.cluster import ClusterRecords
from rota.model.workload import Workload

PathLike = str | os.PathLike[str]


class TraceOptions(NamedTuple):
    """What a trace doesn't say by itself. An option that the format has no use for is refused."""

    workload: str | None = None
    """knavigator, scheduler-perf: which one of the file."""
    processors: int | None = None
    """swf: how many the machine has, if not as its header says."""
    processors_per_node: int | None = None
    """swf"""
    tasks: Tasks | None = None
    """swf: "processors" (the default) or "whole"."""
    time_zone: tzinfo | None = None
    """sacct: of times without one; UTC by default."""


NO_OPTIONS = TraceOptions()


class _Trace(NamedTuple):
    """A file's content, not yet looked into."""

    file: str
    name: str
    raw: bytes

    def text(self) -> str:
        return decode(self.raw, self.file)

    def documents(self) -> tuple[Document, ...]:
        return parse_documents(self.raw, self.file)

    def document(self) -> Document:
        first, *others = self.documents()
        if others:
            raise others[0].error((), "this format has one document a file", "remove the others")
        return first


class _Format(NamedTuple):
    read: Callable[[_Trace, TraceOptions], Workload]
    options: frozenset[str] = frozenset()


def _read_swf(trace: _Trace, options: TraceOptions) -> Workload:
    return swf_from(
        trace.text(),
        trace.file,
        name=trace.name,
        processors=options.processors,
        processors_per_node=options.processors_per_node,
        tasks=options.tasks or "processors",
    )


_FORMATS: Mapping[str, _Format] = {
    "rota": _Format(lambda trace, _: own_from(trace.documents(), name=trace.name)),
    "swf": _Format(_read_swf, frozenset(("processors", "processors_per_node", "tasks"))),
    "sacct": _Format(
        lambda trace, options: sacct_from(
            trace.text(), trace.file, name=trace.name, time_zone=options.time_zone or UTC
        ),
        frozenset(("time_zone",)),
    ),
    "openb": _Format(lambda trace, _: openb_from(trace.text(), trace.file, name=trace.name)),
    "kueue": _Format(lambda trace, _: kueue_from(trace.document(), name=trace.name)),
    "knavigator": _Format(
        lambda trace, options: knavigator_from(trace.document(), options.workload), frozenset(("workload",))
    ),
    "scheduler-perf": _Format(
        lambda trace, options: scheduler_perf_from(trace.document(), options.workload),
        frozenset(("workload",)),
    ),
}
FORMATS = tuple(_FORMATS)


def read_workload(
    path: PathLike,
    format: str | None = None,
    *,
    options: TraceOptions = NO_OPTIONS,
    max_bytes: int = MAX_BYTES,
) -> Workload:
    """The workload of a file, plain or gzip. Without a format, by what the file is like.

    The path "-" means standard input.
    """
    name = os.fspath(path)
    file = display_name(name)
    if format is not None and format not in _FORMATS:
        meant = nearest(format, FORMATS)
        remedy = f"did you mean {quoted(meant)}?" if meant else f"known: {listed(FORMATS)}"
        raise InputError(file, f"there is no format {quoted(format)}", remedy)
    raw = unpacked(read_bytes(name, max_bytes), file, max_bytes)
    trace = _Trace(file, _name_of(file), raw)
    found = format or _detect(trace)
    _check_options(found, options, file)
    return _FORMATS[found].read(trace, options)


def read_machine(path: PathLike, *, on_note: OnNote) -> ClusterRecords:
    """What a workload is replayed on: a cluster in one of the usual forms, or openb's list of nodes."""
    name = os.fspath(path)
    file = display_name(name)
    raw = unpacked(read_bytes(name, MAX_CLUSTER_BYTES), file)
    if is_node_list(_first_line(raw)):
        return ClusterRecords(nodes=machine_from(decode(raw, file), file))
    return records_from_documents(parse_documents(raw, file), on_note=on_note)


def _check_options(format: str, options: TraceOptions, file: str) -> None:
    for name, value in options._asdict().items():
        if value is not None and name not in _FORMATS[format].options:
            raise InputError(file, f"the format {format} has no option {name}", "leave it out")
    if options.processors is not None and options.processors < 1:
        raise InputError(file, "a machine without processors", "give 1 or more")
    if options.processors_per_node is not None and options.processors_per_node < 1:
        raise InputError(file, "nodes without processors", "give 1 or more")


def _name_of(file: str) -> str:
    return os.path.basename(file).removesuffix(".gz").rpartition(".")[0] or os.path.basename(file)


# -- what a file is


def _detect(trace: _Trace) -> str:
    if trace.file.removesuffix(".gz").endswith(".swf"):
        return "swf"
    first = _first_line(trace.raw)
    if first.startswith(b";") or _is_row_of_numbers(first):
        return "swf"
    if b"JobID" in first.split(b"|"):
        return "sacct"
    if is_pod_list(first):
        return "openb"
    if is_node_list(first):
        raise InputError(trace.file, "is a list of nodes, no workload", "give it as the cluster: --cluster")
    found = _detect_by_fields(trace)
    if found is None:
        raise InputError(
            trace.file, "is not a workload that this reader recognises", f"name its format: {listed(FORMATS)}"
        )
    return found


def _first_line(raw: bytes) -> bytes:
    """The first that isn't blank."""
    return next((line for line in raw.split(b"\n", 1000) if line.strip()), b"")


def _is_row_of_numbers(line: bytes) -> bool:
    words = line.split()
    return len(words) > 10 and all(word.lstrip(b"-").replace(b".", b"", 1).isdigit() for word in words)


def _detect_by_fields(trace: _Trace) -> str | None:
    try:
        data = trace.documents()[0].data
    except InputError:
        # What is wrong with YAML is worth saying only of what is meant to be YAML.
        if not trace.raw.strip() or trace.file.removesuffix(".gz").endswith((".yaml", ".yml", ".json")):
            raise
        return None
    fields = set(data) if isinstance(data, dict) else set()
    if "workload" in fields:
        return "rota"
    if "cohorts" in fields:
        return "kueue"
    if {"workloads", "default_node"} <= fields:
        return "scheduler-perf"
    if {"cluster", "pod"} <= fields or fields & {"scaling", "network_topology"}:
        return "knavigator"
    return None
