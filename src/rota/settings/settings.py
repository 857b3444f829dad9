"""All settings, by section, with their defaults. Names in files are without units: they are written with
theirs, as in `ttl = "1h"`."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct, field

from rota.settings.kinds import BYTES, CPU, DURATION, FOLDER_OR_FILE, PRICE, SECRET

Port: TypeAlias = Annotated[int, Meta(ge=0, le=65535)]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=1_000_000_000)]
Positive: TypeAlias = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Path: TypeAlias = Annotated[str, Meta(extra={"kind": FOLDER_OR_FILE})]
DurationMs: TypeAlias = Annotated[int, Meta(extra={"kind": DURATION})]
SizeBytes: TypeAlias = Annotated[int, Meta(extra={"kind": BYTES})]
PriceMicro: TypeAlias = Annotated[int, Meta(extra={"kind": PRICE})]
CpuMilli: TypeAlias = Annotated[int, Meta(extra={"kind": CPU})]
Secret: TypeAlias = Annotated[str, Meta(extra={"kind": SECRET})]


def is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


class Section(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of all; never used by itself."""


class Tls(Section, frozen=True, kw_only=True):
    certificate: Path = ""
    """PEM, with the whole chain."""
    key: Path = ""
    self_signed: bool = False
    """The server makes a certificate of its own, in its data folder."""

    @property
    def is_on(self) -> bool:
        return bool(self.certificate) or self.self_signed


class Limits(Section, frozen=True, kw_only=True):
    body_bytes: SizeBytes = field(default=2**20, name="body")
    requests_per_second: Positive = 2000
    """Of one token; more than that for a moment is fine."""
    connections: Positive = 1000
    """At once. A quarter more is kept for agents and operators."""
    connections_per_user: Positive = 250
    streams_per_user: Positive = 100
    """Logs and events that are followed at once; with one token half as many."""
    header_timeout_ms: DurationMs = field(default=10_000, name="header_timeout")
    """How long a client may take to send the head of a request."""
    upload_bytes: SizeBytes = field(default=64 * 2**20, name="upload")
    """Of one input file."""
    uploads_bytes: SizeBytes = field(default=10 * 2**30, name="uploads")
    """Of all input files of one user together; 0: no limit."""
    log_bytes: SizeBytes = field(default=256 * 2**20, name="log")
    """What is kept of the output of one start of a task, the latest; as much again of its earlier ones."""
    reserve_bytes: SizeBytes = field(default=512 * 2**20, name="reserve")
    """Of the disk: what users write doesn't take it, so that the database has room. At most a twentieth of
    the disk."""
    tokens_per_user: Positive = 100
    """Valid at once."""
    token_age_ms: DurationMs = field(default=0, name="token_age")
    """No new token lasts longer; 0: they may last for ever."""
    heartbeat_ms: Annotated[DurationMs, Meta(ge=100, le=30_000)] = field(default=15_000, name="heartbeat")
    """How often a stream that has nothing to say says so. Clients give up on one that is silent for 45 s."""
    question_time_ms: DurationMs = field(default=10_000, name="question_time")
    """How long it may take to work out why a job waits, what a plan would be, or whether a job could ever
    start. Then what is known by then is the answer."""


class History(Section, frozen=True, kw_only=True):
    """What is kept of jobs that are over, by when they ended."""

    ttl_ms: DurationMs = field(default=30 * 86_400_000, name="ttl")
    """0: for ever."""
    jobs: Count = 1000
    """So many are kept whatever their age, those that ended last."""
    most_jobs: Count = 10_000_000
    """Of more than so many those that ended first go, whatever their age; 0: there is no such bound."""
    logs_ms: DurationMs = field(default=7 * 86_400_000, name="logs")
    """How long what jobs wrote is kept, logs and outputs; 0: as long as the jobs."""
    logs_bytes: SizeBytes = field(default=10 * 2**30, name="logs_size")
    """Of more than that, what jobs wrote that ended first goes; 0: there is no such bound."""
    events_ms: DurationMs = field(default=30 * 86_400_000, name="events")
    """How long events are kept; 0: for ever."""
    uploads_ms: DurationMs = field(default=86_400_000, name="uploads")
    """How long input files are kept that no unfinished job needs; 0: for ever."""


class Pages(Section, frozen=True, kw_only=True):
    """What browsers get, and their sessions."""

    url: str = ""
    """Where browsers reach them; empty: `server.public_url`, or where the server listens."""
    session_ms: DurationMs = field(default=12 * 3_600_000, name="session")
    """The longest that a session lasts."""
    idle_ms: DurationMs = field(default=2 * 3_600_000, name="idle")
    """A session ends that isn't used for so long."""
    sessions_per_user: Positive = 20
    """One more, and the oldest ends."""
    token_sign_in: bool = True
    """Whoever has a token can sign in with it, too."""


