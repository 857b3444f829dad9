"""`rota kube-scheduler`, put together: informers feed a mirror; whichever replica leads decides."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import structlog
from msgspec import Struct

from rota.forecast.usage import counts_usage
from rota.intake.errors import InputError
from rota.intake.files import read_policy
from rota.kube.api.access import ClusterAccess
from rota.kube.api.client import Client
from rota.kube.api.config import find_cluster
from rota.kube.api.informer import Informer
from rota.kube.api.leader import Leader, LeaseTimes, new_identity
from rota.kube.api.optional import OptionalInformer
from rota.kube.api.resources import PODS
from rota.kube.mirror.mirror import Mirror
from rota.kube.mirror.read_once import read_once
from rota.kube.mirror.sources import sources_of
from rota.kube.scheduling.binding import Binder
from rota.kube.scheduling.cycle import UNDONE_AFTER_S, Scheduling
from rota.kube.scheduling.event_recorder import EventRecorder
from rota.kube.scheduling.pod_figures import PodFigures
from rota.kube.scheduling.probes import probes
from rota.kube.scheduling.unreadable import UnreadablePods
from rota.kube.scheduling.usage import PodUsage, UsageKeeper
from rota.kube.scheduling.words import plan_lines
from rota.kube_objects.namespaces import name_of
from rota.kube_objects.objects.pods import Pod
from rota.kube_objects.pods import DEFAULT_GANG_KEYS, GangKeys
from rota.loop.hosting.plugin_host import PluginHost
from rota.loop.live.side_threads import take_turns_often
from rota.loop.telemetry.loop_lag import SilenceWatch
from rota.loop.telemetry.metrics import Metrics
from rota.model.plan import Plan
from rota.model.policy import Backfill, Policy, QueuePolicy, SchedulerPolicy
from rota.signals import heed_stop

DEFAULT_NAME = "batch-scheduler"
SETTLED_EVERY_S = 2.0
"""By replicas that don't lead, where it matters what pods used."""

log = structlog.get_logger()


class KubeSchedulerOptions(Struct, frozen=True):
    scheduler_name: str = DEFAULT_NAME
    gang_keys: GangKeys = DEFAULT_GANG_KEYS
    kubeconfig: str | None = None
    leader_elect: bool = True
    policy: Path | None = None
    metrics_host: str = "127.0.0.1"
    metrics_port: int | None = None
    """None: no probes and no metrics."""
    lease_times: LeaseTimes = LeaseTimes()
    undone_after_s: float = UNDONE_AFTER_S


def default_policy(scheduler_name: str) -> Policy:
    """As kube-scheduler: whoever fits starts, the more important first, then the older."""
    queue = QueuePolicy(backfill=Backfill.NONE)
    return Policy(schedulers=(SchedulerPolicy(name=scheduler_name, queues=(queue,)),))


def policy_of(options: KubeSchedulerOptions) -> Policy:
    """InputError says what is wrong with the file."""
    if options.policy is None:
        return default_policy(options.scheduler_name)
    return read_policy(options.policy, PluginHost().names)


