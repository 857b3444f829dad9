"""Jobs to submit, on the side of whoever submits them: from a file or from options, checked before they are
sent, with the local files that they take along."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET, Struct

from rota.intake.checking.fields import Field
from rota.intake.checking.plurals import by_known_names
from rota.intake.checking.wording import quoted
from rota.intake.documents.document import Document, document_of, parse_documents
from rota.intake.documents.source import MAX_BYTES, STANDARD_INPUT, display_name, read_bytes
from rota.intake.forms.jobs import InputFileForm, SubmissionForm
from rota.intake.parts.runs import stage_uploaded
from rota.intake.submissions import Submission, read_submission_document

JobData = Mapping[str, Any]
"""One job as plain data, in the form of docs/files.md."""

_CHUNK_BYTES = 2**20


class Upload(Struct, frozen=True):
    """A local file whose content the server must have before the jobs are sent."""

    path: str
    sha256: str
    size_bytes: int


class JobFile(Struct, frozen=True):
    jobs: tuple[JobData, ...]
    """As they are to be sent: local files are named by what they hold."""
    submission: Submission
    """As the server will read it, but for its defaults of project and user."""
    uploads: tuple[Upload, ...] = ()
    """Each content once."""


def read_standard_input(max_bytes: int = MAX_BYTES) -> bytes:
    """It can be read but once: whoever has to look at it first passes it on as `raw`."""
    return read_bytes(STANDARD_INPUT, max_bytes)


def read_submission_file(
    path: str | os.PathLike[str], *, raw: bytes | None = None, max_bytes: int = MAX_BYTES
) -> JobFile:
    """A YAML or JSON file of jobs; errors name its lines. Local files are found from its folder on.
    The path "-" means standard input, and the current folder. `raw`: what it holds, if it was read before."""
    name = os.fspath(path)
    if raw is None:
        raw = read_bytes(name, max_bytes)
    first, *others = parse_documents(raw, display_name(name))
    if others:
        raise others[0].error((), "jobs to submit are one document", "put all of them under one `jobs:`")
    first = by_known_names(first, SubmissionForm)
    return _job_file(first, "" if name == STANDARD_INPUT else os.path.dirname(name))


def job_file_of(jobs: Sequence[JobData]) -> JobFile:
    """The same for jobs that were put together from options, by the names that fields have; local files are
    found from here on."""
    return _job_file(document_of({"jobs": list(jobs)}), "")


def _job_file(document: Document, folder: str) -> JobFile:
    local = _LocalFiles(folder)
    submission = read_submission_document(document, stage=local.stage)
    jobs = document.at(("jobs",))
    assert isinstance(jobs, list)
    return JobFile(
        tuple(_to_send(job, Field(document).at("jobs", index), local) for index, job in enumerate(jobs)),
        submission,
        tuple(local.uploads.values()),
    )


def _to_send(job: JobData, at: Field, local: "_LocalFiles") -> JobData:
    if not any("from" in file for file in job.get("files", ())):
        return job
    files = []
    for index, file in enumerate(job["files"]):
        upload = local.find(file["from"], at.at("files", index, "from")) if "from" in file else None
        content = {} if upload is None else {"sha256": upload.sha256, "size": upload.size_bytes}
        files.append({**{key: value for key, value in file.items() if key != "from"}, **content})
    return {**job, "files": files}


class _LocalFiles:
    """Each is read once, however many jobs take it along."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._by_path: dict[str, Upload] = {}
        self.uploads: dict[str, Upload] = {}

    def stage(self, form: InputFileForm, at: Field) -> tuple[str, int]:
        if form.source is UNSET:
            return stage_uploaded(form, at)
        for name, value in (("sha256", form.sha256), ("size", form.size)):
            if value is not UNSET:
                raise at.at(name).error("`from` says what the file holds", "remove one of the two")
        upload = self.find(form.source, at.at("from"))
        return upload.sha256, upload.size_bytes

    def find(self, source: str, at: Field) -> Upload:
        path = os.path.join(self._folder, os.path.expanduser(source))
        if path not in self._by_path:
            upload = self._by_path[path] = _measure(path, at)
            self.uploads.setdefault(upload.sha256, upload)
        return self._by_path[path]


def _measure(path: str, at: Field) -> Upload:
    digest, size_bytes = hashlib.sha256(), 0
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            raise at.error(
                f"{quoted(path)} is not a plain file",
                "for a folder, give a tar archive of it and `unpack: true`",
            )
        with open(path, "rb") as stream:
            while chunk := stream.read(_CHUNK_BYTES):
                digest.update(chunk)
                size_bytes += len(chunk)
    except FileNotFoundError:
        raise at.error(f"there is no file {quoted(path)}", "check the path") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no file has such a name"
        raise at.error(f"{quoted(path)} cannot be read: {reason}", "check the path") from None
    return Upload(path, digest.hexdigest(), size_bytes)
