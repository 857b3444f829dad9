from __future__ import annotations

import signal
from typing import Any

import msgspec
import pytest

from rota.backends.kubernetes.objects import JobPod
from rota.backends.kubernetes.status import Awaited, Over, Problem, SettingUp, UnderWay, stage_of
from rota.lifecycle.state import EndReason, TaskEnd

pytestmark = pytest.mark.covers("pod-8", "job-6")

CREATED, STARTED, FINISHED = "2026-01-01T00:00:00Z", "2026-01-01T00:00:02Z", "2026-01-01T00:00:09Z"
CREATED_MS = 1_767_225_600_000
BEGAN = CREATED_MS // 10 + 250
"""In hundredths of seconds."""


def pod(runner: dict[str, Any] | None = None, setup: dict[str, Any] | None = None, **status: Any) -> JobPod:
    statuses: dict[str, Any] = {}
    if runner is not None:
        statuses["containerStatuses"] = [{"name": "runner", "image": "tool:1", "state": runner}]
    if setup is not None:
        statuses["initContainerStatuses"] = [{"name": "setup", "image": "support:1", "state": setup}]
    document = {
        "metadata": {"name": "a", "creationTimestamp": CREATED},
        "spec": {"nodeName": "n"},
        "status": {"phase": "Pending", **statuses, **status},
    }
    return msgspec.convert(document, JobPod)


def ended(message: str = "", code: int = 0, reason: str = "Completed") -> dict[str, Any]:
    return {
        "terminated": {
            "exitCode": code,
            "reason": reason,
            "message": message,
            "startedAt": STARTED,
            "finishedAt": FINISHED,
        }
    }


def end_of(found: JobPod, *, is_unwanted: bool = False) -> TaskEnd:
    stage = stage_of(found, is_unwanted=is_unwanted)
    assert isinstance(stage, Over)
    return stage.end


def test_on_its_way() -> None:
    assert stage_of(pod()) == Awaited()
    assert stage_of(pod(runner={"waiting": {"reason": "PodInitializing"}})) == Awaited()
    assert stage_of(pod(setup={"running": {"startedAt": STARTED}})) == SettingUp()
    running = pod(runner={"running": {"startedAt": STARTED}}, setup=ended(), phase="Running")
    assert stage_of(running) == UnderWay(CREATED_MS + 2000)


@pytest.mark.parametrize("reason", ["ErrImagePull", "ImagePullBackOff"])
def test_an_image_that_cannot_be_had(reason: str) -> None:
    found = pod(runner={"waiting": {"reason": reason, "message": "registry says no"}})
    assert stage_of(found) == Awaited(Problem("image tool:1 can't be had: registry says no"))


def test_an_image_that_never_will() -> None:
    found = pod(setup={"waiting": {"reason": "InvalidImageName"}})
    assert stage_of(found) == Awaited(
        Problem("image support:1 can't be had: InvalidImageName", may_pass=False)
    )


def test_a_service_that_does_not_stay() -> None:
    ended_again = {"name": "db", "image": "db:1", "restartCount": 1, "state": ended("", 3, "Error")}
    found = pod(initContainerStatuses=[ended_again])
    problem = Problem("service db (db:1) ends again and again: exit code 3")
    assert stage_of(found) == Awaited(problem)
    up = {**ended_again, "state": {"running": {"startedAt": STARTED}}, "started": True}
    assert stage_of(pod(initContainerStatuses=[up])) == Awaited()


def test_its_times_are_those_of_the_shim() -> None:
    found = pod(ended(f"exited 3 - {BEGAN} {BEGAN + 25}", 3, "Error"))
    assert stage_of(found) == Over(TaskEnd(EndReason.EXITED, 3), CREATED_MS + 2500, CREATED_MS + 2750)


def test_nothing_is_before_its_pod() -> None:
    """Clocks of nodes may be behind."""
    found = pod(ended("exited 0 - 100 150"))
    assert stage_of(found) == Over(TaskEnd(EndReason.EXITED, 0), CREATED_MS, CREATED_MS + 500)


