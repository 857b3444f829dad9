"""Clocks that are off are measured, shown when it matters, and times moved by them."""

from rota.backends.agents.clock import Clock


def test_the_same_clock_needs_no_moving() -> None:
    clock = Clock()
    for at_ms in range(0, 1000, 100):
        clock.heard(at_ms, at_ms + 7, 3)
    assert (clock.server_ahead_ms, clock.message) == (0, "")


def test_one_that_is_behind() -> None:
    clock = Clock()
    clock.heard(1_000, 6_040, 80)
    assert clock.server_ahead_ms == 5_000
    assert clock.message == "its clock is 5.0 s behind the server's"


def test_one_that_is_ahead() -> None:
    clock = Clock()
    clock.heard(10_000, 3_010, 20)
    assert clock.server_ahead_ms == -7_000
    assert clock.message == "its clock is 7.0 s ahead of the server's"


def test_a_little_is_moved_by_but_not_shown() -> None:
    clock = Clock()
    clock.heard(1_000, 2_500, 0)
    assert (clock.server_ahead_ms, clock.message) == (1_500, "")


def test_the_quickest_word_counts_and_small_changes_do_not() -> None:
    clock = Clock()
    clock.heard(0, 5_900, 2_000)
    clock.heard(1_000, 6_000, 2)
    before = clock.server_ahead_ms
    clock.heard(2_000, 7_003, 4)
    clock.heard(3_000, 9_000, 3_000)
    assert before == clock.server_ahead_ms == 4_999


def test_a_word_that_was_long_on_its_way_says_nothing() -> None:
    clock = Clock()
    clock.heard(0, 1, 2)
    clock.heard(1_000, 3_500, 2)
    assert clock.server_ahead_ms == 0
    clock.heard(2_000, 2_001, 2_500)
    assert clock.server_ahead_ms == 0


def test_a_slow_way_is_no_other_clock() -> None:
    clock = Clock()
    for at_ms in range(0, 10_000, 1_000):
        clock.heard(at_ms, at_ms + 10, 300)
        assert clock.server_ahead_ms == 0
    assert clock.message == ""


def test_a_clock_that_was_set_is_noticed_once_the_old_words_are_forgotten() -> None:
    clock = Clock()
    clock.heard(0, 10_000, 0)
    for at_ms in range(8):
        clock.heard(at_ms, at_ms, 1)
    assert clock.server_ahead_ms == 0