class Server(Section, frozen=True, kw_only=True):
    address: str = "127.0.0.1"
    port: Port = 8426
    data: Path = ""
    """Empty: a folder of the user's, see `paths`. After loading it never is."""
    database: Secret = ""
    """A URL; empty: SQLite in the data folder."""
    files: Path = ""
    """What jobs of agents need, write and leave; empty: in the data folder. Several servers of one database
    share it."""
    public_url: str = ""
    """Where agents and other servers reach this one; empty: where it listens."""
    hosts: tuple[str, ...] = ()
    """Further names by which browsers may ask; `*`: any."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks that pass requests on, and say for whom in X-Forwarded-For."""
    policy: Path = ""
    """Empty: the default policy."""
    embedded_worker: bool = True
    """This machine runs jobs, too."""
    tls: Tls = Tls()
    limits: Limits = Limits()
    history: History = History()
    pages: Pages = Pages()


class Agents(Section, frozen=True, kw_only=True):
    """Where a server takes agents."""

    address: str = ""
    """Empty: it takes none. Agents must have joined, and show it by their certificates. `unix`, or
    `unix:PATH`: those of the server's own user, by a socket on this machine."""
    port: Port = 8427
    lost_after_ms: DurationMs = field(default=60_000, name="lost_after")
    """An agent that isn't heard of for so long has lost its tasks: they run elsewhere."""


class Agent(Section, frozen=True, kw_only=True):
    """`rota agent` on this machine. What jobs may have of it is said in `worker`."""

    server: tuple[str, ...] = ()
    """HOST:PORT, where servers take agents: all of a cluster, since one of them leads."""
    data: Path = ""
    """Empty: a folder of the user's."""
    pool: str = "default"
    labels: str = ""
    """key=value, separated by commas."""
    taints: str = ""
    """key=value:Effect, separated by commas."""
    drain_ms: DurationMs = field(default=3_600_000, name="drain")
    """How long it waits for its tasks when it is told to leave."""


class Worker(Section, frozen=True, kw_only=True):
    """What jobs may have of this machine."""

    name: str = ""
    """Empty: the name of the host."""
    cpus: Count = 0
    """0: all."""
    memory_bytes: SizeBytes = field(default=0, name="memory")
    """0: all."""
    memory_margin_bytes: SizeBytes = field(default=0, name="memory_margin")
    """So much memory other programs may use without jobs getting less; if they leave less than this, the
    machine counts as full. 0: a tenth of what jobs may have."""
    pids: Count = 4096
    """How many processes and threads one task may have at a time; 0: any number."""
    storage_bytes: SizeBytes = field(default=0, name="storage")
    """What the files of one task may take that doesn't say how much it needs; 0: no limit."""
    price_micro_per_hour: PriceMicro = field(default=0, name="price_per_hour")
    """Of the whole machine, in one currency throughout."""
    isolation: Literal["auto", "none", "sandbox", "project", "user"] = "auto"
    """As whom jobs run, and what keeps them from Rota and from each other. See `launch`."""
    accounts: tuple[str, ...] = ()
    """USER=ACCOUNT, where a user's account on this machine has another name."""
    uids: str = "1900000000-1900065535"
    """For projects: user ids that nobody else has."""
    rooms: Path = ""
    """Where the folders of jobs are that run as other accounts; empty: /var/lib/rota-rooms."""
    shared_folders: tuple[str, ...] = ()
    """Jobs in sandboxes may write to these, besides their own folders."""
    start_within_ms: DurationMs = field(default=60_000, name="start_within")
    """So long a job's directory and program may take to answer."""
    allow_root: bool = False
    """Server, agent and keeper may run as root."""


