#!/usr/bin/env bash
# Shows the scheduler in a cluster of kind: it is built, installed, and starts the gang of deploy/examples/gang-job.yaml.
#
#     hack/kind-demo.sh            # makes the cluster rota-demo, or goes on in the one that is there
#     hack/kind-demo.sh --delete
#
# Needs Docker, kubectl and kind, and a registry for kind's node image and the example's busybox. Where no registry is
# to be had, KIND_NODE_IMAGE, ROTA_BASE_IMAGE and ROTA_BUSYBOX_IMAGE name images that this Docker has already.
#
# The tests have no registry, and so no kind. What they try is the image (tests/real/kube/test_image.py), and the manifest
# and the example on an API server (test_deploy.py); making the cluster and loading images into it is untested.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cluster=rota-demo
image=batch-scheduler:demo
busybox=${ROTA_BUSYBOX_IMAGE:-}

for program in docker kubectl kind; do
    if ! command -v "$program" >/dev/null; then
        echo "$program is missing; kind can be had by: go install sigs.k8s.io/kind@v0.30.0" >&2
        exit 1
    fi
done
case ${1:-} in
    "") ;;
    --delete) exec kind delete cluster --name "$cluster" ;;
    *)
        echo "usage: hack/kind-demo.sh [--delete]" >&2
        exit 2
        ;;
esac

say() { echo "== $*" >&2; }
kube() { kubectl --context "kind-$cluster" "$@"; }

say "the image"
docker build -f deploy/Dockerfile ${ROTA_BASE_IMAGE:+--build-arg "BASE=$ROTA_BASE_IMAGE"} -t rota .
docker build -f deploy/Dockerfile.kube-scheduler --build-arg ROTA=rota -t "$image" deploy

if ! kind get clusters 2>/dev/null | grep -qx "$cluster"; then
    say "a cluster"
    kind create cluster --name "$cluster" ${KIND_NODE_IMAGE:+--image "$KIND_NODE_IMAGE"} --wait 2m
fi
kind load docker-image --name "$cluster" "$image"
if [[ -n $busybox ]]; then kind load docker-image --name "$cluster" "$busybox"; fi

say "the scheduler"
sed "s|image: rota .*|image: $image|" deploy/batch-scheduler.yaml | kube apply -f -
kube --namespace batch-scheduler rollout status deployment/batch-scheduler --timeout 2m

say "a gang of four"
kube delete job gang --ignore-not-found
sed "s|image: busybox|image: ${busybox:-busybox}|" deploy/examples/gang-job.yaml | kube apply -f -
for _ in {1..60}; do
    if [[ $(kube get pods -l batch.scheduling.k8s.io/gang=gang -o name | wc -l) == 4 ]]; then break; fi
    sleep 1
done
kube wait --for condition=PodScheduled pod -l batch.scheduling.k8s.io/gang=gang --timeout 1m
kube get events --field-selector reason=Scheduled
kube wait --for condition=complete job/gang --timeout 3m
say "it is done; hack/kind-demo.sh --delete removes the cluster"