class KubeScheduler:
    """Of one client; informers run as long as it does."""

    def __init__(self, client: Client, options: KubeSchedulerOptions, policy: Policy) -> None:
        self.identity = new_identity()
        self.metrics = Metrics()
        self._options = options
        self._client = client
        self._usage = PodUsage(policy) if counts_usage(policy) else None
        self.mirror = Mirror(
            options.scheduler_name,
            options.gang_keys,
            self._look_again,
            policy,
            None if self._usage is None else self._usage.observed,
        )
        self.recorder = EventRecorder(client, self.mirror.pod, options.scheduler_name, self.identity)
        # A lease that is renewed behind thousands of bindings would be lost by them.
        self._leader = Leader(
            client.ahead_of_others(),
            client.namespace,
            options.scheduler_name,
            self.identity,
            options.lease_times,
        )
        # Whatever it waits for, nothing is sent once another may lead.
        led = client.only_while(self._leads)
        self.figures = PodFigures(self.metrics, options.scheduler_name, self.mirror)
        self.binder = Binder(led, self.mirror, self.recorder, self._leads, self._look_again, self.figures)
        self.scheduling = Scheduling(
            self.mirror,
            self.binder,
            self.recorder,
            policy,
            self.metrics,
            undone_after_s=options.undone_after_s,
            figures=self.figures,
            usage=self._usage,
        )
        self._usage_keeper: UsageKeeper | None = None
        if self._usage is not None:
            kept_as = f"{options.scheduler_name}-usage"
            self._usage_keeper = UsageKeeper(client, led, client.namespace, kept_as, self._usage)
        self._unreadable = UnreadablePods(client, self.recorder, options.scheduler_name)
        self._informers = self._subscribed()

    @property
    def is_ready(self) -> bool:
        return all(informer.has_synced for informer in self._informers)

    async def run(self) -> None:
        """Until it is cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for informer in self._informers:
                tasks.create_task(informer.run())
            tasks.create_task(self.recorder.run())
            tasks.create_task(SilenceWatch(self.metrics).run())
            await self.synced()
            log.info("kube.synced", nodes=self.mirror.node_count)
            if self._usage is not None:
                tasks.create_task(self._see_pods_end())
            while True:
                await self._lead()

    async def _see_pods_end(self) -> None:
        """While another leads: what they used since it was written last is to be known here."""
        while True:
            await asyncio.sleep(SETTLED_EVERY_S)
            if not self._leads():
                self.mirror.settle(asyncio.get_running_loop().time())

    async def synced(self) -> None:
        for informer in self._informers:
            await informer.synced.wait()

    async def plan(self) -> Plan:
        """What it would do now; nothing is done."""
        await read_once(self._client, self.mirror)
        if self._usage_keeper is not None:
            await self._usage_keeper.load()
        plan, _ = await self.scheduling.decide()
        return plan

    def _subscribed(self) -> list[Informer[Any] | OptionalInformer[Any]]:
        informers: list[Informer[Any] | OptionalInformer[Any]] = []
        for source in sources_of(self.mirror):
            is_pods = source.resource is PODS
            unreadable = self._unreadable.found if is_pods else source.on_unreadable
            informer = Informer(self._client, source.resource, on_unreadable=unreadable)
            informer.subscribe(source.handler)
            if is_pods:
                informer.subscribe(self._forget_told)
            informers.append(
                OptionalInformer(self._client, source.resource, informer) if source.is_optional else informer
            )
        return informers

    def _forget_told(self, old: Pod | None, new: Pod | None) -> None:
        if old is not None and (new is None or new.spec.node_name):
            name = name_of(old.metadata)
            self.recorder.forget(name)
            if new is None:
                self.figures.forget(name)

    def _look_again(self) -> None:
        self.scheduling.look_again()

    def exposition(self) -> Callable[[], bytes]:
        """Looks at what is so now, and answers what makes a text of it, which any thread may do."""
        self.figures.look(self._leads())
        return self.metrics.exposition

    def _leads(self) -> bool:
        return not self._options.leader_elect or self._leader.leads()

    async def _lead(self) -> None:
        """Until it no longer leads."""
        if self._options.leader_elect:
            await self._leader.lead()
        keeper = self._usage_keeper
        if keeper is not None:
            await keeper.load()
        tasks = [asyncio.create_task(self.scheduling.run()), asyncio.create_task(self._unreadable.run())]
        if keeper is not None:
            tasks.append(asyncio.create_task(keeper.run()))
        if self._options.leader_elect:
            tasks.append(asyncio.create_task(self._leader.hold()))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            if keeper is not None:
                self.mirror.settle(asyncio.get_running_loop().time())
                await keeper.save_at_last()
            if self._options.leader_elect:
                await self._leader.resign()
        for error in ended:
            if isinstance(error, Exception):
                raise error


async def serve(options: KubeSchedulerOptions) -> None:
    """Until SIGTERM or SIGINT. InputError: files or options can't be used."""
    policy = policy_of(options)
    take_turns_often()
    access = find_cluster(options.kubeconfig)
    told_to_stop = asyncio.Event()
    heed_stop(told_to_stop.set)
    async with running(access, options, policy) as scheduler, AsyncExitStack() as stack:
        if options.metrics_port is not None:
            address = options.metrics_host, options.metrics_port
            try:
                await stack.enter_async_context(
                    probes(*address, lambda: scheduler.is_ready, scheduler.exposition)
                )
            except OSError as error:
                raise _cannot_listen(*address, error) from error
        await told_to_stop.wait()
        log.info("kube.stopping")


def _cannot_listen(host: str, port: int, error: OSError) -> InputError:
    why = os.strerror(error.errno).lower() if error.errno else str(error)
    problem = f"can't listen on {host}:{port} for probes and metrics: {why}"
    return InputError("--metrics-bind-address", problem, "give another address, or 0 for none")


@asynccontextmanager
async def running(
    access: ClusterAccess, options: KubeSchedulerOptions, policy: Policy
) -> AsyncIterator[KubeScheduler]:
    """A scheduler that runs within; if it fails, so does what is within."""
    async with Client(access) as client:
        scheduler = KubeScheduler(client, options, policy)
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(scheduler.run())
            yield scheduler
            task.cancel()


class DryRun(Struct, frozen=True):
    lines: list[str]
    something_waits: bool


async def dry_run(options: KubeSchedulerOptions) -> DryRun:
    """What a scheduler with these options would do now, a line each."""
    async with Client(find_cluster(options.kubeconfig)) as client:
        scheduler = KubeScheduler(client, options, policy_of(options))
        plan = await scheduler.plan()
        return DryRun(plan_lines(plan, scheduler.mirror), bool(plan.waiting or scheduler.mirror.holds))
