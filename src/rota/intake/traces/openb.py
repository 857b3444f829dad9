"""openb: nodes and pods of a cluster that shares GPUs, and the orders of arrival of published experiments.

    sn,cpu_milli,memory_mib,gpu,model                                  (nodes)
    name,cpu_milli,memory_mib,num_gpu,gpu_milli[,gpu_spec[,…]]         (pods)
    {"seeds": {"42": {"order": […], "node_rank": […]}, …}}             (arrivals)

The CSV files are those of github.com/alibaba/clusterdata, folder cluster-trace-gpu-v2023. `order` holds
0-based rows of the pod file as they arrive, `node_rank` the rank of each row of the node file: of equally
good nodes the lowest rank wins. Any file may be packed with gzip. Further columns of pods say when each ran:
`openb_replay` reads them.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import DecodeError, Struct, ValidationError, json

from rota.intake.checking.wording import quoted
from rota.intake.documents.source import decode, display_name, read_bytes
from rota.intake.errors import InputError, Position
from rota.intake.traces._rows import Header, Row
from rota.intake.traces._text import MAX_BYTES, Line, lines_of, unpacked
from rota.model.node import Gpus, NodeSpec
from rota.model.resources import WHOLE_GPU_MILLI, GpuRequest, Resources
from rota.model.task import TaskSpec

NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
POD_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
_MIB = 2**20
_MOST_PODS = 1001
"""On one node, as in the published experiments."""
_BYTE = re.compile(r"\(byte (\d+)\)")


class OpenbNode(NamedTuple):
    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int
    model: str

    @property
    def spec(self) -> NodeSpec:
        capacity = Resources(self.cpu_milli, self.memory_mib * _MIB, slots=_MOST_PODS)
        return NodeSpec(capacity, Gpus(self.gpus, self.model))


class OpenbPod(NamedTuple):
    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int
    gpu_milli: int
    """Of each GPU."""
    models: tuple[str, ...]
    """Those that will do, in the order of the file; empty: any."""

    @property
    def spec(self) -> TaskSpec:
        return TaskSpec(
            requests=Resources(cpu_milli=self.cpu_milli, memory_bytes=self.memory_mib * _MIB),
            gpu=GpuRequest(self.gpus, self.gpu_milli, self.models) if self.gpus else GpuRequest(),
        )


class Arrivals(NamedTuple):
    """One run: pods in the order in which they arrive, and which node wins a tie."""

    order: tuple[int, ...]
    node_rank: tuple[int, ...]


class _RunForm(Struct):
    order: list[int]
    node_rank: list[int]


class _ArrivalsForm(Struct):
    seeds: dict[str, _RunForm]


def read_nodes(path: str) -> tuple[OpenbNode, ...]:
    nodes = tuple(map(node_of, _rows(path, NODE_COLUMNS)))
    if not sum(node.gpus for node in nodes):
        raise InputError(display_name(path), "no node has a GPU", "give a list of nodes with GPUs")
    return nodes


def read_pods(path: str) -> tuple[OpenbPod, ...]:
    pods = tuple(map(pod_of, _rows(path, POD_COLUMNS)))
    if not pods:
        raise InputError(display_name(path), "there are no pods", "give a list of at least one")
    return pods


def node_of(row: Row) -> OpenbNode:
    return OpenbNode(
        row["sn"], row.whole("cpu_milli"), row.whole("memory_mib"), row.whole("gpu"), row["model"]
    )


def pod_of(row: Row) -> OpenbPod:
    gpus, gpu_milli = row.whole("num_gpu"), row.whole("gpu_milli")
    if gpu_milli > WHOLE_GPU_MILLI:
        raise row.error("gpu_milli", f"{gpu_milli} is more than a whole GPU", "give at most 1000")
    if bool(gpus) != bool(gpu_milli):
        raise row.error("gpu_milli", f"{gpu_milli} of {gpus} GPUs", "give both, or 0 for both")
    if gpus > 1 and gpu_milli < WHOLE_GPU_MILLI:
        raise row.error(
            "gpu_milli", f"{gpu_milli} of each of {gpus} GPUs", "several GPUs are asked for whole"
        )
    models = tuple(row["gpu_spec"].split("|")) if row["gpu_spec"] else ()
    return OpenbPod(row["name"], row.whole("cpu_milli"), row.whole("memory_mib"), gpus, gpu_milli, models)


def _rows(path: str, columns: Sequence[str]) -> Iterator[Row]:
    file = display_name(path)
    return rows_of(decode(unpacked(read_bytes(path, MAX_BYTES), file), file), file, columns)


def rows_of(text: str, file: str, columns: Sequence[str]) -> Iterator[Row]:
    """The lines of a list that must have these columns."""
    header, lines = parted(text, file)
    require(header, columns)
    return (Row(header, line) for line in lines)


def parted(text: str, file: str) -> tuple[Header, list[Line]]:
    first, *lines = lines_of(text.replace("\r\n", "\n"), file)
    # What comes after the last line end is no line.
    return Header(first, ","), lines[:-1] if lines and not lines[-1].text else lines


def require(header: Header, columns: Sequence[str]) -> None:
    for column in columns:
        if column not in header:
            raise header.missing(
                column, "this column is missing", f"the first line must name {', '.join(columns)}"
            )


def read_arrivals(path: str, seed: int, nodes: int, pods: int) -> Arrivals:
    """The run of a seed, for so many nodes and pods."""
    file = display_name(path)
    raw = unpacked(read_bytes(path, MAX_BYTES), file)
    try:
        form = json.decode(raw, type=_ArrivalsForm)
    except ValidationError as error:
        raise InputError(file, f"not a list of arrivals: {error}", "see the README of the trace") from None
    except DecodeError as error:
        raise InputError(
            file, f"not JSON: {error}", "download the file again", position=_position(error, raw)
        ) from None
    run = form.seeds.get(str(seed))
    if run is None:
        known = ", ".join(form.seeds) or "none"
        raise InputError(file, f"there is no seed {seed}", f"known: {known}", path=("seeds",))
    at = ("seeds", str(seed))
    for number, pod in enumerate(run.order):
        if not 0 <= pod < pods:
            raise InputError(
                file,
                f"row {pod} of {pods} pods",
                "give the list of pods that belongs to it",
                path=(*at, "order", number),
            )
    if sorted(run.node_rank) != list(range(nodes)):
        raise InputError(
            file,
            f"{quoted('node_rank')} must have each of the ranks 0 to {nodes - 1} once",
            "give the list of nodes that belongs to it",
            path=(*at, "node_rank"),
        )
    return Arrivals(tuple(run.order), tuple(run.node_rank))


def _position(error: DecodeError, raw: bytes) -> Position:
    """Where the decoder stopped: it names the byte, unless the text ends too early."""
    byte = _BYTE.search(str(error))
    before = raw[: int(byte[1])] if byte else raw
    return Position(before.count(b"\n") + 1, len(before) - before.rfind(b"\n"))
