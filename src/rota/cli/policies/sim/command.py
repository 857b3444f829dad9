"""`rota sim run` and `rota sim compare`: a workload under one policy, or under several side by side."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import typer

from rota.cli.output import OutputFormat, show, talk, write_document
from rota.cli.plugin_faults import prints_as_talk, report
from rota.cli.policies.options import SimOptions
from rota.cli.policies.sim.document import replay_document
from rota.cli.policies.sim.experiment import Experiment, read_experiment
from rota.cli.policies.sim.progress import progress_bar
from rota.forecast.estimator import Estimator, EstimatorState
from rota.forecast.planned import Planner
from rota.loop.learnt import ensure_writable, write_learnt
from rota.loop.records.record import Recorder
from rota.model.policy import Policy
from rota.simulate.result import SimResult
from rota.simulate.run import simulate
from rota.views.wording import count_text, reason_text


def run(
    options: SimOptions,
    policy: str | None,
    record: str | None,
    report_folder: str | None,
    learnt: str | None,
    output: OutputFormat,
) -> None:
    """`learnt`: a file for what was learnt."""
    if learnt is not None:
        if not options.estimates:
            problem = "add --estimates: without estimates nothing is learnt"
            raise typer.BadParameter(problem, param_hint="--learnt")
        ensure_writable(learnt)
    experiment = read_experiment(options, () if policy is None else (policy,))
    [(name, one)] = experiment.policies
    state = EstimatorState()
    result = _replayed(experiment, name, one, record, state)
    if learnt is not None:
        write_learnt(learnt, state)
    _write_jobs([result], options)
    _warn(result, several=False)
    if output.is_table:
        _show([result])
    else:
        write_document(replay_document(result), output)
    _write_report([result], report_folder)


def compare(
    options: SimOptions, policies: Sequence[str], report_folder: str | None, output: OutputFormat
) -> None:
    experiment = read_experiment(options, policies)
    results = [
        _replayed(experiment, name, policy, None, EstimatorState()) for name, policy in experiment.policies
    ]
    _write_jobs(results, options)
    for result in results:
        _warn(result, several=True)
    if output.is_table:
        _show(results)
    else:
        write_document([replay_document(result) for result in results], output)
    _write_report(results, report_folder)


def _replayed(
    experiment: Experiment, name: str, policy: Policy, record: str | None, state: EstimatorState
) -> SimResult:
    """`state`: collects what is learnt."""
    with ExitStack() as stack:
        recorder = None if record is None else stack.enter_context(Recorder(Path(record)))
        progress = stack.enter_context(progress_bar(name, len(experiment.workload.jobs)))
        plugins = stack.enter_context(experiment.host.in_force(policy))
        stack.enter_context(prints_as_talk())
        return simulate(
            experiment.workload,
            experiment.cluster,
            policy,
            plugins,
            name=name,
            seed=experiment.seed,
            every_ms=experiment.every_ms,
            progress=progress,
            estimator=Estimator(Planner(plugins) if experiment.tells else None, state),
            recorder=recorder,
        )


def _warn(result: SimResult, *, several: bool) -> None:
    report(result.faults)
    never = [(job.job, job.verdict) for job in result.jobs if job.verdict is not None]
    if never:
        job, verdict = never[0]
        reason = reason_text(verdict.refusals[0].reason) if verdict.refusals else "no reason is known"
        under = f"under {result.policy} " if several else ""
        talk(f"warning: {under}{count_text(len(never), 'job')} never started, first {job}: {reason}")


def _write_jobs(results: Sequence[SimResult], options: SimOptions) -> None:
    if options.jobs is None:
        return
    from rota.cli.policies.sim.job_lines import write_job_lines

    write_job_lines(options.jobs, results)


def _show(results: Sequence[SimResult]) -> None:
    from rota.cli.policies.sim.tables import replay_tables

    show(replay_tables(results))


def _write_report(results: Sequence[SimResult], folder: str | None) -> None:
    if folder is None:
        return
    from rota.simulate.report import write_report

    talk(f"report: {write_report(results, Path(folder))}")
