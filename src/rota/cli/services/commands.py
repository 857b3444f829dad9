"""Commands that run a service, `rota config` and `rota version`: their arguments and options."""

from __future__ import annotations

import platform
from typing import Annotated

import typer

from rota import __version__
from rota.cli.command_list import new_app
from rota.cli.kube_options import KubeOptions
from rota.cli.option_structs import expand_options
from rota.cli.options import AllowRoot, ConfigFiles, DryRun, ListOutput, LogFormat, Output, PolicyFile
from rota.cli.output import ListFormat, OutputFormat, write, write_document
from rota.cli.services.options import KubeServiceOptions, StatelessSchedulerOptions

app = new_app()


# -- the server

server = new_app()
app.add_typer(server, name="server")


@server.callback(invoke_without_command=True)
def run_server(
    context: typer.Context,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="Data folder of the server. [default: rota in the user's data folder]"
        ),
    ] = None,
    address: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Address to listen on. [default: 127.0.0.1]")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port to listen on. [default: 8426]")
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="URL of a PostgreSQL database. [default: SQLite in the data folder]"
        ),
    ] = None,
    policy: PolicyFile = None,
    tls_cert: Annotated[str | None, typer.Option(metavar="FILE", help="TLS certificate, PEM.")] = None,
    tls_key: Annotated[str | None, typer.Option(metavar="FILE", help="Key of --tls-cert, PEM.")] = None,
    tls_self_signed: Annotated[
        bool,
        typer.Option(
            "--tls-self-signed", help="Make a self-signed certificate and store it in the data folder."
        ),
    ] = False,
    agents: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS[:PORT]",
            help="Accept agents that have joined at this address; unix or unix:PATH for your own agents on"
            " this machine. [default: no agents; port 8427]",
        ),
    ] = None,
    log_format: LogFormat = None,
    allow_root: AllowRoot = False,
    config: ConfigFiles = None,
) -> None:
    """Run the server: scheduler, REST interface, and a worker for this machine.

    Settings come from rota.toml, then the environment, then these options; later ones win. `rota config
    check` shows them all. Ctrl-C stops the server. Running jobs go on, and the server finds them again when
    it starts. SIGHUP makes it read the policy and settings again, like `rota server reload`.
    """
    if context.invoked_subcommand is not None:
        return
    from rota.cli.agents.agent import address_and_port
    from rota.cli.services.server import serve

    agents_address, agents_port = address_and_port(agents)
    flags: dict[str, object] = {
        "server.data": data,
        "server.address": address,
        "server.port": port,
        "server.database": database,
        "server.policy": policy,
        "server.tls.certificate": tls_cert,
        "server.tls.key": tls_key,
        "server.tls.self_signed": tls_self_signed or None,
        "agents.address": agents_address,
        "agents.port": agents_port,
        "worker.allow_root": allow_root or None,
        "logs.format": log_format,
    }
    raise typer.Exit(serve(config or (), flags))


@server.command()
def reload(dry_run: DryRun = False, output: Output = OutputFormat.TABLE) -> None:
    """Let the running server read its policy and settings again; --dry-run shows what would change.

    If anything in the files is wrong, nothing changes. Needs the role admin.
    """
    from rota.cli.services import reload as work

    work.reload(output, dry_run=dry_run)


# -- other services


@app.command()
def keeper(
    server: Annotated[
        bool, typer.Option("--server", help="Keep the tasks of a server's own worker, not of an agent.")
    ] = False,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="Data folder of the agent or the server. [default: from its settings]"
        ),
    ] = None,
    allow_root: AllowRoot = False,
    config: ConfigFiles = None,
) -> None:
    """Run the keeper, which starts and watches the tasks of an agent, as a service of its own.

    This is needed only where tasks run as other users. The keeper then has the right to start them, and
    neither the agent nor the server needs it. The keeper runs as the same user as the agent. See
    docs/process-backend.md.
    """
    from rota.cli.services import keeper as work

    flags: dict[str, object] = {
        "server.data" if server else "agent.data": data,
        "worker.allow_root": allow_root or None,
    }
    raise typer.Exit(work.keep(config or (), flags, for_server=server))


@app.command("kube-scheduler")
@expand_options
def kube_scheduler(kube: KubeOptions, service: KubeServiceOptions) -> None:
    """Schedule the pods of a Kubernetes cluster: gangs as a whole, with a reason for every pod that waits."""
    from rota.cli.services import kube_scheduler as work

    raise typer.Exit(work.schedule_pods(kube, service))


@app.command()
def version(output: Output = OutputFormat.TABLE) -> None:
    """Show the version."""
    if output.is_table:
        write(f"rota {__version__}\n")
    else:
        write_document({"rota": __version__, "python": platform.python_version()}, output)


