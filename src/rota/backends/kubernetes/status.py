"""What a pod's status says about its task. Pure.

waiting (for its image?) ─► setting up (for its files?) ─► running ─► ended
"""

from __future__ import annotations

import signal
from typing import TypeAlias

from msgspec import Struct

from rota.backends.kubernetes.objects import JobPod, JobPodStatus, Terminated
from rota.kube_objects.times import as_ms
from rota.lifecycle.state import EndReason, TaskEnd

_PULLING = frozenset({"ErrImagePull", "ImagePullBackOff", "RegistryUnavailable"})
_HOPELESS = frozenset({"InvalidImageName", "ErrImageNeverPull"})
_MAKING = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})
_OWN_DISK = ("exceeds the limit", "exceeds the total limit", "exceeded its local ephemeral storage limit")
_NO_ROOM = ("OutOf", "UnexpectedAdmissionError", "NodeAffinity", "Unexpected")


class Problem(Struct, frozen=True):
    """Why it doesn't start."""

    message: str
    may_pass: bool = True


class Awaited(Struct, frozen=True):
    """None of its containers runs yet."""

    problem: Problem | None = None


class SettingUp(Struct, frozen=True):
    pass


class UnderWay(Struct, frozen=True):
    """The runner's first process runs; `began_ms`: by the node, to the second."""

    began_ms: int


class Over(Struct, frozen=True):
    end: TaskEnd
    began_ms: int | None
    """None: the user's command never ran."""
    ended_ms: int


Stage: TypeAlias = Awaited | SettingUp | UnderWay | Over


def stage_of(pod: JobPod, *, is_unwanted: bool = False) -> Stage:
    """`is_unwanted`: it was told to stop, so whatever ended it was asked for."""
    status = pod.status or JobPodStatus()
    runner = pod.state("runner")
    if runner.terminated is not None:
        return _over(runner.terminated, status, as_ms(pod.metadata.creation_timestamp), is_unwanted)
    if status.phase == "Failed":
        return Over(_failed(pod, status, is_unwanted), None, as_ms(pod.metadata.creation_timestamp))
    if runner.running is not None:
        return UnderWay(as_ms(runner.running.started_at))
    setup = pod.state("setup")
    if setup.running is not None:
        return SettingUp()
    return Awaited(_problem(status))


def _over(ended: Terminated, status: JobPodStatus, created_ms: int, is_unwanted: bool) -> Over:
    """By what the shim has written down; without that, by what the kubelet has seen."""
    words = (ended.message or "").split(" ", 4)
    finished_ms = as_ms(ended.finished_at)
    if words[0] == "unstarted":
        why = (ended.message or "").removeprefix("unstarted ")
        return Over(TaskEnd(EndReason.NOT_STARTED, message=why), None, finished_ms)
    if words[0] == "exited" and len(words) == 5 and all(map(str.isdecimal, (words[1], *words[3:]))):
        began_ms = max(created_ms, 10 * int(words[3]))
        ended_ms = began_ms + 10 * (int(words[4]) - int(words[3]))
        end = _end(int(words[1]), words[2], ended.reason or "", status, is_unwanted)
        return Over(end, began_ms, ended_ms)
    if ended.reason in ("StartError", "ContainerCannotRun"):
        return Over(TaskEnd(EndReason.NOT_STARTED, message=ended.message or ended.reason), None, finished_ms)
    if ended.reason == "ContainerStatusUnknown":
        end = TaskEnd(EndReason.LOST, message="the node lost sight of the container, and of how it ended")
    else:
        end = _end(
            ended.exit_code, "terminated" if status.reason else "-", ended.reason or "", status, is_unwanted
        )
    return Over(end, as_ms(ended.started_at) or created_ms, finished_ms)


def _end(code: int, cause: str, reason: str, status: JobPodStatus, is_unwanted: bool) -> TaskEnd:
    number = code - 128 if 128 < code <= 128 + signal.NSIG else None
    exit_code = None if number else code
    if reason == "OOMKilled" and cause == "-" and code:
        # With exit code 0 it came through without the process that was killed.
        return TaskEnd(EndReason.OUT_OF_MEMORY, exit_code, number)
    if cause == "time-limit":
        return TaskEnd(EndReason.TIME_LIMIT, exit_code, number)
    if cause == "stop" or (cause == "terminated" and is_unwanted):
        return TaskEnd(EndReason.STOPPED, exit_code, number)
    if cause == "terminated":
        return _by_cluster(status)
    return TaskEnd(EndReason.SIGNALLED if number else EndReason.EXITED, exit_code, number)


def _failed(pod: JobPod, status: JobPodStatus, is_unwanted: bool) -> TaskEnd:
    """The runner never ran."""
    setup = pod.state("setup").terminated
    if is_unwanted:
        return TaskEnd(EndReason.STOPPED)
    if status.reason:
        return _by_cluster(status)
    if setup is not None and setup.exit_code:
        why = setup.message or setup.reason or f"exit code {setup.exit_code}"
        return TaskEnd(EndReason.STAGING, message=f"the setup container failed: {why}")
    return TaskEnd(EndReason.LOST, message=status.message or "the pod failed before its task ran")


def _by_cluster(status: JobPodStatus) -> TaskEnd:
    reason, message = status.reason or "", (status.message or "").strip()
    said = f"{reason}: {message}" if message else reason
    if reason == "DeadlineExceeded":
        return TaskEnd(EndReason.TIME_LIMIT, message=said)
    if reason == "Evicted" and any(words in message for words in _OWN_DISK):
        return TaskEnd(EndReason.STORAGE_LIMIT, message=message)
    if reason.startswith(_NO_ROOM):
        return TaskEnd(EndReason.NOT_STARTED, message=f"the node didn't take the pod: {said}")
    if not said:
        said = "somebody deleted the pod, or its node was drained"
    return TaskEnd(EndReason.LOST, message=f"the cluster ended the pod: {said}")


def _problem(status: JobPodStatus) -> Problem | None:
    for one in (*(status.init_container_statuses or ()), *(status.container_statuses or ())):
        waiting = one.state.waiting if one.state is not None else None
        reason = (waiting.reason if waiting is not None else "") or ""
        said = (waiting.message if waiting is not None else "") or reason
        if reason in _HOPELESS or reason in _PULLING:
            return Problem(f"image {one.image} can't be had: {said}", may_pass=reason in _PULLING)
        if one.restart_count and not one.started:
            # Only services are started again.
            ended = one.state.terminated if one.state is not None else None
            why = said or (f"exit code {ended.exit_code}" if ended is not None else "it isn't ready in time")
            return Problem(f"service {one.name} ({one.image}) ends again and again: {why}")
        if reason in _MAKING:
            return Problem(f"container {one.name} can't be made: {said}")
    return None
