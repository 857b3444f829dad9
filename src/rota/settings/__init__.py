"""What Rota is told about itself: rota.toml, the environment and the command line, each before the next.

    files ──► environment ──► flags ──► Settings, and where each value came from
              ROTA_SERVER_PORT  --port

`settings` has the settings and their defaults, `load` puts them together, `contexts` says which server the
command line talks to. docs/settings.md lists them all. Called by the command line and the server.
"""
