#!/usr/bin/env bash
# Starts deploy/compose.yaml: two servers on a PostgreSQL, and two agents, which join once.
# ROTA_DATABASE_PASSWORD must be set; more in docs/deploy.md. Run again, it changes nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
: "${ROTA_DATABASE_PASSWORD:?choose one, and keep it: the database is made with it}"

if docker compose version >/dev/null 2>&1; then
    compose() { docker compose "$@"; }
else
    compose() { docker-compose "$@"; }
fi

on_a_server() { # COMMAND...: on the one that has a token, which is one that has led
    local server
    for server in server-1 server-2; do
        if compose exec -T "$server" test -e /var/lib/rota/token; then
            compose exec -T "$server" rota "$@"
            return
        fi
    done
    return 1
}

compose up -d ${ROTA_IMAGE:+--no-build} database server-1 server-2
echo "waiting for a server" >&2
for _ in $(seq 60); do
    if on_a_server queues >/dev/null 2>&1; then break; fi
    sleep 2
done

for agent in agent-1 agent-2; do
    if compose run --rm -T --entrypoint test "$agent" -e /var/lib/rota-agent/identity.json; then continue; fi
    token=$(on_a_server agent token --name "$agent")
    printf '%s\n' "$token" | compose run --rm -T "$agent" agent join
done
compose up -d agent-1 agent-2
