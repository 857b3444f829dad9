"""Scripts for sbatch, as jobs to submit."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from rota.intake.errors import InputError
from rota.intake.job_files import JobFile
from rota.intake.sbatch import is_script, read_sbatch, with_array_names
from rota.intake.sbatch.options import LONG, SHORT
from rota.intake.submissions import Entry, read_submission
from rota.model.ids import JobId
from rota.model.job import AtMaintenance, JobTemplate, TopologyMode, TopologyRule
from rota.model.resources import GpuRequest, Resources
from rota.model.run import After, Dependency, Run
from rota.model.selectors import NodeTerm, Operator, Requirement
from rota.model.task import TaskSpec

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
GIB = 2**30


def _sent(job_file: JobFile) -> bytes:
    """As a client sends it."""
    return json.encode({"jobs": job_file.jobs})


class Scripts:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, *lines: str, **options: Any) -> JobFile:
        path = self._folder / "my train.sh"
        path.write_text("\n".join(("#!/bin/sh", *lines, "echo done", "")))
        return read_sbatch(path, now=NOW, **options)

    def entry(self, *options: str, **rest: Any) -> Entry:
        """Of a script with these options, none of which is warned of."""
        job_file = self.read(*(f"#SBATCH {option}" for option in options), **rest)
        assert job_file.submission.warnings == ()
        [entry] = job_file.submission.entries
        return entry

    def template(self, *options: str) -> JobTemplate:
        [entry] = self.read(*(f"#SBATCH {option}" for option in options)).submission.entries
        return entry.spec.template

    def task(self, *options: str) -> TaskSpec:
        [group] = self.template(*options).groups
        return group.spec

    def warnings(self, *lines: str) -> list[str]:
        return list(self.read(*lines).submission.warnings)

    def refusal(self, *lines: str) -> str:
        with pytest.raises(InputError) as caught:
            self.read(*lines)
        return str(caught.value).replace(f"{self._folder}/my train.sh:", "line ")


@pytest.fixture
def scripts(tmp_path: Path) -> Scripts:
    return Scripts(tmp_path)


def test_a_script_without_options(scripts: Scripts) -> None:
    spec = scripts.entry(args=["a b"], directory="/work").spec
    assert spec.name == "my-train.sh"
    assert spec.run == Run(
        command=("a b",),
        script="#!/bin/sh\necho done\n",
        directory="/work",
        slurm_names=True,
        script_name="my train.sh",
    )
    assert spec.template.groups[0].spec == TaskSpec(
        requests=Resources(1000), left_open=("memory", "gpu", "others")
    )


def test_what_can_be_honoured(scripts: Scripts) -> None:
    entry = scripts.entry(
        "--job=train -A vision",
        "-p nightly",
        "--cpus-per-task 4 --mem=8G",
        "--time=2-12:00",
        '--export="A=1,B=x y,HOME" # what it needs',
        "-D /data",
        "--signal=B:USR1@120",
        "--begin=now+1hour --deadline=2026-05-09",
        "--array=1-9:4",
        "-d afterok:17:18_4,afternotok:19,afterany:20",
        "-H --requeue",
        "--reservation=exam",
        environ={"HOME": "/home/ada", "SECRET": "x"},
    )
    spec, template = entry.spec, entry.spec.template
    assert (spec.name, template.project, template.queue, template.reservation) == (
        "train",
        "vision",
        "nightly",
        "exam",
    )
    assert template.groups[0].spec.requests == Resources(4000, 8 * GIB)
    assert template.time_limit_ms == 60 * 3_600_000
    assert spec.run.environment == (("A", "1"), ("B", "x y"), ("HOME", "/home/ada"))
    assert spec.run.directory == "/data"
    assert (spec.run.warn_signal, spec.run.warn_before_ms) == ("SIGUSR1", 120_000)
    assert spec.start_after_ms == int(NOW.timestamp() + 3600) * 1000
    assert spec.deadline_ms == int(datetime(2026, 5, 9, tzinfo=UTC).timestamp()) * 1000
    assert entry.array == (1, 5, 9)
    assert spec.depends_on == (
        Dependency(JobId("17")),
        Dependency(JobId("18.4")),
        Dependency(JobId("19"), After.FAILURE),
        Dependency(JobId("20"), After.ANY),
    )
    assert spec.held


def test_what_is_sent_is_what_was_read(scripts: Scripts) -> None:
    job_file = scripts.read("#SBATCH --mem=1G -t 5", "#SBATCH --array=0-3")
    sent = read_submission(_sent(job_file), "default", "default")
    assert sent.entries == job_file.submission.entries


class TestOutput:
    def test_goes_to_files(self, scripts: Scripts) -> None:
        run = scripts.entry(
            "-o logs/%j.out --error=/var/log/%x.err --open-mode=append", directory="/work"
        ).spec.run
        assert (run.stdout, run.stderr, run.append) == ("logs/%j.out", "/var/log/%x.err", True)

    def test_of_a_script_without_a_folder_only_to_whole_paths(self, scripts: Scripts) -> None:
        run = scripts.entry("-o /dev/null").spec.run
        assert (run.stdout, run.stderr, run.append) == ("/dev/null", "", False)

    def test_modes_are_two(self, scripts: Scripts) -> None:
        assert "--open-mode" in scripts.refusal("#SBATCH --open-mode=sideways -o /dev/null")


class TestEnvironment:
    def test_of_whoever_submits(self, scripts: Scripts) -> None:
        run = scripts.entry(taken_along={"A": "1"}, submitted_from="/work").spec.run
        assert dict(run.environment).items() >= {"A": "1", "SLURM_SUBMIT_DIR": "/work"}.items()

    def test_or_none_of_it(self, scripts: Scripts) -> None:
        assert scripts.entry("--export=NONE", taken_along={"A": "1"}).spec.run.environment == ()

    def test_of_arrays(self, scripts: Scripts) -> None:
        [job] = with_array_names(scripts.read("#SBATCH --array=1-9:4")).jobs
        assert job["environment"] == {
            "SLURM_ARRAY_TASK_COUNT": "3",
            "SLURM_ARRAY_TASK_MIN": "1",
            "SLURM_ARRAY_TASK_MAX": "9",
            "SLURM_ARRAY_TASK_STEP": "4",
        }
        [other] = with_array_names(scripts.read()).jobs
        assert "environment" not in other


class TestShape:
    @pytest.mark.parametrize(
        ("options", "tasks", "topology"),
        [
            ("--ntasks=4", 4, ()),
            ("-N2", 2, (TopologyRule("host", TopologyMode.DIFFERENT),)),
            ("-N1 -n4", 4, (TopologyRule("host", TopologyMode.SAME),)),
            ("-N2 --ntasks-per-node=3", 6, (TopologyRule("host", TopologyMode.COUNT, 2),)),
            ("-n6 --ntasks-per-node=3", 6, (TopologyRule("host", TopologyMode.COUNT, 2),)),
            ("--nodes=2-4", 2, (TopologyRule("host", TopologyMode.DIFFERENT),)),
        ],
    )
    def test_of_tasks_and_nodes(
        self, scripts: Scripts, options: str, tasks: int, topology: tuple[TopologyRule, ...]
    ) -> None:
        template = scripts.template(options)
        assert (template.task_count, template.topology) == (tasks, topology)

    @pytest.mark.parametrize(
        ("options", "memory_bytes"),
        [
            ("--mem=4096", 4 * GIB),
            ("--mem=4G -N1 -n4", GIB),
            ("--mem=4G -n4", 4 * GIB),
            ("--mem=4G -N2 --ntasks-per-node=2", 2 * GIB),
            ("--mem-per-cpu=512M -c4", 2 * GIB),
            ("--mem=0", 0),
        ],
    )
    def test_memory(self, scripts: Scripts, options: str, memory_bytes: int) -> None:
        assert scripts.task(options).requests.memory_bytes == memory_bytes

    @pytest.mark.parametrize(
        ("options", "request_"),
        [
            ("--gres=gpu:2", GpuRequest(2)),
            ("--gres=gpu", GpuRequest(1)),
            ("--gres=gpu:A100:2", GpuRequest(2, models=("A100",))),
            ("-G 4 -n 2", GpuRequest(2)),
            ("--gpus-per-node=4 -N2 --ntasks-per-node=4", GpuRequest(1)),
            ("--gpus-per-task=H100:1 -n 8", GpuRequest(1, models=("H100",))),
            ("--gpus=0", GpuRequest()),
        ],
    )
    def test_gpus(self, scripts: Scripts, options: str, request_: GpuRequest) -> None:
        assert scripts.task(options).gpu == request_

    def test_exclusive_nodes(self, scripts: Scripts) -> None:
        assert scripts.task("--exclusive").exclusive
        assert scripts.task("-N2 --exclusive=user").exclusive
        assert not scripts.task("-N2 -n8 --exclusive").exclusive

    def test_nodes_by_name(self, scripts: Scripts) -> None:
        assert scripts.task("-w n[08-10],m1 -x n09").node_affinity == (
            NodeTerm(
                names=(
                    Requirement("metadata.name", Operator.IN, ("m1", "n08", "n09", "n10")),
                    Requirement("metadata.name", Operator.NOT_IN, ("n09",)),
                )
            ),
        )


def test_no_requeue_ends_it_at_maintenance(scripts: Scripts) -> None:
    assert scripts.template("--no-requeue").at_maintenance is AtMaintenance.END


class TestWarnings:
    @pytest.mark.parametrize(
        ("line", "warning"),
        [
            ("--mail-type=END", "--mail-type is ignored: Rota sends no mail"),
            ("-C haswell", "--constraint is ignored: nodes have labels here"),
            ("--switches=1", "--switches is ignored: Rota has no such option"),
            ("-o out.txt", "--output: the job has no folder that stays: `rota logs` shows what it writes"),
            ("-n4", "--ntasks: the script runs once in each task"),
            ("--nttasks=4", "the option --nttasks is unknown and is ignored; did you mean --ntasks?"),
            ("--foo bar", "the option --foo is unknown and is ignored"),
            ("-Z", "the option -Z is unknown and is ignored"),
            ("word", '"word" is not an option'),
            ("-d aftercorr:17", "--dependency: aftercorr: each waits for the whole array"),
            ("-p a,b", "--partition: one is chosen, not any of several: a"),
            ("--export=NOWHERE", "--export: NOWHERE isn't set here"),
            ("--signal=USR1", "--signal: there is no --time to warn of"),
            ("--gres=shard:1", "--gres: shard:1 is not a resource that Rota allocates"),
            ("--gres=gpu:1 --gpus=1", "--gres: the GPUs are stated already"),
            ("--no-requeue", "--no-requeue: a task that is evicted"),
            ("--mem=0", "--mem: all memory of a node can't be asked for"),
        ],
    )
    def test_name_the_option_and_its_line(self, scripts: Scripts, line: str, warning: str) -> None:
        [found] = scripts.warnings("", f"#SBATCH {line}")
        assert found.startswith(f"line 3: {warning}")

    def test_of_several_come_by_line(self, scripts: Scripts) -> None:
        found = scripts.warnings("#SBATCH --switches=1", "#SBATCH --frob", "#SBATCH --qos=high")
        assert [warning.partition(":")[0] for warning in found] == ["line 2", "line 3", "line 4"]

    def test_options_end_at_the_first_command(self, scripts: Scripts) -> None:
        job_file = scripts.read("# a comment", "", "#SBATCH -t 5", "date", "#SBATCH -t 9")
        [entry] = job_file.submission.entries
        assert entry.spec.template.time_limit_ms == 300_000
        [warning] = job_file.submission.warnings
        assert warning.startswith("line 6: #SBATCH after the first command is ignored")

    def test_a_line_that_is_commented_out(self, scripts: Scripts) -> None:
        assert scripts.warnings("##SBATCH --frob", "#SBATCH # --frob", "# SBATCH --frob") == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--time=soon", '--time: "soon" is not a time limit; write it like'),
        ("--mem=much", '--mem: "much" is not an amount of memory'),
        ("--mem=1G --mem-per-cpu=1G", "--mem-per-cpu: there is --mem already"),
        ("-n 0", '--ntasks: "0" is not a number of them; give one from 1'),
        ("-n 9999999999", '--ntasks: "9999999999" is not a number of them'),
        ("-c two", '--cpus-per-task: "two" is not a number of them'),
        ("--nodes=a", '--nodes: "a" is not a number of nodes'),
        ("--array=9-1", '--array: the range "9-1" ends before it begins'),
        ("--signal=USR9 -t 5", '--signal: there is no signal "USR9"'),
        ("--signal=@5 -t 5", '--signal: "@5" is not a signal'),
        ("--begin=whenever", '--begin: "whenever" is not a time'),
        ("--deadline=2020-01-01", '--deadline: "2020-01-01" is past'),
        ("-d after:17", "--dependency: after:17 is not a dependency that Rota knows"),
        ("-d singleton", "--dependency: singleton is not a dependency that Rota knows"),
        ("-d afterok:17?afterok:18", "--dependency: Rota can't wait for any one of several jobs"),
        ("-d afterok:x", "--dependency: x is not a job's number"),
        ("--gpus=3 -n2", "--gpus: 3 GPUs can't be shared evenly by 2 tasks"),
        ("--gres=gpu:2 -n4", "--gres: the number of tasks on a node is unknown"),
        ("--gpus=many", '--gpus: "many" is not a number of GPUs'),
        ("--gpus=5000", "--gpus: 5000 GPUs are more than a node can have"),
        ("-w n[1", '--nodelist: "n[1" is not a list of nodes'),
        ("--export=1A=x", '--export: "1A" is not a name of a variable'),
        ("--chdir=data", '--chdir: "data" is a relative path'),
        ("--account=a/b", '--account: "a/b" contains a slash'),
        ("--hold=yes", "--hold takes no value"),
        ("--time", "--time needs a value"),
        ("-t", "-t needs a value"),
        ("--comment='x", "a quotation mark is not closed"),
    ],
)
@pytest.mark.covers("ops-3")
def test_refused(scripts: Scripts, line: str, message: str) -> None:
    assert scripts.refusal("", f"#SBATCH {line}").startswith(f"line 3: {message}")


def test_a_file_that_is_no_script(tmp_path: Path) -> None:
    path = tmp_path / "x.sh"
    path.write_text("echo\n")
    with pytest.raises(InputError, match="does not look like a script; begin with a line like #!/bin/sh"):
        read_sbatch(path, now=NOW)
    assert not is_script(b"jobs:")
    assert is_script(b"#!/bin/sh")


class TestManual:
    """docs/sbatch.md says of every option what becomes of it."""

    def test_it_names_every_option(self) -> None:
        manual = (Path(__file__).parents[4] / "docs" / "sbatch.md").read_text()
        assert [name for name in LONG if f"`--{name}`" not in manual] == []
        assert [letter for letter in SHORT if f"`-{letter}`" not in manual] == []