class BackendSettings(Section, frozen=True, kw_only=True):
    """A cluster that runs jobs, too. Its name is that of its table."""

    kind: Literal["kubernetes"] = "kubernetes"
    kubeconfig: Path = ""
    """Empty: as kubectl finds it, or the account of the pod that the server runs in."""
    context: str = ""
    """Empty: the one that is current there."""
    namespace: str = ""
    """Where the pods of jobs are; empty: that of the context."""
    instance: str = "rota"
    """Whose pods these are, where several servers share a namespace."""
    support_image: str = "docker.io/library/busybox:1.36"
    """Of the containers beside the job's own."""
    default_image: str = ""
    """Of jobs that name none; empty: such jobs don't run here."""
    pull_policy: Literal["IfNotPresent", "Always", "Never"] = "IfNotPresent"
    pull_secrets: tuple[str, ...] = ()
    node_labels: tuple[str, ...] = ()
    """key=value: only nodes that have these take jobs."""
    request_cpu_milli: CpuMilli = field(default=250, name="request_cpu")
    request_memory_bytes: SizeBytes = field(default=512 * 2**20, name="request_memory")
    limit_cpu_milli: CpuMilli = field(default=1000, name="limit_cpu")
    limit_memory_bytes: SizeBytes = field(default=2 * 2**30, name="limit_memory")
    """Of tasks that say nothing else."""
    run_as_user: Count = 0
    """The user id of all containers; 0: as whom each image says."""
    capabilities: tuple[str, ...] = ()
    """That containers of jobs have; all others are dropped."""
    shm_bytes: SizeBytes = field(default=64 * 2**20, name="shm")
    tool_cache: bool = False
    """Jobs share a claim for tools, which is made if it isn't there; else each has an empty folder."""
    tool_cache_class: str = ""
    """Its storage class; empty: the cluster's default."""
    tool_cache_bytes: SizeBytes = field(default=10 * 2**30, name="tool_cache_size")
    priority_class: str = ""
    runtime_class: str = ""
    price_micro_per_hour: PriceMicro = field(default=0, name="price_per_hour")
    """Of each of its nodes."""
    pull_within_ms: DurationMs = field(default=300_000, name="pull_within")
    """A job fails whose image can't be had for so long."""
    lost_after_ms: DurationMs = field(default=300_000, name="lost_after")
    """A node that isn't ready for so long has lost its tasks: they run elsewhere."""


class Context(Section, frozen=True, kw_only=True):
    """A server to talk to."""

    url: str = ""
    token_file: Path = ""
    ca_file: Path = ""
    """Whom to trust that its certificate is right; empty: whom this machine trusts."""
    project: str = ""
    """Of jobs that name none; empty: what the server takes."""


class Client(Context, frozen=True, kw_only=True):
    """What is said here goes before what the context says."""

    context: str = ""
    """The one in use; empty: the server of this machine."""
    contexts: dict[str, Context] = {}


class Secrets(Section, frozen=True, kw_only=True):
    """Of projects, for their jobs."""

    key_file: Path = ""
    """What secrets in the database are sealed with: made if it isn't there. Several servers of one database
    share it. Empty: secrets.key in the data folder."""
    sources: tuple[str, ...] = ()
    """PROJECT/NAME=file:/PATH or PROJECT/NAME=env:VARIABLE: read when a task that names the secret starts."""

    @property
    def by_name(self) -> dict[str, str]:
        return dict(source.partition("=")[::2] for source in self.sources)


class Oidc(Section, frozen=True, kw_only=True):
    """Sign-in by OpenID Connect: `rota login`."""

    issuer: str = ""
    """Its URL, as the provider writes it in its tokens; empty: nobody signs in."""
    client_id: str = ""
    """Of Rota's command line, as the provider knows it: a public client that may use the device flow."""
    audience: str = ""
    """Whom ID tokens are for; empty: the client."""
    scopes: tuple[str, ...] = ("openid", "profile", "groups")
    user_claim: str = "preferred_username"
    groups_claim: str = "groups"
    roles: tuple[str, ...] = ()
    """GROUP=ROLE, in all of Rota."""
    projects: tuple[str, ...] = ()
    """GROUP=PROJECT:ROLE, in one project."""
    default_role: Literal["", "viewer", "submitter"] = ""
    """Of users in none of these groups; empty: they can't sign in."""
    algorithms: tuple[str, ...] = ("RS256", "ES256")
    session_ms: DurationMs = field(default=12 * 3_600_000, name="session")
    """How long a token lasts that somebody gets by signing in."""


class Audit(Section, frozen=True, kw_only=True):
    """The audit log: who did what, and what was refused."""

    keep_ms: DurationMs = field(default=365 * 86_400_000, name="keep")
    """How long records are kept; 0: for ever."""
    records: Count = 0
    """At most so many are kept, the newest; 0: all."""
    reads: Literal["none", "others", "all"] = "others"
    """Which reads are recorded. others: operators and admins who read what other users' jobs wrote."""


class Logs(Section, frozen=True, kw_only=True):
    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["auto", "text", "json"] = "auto"
    """auto: text on a terminal, else JSON."""


class Settings(Section, frozen=True, kw_only=True):
    server: Server = Server()
    worker: Worker = Worker()
    agents: Agents = Agents()
    agent: Agent = Agent()
    backends: dict[str, BackendSettings] = {}
    """Clusters, by name."""
    client: Client = Client()
    secrets: Secrets = Secrets()
    logs: Logs = Logs()
    audit: Audit = Audit()
    oidc: Oidc = Oidc()
