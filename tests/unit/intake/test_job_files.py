"""Jobs to submit, from files and from options."""

import hashlib
from pathlib import Path

import pytest
from msgspec import json

from rota.intake.errors import InputError
from rota.intake.job_files import JobFile, Upload, job_file_of, read_submission_file
from rota.intake.submissions import read_submission
from rota.model.run import InputFile

JOBS = """
jobs:
- name: prepare
  command: ./prepare --fast
  files:
  - {path: prepare, from: bin/prepare, executable: true}
  - {path: config/x, from: bin/prepare}
  - {path: y, sha256: "%s", size: 3}
- script: |
    #!/bin/sh
    date
  depends_on: [prepare]
  time_limit: 1h
"""
SHA = "b" * 64


def _sent(job_file: JobFile) -> bytes:
    """As a client sends it."""
    return json.encode({"jobs": job_file.jobs})


def test_a_file_of_jobs(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "prepare").write_bytes(b"content")
    path = tmp_path / "jobs.yaml"
    path.write_text(JOBS % SHA)

    job_file = read_submission_file(path)

    digest = hashlib.sha256(b"content").hexdigest()
    assert job_file.uploads == (Upload(str(tmp_path / "bin" / "prepare"), digest, 7),)
    assert job_file.submission.entries[0].spec.run.files == (
        InputFile("prepare", digest, 7, executable=True),
        InputFile("config/x", digest, 7),
        InputFile("y", SHA, 3),
    )
    sent = read_submission(_sent(job_file), "default", "default")
    assert sent == job_file.submission


def test_what_is_left_to_the_server_stays_open(tmp_path: Path) -> None:
    sent = _sent(job_file_of([{"command": ["a"]}, {"command": ["b"], "project": "default"}]))
    entries = read_submission(sent, "vision", "ada").entries
    assert [entry.spec.template.project for entry in entries] == ["vision", "default"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "jobs:\n- command: a\n  grace: -1",
            "jobs.yaml:3: jobs[0].grace: negative amount -1; give 0 or more",
        ),
        ("jobs:\n- command: a\n  submitted: 1", "jobs.yaml:3: jobs[0].submitted: is for running jobs"),
        (
            "jobs:\n- command: a\n- comand: a",
            'jobs.yaml:3: jobs[1].comand: unknown field; did you mean "command"?',
        ),
        ("jobs:\n- command: a\n  time_limit: .nan", "jobs.yaml:3: jobs[0].time_limit: nan is not a finite"),
        ("jobs: [{command: a}]\n---\njobs: []", "jobs.yaml:3: jobs to submit are one document"),
        ("command: a", "jobs.yaml:1: command: unknown field"),
        (
            "jobs:\n- command: a\n  files: [{path: x, from: none}]",
            'jobs.yaml:3: jobs[0].files[0].from: there is no file "',
        ),
        (
            "jobs:\n- command: a\n  files: [{path: x, from: .}]",
            'jobs.yaml:3: jobs[0].files[0].from: "',
        ),
        (
            "jobs:\n- command: a\n  files: [{path: x, from: jobs.yaml, size: 1}]",
            "jobs.yaml:3: jobs[0].files[0].size: `from` says what the file holds; remove one of the two",
        ),
        (
            'jobs:\n- command: a\n  files: [{path: x, from: "a\\0b"}]',
            "jobs.yaml:3: jobs[0].files[0].from: ",
        ),
    ],
)
@pytest.mark.covers("ops-3")
def test_errors_name_the_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "jobs.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_submission_file(path)
    assert str(caught.value).replace(f"{tmp_path}/", "").startswith(message)
