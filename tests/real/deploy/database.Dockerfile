# Debian's PostgreSQL, set up by the same variables as the image of the registry: for hosts without one.
ARG BASE
FROM ${BASE}
RUN apt-get update -q \
    && apt-get install -y -q --no-install-recommends postgresql \
    && install -d -o postgres -g postgres -m 700 /var/lib/postgresql/data \
    && ln -s /usr/lib/postgresql/*/bin/* /usr/local/bin/
USER postgres
ENV PGDATA=/var/lib/postgresql/data
CMD ["sh", "-ec", "if [ ! -e $PGDATA/PG_VERSION ]; then \
        printf %s \"$POSTGRES_PASSWORD\" >/tmp/password; \
        initdb --username=$POSTGRES_USER --pwfile=/tmp/password --auth=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8; \
        echo 'host all all all scram-sha-256' >>$PGDATA/pg_hba.conf; \
        echo \"CREATE DATABASE $POSTGRES_DB\" | postgres --single postgres; \
    fi; \
    exec postgres -c listen_addresses='*' -c unix_socket_directories=/tmp"]
