"""What is done about one task, from its start to its end: one coroutine a task.

    make the pod ─► bring its files ─► follow its output ─► it ended: read the rest, keep its files ─► report

Everything may be done twice: after a restart another driver goes on where the pod is.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress

import structlog
from msgspec.structs import replace

from rota.backends.backend import TaskEnded, TaskReport, TaskReturned, TaskStarted
from rota.backends.kubernetes import names
from rota.backends.kubernetes.following import Follower
from rota.backends.kubernetes.input_files import StagingFailed, archive_of
from rota.backends.kubernetes.objects import JobPod
from rota.backends.kubernetes.output import PodOutput
from rota.backends.kubernetes.outputs import keep_outputs, pieces_of
from rota.backends.kubernetes.pod_calls import NameTaken, PodCalls
from rota.backends.kubernetes.record import RETURNED
from rota.backends.kubernetes.scripts import is_shared, limit_command, stage_command, stop_command
from rota.backends.kubernetes.status import Awaited, Over, SettingUp, UnderWay, stage_of
from rota.backends.kubernetes.task import PodTask
from rota.backends.kubernetes.terms import Terms
from rota.backends.process.folders import Folders
from rota.backends.process.keeper.streams.log_writer import Rotation
from rota.backends.process.keeper.streams.masking import Mask, Withheld
from rota.clock import now_ms, since_boot_ms
from rota.kube.api.errors import ApiError, KubeError, NotFound
from rota.kube_objects.times import as_ms
from rota.lifecycle.state import EndReason, TaskEnd

log = structlog.get_logger()

_STOPS = 3
"""Tries to stop a task by its shim; then the cluster is asked to end the pod."""
_CALL_S = 60.0
_SLOWEST_BYTES_PER_S = 1 << 18
_STARTED_UNHEARD = 3
"""After so many failures to read its output, the kubelet is believed that it runs."""


class Driver:
    def __init__(
        self,
        task: PodTask,
        calls: PodCalls,
        inputs: Folders,
        kept: Folders,
        rotation: Rotation,
        terms: Terms,
        tell: Callable[[PodTask, TaskReport], None],
    ) -> None:
        """`inputs`: where uploaded files are. `kept`: where output goes."""
        self._task = task
        self._calls = calls
        self._inputs = inputs
        self._kept = kept
        self._rotation = rotation
        self._terms = terms
        self._tell = tell
        self._output: PodOutput | None = None
        self._follower: Follower | None = None
        self._following: asyncio.Task[None] | None = None
        self._failures = 0
        self._stops = 0
        self._refusals = 0
        """Of its input files, by the pod."""
        self._is_staged = False
        self._is_deleted = False
        self._in_trouble_ms: int | None = None

    async def drive(self) -> None:
        """Until its end is told."""
        task = self._task
        try:
            while task.is_wanted:
                task.news.clear()
                try:
                    pause_s = await self._act()
                    self._failures = 0
                except (KubeError, OSError) as error:
                    self._failures += 1
                    pause_s = self._terms.pauses.pause_s(self._failures, random.random())
                    log.warning("pod.call_failed", job=task.ref.job, rank=task.ref.rank, why=str(error))
                except Exception as error:
                    # Whoever waits for its end hears of it, whatever went wrong here.
                    log.exception("pod.unattended", job=task.ref.job, rank=task.ref.rank, why=repr(error))
                    self._end(
                        TaskEnd(EndReason.LOST, message=f"the server failed to attend to it: {error!r}")
                    )
                    return
                if task.is_wanted:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(pause_s):
                            await task.news.wait()
        finally:
            await self._stop_following()
            if self._output is not None:
                self._output.close()

    async def _act(self) -> float | None:
        """What can be done now; how long to wait for news, None: until there are some."""
        task = self._task
        if task.lost_because:
            self._end(TaskEnd(EndReason.LOST, message=task.lost_because))
            return None
        if task.pod is None:
            if task.was_seen:
                reason = EndReason.STOPPED if task.is_to_stop else EndReason.LOST
                why = "" if task.is_to_stop else "its pod is gone: somebody deleted it, or its node"
                self._end(TaskEnd(reason, message=why))
                return None
            return await self._make()
        if task.pod.spec.scheduling_gates or task.returned_ms is not None:
            return await self._stand_by(task.pod)
        stage = stage_of(task.pod, is_unwanted=task.is_to_stop)
        if isinstance(stage, Over):
            await self._finish(stage)
            return None
        if isinstance(stage, UnderWay):
            return await self._attend(task.pod, stage)
        if task.is_to_stop:
            await self._delete(task.pod)
            return None
        if isinstance(stage, SettingUp):
            return await self._bring_files(task.pod)
        return self._await_start(stage)

    # -- before it runs

    async def _make(self) -> float | None:
        task, start = self._task, self._task.start
        if task.is_to_stop and not task.is_standby:
            # None was made: this is the first that is done about it. One on standby is made all the same:
            # its pod tells that it was given back, until that is settled.
            self._end(TaskEnd(EndReason.STOPPED))
            return None
        if start is None:
            self._end(TaskEnd(EndReason.LOST, message="there is no pod of it any more"))
            return None
        if why := self._refusal():
            self._end(TaskEnd(EndReason.NOT_STARTED, message=why))
            return None
        task.pod_name = task.pod_name or names.pod_name(task.ref)
        try:
            pod = await self._calls.make(start, str(task.node), task.pod_name)
        except NameTaken:
            task.pod_name = names.pod_name_of_start(task.ref)
            return 0.0
        except NotFound as error:
            if error.call.verb == "get":
                return 0.0
            self._end(TaskEnd(EndReason.NOT_STARTED, message=str(error)))
            return None
        except ApiError as error:
            if error.may_pass:
                raise
            self._end(TaskEnd(EndReason.NOT_STARTED, message=f"the cluster refused its pod: {error}"))
            return None
        if task.pod is None:
            task.shows(pod)
        return None

    def _refusal(self) -> str:
        """Why it can't run here; empty: it can."""
        start = self._task.start
        assert start is not None
        if not (start.run.image or self._calls.options.default_image):
            return "the job names no image, and this backend has none for such jobs: give one with --image"
        if start.run.takes_input:
            return "jobs on Kubernetes read no input yet: run it without --stdin or a terminal"
        if start.run.files and not is_shared(start.run.directory):
            return f"input files can't be put into {start.run.directory}: leave the directory out"
        return ""

    async def _stand_by(self, pod: JobPod) -> float | None:
        task = self._task
        if task.returned_ms is not None:
            self._report(TaskReturned(task.ref, task.returned_ms))
        elif task.room_from:
            await self._calls.release(pod, str(task.node), task.room_from)
        elif task.is_to_stop:
            at_ms = now_ms()
            await self._calls.annotate(task.pod_name, RETURNED, str(at_ms))
            self._report(TaskReturned(task.ref, at_ms))
        return None

    def _await_start(self, stage: Awaited) -> float | None:
        problem = stage.problem
        if problem is None:
            self._in_trouble_ms = None
            return None
        if self._in_trouble_ms is None:
            self._in_trouble_ms = since_boot_ms()
        left_ms = self._in_trouble_ms + self._terms.pull_within_ms - since_boot_ms()
        if problem.may_pass and left_ms > 0:
            return left_ms / 1000
        self._end(TaskEnd(EndReason.NOT_STARTED, message=problem.message))
        return None

    async def _bring_files(self, pod: JobPod) -> float | None:
        start = self._task.start
        if start is None or not start.run.files or self._is_staged:
            return None
        try:
            archive = await asyncio.to_thread(archive_of, start.run, self._inputs)
        except StagingFailed as error:
            self._end(TaskEnd(EndReason.STAGING, message=str(error)))
            return None
        with archive:
            size_bytes = archive.seek(0, 2)
            archive.seek(0)
            command = stage_command(size_bytes, start.run.directory)
            within_s = _CALL_S + size_bytes / _SLOWEST_BYTES_PER_S
            answer = await self._calls.run(
                self._task.pod_name, "setup", command, pieces_of(archive), within_s=within_s
            )
        if answer.exit_code == 0:
            self._is_staged = True
            return None
        self._refusals += 1
        log.warning("pod.files_refused", job=self._task.ref.job, rank=self._task.ref.rank, why=answer.why)
        if self._refusals >= _STOPS and answer.exit_code is not None:
            self._end(TaskEnd(EndReason.STAGING, message=f"its files can't be put in place: {answer.why}"))
            return None
        return self._terms.pauses.pause_s(self._refusals, random.random())

    # -- while it runs

    async def _attend(self, pod: JobPod, stage: UnderWay) -> float | None:
        task = self._task
        if self._following is None:
            self._follower = await self._new_follower()
            self._following = asyncio.create_task(self._follower.follow())
        follower = self._follower
        if task.started is None and follower is not None and follower.failures >= _STARTED_UNHEARD:
            self._report(TaskStarted(task.ref, self._at_ms(stage.began_ms)))
        if task.is_to_stop and not self._is_deleted:
            await self._stop(pod)
        elif task.new_limit_ms is not None:
            limit_ms, task.new_limit_ms = task.new_limit_ms, None
            try:
                answer = await self._calls.run(task.pod_name, "log-collector", limit_command(limit_ms))
            except KubeError:
                task.new_limit_ms = task.new_limit_ms or limit_ms
                raise
            if answer.exit_code != 0:
                task.new_limit_ms = task.new_limit_ms or limit_ms
                return self._terms.look_each_ms / 1000
            if task.new_limit_ms is None:
                task.has_its_limit.set()
        return self._terms.look_each_ms / 1000 if task.started is None else None

    async def _stop(self, pod: JobPod) -> None:
        """By the shim, which outlives the command: its output and files are kept then."""
        if self._stops >= _STOPS:
            await self._delete(pod)
            return
        self._stops += 1
        answer = await self._calls.run(self._task.pod_name, "runner", stop_command())
        if answer.exit_code == 0:
            self._stops = 0
            self._is_deleted = True

    async def _delete(self, pod: JobPod) -> None:
        if not self._is_deleted:
            await self._calls.delete_pod(pod)
            self._is_deleted = True

    async def _new_follower(self) -> Follower:
        task = self._task
        if self._output is None:
            log_bytes = task.record.log_bytes if task.record is not None else None
            if task.start is not None:
                log_bytes = task.start.log_bytes
            self._output = PodOutput(self._kept, task.ref, self._rotation, log_bytes, await self._mask())
        return Follower(self._calls, task.pod_name, self._output, self._begun, self._terms.pauses)

    async def _mask(self) -> Mask:
        task = self._task
        if task.start is not None and task.start.secrets:
            return Mask(value for _, value in task.start.secrets)
        if task.record is None or not task.record.has_secrets:
            return Mask(())
        values = await self._calls.secret_values(task.ref)
        return Withheld() if values is None else Mask(values)

    def _begun(self, hundredths: int | None) -> None:
        if hundredths is not None:
            self._report(TaskStarted(self._task.ref, self._at_ms(10 * hundredths)))

    # -- when it has ended

    async def _finish(self, over: Over) -> None:
        task = self._task
        assert task.pod is not None
        missing = await self._read_rest(over)
        end = over.end
        record = task.record
        if record is not None and record.outputs and over.began_ms is not None:
            unkept = await self._keep_files(record.outputs, record.directory)
            missing = "; ".join(filter(None, (missing, unkept)))
        if missing:
            end = replace(end, message="; ".join(filter(None, (end.message, missing))))
        if over.began_ms is not None:
            self._report(TaskStarted(task.ref, self._at_ms(over.began_ms)))
        at_ms = over.ended_ms or now_ms()
        least_ms = task.started.at_ms if task.started is not None else self._at_ms(0)
        self._report(TaskEnded(task.ref, max(at_ms, least_ms), end))

    async def _read_rest(self, over: Over) -> str:
        """What is missing of its output; empty: nothing is."""
        if over.began_ms is None:
            return ""
        follower = self._follower or await self._new_follower()
        if self._following is not None:
            await asyncio.wait([self._following], timeout=2.0)
            if self._following.done() and self._following.exception() is None:
                await self._finish_output()
                return ""
            await self._stop_following()
        until_ms = since_boot_ms() + self._terms.output_within_ms
        failures = 0
        while not self._has_nobody_to_ask():
            try:
                async with asyncio.timeout(self._terms.output_within_ms / 1000):
                    await follower.read(is_final=True)
                await self._finish_output()
                return ""
            except (KubeError, TimeoutError) as error:
                failures += 1
                follower.failure = str(error) or "it takes too long"
                if since_boot_ms() >= until_ms:
                    break
                await asyncio.sleep(self._terms.pauses.pause_s(failures, random.random()))
        await self._finish_output()
        why = follower.failure or "its pod is gone"
        return f"the last of its output may be missing: {why}"

    def _has_nobody_to_ask(self) -> bool:
        pod = self._task.pod
        return pod is None or pod.is_terminal or bool(self._task.lost_because)

    async def _finish_output(self) -> None:
        if self._output is not None:
            await self._output.finish()

    async def _keep_files(self, outputs: tuple[str, ...], directory: str) -> str:
        if not is_shared(directory):
            return f"not kept: files in {directory}, which is no volume"
        try:
            return await keep_outputs(
                self._calls, self._task.pod_name, self._task.ref, outputs, directory, self._kept
            )
        except (KubeError, OSError) as error:
            return f"not kept: {', '.join(outputs)}: {error}"

    async def _stop_following(self) -> None:
        if self._following is not None:
            self._following.cancel()
            with suppress(asyncio.CancelledError):
                await self._following

    # -- reports

    def _end(self, end: TaskEnd) -> None:
        self._report(TaskEnded(self._task.ref, max(now_ms(), self._at_ms(0)), end))

    def _report(self, report: TaskReport) -> None:
        if self._task.takes(report):
            self._tell(self._task, report)

    def _at_ms(self, at_ms: int) -> int:
        """Nothing is before its pod was made."""
        pod = self._task.pod
        return max(at_ms, as_ms(pod.metadata.creation_timestamp) if pod is not None else 0)
