"""How a status of wait(2) reads."""

import pytest

from rota.backends.process.keeper.processes.ending import end_of
from rota.lifecycle.state import EndReason, Used

USED = Used(1, 2)


@pytest.mark.parametrize(
    "status, told_to, out_of_memory, reason",
    [
        (0, None, False, EndReason.EXITED),
        (3 << 8, None, False, EndReason.EXITED),
        (9, None, False, EndReason.SIGNALLED),
        (9, None, True, EndReason.OUT_OF_MEMORY),
        (1 << 8, None, True, EndReason.OUT_OF_MEMORY),
        (0, None, True, EndReason.EXITED),
        (15, EndReason.STOPPED, False, EndReason.STOPPED),
        (0, EndReason.TIME_LIMIT, True, EndReason.TIME_LIMIT),
    ],
)
def test_reasons(status: int, told_to: EndReason | None, out_of_memory: bool, reason: EndReason) -> None:
    assert end_of(status, USED, told_to=told_to, out_of_memory=out_of_memory).reason is reason


def test_codes_and_signals() -> None:
    exited = end_of(3 << 8, USED, told_to=None, out_of_memory=False)
    assert (exited.exit_code, exited.signal, exited.used) == (3, None, USED)
    killed = end_of(9, USED, told_to=None, out_of_memory=False)
    assert (killed.exit_code, killed.signal) == (None, 9)
