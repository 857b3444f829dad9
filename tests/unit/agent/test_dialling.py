"""Which server an agent dials next, and when."""

from __future__ import annotations

from pathlib import Path

import grpc

from rota.agent.dialling import DialResult, Itinerary, Lines


def test_one_server_is_dialled_again_after_pauses_that_grow() -> None:
    itinerary = Itinerary(["a"])
    pauses = [itinerary.after(DialResult.AWAY, 0.0) for _ in range(8)]
    assert itinerary.target == "a"
    assert pauses == [0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0, 10.0]
    assert itinerary.after(DialResult.WELCOME, 0.0) == 0.1
    assert itinerary.after(DialResult.AWAY, 0.0) == 0.4


def test_of_several_each_is_tried_before_a_pause() -> None:
    itinerary = Itinerary(["a", "b", "c"])
    seen = []
    for _ in range(6):
        dialled = itinerary.target
        seen.append((dialled, itinerary.after(DialResult.AWAY, 0.0)))
    assert seen == [("a", 0.1), ("b", 0.1), ("c", 0.4), ("a", 0.1), ("b", 0.1), ("c", 0.8)]


def test_the_one_that_led_is_dialled_first_when_its_connection_ends() -> None:
    itinerary = Itinerary(["a", "b"])
    itinerary.after(DialResult.AWAY, 0.0)
    assert itinerary.target == "b"
    itinerary.after(DialResult.WELCOME, 0.0)
    assert itinerary.target == "b"
    itinerary.after(DialResult.AWAY, 0.0)
    assert itinerary.target == "a"


def test_one_that_refuses_is_asked_less_often() -> None:
    itinerary = Itinerary(["a", "b"])
    pauses = []
    for _ in range(10):
        itinerary.after(DialResult.REFUSED, 0.0)
        pauses.append(itinerary.after(DialResult.AWAY, 0.0))
    assert pauses[-1] == 30.0
    assert itinerary.after(DialResult.AWAY, 0.0) == 0.1
    assert itinerary.after(DialResult.AWAY, 0.0) == 10.0


def test_chance_takes_up_to_half_of_a_pause() -> None:
    assert Itinerary(["a"]).after(DialResult.AWAY, 1.0) == 0.2


async def test_each_server_has_one_line(tmp_path: Path) -> None:
    lines = Lines(grpc.ssl_channel_credentials())
    assert lines.stub("127.0.0.1:1") is not None
    lines.stub("127.0.0.1:1")
    lines.stub("127.0.0.1:2")
    lines.stub(f"unix:{tmp_path / 'a.sock'}")
    assert len(lines._lines) == 3
    await lines.close()


async def test_a_folder_that_was_made_anew_has_a_new_line(tmp_path: Path) -> None:
    """As /run is, when the server's machine or service starts again."""
    folder = tmp_path / "run"
    target = f"unix:{folder / 'a.sock'}"

    lines = Lines(None)
    folder.mkdir(mode=0o700)
    lines.stub(target)
    first = lines._lines[target]
    lines.stub(target)
    assert lines._lines[target] is first
    folder.rename(tmp_path / "before")
    folder.mkdir(mode=0o700)
    lines.stub(target)
    assert lines._lines[target] is not first
    await lines.close()
