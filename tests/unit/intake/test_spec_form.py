"""A spec in the form of a job file, and back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rota.intake.spec_form import form_of
from rota.intake.submissions import expand, read_submission
from rota.model.ids import JobId, Labels, QueueName
from rota.model.job import AtMaintenance, JobTemplate, Percent, TaskGroup, TopologyMode, TopologyRule
from rota.model.policy import NO_DEFAULTS
from rota.model.resources import GpuRequest, HostPort, Resources
from rota.model.run import After, Dependency, InputFile, JobSpec, OnTaskFailure, Retry, Run
from rota.model.selectors import NodeTerm, Operator, PreferredNodeTerm, Requirement, Selector
from rota.model.taints import Effect, Toleration
from rota.model.task import CostGoal, JobAffinity, Spread, TaskSpec
from rota.snapshot.defaults import admit

NAMES = st.text("abcXYZ019-_.", min_size=1, max_size=8)
TEXTS = st.text(max_size=8).filter(lambda text: "\0" not in text)
PRINTABLE = st.text("ab ü1=", max_size=5)
AMOUNTS = st.integers(0, 2**40)
DURATIONS_MS = st.integers(1, 10**10)


def labels() -> st.SearchStrategy[Labels]:
    return st.dictionaries(NAMES, PRINTABLE, max_size=2).map(lambda some: tuple(sorted(some.items())))


def names() -> st.SearchStrategy[tuple[str, ...]]:
    return st.sets(NAMES, max_size=2).map(lambda some: tuple(sorted(some)))


def some_names() -> st.SearchStrategy[tuple[str, ...]]:
    return st.sets(NAMES, min_size=1, max_size=2).map(lambda some: tuple(sorted(some)))


REQUIREMENTS = st.one_of(
    st.builds(Requirement, NAMES, st.sampled_from((Operator.IN, Operator.NOT_IN)), some_names()),
    st.builds(Requirement, NAMES, st.sampled_from((Operator.EXISTS, Operator.DOES_NOT_EXIST))),
    st.builds(
        Requirement,
        NAMES,
        st.sampled_from((Operator.GT, Operator.LT)),
        st.integers(-(2**62), 2**62).map(lambda number: (str(number),)),
    ),
)
SELECTORS = st.sets(REQUIREMENTS, min_size=1, max_size=2).map(
    lambda some: Selector(tuple(sorted(some, key=lambda one: (one.key, one.operator.value, one.values))))
)
NODE_TERMS = st.builds(
    NodeTerm,
    SELECTORS,
    st.one_of(
        st.just(()),
        some_names().map(lambda some: (Requirement("metadata.name", Operator.IN, some),)),
        some_names().map(lambda some: (Requirement("metadata.name", Operator.NOT_IN, some),)),
    ),
)
RESOURCES = st.builds(
    Resources,
    AMOUNTS,
    AMOUNTS,
    AMOUNTS,
    st.integers(0, 100),
    st.sampled_from(((), (("example.com/fpga", 2),))),
)
GPUS = st.one_of(
    st.just(GpuRequest()),
    st.builds(GpuRequest, st.integers(1, 8), models=names()),
    st.builds(GpuRequest, st.just(1), st.integers(1, 999), names()),
)
TOLERATIONS = st.one_of(
    st.just(Toleration(exists=True)),
    st.builds(Toleration, NAMES, st.just(True), effect=st.none() | st.sampled_from(Effect)),
    st.builds(Toleration, NAMES, value=NAMES | st.just(""), effect=st.none() | st.sampled_from(Effect)),
    st.builds(
        Toleration,
        NAMES,
        st.just(True),
        effect=st.just(Effect.NO_EXECUTE),
        seconds=st.integers(0, 1000),
    ),
)


@st.composite
def task_specs(draw: st.DrawFn) -> TaskSpec:
    return TaskSpec(
        requests=draw(RESOURCES),
        unlimited=draw(st.sampled_from(((), ("memory",), ("cpu", "storage")))),
        left_open=(),
        gpu=draw(GPUS),
        ports=draw(st.sampled_from(((), (HostPort(80),), (HostPort(53, "UDP", "10.0.0.1"), HostPort(81))))),
        exclusive=draw(st.booleans()),
        labels=draw(labels()),
        node_selector=draw(labels()),
        node_affinity=tuple(draw(st.lists(NODE_TERMS, max_size=2))),
        preferred_nodes=tuple(
            draw(st.lists(st.builds(PreferredNodeTerm, st.integers(1, 100), NODE_TERMS), max_size=1))
        ),
        job_affinity=tuple(
            draw(
                st.lists(
                    st.builds(
                        JobAffinity,
                        NAMES,
                        SELECTORS,
                        names(),
                        st.booleans(),
                        st.none() | st.integers(1, 100),
                    ),
                    max_size=1,
                )
            )
        ),
        spread=tuple(
            draw(
                st.lists(
                    st.builds(Spread, NAMES, st.integers(1, 5), SELECTORS, st.just(True), st.integers(1, 3))
                    | st.builds(Spread, NAMES, st.integers(1, 5), SELECTORS, st.just(False)),
                    max_size=1,
                )
            )
        ),
        tolerations=tuple(draw(st.lists(TOLERATIONS, max_size=2))),
        pools=draw(names()),
        backends=draw(names()),
        near=draw(labels()),
        platform=draw(NAMES | st.just("")),
        runtime=draw(NAMES | st.just("")),
        cost_goal=draw(st.sampled_from(CostGoal)),
        max_price_micro_per_hour=draw(st.none() | AMOUNTS),
    )


@st.composite
def templates(draw: st.DrawFn) -> JobTemplate:
    groups = tuple(
        draw(st.lists(st.builds(TaskGroup, task_specs(), st.integers(1, 9)), min_size=1, max_size=2))
    )
    count = sum(group.count for group in groups)
    time_limit_ms = draw(st.none() | st.integers(2, 10**10))
    shares = draw(st.booleans())
    return JobTemplate(
        groups=groups,
        min_available=draw(st.none() | st.integers(1, count) | st.builds(Percent, st.integers(1, 100))),
        namespace=draw(NAMES),
        project=draw(NAMES),
        user=draw(NAMES),
        queue=QueueName(draw(NAMES)),
        scheduler=draw(NAMES | st.just("")),
        labels=groups[0].spec.labels if shares else draw(labels()),
        priority=draw(st.integers(-(2**31), 2**31 - 1) | st.sampled_from((0, 1000, -2000))),
        may_preempt=draw(st.none() | st.booleans()),
        preemptible=draw(st.booleans()),
        topology=draw(
            st.sampled_from(
                (
                    (),
                    (TopologyRule("host", TopologyMode.COUNT, 1), TopologyRule("zone", TopologyMode.SAME)),
                    (TopologyRule("host", TopologyMode.DIFFERENT),),
                )
            )
        ),
        time_limit_ms=time_limit_ms,
        max_cost_micro=None if time_limit_ms is None else draw(st.none() | AMOUNTS),
        connect_to=draw(st.sampled_from(("", "17"))),
        reservation=draw(NAMES | st.just("")),
        start_within_ms=draw(st.none() | DURATIONS_MS),
        at_maintenance=draw(st.sampled_from(AtMaintenance)),
    )


@st.composite
def runs(draw: st.DrawFn, time_limit_ms: int | None) -> Run:
    is_script = draw(st.booleans())
    warns = time_limit_ms is not None and draw(st.booleans())
    words = tuple(draw(st.lists(TEXTS, max_size=3)))
    files = st.sampled_from(("", "/logs/%j.out", "/dev/null"))
    return Run(
        command=words if is_script else (draw(TEXTS.filter(bool)), *words),
        script=draw(TEXTS.filter(str.strip)) if is_script else "",
        directory=draw(st.sampled_from(("", "/", "/data/x y"))),
        environment=tuple(sorted(draw(st.dictionaries(st.sampled_from(("A", "_b", "C1")), TEXTS)).items())),
        files=draw(
            st.sampled_from(((), (InputFile("a/b", "0" * 64, 0), InputFile("c", "f" * 64, 9, True, True))))
        ),
        outputs=draw(st.sampled_from(((), ("a", "b/c")))),
        warn_signal=draw(st.sampled_from(("SIGUSR1", "SIGTERM"))) if warns else "SIGTERM",
        warn_before_ms=draw(st.integers(1, (time_limit_ms or 0) - 1)) if warns else 0,
        grace_ms=draw(st.integers(0, 3_600_000)),
        slurm_names=draw(st.booleans()),
        script_name=draw(st.sampled_from(("", "my job.sh"))),
        stdout=draw(files),
        stderr=draw(files),
        append=draw(st.booleans()),
    )


@st.composite
def specs(draw: st.DrawFn) -> JobSpec:
    template = draw(templates())
    start_after_ms = draw(st.integers(0, 10**12))
    return JobSpec(
        template,
        draw(runs(template.time_limit_ms)),
        name=draw(NAMES),
        retry=draw(
            st.builds(
                Retry,
                st.integers(0, 10),
                st.integers(0, 1000),
                st.integers(1000, 10**9),
                st.sampled_from(((), (1, 137))),
            )
        ),
        on_task_failure=draw(st.sampled_from(OnTaskFailure)),
        depends_on=draw(st.sampled_from(((), (Dependency(JobId("3")), Dependency(JobId("4.1"), After.ANY))))),
        held=draw(st.booleans()),
        start_after_ms=start_after_ms,
        start_before_ms=draw(st.none() | st.integers(start_after_ms, 10**13)),
        deadline_ms=draw(st.none() | st.just(start_after_ms + (template.time_limit_ms or 0))),
        array_index=draw(st.none() | st.integers(0, 10**6)),
    )


@given(specs())
def test_reading_it_gives_the_spec_again(spec: JobSpec) -> None:
    body = json.dumps({"jobs": [form_of(spec)]}).encode()
    [job] = expand(read_submission(body, "other", "another"), 1)
    assert replace(job.spec, template=admit(job.spec.template, NO_DEFAULTS)) == spec


def test_it_is_as_short_as_people_write() -> None:
    spec = JobSpec(JobTemplate((TaskGroup(TaskSpec(requests=Resources(500, 2**30))),)), Run(("true",)), "j")
    assert form_of(spec) == {
        "name": "j",
        "project": "default",
        "user": "default",
        "resources": {"cpu": "0.5", "memory": "1Gi"},
        "command": ["true"],
    }


@pytest.mark.covers("decide-15")
class TestWhatWasLeftOpen:
    def shown(self, spec: TaskSpec) -> dict[str, object]:
        form = form_of(JobSpec(JobTemplate((TaskGroup(spec),)), Run(("true",)), "j"))
        return {name: form[name] for name in ("resources", "limits", "gpus") if name in form}

    def test_what_came_in_shows_what_was_assumed_and_that_it_is_no_limit(self) -> None:
        spec = TaskSpec(requests=Resources(1000, 2**28), unlimited=("memory",), left_open=())
        assert self.shown(spec) == {
            "resources": {"cpu": "1", "memory": "256Mi"},
            "limits": {"memory": "none"},
        }

    def test_a_zero_that_was_stated_is_shown(self) -> None:
        assert self.shown(TaskSpec(left_open=("memory", "gpu", "others"))) == {"resources": {"cpu": 0}}
        assert self.shown(TaskSpec(platform="p", left_open=())) == {
            "resources": {"cpu": 0, "memory": 0},
            "gpus": "0",
        }

    def test_what_nobody_noted_is_left_out(self) -> None:
        assert self.shown(TaskSpec()) == {}
