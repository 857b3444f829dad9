"""Between messages on the wire and Rota's own nouns. Both sides use it.

What comes from the wire is only put into shape here; whether it can be believed is asked in `claims.py`.
"""

from __future__ import annotations

from collections.abc import Iterable

from rota.backends.backend import (
    InputPiece,
    TaskEnded,
    TaskRef,
    TaskReport,
    TaskReturned,
    TaskStart,
    TaskStarted,
)
from rota.lifecycle.state import EndReason, TaskEnd, Used
from rota.model.ids import JobId, NodeName
from rota.model.node import Gpus, Node, NodeSpec
from rota.model.resources import Resources
from rota.model.run import WINDOW, InputFile, Run, Stdin
from rota.model.taints import Effect, Taint
from rota.wire import agents_pb2 as wire

PROTOCOL = 1
INPUT = "input"
"""What an agent says in its hello that passes input on."""
REFS_A_MESSAGE = 1_000
_LOAD_STEP_MILLI = 50


def ref_to(ref: TaskRef) -> wire.TaskRef:
    return wire.TaskRef(job=ref.job, rank=ref.rank, fence=ref.fence)


def ref_from(message: wire.TaskRef) -> TaskRef:
    return TaskRef(JobId(message.job), message.rank, message.fence)


def refs_to(refs: Iterable[TaskRef]) -> list[wire.TaskRef]:
    return [ref_to(ref) for ref in refs]


def node_to(node: Node, message: str) -> wire.Node:
    spec = node.spec
    return wire.Node(
        capacity=_resources_to(spec.capacity),
        gpus=spec.gpus.count,
        gpu_model=spec.gpus.model,
        pool=spec.pool,
        labels=dict(spec.labels),
        taints=[wire.Taint(key=one.key, value=one.value, effect=one.effect.value) for one in spec.taints],
        price_micro_per_hour=spec.price_micro_per_hour,
        load_milli=node.load_milli,
        message=text(message),
        memory_used_bytes=node.memory_used_bytes,
        memory_others_bytes=node.memory_others_bytes,
    )


def node_from(name: str, backend: str, message: wire.Node) -> Node:
    """Raises ValueError for an effect of a taint that there isn't."""
    return Node(
        NodeName(name),
        NodeSpec(
            _resources_from(message.capacity),
            Gpus(message.gpus, message.gpu_model),
            backend=backend,
            pool=message.pool or "default",
            labels=tuple(sorted(message.labels.items())),
            taints=tuple(Taint(one.key, Effect(one.effect), one.value) for one in message.taints),
            price_micro_per_hour=message.price_micro_per_hour,
        ),
        load_milli=shown_load(message.load_milli),
        memory_used_bytes=message.memory_used_bytes,
        memory_others_bytes=message.memory_others_bytes,
    )


def shown_load(load_milli: int) -> int:
    """Each change of a node is looked at by the whole scheduler: small ones aren't worth it."""
    return load_milli // _LOAD_STEP_MILLI * _LOAD_STEP_MILLI


def start_to(start: TaskStart, server_ahead_ms: int) -> wire.TaskStart:
    """Raises ValueError for text that isn't Unicode."""
    run = start.run
    message = wire.TaskStart(
        ref=ref_to(start.ref),
        run=wire.Run(
            command=run.command,
            script=run.script,
            directory=run.directory,
            environment=dict(run.environment),
            secrets=dict(run.secrets),
            files=[
                wire.InputFile(
                    path=one.path,
                    sha256=one.sha256,
                    size_bytes=one.size_bytes,
                    executable=one.executable,
                    unpack=one.unpack,
                )
                for one in run.files
            ],
            outputs=run.outputs,
            warn_signal=run.warn_signal,
            warn_before_ms=run.warn_before_ms,
            grace_ms=run.grace_ms,
            stdout=run.stdout,
            stderr=run.stderr,
            append=run.append,
            stdin=run.stdin.value if run.takes_input else "",
            rows=run.window[0],
            columns=run.window[1],
        ),
        environment=dict(start.environment),
        secrets=dict(start.secrets),
        hosts=start.hosts,
        limits=_resources_to(start.limits),
        cpu_share_milli=start.cpu_share_milli,
        lane=start.lane,
        standby=start.standby,
        user=start.user,
        project=start.project,
    )
    if start.log_bytes is not None:
        message.log_bytes = start.log_bytes
    if start.time_limit_ms is not None:
        message.time_limit_ms = start.time_limit_ms
    if start.end_before_ms is not None:
        message.end_before_ms = start.end_before_ms - server_ahead_ms
    return message


