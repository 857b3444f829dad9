import threading
import time
from collections.abc import Callable, Iterator

import pytest

from rota.loop.hosting.time_limit import Escaped, TimeLimit


@pytest.fixture
def limited() -> Iterator[TimeLimit]:
    with TimeLimit(0.2) as limit:
        yield limit


def workers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "rota-time-limit"]


def eventually(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + 10
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def loop_for_ever() -> None:
    while True:
        pass


def loop_through_errors() -> None:
    while True:
        try:
            loop_for_ever()
        except Exception:
            continue


def leave() -> None:
    raise SystemExit(3)


def interrupt() -> None:
    raise KeyboardInterrupt


def test_gives_what_the_call_gives(limited: TimeLimit) -> None:
    assert limited(lambda: 42) == 42
    assert limited(lambda: None) is None


def test_raises_what_the_call_raises(limited: TimeLimit) -> None:
    with pytest.raises(ZeroDivisionError):
        limited(lambda: 1 // 0)
    assert limited(lambda: 42) == 42


@pytest.mark.parametrize("call", [leave, interrupt])
def test_no_call_ends_the_process(limited: TimeLimit, call: Callable[[], None]) -> None:
    with pytest.raises(Escaped, match=r"raised (SystemExit|KeyboardInterrupt)"):
        limited(call)
    assert limited(lambda: 42) == 42


@pytest.mark.slow
def test_a_call_that_waits_is_left_behind(limited: TimeLimit) -> None:
    opened = threading.Event()
    with pytest.raises(TimeoutError, match=r"longer than 0\.2 s"):
        limited(opened.wait)
    assert limited(lambda: 42) == 42
    opened.set()


@pytest.mark.parametrize("call", [loop_for_ever, loop_through_errors])
@pytest.mark.slow
def test_a_call_that_loops_is_stopped(limited: TimeLimit, call: Callable[[], None]) -> None:
    before = len(workers())
    with pytest.raises(TimeoutError):
        limited(call)
    assert eventually(lambda: len(workers()) <= before)


def test_all_calls_share_a_thread(limited: TimeLimit) -> None:
    assert limited(threading.get_ident) == limited(threading.get_ident)


def test_leaves_no_thread_behind() -> None:
    before = len(workers())
    with TimeLimit(1) as limit:
        limit(lambda: 42)
    assert eventually(lambda: len(workers()) <= before)
