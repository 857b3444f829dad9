#!/usr/bin/env bash
# Shows the scheduler in a cluster of kind: one control plane, two workers, and the gang of three pods of
# deploy/examples/gang-demo.yaml, which start together.
#
#     hack/kind-demo.sh                                   # builds the image, makes the cluster `gang`, shows it
#     SKIP_BUILD=true IMAGE=example.org/batch-scheduler:1 hack/kind-demo.sh
#     hack/kind-demo.sh --delete
#
# IMAGE            the scheduler's image [batch-scheduler:demo]
# SKIP_BUILD=true  it is built already
# KIND_NODE_IMAGE, ROTA_BASE_IMAGE, ROTA_BUSYBOX_IMAGE  images that this machine has, where no registry can be reached
#
# Run again, it goes on in the cluster that is there. Needs kind and kubectl, and docker to build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cluster=gang
image=${IMAGE:-batch-scheduler:demo}
namespace=batch-scheduler-system
label=batch.scheduling.k8s.io/gang=gang-demo

say() { echo "== $*" >&2; }
kube() { kubectl --context "kind-$cluster" "$@"; }
need() { # PROGRAM HINT
    if command -v "$1" >/dev/null; then return; fi
    echo "hack/kind-demo.sh: $1 is missing; $2" >&2
    exit 1
}

need kind "install it: go install sigs.k8s.io/kind@v0.30.0, or see https://kind.sigs.k8s.io"
case ${1:-} in
    "") ;;
    --delete) exec kind delete cluster --name "$cluster" ;;
    *)
        echo "usage: hack/kind-demo.sh [--delete]" >&2
        exit 2
        ;;
esac
need kubectl "install it: see https://kubernetes.io/docs/tasks/tools"

if [[ ${SKIP_BUILD:-} != true ]]; then
    need docker "install it (apt-get install docker.io), or give IMAGE and SKIP_BUILD=true"
    say "building $image"
    docker build ${ROTA_BASE_IMAGE:+--build-arg "BASE=$ROTA_BASE_IMAGE"} -t "$image" .
fi

if ! kind get clusters 2>/dev/null | grep -qx "$cluster"; then
    say "making the cluster $cluster: one control plane, two workers"
    kind create cluster --name "$cluster" ${KIND_NODE_IMAGE:+--image "$KIND_NODE_IMAGE"} --wait 2m --config - <<'END'
kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
nodes: [{role: control-plane}, {role: worker}, {role: worker}]
END
fi
kind load docker-image --name "$cluster" "$image"
if [[ -n ${ROTA_BUSYBOX_IMAGE:-} ]]; then kind load docker-image --name "$cluster" "$ROTA_BUSYBOX_IMAGE"; fi

say "installing the scheduler"
kube apply -f deploy/batch-scheduler.yaml
kube -n "$namespace" set image deployment/batch-scheduler "batch-scheduler=$image"
kube -n "$namespace" rollout status deployment/batch-scheduler --timeout 3m

say "a gang of three"
kube delete job gang-demo --ignore-not-found
sed "s|image: busybox|image: ${ROTA_BUSYBOX_IMAGE:-busybox}|" deploy/examples/gang-demo.yaml | kube apply -f -
for _ in {1..60}; do
    if [[ $(kube get pods -l "$label" -o name | wc -l) == 3 ]]; then break; fi
    sleep 1
done
kube wait --for condition=PodScheduled pod -l "$label" --timeout 1m
kube get pods -l "$label" -o wide
kube -n "$namespace" logs deployment/batch-scheduler --tail 5 || true
kube wait --for condition=complete job/gang-demo --timeout 3m
say "done; hack/kind-demo.sh --delete removes the cluster"