@pytest.mark.parametrize(
    "code, cause, reason, end",
    [
        (0, "-", "Completed", TaskEnd(EndReason.EXITED, 0)),
        (255, "-", "Error", TaskEnd(EndReason.EXITED, 255)),
        (139, "-", "Error", TaskEnd(EndReason.SIGNALLED, signal=signal.SIGSEGV)),
        (143, "stop", "Error", TaskEnd(EndReason.STOPPED, signal=signal.SIGTERM)),
        (3, "stop", "Error", TaskEnd(EndReason.STOPPED, 3)),
        (137, "time-limit", "Error", TaskEnd(EndReason.TIME_LIMIT, signal=signal.SIGKILL)),
        (137, "-", "OOMKilled", TaskEnd(EndReason.OUT_OF_MEMORY, signal=signal.SIGKILL)),
    ],
)
def test_ends(code: int, cause: str, reason: str, end: TaskEnd) -> None:
    assert end_of(pod(ended(f"exited {code} {cause} {BEGAN} {BEGAN}", code, reason))) == end


def test_a_command_that_was_not_there() -> None:
    found = stage_of(pod(ended("unstarted tool: there is no such program in this image", 127, "Error")))
    assert found == Over(
        TaskEnd(EndReason.NOT_STARTED, message="tool: there is no such program in this image"),
        None,
        CREATED_MS + 9000,
    )


def test_without_a_word_of_the_shim() -> None:
    assert end_of(pod(ended("", 137, "OOMKilled"))).reason is EndReason.OUT_OF_MEMORY
    assert end_of(pod(ended("", 137, "Error"))).signal == signal.SIGKILL
    assert end_of(pod(ended("no /bin/sh", 128, "StartError"))) == TaskEnd(
        EndReason.NOT_STARTED, message="no /bin/sh"
    )
    assert end_of(pod(ended("", 137, "ContainerStatusUnknown"))).reason is EndReason.LOST


@pytest.mark.parametrize(
    "reason, message, expected",
    [
        ("Evicted", "The node was low on resource: memory.", EndReason.LOST),
        (
            "Evicted",
            "Pod storage usage exceeds the total limit of 1Gi",
            EndReason.STORAGE_LIMIT,
        ),
        ("DeadlineExceeded", "", EndReason.TIME_LIMIT),
        ("Terminated", "Pod was terminated in response to imminent node shutdown.", EndReason.LOST),
        ("OutOfcpu", "Node didn't have enough resource", EndReason.NOT_STARTED),
        ("UnexpectedAdmissionError", "no devices", EndReason.NOT_STARTED),
    ],
)
def test_what_the_cluster_ended(reason: str, message: str, expected: EndReason) -> None:
    by_kubelet = ended(f"exited 143 terminated {BEGAN} {BEGAN}", 143)
    for found in (
        pod(phase="Failed", reason=reason, message=message),
        pod(ended("", 137, "Error"), phase="Failed", reason=reason, message=message),
        pod(by_kubelet, phase="Failed", reason=reason, message=message),
    ):
        end = end_of(found)
        assert end.reason is expected
        assert (message or reason) in end.message


def test_one_that_was_deleted_by_somebody_and_one_that_was_to_stop() -> None:
    found = pod(ended(f"exited 143 terminated {BEGAN} {BEGAN}", 143))
    assert end_of(found).reason is EndReason.LOST
    assert "deleted" in end_of(found).message
    assert end_of(found, is_unwanted=True) == TaskEnd(EndReason.STOPPED, signal=signal.SIGTERM)
    assert end_of(pod(phase="Failed"), is_unwanted=True) == TaskEnd(EndReason.STOPPED)


def test_a_setup_that_failed() -> None:
    found = pod(setup=ended("", 2, "Error"), phase="Failed")
    assert end_of(found) == TaskEnd(EndReason.STAGING, message="the setup container failed: Error")
