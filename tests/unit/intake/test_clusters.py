"""Clusters in Rota's own form become nodes, offers and usage."""

from rota.intake.documents.document import parse_documents
from rota.intake.files import records_from_documents
from rota.model.cluster import ClusterRecords, TenantUsage
from rota.model.ids import NodeName
from rota.model.node import Gpus, Node, NodeSpec, Offer
from rota.model.resources import Resources
from rota.model.taints import Effect, Taint

GIB = 2**30
NEW_YEAR_MS = 1_767_225_600_000


def read(text: str) -> ClusterRecords:
    return records_from_documents(parse_documents(text.encode(), "cluster.yaml"))


def test_node_with_every_field() -> None:
    [node] = read("""
        nodes:
        - name: a100-1
          backend: onprem
          pool: gpu
          labels: {zone: eu-1, region: eu}
          resources: {cpu: 64, memory: 512Gi, storage: 1Ti, slots: 20, example.com/fpga: 2}
          gpus: {count: 8, model: A100}
          taints:
          - {key: dedicated, value: ml, effect: NoSchedule, added: 2026-01-01T00:00:00Z}
          - maintenance:NoExecute
          price_per_hour: 12.50
          load: 0.25
          ready: false
          cordoned: true
    """).nodes
    assert node == Node(
        name=NodeName("a100-1"),
        spec=NodeSpec(
            capacity=Resources(64_000, 512 * GIB, 1024 * GIB, 20, (("example.com/fpga", 2),)),
            gpus=Gpus(8, "A100"),
            backend="onprem",
            pool="gpu",
            labels=(("region", "eu"), ("zone", "eu-1")),
            taints=(
                Taint("dedicated", Effect.NO_SCHEDULE, "ml", NEW_YEAR_MS),
                Taint("maintenance", Effect.NO_EXECUTE),
            ),
            price_micro_per_hour=12_500_000,
        ),
        ready=False,
        cordoned=True,
        load_milli=250,
    )


def test_node_that_says_little_has_defaults() -> None:
    [node] = read("nodes: [{name: n, resources: {cpu: 250m}, gpus: 2}]").nodes
    assert node == Node(NodeName("n"), NodeSpec(Resources(cpu_milli=250), gpus=Gpus(2)))


def test_count_makes_numbered_nodes_of_one_spec() -> None:
    nodes = read("nodes: [{name: cpu, count: 3, resources: {cpu: 16}}]").nodes
    assert [node.name for node in nodes] == ["cpu-0", "cpu-1", "cpu-2"]
    assert len({id(node.spec) for node in nodes}) == 1


def test_equal_nodes_share_their_spec_however_it_was_written() -> None:
    nodes = read("""
        nodes:
        - {name: a, resources: {cpu: 1, memory: 1Gi}, labels: {x: "1", y: "2"}}
        - {name: b, resources: {memory: 1024Mi, cpu: 1000m}, labels: {y: "2", x: "1"}, cordoned: true}
        - {name: c, resources: {memory: 1024Mi, cpu: 1000m}, labels: {y: "2", x: "1"}, load: 0.5}
    """).nodes
    assert len({id(node.spec) for node in nodes}) == 1


def test_offer() -> None:
    [offer] = read("""
        offers:
        - {name: m5, backend: aws, resources: {cpu: 16}, price_per_hour: "0.768", startup: 90s, limit: 50}
    """).offers
    spec = NodeSpec(Resources(cpu_milli=16_000), backend="aws", price_micro_per_hour=768_000)
    assert offer == Offer("m5", spec, limit=50, startup_ms=90_000)


def test_usage_is_in_base_units() -> None:
    [usage] = read("""
        usage:
        - {tenant: vision/ada, as_of: 2026-01-01T00:00:00Z, cpu: 3600, gpu: 0.5, memory: 1Gi}
    """).usage
    assert usage == TenantUsage(
        "vision/ada", NEW_YEAR_MS, (("cpu", 3_600_000), ("gpu", 500), ("memory", GIB))
    )


def test_several_documents_are_one_cluster() -> None:
    records = read(
        "nodes: [{name: a, resources: {}}]\n---\nnodes: [{name: b, resources: {}}]\njobs: [{name: j}]"
    )
    assert [node.name for node in records.nodes] == ["a", "b"]
    assert [record.job.id for record in records.jobs] == ["j"]


def test_json_is_read_too() -> None:
    assert read('{"nodes": [{"name": "a", "resources": {"cpu": 0.5}}]}') == read(
        "nodes: [{name: a, resources: {cpu: 500m}}]"
    )
