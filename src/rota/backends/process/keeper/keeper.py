"""The process that keeps tasks: `python -m rota.backends.process.keeper FOLDER OPTIONS`.

One thread, one loop: what has come in is noted, then written to the journal, and only then done or
told. It imports next to nothing, so that it starts fast, stays small and has little to break.

SIGTERM ends all tasks, each with its grace, and then the keeper; their ends are in the journal for
the next one. It ends by itself when it has had nothing to do for a while.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

from rota.backends.backend import TaskRef
from rota.backends.process import frames
from rota.backends.process.folders import Folders
from rota.backends.process.keeper.cgroups.finding import find_cgroups
from rota.backends.process.keeper.cgroups.groups import Cgroups
from rota.backends.process.keeper.connections import Connection, Connections
from rota.backends.process.keeper.custody import Custody
from rota.backends.process.keeper.ledger import Ledger
from rota.backends.process.keeper.processes.confining import Unfit, confine
from rota.backends.process.keeper.processes.kernel import Kernel, Linux
from rota.backends.process.keeper.processes.proc_files import adopt_orphans
from rota.backends.process.keeper.recovery import journal
from rota.backends.process.keeper.recovery.journal import Journal
from rota.backends.process.keeper.recovery.left_to_do import remember
from rota.backends.process.keeper.watch import Watch
from rota.backends.process.lease import LeaseWatch
from rota.backends.process.options import ALREADY_KEPT, FOREGROUND, UNFIT, KeeperOptions
from rota.clock import since_boot_ms
from rota.lifecycle.state import EndReason

_WRITE_AGAIN_S = 1.0


class Keeper:
    def __init__(
        self,
        folders: Folders,
        options: KeeperOptions,
        kernel: Kernel,
        cgroups: Cgroups,
        signals: int,
        lacking: Sequence[str] = (),
    ) -> None:
        """`signals`: a pipe that the number of each signal comes out of. `lacking`: what operators should
        know of this host."""
        self._folders = folders
        self._lease = LeaseWatch(folders.lease) if options.is_leased else None
        self._watch = Watch()
        self._idle_ms = options.idle_ms
        self._idle_since_ms = since_boot_ms()
        self._children_ended = True
        self._is_leaving = False
        self._unwritten = ""
        """Why the journal can't be written, while it can't."""
        self._answers: list[tuple[Connection, frames.Answer]] = []
        self._signals = signals
        self._watch.add(self._signals, self._signalled)
        self._cgroups = cgroups
        self._lacking = (*lacking, *cgroups.lacking)
        before = list(journal.read(folders.journal))
        self._journal = Journal(folders.journal, before)
        self._ledger = Ledger(self._journal)
        self._custody = Custody(
            folders,
            name_of(folders),
            self._ledger,
            self._watch,
            kernel,
            cgroups,
            options,
        )
        self._custody.recover(*remember(before))
        self._journal.rewrite(self._ledger.entries())
        self._connections = Connections(folders, self._watch, self._asked)

    def run(self) -> None:
        while not self.may_leave():
            self.turn(self.timeout_s())
        self.close()

    def turn(self, timeout_s: float | None) -> None:
        """Waits so long at most for something to happen; None: for as long as it takes."""
        self._watch.wait(timeout_s)
        if self._children_ended:
            self._children_ended = False
            self._custody.reap()
        self._custody.do_what_is_due()
        self._heed_lease()
        self._carry_out()

    @property
    def unsettled(self) -> Sequence[TaskRef]:
        """Tasks that are to start or run, and those whose end is not settled yet."""
        return self._ledger.refs()

    def close(self) -> None:
        self._connections.close()
        self._journal.close()
        self._cgroups.remove()
        self._watch.close()

    def let_go(self) -> None:
        """Closes what it has open and does nothing else: no word to anybody, nothing written. A kernel does
        this for a process that is killed."""
        self._connections.let_go()
        self._journal.let_go()
        self._custody.let_go()
        self._watch.close()

    def _carry_out(self) -> None:
        try:
            self._custody.start_some()
            self._journal.flush()
            if self._journal.is_due_for_rewriting:
                self._journal.rewrite(self._ledger.entries())
        except OSError as error:
            self._unwritten = f"what tasks do can't be written down, so none is started: {error.strerror}"
            return
        self._unwritten = ""
        newcomers = self._connections.newcomers()
        outbox = self._ledger.outbox
        self._connections.report(None, outbox.take_all() if newcomers else outbox.take_due())
        if newcomers:
            self._connections.report(newcomers, self._ledger.all_reports())
        for connection, answer in self._answers:
            self._connections.send(connection, answer)
        self._answers.clear()

    def _asked(self, connection: Connection, request: frames.Request) -> None:
        match request:
            case frames.Start(_, tasks, lease):
                if self._is_leaving:
                    # Without an answer, it is asked of the next keeper.
                    return
                may_start = self._lease is None or self._lease.covers(lease)
                for start in tasks:
                    if may_start:
                        self._ledger.told(start)
                    elif self._ledger.get(start.ref) is None:
                        self._ledger.never_heard_of(start.ref)
            case frames.Stop(_, refs):
                self._stop(refs)
            case frames.ChangeLimit(_, ref, time_limit_ms):
                task = self._ledger.get(ref)
                if task is not None and task.over is None:
                    self._ledger.limit_changed(task, time_limit_ms)
            case frames.Settle(_, refs):
                self._ledger.settle(refs)
            case frames.Describe(call):
                # Output that can't be written holds up those tasks, and nothing else.
                lacking = [*self._lacking, *filter(None, [self._custody.wrong])]
                wrong = [self._unwritten] if self._unwritten else []
                # At once: whatever is wrong might keep other answers from being sent.
                answer = frames.Description(call, self._ledger.refs(), lacking, wrong)
                self._connections.send(connection, answer)
                return
            case frames.Feed(call, ref, piece):
                # Nothing is written down of it: see `inlets`.
                self._custody.inlets.feed(
                    ref, piece, lambda fed: self._connections.send(connection, frames.Taken(call, fed))
                )
                return
        self._answers.append((connection, frames.Done(request.call)))

    def _heed_lease(self) -> None:
        if self._lease is not None and self._custody.is_busy and self._lease.has_ended():
            for ref in self._ledger.refs():
                task = self._ledger.get(ref)
                if task is not None:
                    self._custody.end_by(task, self._lease.lease.ends_ms)

    def _signalled(self) -> None:
        numbers = os.read(self._signals, 4096)
        self._children_ended |= signal.SIGCHLD in numbers
        if signal.SIGTERM in numbers:
            self._is_leaving = True
            self._stop(self._ledger.refs())

    def _stop(self, refs: Sequence[TaskRef]) -> None:
        for ref in refs:
            task = self._ledger.get(ref)
            if task is None:
                self._ledger.never_heard_of(ref)
            else:
                self._custody.end(task, EndReason.STOPPED)

    def timeout_s(self) -> float | None:
        if self._unwritten:
            return _WRITE_AGAIN_S
        if self._ledger.to_start:
            return 0
        dues = [self._custody.next_due_ms(), self._ledger.outbox.due_ms]
        if self._lease is not None and self._custody.is_busy and not self._lease.has_ended():
            dues.append(self._lease.due_ms)
        if not self._connections and self._idle_ms is not None:
            dues.append(self._idle_since_ms + self._idle_ms)
        due_ms = min((due for due in dues if due is not None), default=None)
        return None if due_ms is None else max(0, due_ms - since_boot_ms()) / 1000

    def may_leave(self) -> bool:
        if self._custody.is_busy or self._unwritten:
            self._idle_since_ms = since_boot_ms()
            return False
        if self._is_leaving:
            return True
        if self._connections or (self._ledger.refs() and self._folders.socket.exists()):
            self._idle_since_ms = since_boot_ms()
        return self._idle_ms is not None and since_boot_ms() - self._idle_since_ms >= self._idle_ms


def name_of(folders: Folders) -> str:
    """Of the keeper, in the marks of its tasks."""
    return hashlib.sha256(os.fsencode(folders.root)).hexdigest()[:12]


def main(arguments: Sequence[str]) -> int:
    """Returns once a keeper is there to connect to; it goes on in a process of its own."""
    folder, written, *how = arguments
    options = KeeperOptions.read(written)
    # Whatever was left open by who started us: a task would get it, and could write to it or hold its lock.
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    Folders(Path(folder)).make()
    if FOREGROUND in how:
        return keep(Path(folder), options, lambda _: None)
    ready, telling = os.pipe()
    if os.fork():
        os.close(telling)
        with os.fdopen(ready, "rb") as pipe:
            status = pipe.read()
        return status[0] if status else 1
    os.close(ready)
    os.setsid()

    def is_ready(status: int) -> None:
        os.write(telling, bytes([status]))
        os.close(telling)

    return keep(Path(folder), options, is_ready)


def keep(folder: Path, options: KeeperOptions, is_ready: Callable[[int], None]) -> int:
    """Until there is nothing left to do. `is_ready` is called once it can be connected to, or never will."""
    os.chdir("/")
    name = name_of(Folders(folder))
    try:
        lock = os.open(Folders(folder).lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        is_ready(ALREADY_KEPT)
        return ALREADY_KEPT
    adopt_orphans()
    try:
        confined = confine(folder, options, name)
    except Unfit as error:
        print(f"rota: {error}", file=sys.stderr, flush=True)
        is_ready(UNFIT)
        return UNFIT
    cgroups = find_cgroups(
        f"rota-{name}",
        mountinfo=Path("/proc/self/mountinfo").read_text(),
        own=Path("/proc/self/cgroup").read_text(),
        most_processes=options.most_processes,
    )
    kernel = Linux(confined.sandbox)
    signals = _signals_as_bytes()
    keeper = Keeper(confined.folders, confined.options, kernel, cgroups, signals, confined.lacking)
    is_ready(0)
    keeper.run()
    return 0


def _signals_as_bytes() -> int:
    """A pipe that the number of each signal comes out of."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, _noted)
    # Whoever ends the server with Ctrl-C doesn't mean its tasks.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return reading


def _noted(number: int, frame: FrameType | None) -> None:
    """The number is in the pipe: nothing is left to do."""
