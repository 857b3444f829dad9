"""An informer on a server that does on demand what a real one does once in a while. Time is virtual."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from rota.kube.api.client import EVERYTHING, Selection
from rota.kube.api.decoding import Change, ChangeKind, Page, Unreadable
from rota.kube.api.errors import Call, Expired, KubeError, NotConnected, Silent, TooManyRequests, api_error
from rota.kube.api.informer import Informer
from rota.kube.api.objects import Status
from rota.kube.api.resources import PODS
from rota.kube_objects.objects.metadata import Metadata
from rota.kube_objects.objects.pods import Pod, PodSpec
from rota.patience.backoff import Backoff
from tests.kit.virtual_time import run

pytestmark = [pytest.mark.covers("kube-5"), pytest.mark.virtual_time]

CALL = Call("watch", "pods")
AWAY = NotConnected(CALL, "refused")
Told = tuple[str, str]


def pod(name: str, version: int, uid: str = "", **metadata: Any) -> Pod:
    return Pod(
        metadata=Metadata(
            name=name, namespace="ns", uid=uid or name, resource_version=str(version), **metadata
        ),
        spec=PodSpec(),
    )


def refusal(code: int, retry_after_s: float | None = None) -> KubeError:
    return api_error(CALL, Status(code=code), retry_after_s)


class Server:
    """Answers by a script: what each list holds, and what each watch tells before it ends or fails."""

    def __init__(self) -> None:
        self.lists: list[list[Page[Pod]] | KubeError] = []
        self.watches: list[list[Change[Pod] | KubeError | float]] = []
        self.asked: list[str] = []
        """"list" and its page size, "watch" and its version, with the second at which it came."""

    async def pages(
        self, resource: Any, selection: Selection = EVERYTHING, *, page_size: int = 500
    ) -> AsyncGenerator[Any, None]:
        self._note(f"list {page_size}")
        answer = self.lists.pop(0)
        if isinstance(answer, KubeError):
            raise answer
        for page in answer:
            if page.resource_version == "expired":
                raise refusal(410)
            await asyncio.sleep(0)
            yield page

    async def watch(
        self, resource: Any, resource_version: str, selection: Selection = EVERYTHING, *, timeout_s: int = 0
    ) -> AsyncGenerator[Any, None]:
        self._note(f"watch {resource_version}")
        if not self.watches:
            await asyncio.Event().wait()
        for step in self.watches.pop(0):
            if isinstance(step, KubeError):
                raise step
            if isinstance(step, float):
                await asyncio.sleep(step)
            else:
                yield [step]

    def _note(self, what: str) -> None:
        self.asked.append(f"{what} at {asyncio.get_running_loop().time():g}")


def page(*pods: Pod, version: int = 10, unreadable: list[Unreadable] | None = None) -> Page[Pod]:
    return Page(list(pods), unreadable or [], str(version), "")


def changed(kind: ChangeKind, found: Pod | Unreadable) -> Change[Pod]:
    return Change(kind, found, found.metadata.resource_version or "")


def bookmark(version: int) -> Change[Pod]:
    return Change(ChangeKind.BOOKMARK, None, str(version))


def follow(
    server: Server, check: Callable[[Informer[Pod], list[Told]], None], for_s: float = 1000.0, **options: Any
) -> None:
    async def main() -> None:
        informer = Informer(server, PODS, pauses=Backoff(1.0, 30.0), chance=lambda: 0.0, **options)
        told: list[Told] = []

        def handler(old: Pod | None, new: Pod | None) -> None:
            told.append((_version(old), _version(new)))

        informer.subscribe(handler)
        running = asyncio.ensure_future(informer.run())
        await asyncio.sleep(for_s)
        assert not running.done()
        check(informer, told)

    run(main())


def _version(found: Pod | None) -> str:
    return f"{found.metadata.name}@{found.metadata.resource_version}" if found else ""


def test_lists_then_watches() -> None:
    server = Server()
    server.lists = [[page(pod("a", 1)), page(pod("b", 2))]]
    server.watches = [
        [
            changed(ChangeKind.ADDED, pod("c", 11)),
            changed(ChangeKind.MODIFIED, pod("a", 12)),
            changed(ChangeKind.DELETED, pod("b", 13)),
            bookmark(20),
        ]
    ]

    def check(informer: Informer[Pod], told: list[Told]) -> None:
        assert informer.has_synced
        assert told == [("", "a@1"), ("", "b@2"), ("", "c@11"), ("a@1", "a@12"), ("b@2", "")]
        assert [key.name for key in informer.objects] == ["a", "c"]
        assert server.asked == ["list 500 at 0", "watch 10 at 0", "watch 20 at 0"]

    follow(server, check)


def test_after_410_the_difference_is_told() -> None:
    server = Server()
    same, gone, other = pod("same", 1), pod("gone", 2), pod("other", 3)
    server.lists = [
        [page(same, gone, other, pod("anew", 4, uid="first"))],
        [page(same, pod("other", 30), pod("anew", 31, uid="second"), pod("new", 32), version=40)],
    ]
    server.watches = [[refusal(410)]]

    def check(informer: Informer[Pod], told: list[Told]) -> None:
        assert told[4:] == [
            ("other@3", "other@30"),
            ("anew@4", ""),
            ("", "anew@31"),
            ("", "new@32"),
            ("gone@2", ""),
        ]
        assert server.asked == ["list 500 at 0", "watch 10 at 0", "list 500 at 1", "watch 40 at 1"]
        assert informer.failure is None

    follow(server, check)


def test_a_server_that_is_away_is_asked_less_and_less_often() -> None:
    server = Server()
    server.lists = [AWAY, AWAY, AWAY, [page()]]
    server.watches = [[AWAY], [AWAY], [bookmark(15), AWAY]]

    def check(informer: Informer[Pod], told: list[Told]) -> None:
        assert server.asked == [
            *("list 500 at 0", "list 500 at 1", "list 500 at 3", "list 500 at 7"),
            *("watch 10 at 7", "watch 10 at 8", "watch 10 at 10", "watch 15 at 11"),
        ]

    follow(server, check)


def test_until_it_answers_again_the_failure_is_known() -> None:
    server = Server()
    server.lists = [[page(pod("a", 1))]]
    server.watches = [[AWAY] for _ in range(100)]

    def check(informer: Informer[Pod], told: list[Told]) -> None:
        assert informer.failure is AWAY
        assert informer.has_synced
        assert told == [("", "a@1")], "what is known stays known"

    follow(server, check, for_s=60)


def test_the_server_says_how_long_to_wait() -> None:
    server = Server()
    server.lists = [refusal(429, retry_after_s=17.0), [page()]]

    def check(informer: Informer[Pod], told: list[Told]) -> None:
        assert server.asked == ["list 500 at 0", "list 500 at 17", "watch 10 at 17"]

    assert isinstance(server.lists[0], TooManyRequests)
    follow(server, check)


def test_pages_that_expire_are_listed_in_one_go() -> None:
    server = Server()
    expired: Page[Pod] = Page([], [], "expired", "")
    server.lists = [[page(pod("a", 1), pod("gone", 2)), expired], [page(pod("a", 1), version=50)]]

    def check(informer: Informer[Pod], told: list[Told]) -> None:
        assert told == [("", "a@1"), ("", "gone@2"), ("gone@2", "")]
        assert server.asked == ["list 500 at 0", "list 0 at 0", "watch 50 at 0"]

    assert isinstance(refusal(410), Expired)
    follow(server, check)


def test_watches_that_end_at_once_are_not_begun_without_a_pause() -> None:
    server = Server()
    server.lists = [[page()]]
    server.watches = [[] for _ in range(4)]

    def check(informer: Informer[Pod], told: list[Told]) -> None:
        times = [asked.rpartition(" ")[2] for asked in server.asked if asked.startswith("watch")]
        assert times == ["0", "0", "1", "3", "7"]

    follow(server, check)


def test_a_quiet_watch_is_begun_anew_without_a_word() -> None:
    server = Server()
    server.lists = [[page(pod("a", 1))]]
    server.watches = [[90.0, Silent(CALL, "quiet")], [90.0, Silent(CALL, "quiet")]]

    def check(informer: Informer[Pod], told: list[Told]) -> None:
        assert server.asked == ["list 500 at 0", "watch 10 at 0", "watch 10 at 90", "watch 10 at 180"]
        assert informer.failure is None

    with capture_logs() as said:
        follow(server, check)
    assert not said


def test_what_cant_be_read_is_left_out_and_told() -> None:
    server = Server()
    broken = [Unreadable(Metadata(name=name, namespace="ns", resource_version="11"), "bad") for name in "ab"]
    server.lists = [[page(pod("b", 1), unreadable=broken[:1])]]
    server.watches = [[changed(ChangeKind.MODIFIED, broken[1]), changed(ChangeKind.DELETED, broken[1])]]
    unreadable: list[Unreadable] = []

    def check(informer: Informer[Pod], told: list[Told]) -> None:
        assert unreadable == broken
        assert told == [("", "b@1"), ("b@1", "")]
        assert server.asked[-1] == "watch 11 at 0"

    follow(server, check, on_unreadable=unreadable.append)


def test_everything_is_told_again_once_in_a_while() -> None:
    server = Server()
    server.lists = [[page(pod("a", 1))]]

    def check(informer: Informer[Pod], told: list[Told]) -> None:
        assert told == [("", "a@1"), ("a@1", "a@1"), ("a@1", "a@1")]

    follow(server, check, for_s=250, resync_s=100.0)


def test_who_comes_later_is_told_what_is_there() -> None:
    server = Server()
    server.lists = [[page(pod("a", 1))]]

    def check(informer: Informer[Pod], told: list[Told]) -> None:
        late: list[Told] = []
        informer.subscribe(lambda old, new: late.append((_version(old), _version(new))))
        assert late == [("", "a@1")]

    follow(server, check)


def test_copies_of_manifests_are_not_held() -> None:
    server = Server()
    bulky = {"kubectl.kubernetes.io/last-applied-configuration": "{…}", "other": "kept"}
    server.lists = [[page(pod("a", 1, annotations=bulky))]]

    def check(informer: Informer[Pod], told: list[Told]) -> None:
        [found] = informer.objects.values()
        assert found.metadata.annotations == {"other": "kept"}

    follow(server, check)


async def test_a_handler_that_raises_ends_it() -> None:
    server = Server()
    server.lists = [[page(pod("a", 1))]]
    informer = Informer(server, PODS)

    def broken(old: Pod | None, new: Pod | None) -> None:
        raise ZeroDivisionError

    informer.subscribe(broken)
    with pytest.raises(ExceptionGroup) as raised:
        await informer.run()
    assert raised.group_contains(ZeroDivisionError)
