"""Pods as arguments, and what is wrong with them before any cluster is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.calling import rota, write

pytestmark = pytest.mark.covers("kube-7")


@pytest.mark.parametrize("command", ["why", "eta"])
class TestArguments:
    @pytest.mark.parametrize("text", ["pod/", "pods/a/b", "po/"])
    def test_that_name_no_pod(self, command: str, text: str) -> None:
        result = rota(command, text)
        assert result.code == 1
        assert f"'{text}' names no pod; write pod/NAME, and give its namespace with --namespace" in result.err

    @pytest.mark.parametrize("prefix", ["pod/", "pods/", "po/"])
    def test_a_kubeconfig_that_isnt_there(self, command: str, prefix: str, tmp_path: Path) -> None:
        missing = str(tmp_path / "none")
        result = rota(command, f"{prefix}p", "--kubeconfig", missing)
        assert (result.code, result.out) == (1, "")
        assert missing in result.err

    def test_no_kubeconfig_at_all(self, command: str, tmp_path: Path) -> None:
        nowhere = {"HOME": str(tmp_path), "KUBECONFIG": ""}
        result = rota(command, "pod/p", environment=nowhere)
        assert result.code == 1
        assert "give --kubeconfig, set KUBECONFIG, or run in a cluster" in result.err

    @pytest.mark.parametrize(
        "option, text, complaint",
        [
            ("--scheduler-name", "No Name", "can't be a schedulerName"),
            ("--gang-label", "no key", "is not a Kubernetes label key"),
            ("--min-available-annotation", "/", "is not a Kubernetes label key"),
        ],
    )
    def test_options_that_cant_be(self, command: str, option: str, text: str, complaint: str) -> None:
        result = rota(command, "pod/p", option, text)
        assert result.code == 1
        assert complaint in result.err

    def test_a_policy_that_isnt_there(self, command: str, tmp_path: Path) -> None:
        result = rota(command, "pod/p", "--policy", str(tmp_path / "none.yaml"))
        assert result.code == 1
        assert "none.yaml" in result.err

    @pytest.mark.slow
    def test_a_cluster_that_doesnt_answer(self, command: str, tmp_path: Path) -> None:
        (file,) = write(
            tmp_path,
            kubeconfig="""
                current-context: here
                contexts: [{name: here, context: {cluster: here, user: me}}]
                clusters: [{name: here, cluster: {server: "http://127.0.0.1:1"}}]
                users: [{name: me, user: {}}]
                """,
        )
        result = rota(command, "pod/p", "--kubeconfig", file)
        assert result.code == 5
        assert "list nodes: the API server doesn't answer" in result.err


def test_pods_and_jobs_arent_asked_about_at_once() -> None:
    result = rota("eta", "pod/p", "17")
    assert result.code == 1
    assert "a command takes either pods or jobs, not both" in result.err


def test_of_files_it_is_a_name_like_others(tmp_path: Path) -> None:
    files = write(tmp_path, cluster="nodes: [{name: n, resources: {cpu: 2}}]", jobs="jobs: [{name: a}]")
    result = rota("why", "pod/a", *files)
    assert result.code == 1
    assert 'there is no job named "pod/a"' in result.err


@pytest.mark.parametrize("command", ["why", "eta"])
@pytest.mark.parametrize("option", ["--namespace", "--kubeconfig"])
def test_what_is_about_pods_needs_one(command: str, option: str) -> None:
    result = rota(command, "17", option, "x")
    assert result.code == 1
    assert option in result.err
    assert "this option is for pods; write the pod as pod/NAME" in result.err


@pytest.mark.parametrize("option", ["--now", "--history"])
def test_what_is_about_files_is_refused(option: str) -> None:
    result = rota("why", "pod/p", option, "x")
    assert result.code == 1
    assert "this option is for files" in result.err
