"""Which signal is the first, and which means: at once."""

from __future__ import annotations

import signal
import subprocess
import sys

from rota.signals import ONCE_S, Insistence, deaf_children


def test_a_signal_that_a_wrapper_passes_on_is_no_second_one() -> None:
    insistence = Insistence()
    assert not insistence.is_again(10.0)
    assert not insistence.is_again(10.0 + ONCE_S / 2)
    assert insistence.is_again(10.0 + ONCE_S)


def test_children_that_start_within_dont_hear_ctrl_c_and_the_parent_does() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with deaf_children():
        said = subprocess.run(
            [
                sys.executable,
                "-c",
                "import signal; print(sorted(int(n) for n in signal.pthread_sigmask(signal.SIG_BLOCK, ())))",
            ],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    assert str(sorted({int(signal.SIGINT), int(signal.SIGTERM)} | set(map(int, before)))) in said
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
