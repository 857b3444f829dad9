"""Input files are there for as long as an action needs them, and no longer."""

from __future__ import annotations

from rota.model.run import InputFile
from rota.stateless_scheduler.inputs import InputFiles


def test_equal_files_are_there_once_until_nobody_needs_them() -> None:
    files = InputFiles(most_bytes=10)
    one = InputFile("a", "hash", 6)
    files.add([("hash", b"123456")])
    files.add([("hash", b"123456")])
    assert files.size_bytes == 6
    assert files.open("hash").read() == b"123456"
    files.release([one])
    assert files.find("hash") == b"123456"
    files.release([one])
    assert (files.find("hash"), files.size_bytes) == (None, 0)


def test_there_is_only_so_much_room() -> None:
    files = InputFiles(most_bytes=10)
    files.add([("hash", b"123456")])
    assert files.has_room_for([("hash", b"123456"), ("other", b"1234")])
    assert not files.has_room_for([("other", b"12345")])
