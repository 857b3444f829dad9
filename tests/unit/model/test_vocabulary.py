"""Families of structs that any module may add to are written with their codes, and read back."""

from __future__ import annotations

import pytest
from msgspec import Struct, ValidationError, json

from rota.model.vocabulary import Coded, code_of, members_of, read_coded


class Animal(Coded):
    __slots__ = ()


class TypedAnimal(Struct, Animal, frozen=True, tag_field="code"):
    pass


class Cat(TypedAnimal, frozen=True, tag="cat"):
    lives: int = 9


class Cage(Struct, frozen=True):
    holds: Animal


def read(text: bytes) -> Cage:
    return json.decode(text, type=Cage, dec_hook=read_coded)


def test_a_base_to_derive_from_is_no_member() -> None:
    assert members_of(Animal) == {"cat": Cat}
    assert (code_of(Cat), Cat().code) == ("cat", "cat")


def test_a_member_is_written_with_its_code_and_read_by_it() -> None:
    text = json.encode(Cage(Cat(7)))
    assert text == b'{"holds":{"code":"cat","lives":7}}'
    assert read(text) == Cage(Cat(7))


def test_a_member_that_is_defined_later_is_known_then() -> None:
    text = b'{"holds":{"code":"dog"}}'
    with pytest.raises(ValidationError, match="there is no animal with the code 'dog'"):
        read(text)

    class Dog(TypedAnimal, frozen=True, tag="dog"):
        pass

    assert read(text) == Cage(Dog())
    del Dog


@pytest.mark.parametrize("held", [b'"cat"', b"{}", b'{"code":"cat","lives":"many"}'])
def test_what_is_no_member(held: bytes) -> None:
    with pytest.raises(ValidationError):
        read(b'{"holds":' + held + b"}")
