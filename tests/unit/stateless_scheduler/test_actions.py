"""What the scheduler knows of actions: who may still ask for what an agent has."""

from rota.backends.backend import TaskRef
from rota.model.ids import JobId
from rota.stateless_scheduler.actions import Action, Book
from tests.kit.live import spec


def test_what_its_controller_has_just_named_is_about_to_be_claimed() -> None:
    book = Book(["ci"], 0, 1000)
    ref = TaskRef(Action("ci", "a", spec()).job, 0, 1)
    assert book.may_be_claimed(ref, 0), "the controller isn't back yet"
    action = Action("ci", "a", spec())
    action.is_coming = True
    book.add(action)
    book.seats["ci"].is_complete = True
    assert book.may_be_claimed(ref, 0), "it is being taken up: nobody else is to be told that it isn't wanted"
    action.is_coming = False
    assert not book.may_be_claimed(ref, 0)
    assert not book.may_be_claimed(TaskRef(JobId("other"), 0, 1), 0), "all have named all that they have"
