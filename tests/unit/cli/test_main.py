"""How the command line behaves as a whole: exit codes, errors, and what goes to which stream."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from typer.main import get_group

import rota as package
from rota.cli.all_commands import SECTIONS
from tests.unit.cli.calling import MIXED_FILES, rota, write

ROOT = Path(__file__).parents[3]
LISTED = [one for section in SECTIONS.values() for one in section]
ROOMS = {
    room: {one.name for one in LISTED if one.room == room} for room in sorted({one.room for one in LISTED})
}
CLUSTER = "nodes: [{name: n, resources: {cpu: 4}}]"
FITS = "jobs: [{name: fits, resources: {cpu: 1}}]"
TOO_LARGE = "jobs: [{name: huge, resources: {cpu: 64}}]"


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "rota", *arguments]


class TestExitCodes:
    def test_0_if_all_is_placed(self, tmp_path: Path) -> None:
        assert rota("plan", *write(tmp_path, cluster=CLUSTER, jobs=FITS)).code == 0

    def test_2_if_something_waits(self, tmp_path: Path) -> None:
        assert rota("plan", *write(tmp_path, cluster=CLUSTER, jobs=TOO_LARGE)).code == 2

    def test_2_if_a_part_of_a_job_waits(self, tmp_path: Path) -> None:
        jobs = "jobs: [{name: part, tasks: 9, min_available: 1, resources: {cpu: 1}}]"
        assert rota("plan", *write(tmp_path, cluster=CLUSTER, jobs=jobs)).code == 2

    def test_0_for_an_explanation_whatever_it_says(self, tmp_path: Path) -> None:
        assert rota("why", "huge", *write(tmp_path, cluster=CLUSTER, jobs=TOO_LARGE)).code == 0

    @pytest.mark.parametrize(
        "arguments",
        [
            ("plan",),
            ("plan", *MIXED_FILES, "--output", "xml"),
            ("plan", *MIXED_FILES, "--nwo", "0"),
            ("plan", *MIXED_FILES, "--now", "some day"),
            ("plan", *MIXED_FILES, "--max-file-size", "-3"),
            ("plan", "no-such-file.yaml", MIXED_FILES[1]),
            ("plan", *MIXED_FILES, "--policy", "no-such-file.yaml"),
            ("why", "no-such-job", *MIXED_FILES),
            ("paln",),
        ],
    )
    def test_1_on_bad_input(self, arguments: tuple[str, ...]) -> None:
        result = rota(*arguments)
        assert result.code == 1
        assert result.out == ""
        assert result.err.startswith("rota: ")
        assert "Traceback" not in result.err


class TestErrors:
    def test_name_file_line_and_field(self, tmp_path: Path) -> None:
        cluster, jobs = write(tmp_path, cluster="nodes:\n  - name: n\n    resources: {cpu: -1}", jobs=FITS)
        result = rota("plan", cluster, jobs)
        assert (
            result.err == f"rota: {cluster}:3: nodes[0].resources.cpu: negative amount -1; give 0 or more\n"
        )

    def test_each_has_its_line(self, tmp_path: Path) -> None:
        cluster, jobs = write(
            tmp_path,
            cluster=CLUSTER,
            jobs="jobs:\n  - {name: a, resources: {cpu: x}}\n  - {name: b, resources: {cpu: -1}}",
        )
        assert [line.split(": ")[1] for line in rota("plan", cluster, jobs).err.splitlines()] == [
            f"{jobs}:2",
            f"{jobs}:3",
        ]

    def test_options_have_theirs_too(self) -> None:
        result = rota("plan", *MIXED_FILES, "-o", "tabel")
        assert result.err.startswith("rota: Invalid value for '--output' / '-o': 'tabel' is not one of")
        assert result.err.endswith(". See `rota plan --help`.\n")

    def test_an_unknown_plugin_is_named(self, tmp_path: Path) -> None:
        (policy,) = write(tmp_path, policy="plugins:\n  - name: lisences")
        result = rota("plan", *MIXED_FILES, "--policy", policy)
        assert result.code == 1
        assert result.err.startswith(f'rota: {policy}:2: plugins[0].name: unknown plugin "lisences"; did you')
        assert '"licences"' in result.err

    def test_a_bug_is_admitted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("rota.cli.questions.plan_from_files.read_question", _stumble)
        result = rota("plan", *MIXED_FILES)
        assert result.code == 70
        assert "bug" in result.err
        assert "ZeroDivisionError" in result.err
        assert "ROTA_TRACEBACK=1" in result.err
        assert "Traceback" not in result.err

    def test_and_shown_to_who_wants_to_see_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("rota.cli.questions.plan_from_files.read_question", _stumble)
        result = rota("plan", *MIXED_FILES, environment={"ROTA_TRACEBACK": "1"})
        assert result.code == 70
        assert "Traceback" in result.err
        assert "_stumble" in result.err


def _stumble(files: object) -> None:
    1 // 0  # noqa: B018


@pytest.mark.slow
class TestStreams:
    def test_data_goes_to_stdout_and_talk_to_stderr(self, tmp_path: Path) -> None:
        found = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}"
        spec = "{containers: [{name: c, resources: {requests: {cpu: 1}}}]}"
        found += f"\n---\n{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {spec}}}"
        result = rota("plan", *write(tmp_path, cluster=CLUSTER, jobs=found), "-o", "json")
        assert [one["node"] for one in result.data["bindings"]] == ["n"]
        assert result.err.startswith("rota: note: ")

    @pytest.mark.parametrize("arguments", [("plan", *MIXED_FILES), ("plan", *MIXED_FILES, "-o", "json")])
    def test_a_reader_who_leaves_is_no_error(self, arguments: tuple[str, ...]) -> None:
        process = subprocess.Popen(command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.close()
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (141, b"")

    def test_a_full_disk_is_said(self) -> None:
        with open("/dev/full", "w") as full:
            process = subprocess.run(
                command("plan", *MIXED_FILES), stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
            )
        assert (process.returncode, process.stderr) == (74, "rota: [Errno 28] No space left on device\n")

    def test_an_interrupt_ends_it_quietly(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("rota.cli.questions.plan_from_files.read_question", _press_ctrl_c)
        assert rota("plan", *MIXED_FILES) == (130, "", "")

    def test_a_terminal_without_unicode_gets_something(self) -> None:
        process = subprocess.run(
            command("plan", *MIXED_FILES),
            env={"PYTHONIOENCODING": "ascii", "PYTHONPATH": str(Path(package.__file__).parents[1])},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert process.returncode == 2
        assert r"cpu-a-0 \xd7" in process.stdout


def _press_ctrl_c(files: object) -> None:
    raise KeyboardInterrupt


class TestLightCommands:
    def test_version(self) -> None:
        assert rota("--version").out == rota("version").out == f"rota {package.__version__}\n"
        assert rota("version", "-o", "json").data["rota"] == package.__version__

    def test_help_is_what_one_gets_without_arguments(self) -> None:
        assert rota().out == rota("--help").out
        assert rota().code == 0

    @pytest.mark.parametrize(
        "arguments", [("--help",), ("plan", "--help"), ("run", "--help"), ("--version",)]
    )
    @pytest.mark.slow
    def test_help_needs_no_heavy_imports(self, arguments: tuple[str, ...]) -> None:
        program = (
            "import sys, contextlib\n"
            "from rota.cli.main import run\n"
            f"with contextlib.suppress(SystemExit): run({arguments!r})\n"
            "print(sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
        )
        process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
        for heavy in ("numpy", "rich", "yaml", "msgspec", "urllib3"):
            assert f"'{heavy}'" not in process.stderr

    @pytest.mark.parametrize("module", ["jobs", "run", "following"])
    @pytest.mark.slow
    def test_who_asks_a_server_on_this_machine_waits_for_no_heavy_imports_either(self, module: str) -> None:
        program = f"import sys, rota.cli.jobs.{module}; print(*sys.modules)"
        process = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
        )
        heavy = {"numpy", "rich", "yaml", "urllib3", "http.client", "email", "ssl", "asyncio", "sqlalchemy"}
        assert heavy.isdisjoint(process.stdout.split())

    @pytest.mark.parametrize(("room", "names"), ROOMS.items())
    @pytest.mark.slow
    def test_a_command_imports_only_its_own_room(self, room: str, names: set[str]) -> None:
        program = (
            "import sys, contextlib\n"
            "from rota.cli.main import run\n"
            f"with contextlib.suppress(SystemExit): run(({min(names)!r}, '--help'))\n"
            "print(*(name for name in sys.modules if name.startswith('rota.')), file=sys.stderr)"
        )
        process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
        in_rooms = [one.split(".") for one in process.stderr.split() if one.count(".") > 2]
        assert {tuple(one[:3]) for one in in_rooms} == {("rota", "cli", room)}
        assert {one[3] for one in in_rooms} <= {"commands", "options", "pod_options"}

    def test_every_command_is_listed_and_documented(self) -> None:
        for room, names in ROOMS.items():
            app = import_module(f"rota.cli.{room}.commands").app
            assert set(get_group(app).commands) == names
        text = (ROOT / "docs" / "cli.md").read_text()
        listed = sorted(name for names in ROOMS.values() for name in names)
        assert [name for name in listed if f"`rota {name}" not in text] == []

    @pytest.mark.parametrize("name", [one.name for section in SECTIONS.values() for one in section])
    def test_every_command_has_help(self, name: str) -> None:
        result = rota(name, "--help")
        assert (result.code, result.err) == (0, "")
        assert result.out.startswith(f"Usage: rota {name} ")

    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    @pytest.mark.slow
    def test_completion_scripts(self, shell: str) -> None:
        process = subprocess.run(
            command("--show-completion", shell), capture_output=True, text=True, timeout=60
        )
        assert process.returncode == 0
        assert "_ROTA_COMPLETE" in process.stdout

    @pytest.mark.parametrize(
        ("words", "expected"),
        [("rota pl", {"plan", "plugins"}), ("rota plan a b -o ", {"table", "wide", "json", "yaml"})],
    )
    @pytest.mark.slow
    def test_completion(self, words: str, expected: set[str]) -> None:
        process = subprocess.run(
            command(),
            env={
                "PYTHONPATH": str(Path(package.__file__).parents[1]),
                "_ROTA_COMPLETE": "complete_bash",
                "COMP_WORDS": words,
                "COMP_CWORD": str(words.count(" ")),
            },
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert set(process.stdout.split()) == expected


class TestPlugins:
    def test_are_listed_with_version_and_state(self) -> None:
        result = rota("plugins", "--local")
        assert result.code == 0
        (line,) = [line for line in result.lines if line.startswith("licences")]
        assert line.split() == ["licences", "rota-plugin-example", "0.1.0", "usable", "filter,", "score"]

    def test_as_data(self) -> None:
        (entry,) = [one for one in rota("plugins", "--local", "-o", "json").data if one["name"] == "licences"]
        assert entry == {
            "name": "licences",
            "package": "rota-plugin-example",
            "version": "0.1.0",
            "usable": True,
            "fault": "",
            "does": ["filter", "score"],
            "schedulers": [],
            "faults": [],
        }