# -- copies

CopiedData = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="Data folder of the server. [default: from its settings]"),
]
CopiedDatabase = Annotated[
    str | None,
    typer.Option(metavar="URL", help="URL of a PostgreSQL database. [default: from the settings]"),
]


@app.command()
def backup(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="New folder for the copy.")],
    with_secrets: Annotated[
        bool,
        typer.Option(
            "--with-secrets", help="Also copy the key of secrets, and passwords that settings contain."
        ),
    ] = False,
    with_files: Annotated[
        bool,
        typer.Option("--with-files", help="Also copy the output, kept files and input files of jobs."),
    ] = False,
    data: CopiedData = None,
    database: CopiedDatabase = None,
    config: ConfigFiles = None,
) -> None:
    """Copy the database, policy and settings of a server to a folder, while the server runs.

    Run the command as the user of the server, with the same settings. Only you can read the copy. It holds
    the authority of the agents and all that jobs were given, so keep it as safe as the server itself.
    """
    from rota.cli.services import copies as work

    flags: dict[str, object] = {"server.data": data, "server.database": database}
    raise typer.Exit(work.backup(folder, config or (), flags, secrets=with_secrets, with_files=with_files))


@app.command()
def restore(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Folder that `rota backup` made.")],
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Restore over a data folder or database that isn't empty. An SQLite database is kept aside.",
        ),
    ] = False,
    data: CopiedData = None,
    database: CopiedDatabase = None,
    config: ConfigFiles = None,
) -> None:
    """Restore a server from a copy that `rota backup` made. No server may run there meanwhile.

    Jobs keep their numbers, tokens stay valid, and agents that have joined need not join again.
    """
    from rota.cli.services import copies as work

    flags: dict[str, object] = {"server.data": data, "server.database": database}
    raise typer.Exit(work.restore(folder, config or (), flags, force=force))


# -- the stateless scheduler

scheduler = new_app()
app.add_typer(scheduler, name="scheduler")


@scheduler.callback(invoke_without_command=True)
@expand_options
def run_scheduler(context: typer.Context, options: StatelessSchedulerOptions) -> None:
    """Run the stateless scheduler, between controllers that own actions and agents that perform them.

    Controllers record its decisions before they are carried out. After a restart, the scheduler learns the
    nodes from the agents and the queue from the controllers. No action is lost, and none runs twice.
    """
    if context.invoked_subcommand is not None:
        return
    from rota.cli.services import scheduler as work

    raise typer.Exit(work.schedule(options))


@scheduler.command()
def authority(
    folder: Annotated[
        str,
        typer.Argument(
            metavar="DIR", help="Folder of the authority, made if it is missing. Only you can read it."
        ),
    ],
    host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Host name or address of the scheduler, for a certificate. Can be repeated."
        ),
    ] = None,
) -> None:
    """Make a certificate authority by which agents join a scheduler. An existing one stays as it is.

    With --host, the command also makes a certificate for --rest and --controllers that is valid for a year.
    Run the command again to renew it.
    """
    from rota.cli.services import scheduler as work

    raise typer.Exit(work.make_authority(folder, host or ()))


# -- settings

config = new_app(help="Check settings; choose the server that commands use.")
app.add_typer(config, name="config")

ContextName = Annotated[str, typer.Argument(metavar="NAME", help="Name of the server.")]


@config.command()
def check(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE...", help="Settings files. [default: those of the machine and the user]"
        ),
    ] = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Show every setting and where it comes from, or the first error; then what the server would refuse.

    It looks at the policy, certificates, folders, database and ports, and changes nothing.
    """
    from rota.cli.services import config as work

    raise typer.Exit(work.check(files, output))


@config.command()
def contexts(output: ListOutput = ListFormat.TABLE) -> None:
    """List the servers that have a name."""
    from rota.cli.services import config as work

    work.contexts(output)


@config.command()
def use(name: ContextName) -> None:
    """Use this server for all commands from now on."""
    from rota.cli.services import config as work

    work.use(name)


@config.command()
def add(
    name: ContextName,
    url: Annotated[
        str, typer.Option(metavar="URL", help="URL of the server, as in https://rota.example.org:8426.")
    ],
    token_file: Annotated[
        str, typer.Option(metavar="FILE", help="File that contains the token and nothing else.")
    ],
    ca_file: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Certificate authority of the server, PEM. [default: the authorities of this machine]",
        ),
    ] = "",
    project: Annotated[
        str, typer.Option(metavar="NAME", help="Default project of jobs for this server.")
    ] = "",
) -> None:
    """Add a server under a name."""
    from rota.cli.services import config as work

    work.add(name, url, token_file, ca_file, project)
