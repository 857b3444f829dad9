"""People who submit, cancel and extend jobs, and somebody who follows all events: in threads, by whichever
server answers. Who gets no answer asks again, with the same key."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import TypeVar

from rota.sdk.call import Call
from rota.sdk.client import Client
from rota.sdk.errors import BadInput, Conflict, NotFound, RotaError
from rota.sdk.job_calls import JobCalls
from tests.crash.jobs import Form, draw, resident
from tests.crash.rules import Broken
from tests.crash.server_cluster import ServerCluster
from tests.crash.witness import Witness

T = TypeVar("T")

_RESIDENTS = 4
_MOST_UNFINISHED = 60
_AGAIN_S = 0.1
_PATIENCE_S = 120.0
"""Longer than anything keeps every server from answering."""


class Users:
    def __init__(self, cluster: ServerCluster, witness: Witness, ground: Path, seed: int) -> None:
        self._cluster = cluster
        self._witness = witness
        self._ground = ground
        self._chance = Random(f"{seed} jobs")
        self._asks = Random(f"{seed} servers")
        self._forms: dict[str, Form] = {}
        """Of all that was accepted."""
        self._cancelled: set[str] = set()
        self._are_to_end = threading.Event()
        self._failure: BaseException | None = None
        self._threads = [
            threading.Thread(target=self._kept(work), name=work.__name__, daemon=True)
            for work in (self._submit_all, self._follow)
        ]

    def begin(self) -> None:
        for thread in self._threads:
            thread.start()

    def check(self) -> None:
        """Raises what went wrong."""
        if self._failure is not None:
            raise self._failure

    def end(self) -> None:
        """No new jobs; those that would never end are cancelled."""
        self._are_to_end.set()
        self._threads[0].join()
        self.check()
        for job, form in self._forms.items():
            if form.is_endless and job not in self._cancelled:
                self._cancel(job)

    def work_s(self, unfinished: set[str]) -> float:
        """How long these take at most, one after the other."""
        # Elements of an array share their form, which tells how many they are.
        forms = {job.partition(".")[0]: self._forms[job] for job in unfinished}
        return sum(form.takes_s for form in forms.values() if not form.is_endless)

    # -- threads

    def _kept(self, work: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            try:
                work()
            except BaseException as error:
                self._failure = self._failure or error

        run.__name__ = work.__name__
        return run

    def _submit_all(self) -> None:
        for _ in range(_RESIDENTS):
            self._submit(resident())
        pause_s = 0.0
        while not self._are_to_end.wait(pause_s):
            pause_s = 0.2 * self._chance.random()
            if len(self._witness.unfinished()) < _MOST_UNFINISHED:
                self._submit(draw(self._chance))
            if self._forms and self._chance.random() < 0.4:
                self._change(self._chance.choice(list(self._forms)[-40:]))

    def _submit(self, form: Form) -> None:
        earlier = self._chance.choice(list(self._forms)[-20:]) if self._forms else ""
        call = JobCalls.submit.call(form.document(self._ground, earlier))
        try:
            accepted = [job.id for job in self._ask(call).jobs]
        except BadInput:
            return  # It can't start on what is left of the nodes.
        self._forms.update(dict.fromkeys(accepted, form))
        self._witness.accepted(accepted, form)

    def _change(self, job: str) -> None:
        form = self._forms[job]
        if form.is_resident:
            return
        if form.limit_s is not None:
            limit_s = self._chance.randint(2, 4)
            try:
                self._ask(JobCalls.extend.call(job, f"{limit_s}s"))
            except (Conflict, BadInput):
                return
            self._witness.extended(job, limit_s)
        elif form.is_endless or self._chance.random() < 0.3:
            self._cancel(job)

    def _cancel(self, job: str) -> None:
        try:
            self._ask(JobCalls.cancel.call(job))
        except Conflict:
            return
        except NotFound:
            raise Broken("I1", f"accepted, and not kept: {job}") from None
        self._cancelled.add(job)

    def _follow(self) -> None:
        """Until the round is over. It may hang at a server that is frozen: nobody waits for it."""
        last = 0
        while not self._witness.is_done.is_set():
            try:
                with self._some_server() as client:
                    for event in client.events(follow=True, after=last):
                        self._witness.told(event)
                        last = event.seq
                        if self._witness.is_done.is_set():
                            return
            except RotaError as error:
                if not error.may_pass:
                    raise
                self._witness.is_done.wait(_AGAIN_S)

    # -- asking

    def _ask(self, call: Call[T]) -> T:
        for _ in range(int(_PATIENCE_S / _AGAIN_S)):
            try:
                with self._some_server() as client:
                    return client.send(call)
            except RotaError as error:
                if not error.may_pass:
                    raise
            time.sleep(_AGAIN_S)
        raise AssertionError(f"no server answers {call.method} {call.path}")

    @contextmanager
    def _some_server(self) -> Iterator[Client]:
        with self._asks.choice(self._cluster.servers).asking() as client:
            yield client
