"""Refusals as exceptions: which kind, what they say, whether to ask again."""

import pytest

from rota.kube.api import errors
from rota.kube.api.errors import Call, KubeError, api_error
from rota.kube.api.objects import Status, StatusCause, StatusDetails

CALL = Call("create", "pods/binding", namespace="team-a", name="web-1")


@pytest.mark.parametrize(
    "code, reason, kind",
    [
        (400, "BadRequest", errors.BadRequest),
        (401, "Unauthorized", errors.Unauthorised),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (409, "Conflict", errors.Conflict),
        (409, "AlreadyExists", errors.AlreadyExists),
        (410, "Expired", errors.Expired),
        (410, "Gone", errors.Expired),
        (422, "Invalid", errors.Invalid),
        (429, "TooManyRequests", errors.TooManyRequests),
        (500, "InternalError", errors.ServerFailure),
        (504, "Timeout", errors.ServerFailure),
        (418, "", errors.ApiError),
    ],
)
def test_kinds(code: int, reason: str, kind: type[KubeError]) -> None:
    assert type(api_error(CALL, Status(code=code, reason=reason))) is kind


def test_a_disruption_budget_is_no_overload() -> None:
    details = StatusDetails(causes=[StatusCause(reason="DisruptionBudget")])
    error = api_error(CALL, Status(code=429, details=details))
    assert isinstance(error, errors.HeldByBudget)
    assert not error.may_pass


def test_an_api_error_says_call_code_and_message() -> None:
    error = api_error(CALL, Status(code=409, message="pod web-1 is already assigned"))
    assert str(error) == "create pods/binding team-a/web-1: 409: pod web-1 is already assigned"
    assert str(api_error(CALL, Status(code=418))).endswith("418: refused")


def test_forbidden_names_the_missing_rule() -> None:
    call = Call("list", "leases", group="coordination.k8s.io")
    assert str(api_error(call, Status(code=403, message="leases is forbidden"))) == (
        "list leases.coordination.k8s.io: 403: leases is forbidden (add to a role of this account: "
        'apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["list"])'
    )
