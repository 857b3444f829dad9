"""How many tasks, on how many nodes, and what each may have. Slurm says it of nodes or of all tasks together,
Rota of each task."""

import re
from typing import Any, NamedTuple

from rota.intake.sbatch.reading import Reading

_MEMORY = re.compile(r"(\d{1,12})([kmgt]?)b?", re.ASCII | re.IGNORECASE)
_UNIT_BYTES = {"k": 2**10, "": 2**20, "m": 2**20, "g": 2**30, "t": 2**40}
_NODES = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?", re.ASCII)
_GPUS = re.compile(r"(?:gpu:)?(?:(?P<model>[A-Za-z][\w.-]*):)?(?P<count>\d{1,6})", re.ASCII)


class Shape(NamedTuple):
    tasks: int
    nodes: int | None
    """None: wherever there is room."""
    tasks_per_node: int | None
    """At most; None: nobody knows."""


def read_shape(reading: Reading) -> dict[str, Any]:
    shape = _shape(reading)
    cpus = reading.number("cpus-per-task") or 1
    form: dict[str, Any] = {"resources": {"cpu": cpus}}
    reading.stands_for("resources", "cpus-per-task", "mem", "mem-per-cpu")
    if shape.tasks > 1:
        form["tasks"] = shape.tasks
        reading.stands_for("tasks", "ntasks", "nodes")
        if shape.nodes == shape.tasks:
            form["topology"] = [{"key": "host", "tasks": "different"}]
        elif shape.nodes is not None:
            form["topology"] = [{"key": "host", "tasks": "same" if shape.nodes == 1 else shape.nodes}]
        reading.note(
            "ntasks" if reading.has("ntasks") else "nodes",
            "the script runs once in each task, as under srun; its rank is in SLURM_PROCID",
        )
    _read_memory(reading, shape, cpus, form)
    _read_gpus(reading, shape, form)
    if reading.has("exclusive"):
        _read_exclusive(reading, shape, form)
    return form


def _shape(reading: Reading) -> Shape:
    nodes = _nodes(reading)
    tasks, per_node = reading.number("ntasks"), reading.number("ntasks-per-node")
    if tasks is None:
        tasks = (nodes or 1) * (per_node or 1)
    if nodes is None and per_node is not None:
        nodes = -(-tasks // per_node)
    if nodes is not None and nodes > tasks:
        reading.note("nodes", f"{tasks} tasks can't be on more nodes than that: {tasks} it will be")
        nodes = tasks
    if nodes is None:
        return Shape(tasks, None, 1 if tasks == 1 else None)
    fewest = -(-tasks // nodes)
    if per_node is not None and 1 < nodes < tasks:
        reading.note("ntasks-per-node", f"the tasks go to {nodes} nodes, not always as many to each")
    return Shape(tasks, nodes, max(fewest, per_node or 1) if nodes > 1 else tasks)


def _nodes(reading: Reading) -> int | None:
    value = reading.value("nodes")
    if value is None:
        return None
    match = _NODES.fullmatch(value)
    if match is None or int(match[1]) == 0:
        raise reading.error("nodes", "is not a number of nodes", "write it like 2")
    if match[2] is not None and match[2] != match[1]:
        reading.note("nodes", f"a range is not an allowed value here: it will be {match[1]}")
    return int(match[1])


def _read_memory(reading: Reading, shape: Shape, cpus: int, form: dict[str, Any]) -> None:
    of_node, of_cpu = _memory_bytes(reading, "mem"), _memory_bytes(reading, "mem-per-cpu")
    if of_node is not None and of_cpu is not None:
        raise reading.error("mem-per-cpu", "there is --mem already", "remove one of the two")
    if of_node == 0:
        reading.note("mem", "all memory of a node can't be asked for; --exclusive gives the whole node")
    elif of_node is not None:
        if shape.tasks_per_node is None:
            reading.note("mem", "the number of tasks on a node is unknown: each task asks for all of it")
        form["resources"]["memory"] = -(-of_node // (shape.tasks_per_node or 1))
    elif of_cpu:
        form["resources"]["memory"] = of_cpu * cpus


def _memory_bytes(reading: Reading, name: str) -> int | None:
    value = reading.value(name)
    if value is None:
        return None
    match = _MEMORY.fullmatch(value)
    if match is None:
        raise reading.error(name, "is not an amount of memory", "write it like 4G or 512M")
    return int(match[1]) * _UNIT_BYTES[match[2].lower()]


def _read_gpus(reading: Reading, shape: Shape, form: dict[str, Any]) -> None:
    found = [name for name in ("gpus-per-task", "gpus-per-node", "gpus", "gres") if reading.has(name)]
    for name in found:
        asked = _gpus(reading, name)
        if asked is None:
            continue
        if "gpus" in form:
            reading.note(name, "the GPUs are stated already, and this is ignored")
            continue
        model, count = asked
        per_task = _per_task(reading, name, count, shape)
        if per_task:
            form["gpus"] = {"count": per_task, "models": [model]} if model else per_task
            reading.stands_for("gpus", name)


def _per_task(reading: Reading, name: str, count: int, shape: Shape) -> int:
    if name == "gpus-per-task":
        return count
    sharers = shape.tasks if name == "gpus" else shape.tasks_per_node
    if sharers is None:
        raise reading.error(name, "the number of tasks on a node is unknown", "use --gpus-per-task instead")
    if count % sharers:
        raise reading.error(
            name, f"{count} GPUs can't be shared evenly by {sharers} tasks", "use --gpus-per-task instead"
        )
    return count // sharers


def _gpus(reading: Reading, name: str) -> tuple[str, int] | None:
    asked = None
    for part in (reading.value(name) or "").split(","):
        if name == "gres" and part != "gpu" and not part.startswith("gpu:"):
            reading.note(name, f"{part} is not a resource that Rota allocates, and is ignored")
            continue
        match = _GPUS.fullmatch("gpu:1" if part == "gpu" else part)
        if match is None or asked is not None:
            raise reading.error(name, "is not a number of GPUs of one kind", "write it like 2 or a100:2")
        asked = match["model"] or "", int(match["count"])
    return asked


def _read_exclusive(reading: Reading, shape: Shape, form: dict[str, Any]) -> None:
    if shape.tasks_per_node == 1:
        form["exclusive"] = True
        reading.stands_for("exclusive", "exclusive")
    else:
        reading.note("exclusive", "only a task that has a node to itself can be alone on it: ignored")