def start_from(message: wire.TaskStart, node: NodeName) -> TaskStart:
    run = message.run
    return TaskStart(
        ref_from(message.ref),
        node,
        Run(
            command=tuple(run.command),
            script=run.script,
            directory=run.directory,
            environment=tuple(sorted(run.environment.items())),
            secrets=tuple(sorted(run.secrets.items())),
            files=tuple(
                InputFile(one.path, one.sha256, one.size_bytes, one.executable, one.unpack)
                for one in run.files
            ),
            outputs=tuple(run.outputs),
            warn_signal=run.warn_signal,
            warn_before_ms=run.warn_before_ms,
            grace_ms=run.grace_ms,
            stdout=run.stdout,
            stderr=run.stderr,
            append=run.append,
            stdin=Stdin(run.stdin) if run.stdin else Stdin.NONE,
            window=(run.rows, run.columns) if run.stdin else WINDOW,
        ),
        environment=tuple(sorted(message.environment.items())),
        secrets=tuple(sorted(message.secrets.items())),
        hosts=tuple(map(NodeName, message.hosts)),
        limits=_resources_from(message.limits),
        cpu_share_milli=message.cpu_share_milli,
        log_bytes=message.log_bytes if message.HasField("log_bytes") else None,
        time_limit_ms=message.time_limit_ms if message.HasField("time_limit_ms") else None,
        end_before_ms=message.end_before_ms if message.HasField("end_before_ms") else None,
        lane=message.lane,
        standby=message.standby,
        user=message.user,
        project=message.project,
    )


def report_to(report: TaskReport) -> wire.TaskNews:
    match report:
        case TaskStarted(at_ms=at_ms):
            return wire.TaskNews(started=wire.Started(at_ms=at_ms))
        case TaskReturned(at_ms=at_ms):
            return wire.TaskNews(returned=wire.Returned(at_ms=at_ms))
        case TaskEnded(at_ms=at_ms, end=end):
            ended = wire.Ended(
                at_ms=at_ms,
                reason=end.reason.value,
                message=text(end.message),
                cpu_ms=end.used.cpu_ms,
                max_memory_bytes=end.used.max_memory_bytes,
            )
            if end.exit_code is not None:
                ended.exit_code = end.exit_code
            if end.signal is not None:
                ended.signal = end.signal
            return wire.TaskNews(ended=ended)


def report_from(ref: TaskRef, news: wire.TaskNews, server_ahead_ms: int) -> TaskReport | None:
    """None: it is another kind of news. Raises ValueError for a reason that there isn't."""
    match news.WhichOneof("news"):
        case "started":
            return TaskStarted(ref, news.started.at_ms + server_ahead_ms)
        case "returned":
            return TaskReturned(ref, news.returned.at_ms + server_ahead_ms)
        case "ended":
            ended = news.ended
            end = TaskEnd(
                EndReason(ended.reason),
                ended.exit_code if ended.HasField("exit_code") else None,
                ended.signal if ended.HasField("signal") else None,
                ended.message,
                Used(ended.cpu_ms, ended.max_memory_bytes),
            )
            return TaskEnded(ref, ended.at_ms + server_ahead_ms, end)
        case _:
            return None


def input_to(number: int, piece: InputPiece) -> wire.TaskOrders:
    rows, columns = piece.window or (0, 0)
    message = wire.Input(
        number=number,
        offset_bytes=piece.offset_bytes,
        data=piece.data,
        ends=piece.ends,
        rows=rows,
        columns=columns,
    )
    return wire.TaskOrders(input=message)


def input_from(message: wire.Input) -> InputPiece:
    window = (message.rows, message.columns) if message.rows and message.columns else None
    return InputPiece(message.offset_bytes, message.data, message.ends, window)


def text(anything: str) -> str:
    """As it may be sent: names of files needn't be Unicode."""
    return anything.encode("utf-8", "backslashreplace").decode()


def _resources_to(amounts: Resources) -> wire.Resources:
    return wire.Resources(
        cpu_milli=amounts.cpu_milli,
        memory_bytes=amounts.memory_bytes,
        storage_bytes=amounts.storage_bytes,
        slots=amounts.slots,
        extended=dict(amounts.extended),
    )


def _resources_from(message: wire.Resources) -> Resources:
    return Resources(
        message.cpu_milli,
        message.memory_bytes,
        message.storage_bytes,
        message.slots,
        tuple(sorted(message.extended.items())),
    )
