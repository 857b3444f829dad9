"""What settings of sign-in must say."""

from __future__ import annotations

from pathlib import Path

import pytest

from rota.settings.errors import SettingsError
from rota.settings.load import load_settings
from rota.settings.oidc import group_project_role, group_role

GOOD = {
    "issuer": '"https://id.example.org/realms/lab"',
    "client_id": '"rota"',
    "roles": '["cn=ops,dc=lab=operator"]',
    "projects": '["ml=vision:submitter"]',
}


def load(tmp_path: Path, **changes: str) -> object:
    file = tmp_path / "rota.toml"
    stated = {**GOOD, **changes}
    file.write_text("[oidc]\n" + "".join(f"{name} = {value}\n" for name, value in stated.items() if value))
    return load_settings([file], {"HOME": "/home/ada"}, {}).oidc


def test_good_ones(tmp_path: Path) -> None:
    load(tmp_path)
    load(tmp_path, issuer='"http://127.0.0.1:5556/dex"')
    load(tmp_path, roles="", projects="", default_role='"viewer"')
    load(tmp_path, issuer="", client_id="")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("issuer", '"http://id.example.org"'),
        ("issuer", '"id.example.org"'),
        ("issuer", '"https://user@id.example.org"'),
        ("issuer", '"https://id.example.org/?x=1"'),
        ("client_id", '""'),
        ("scopes", '["profile"]'),
        ("algorithms", '["none"]'),
        ("algorithms", '["HS256"]'),
        ("algorithms", "[]"),
        ("session", '"0"'),
        ("roles", '["ops=king"]'),
        ("roles", '["operator"]'),
        ("roles", '["=operator"]'),
        ("projects", '["ml=vision"]'),
        ("projects", '["ml=vision:operator"]'),
        ("projects", '["ml=:viewer"]'),
        ("default_role", '"admin"'),
    ],
)
def test_bad_ones_name_the_field(tmp_path: Path, field: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"oidc.{field}"):
        load(tmp_path, **{field: value})


def test_somebody_must_be_able_to_sign_in(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no user could sign in"):
        load(tmp_path, roles="", projects="")


def test_groups_may_have_any_name() -> None:
    assert group_role("cn=ops,dc=lab=operator") == ("cn=ops,dc=lab", "operator")
    assert group_project_role("/lab:ml=vision:viewer") == ("/lab:ml", "vision", "viewer")
