# Rota as images, built from the top of the repository.
#
#     docker build -t batch-scheduler .           # the scheduler of a Kubernetes cluster: Python, Rota and what they link
#                                                 # to, nothing else; no shell, no package manager
#     docker build --target rota -t rota .        # servers and agents: a Debian, in which jobs can run
#
# Both run as a user without rights. BASE is any Debian 12. Without a registry:
#
#     debootstrap --variant=minbase bookworm base && tar -C base -c . | docker import - rota-base
#     docker build --build-arg BASE=rota-base -t batch-scheduler .
ARG BASE=debian:12-slim

FROM ${BASE} AS build
# Authorities that BASE has in /usr/local/share/ca-certificates are trusted, too: proxies have such.
ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt
RUN apt-get update -q \
    && apt-get install -y -q --no-install-recommends ca-certificates python3 python3-venv
COPY constraints-runtime.txt /src/
RUN python3 -m venv /opt/rota \
    && /opt/rota/bin/pip install --no-cache-dir --require-hashes --only-binary :all: -r /src/constraints-runtime.txt
COPY pyproject.toml LICENSE README.md /src/
COPY src /src/src
RUN /opt/rota/bin/pip install --no-cache-dir --no-deps --no-build-isolation /src \
    && /opt/rota/bin/python -m compileall -q /opt/rota/lib \
    && /opt/rota/bin/pip uninstall -y -q pip setuptools

FROM ${BASE} AS rota
RUN apt-get update -q \
    && apt-get install -y -q --no-install-recommends ca-certificates python3 \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*
COPY --from=build /opt/rota /opt/rota
# A volume that is mounted there for the first time belongs to the same user.
RUN useradd --uid 8426 --home-dir /var/lib/rota --create-home --shell /usr/sbin/nologin rota \
    && install -d -m 700 -o rota -g rota /var/lib/rota-agent /var/lib/rota-files
ENV PATH=/opt/rota/bin:$PATH \
    ROTA_SERVER_DATA=/var/lib/rota \
    ROTA_AGENT_DATA=/var/lib/rota-agent
USER rota
WORKDIR /var/lib/rota
EXPOSE 8426 8427
ENTRYPOINT ["rota"]
CMD ["server"]

FROM rota AS gathered
USER root
COPY deploy/gather-image.sh /
RUN sh /gather-image.sh /image

FROM scratch
COPY --from=gathered /image /
ENV PATH=/opt/rota/bin \
    SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
USER 8426:8426
WORKDIR /tmp
EXPOSE 8429
# Options go to the scheduler; anything else is a command of rota.
ENTRYPOINT ["/opt/rota/bin/batch-scheduler"]
CMD ["--metrics-bind-address", "0.0.0.0:8429"]
