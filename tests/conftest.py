"""What all tests share: how hard the property tests try (HYPOTHESIS_PROFILE), what logs look like,
that Ctrl-C works, how tests that are coroutines run, and when garbage is looked for."""

import asyncio
import gc
import inspect
import os
import signal

import pytest
import structlog
from hypothesis import settings

from tests.kit import virtual_time

# Deadlines would make tests fail on a busy machine. "quick" and "ci" try the same examples each
# time, so that a run says something about the change and not about luck; "default" explores.
settings.register_profile("quick", max_examples=3, deadline=None, derandomize=True, database=None)
settings.register_profile("default", max_examples=100, deadline=None)
settings.register_profile("ci", max_examples=100, deadline=None, derandomize=True, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# Where one test uses gRPC and another forks the same process, gRPC's own handlers of forks may end the child.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

# A shell that starts the tests in the background has SIGINT ignored, and so would every process that they
# start; some of these are there to be interrupted.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A traceback in colours and with all variables costs more than most tests.
structlog.configure(
    processors=[
        *structlog.get_config()["processors"][:-1],
        structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
    ]
)

# Thousands of collected tests and all modules live until the end: to look through them for garbage, again
# and again, took a third of the time of `make quick`. Tests that are about garbage collect it themselves.
gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()


LIMIT_S = 300
"""Of an `async def` test in real time: one that hangs fails."""


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs an `async def test_…`: in an event loop of its own, and where it is marked with `virtual_time`, in
    one in which no time passes."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    test = pyfuncitem.obj(**arguments)
    if pyfuncitem.get_closest_marker("virtual_time") and not pyfuncitem.get_closest_marker("real_time"):
        virtual_time.run(test)
    else:
        asyncio.run(asyncio.wait_for(test, LIMIT_S))
    return True
