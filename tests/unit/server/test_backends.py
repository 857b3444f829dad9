"""Backends that settings name."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec import json

from rota.backends.kubernetes.options import PodOptions, ToolCache
from rota.backends.process.folders import Folders
from rota.backends.process.keeper.streams.log_writer import Rotation
from rota.intake.errors import InputError
from rota.model.resources import Resources
from rota.server.backends import Surroundings, configured, folders_of, pod_options
from rota.server.service.preflight import preflight
from rota.settings.settings import BackendSettings, Server, Settings

pytestmark = pytest.mark.covers("back-3")

KUBECONFIG = {
    "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
    "contexts": [{"name": name, "context": {"cluster": "c", "namespace": name}} for name in ("a", "b")],
}


def test_one_for_each_table(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_bytes(json.encode(KUBECONFIG))

    async def main() -> None:
        stated = {
            name: BackendSettings(kubeconfig=str(file), context=context, support_image="s")
            for name, context in (("west", "b"), ("east", "a"))
        }
        around = Surroundings(tmp_path, Folders(tmp_path / "worker"), Rotation())
        made = list(configured(stated, around))
        assert [backend.name for backend in made] == ["east", "west"]
        for backend in made:
            await backend.close()
        assert [folders.root.name for folders in folders_of(stated, tmp_path)] == ["east", "west"]

    asyncio.run(main())


def test_a_context_that_is_not_there_is_told(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_bytes(json.encode(KUBECONFIG))
    around = Surroundings(tmp_path, Folders(tmp_path / "worker"), Rotation())
    stated = {"x": BackendSettings(kubeconfig=str(file), context="c")}
    with pytest.raises(InputError, match="there is no context 'c'"):
        list(configured(stated, around))


def test_it_is_told_before_the_server_starts(tmp_path: Path) -> None:
    stated = {"x": BackendSettings(kubeconfig=str(tmp_path / "none"))}
    settings = Settings(server=Server(data=str(tmp_path)), backends=stated)
    [found] = [one.text for one in preflight(settings, is_start=True) if "backends" in one.text]
    assert found.startswith("backends.x: ")
    assert "none" in found


def test_what_is_said_of_pods() -> None:
    assert pod_options(BackendSettings(support_image="s")) == PodOptions("s")
    assert pod_options(
        BackendSettings(
            support_image="s",
            run_as_user=7,
            tool_cache=True,
            tool_cache_class="fast",
            node_labels=("a=b",),
            request_cpu_milli=1,
        )
    ) == PodOptions(
        "s",
        run_as_user=7,
        tool_cache=ToolCache("fast"),
        node_labels=(("a", "b"),),
        requests=Resources(1, 512 << 20),
    )
