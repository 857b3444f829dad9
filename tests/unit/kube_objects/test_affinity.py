"""Pods near to and away from each other."""

import pytest

from rota.model.selectors import Operator, Requirement, Selector
from rota.model.task import NOT_ENDING, JobAffinity, Spread
from tests.unit.kube_objects.reading import node, pod, read, refusal, task_spec

pytestmark = pytest.mark.covers("kube-3")

HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def is_in(key: str, *values: str) -> Requirement:
    return Requirement(key, Operator.IN, values)


def affinity(term: str, *others: str, kind: str = "podAffinity", metadata: str = "") -> JobAffinity:
    """The meaning of one required term of a pod in the namespace shop."""
    [found] = task_spec(
        f"affinity: {{{kind}: {{{REQUIRED}: [{term}]}}}}",
        *others,
        metadata=metadata,
    ).job_affinity
    return found


def test_required_and_preferred_near_and_apart() -> None:
    spec = task_spec("""
        affinity:
          podAffinity:
            requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: topology.kubernetes.io/zone
              labelSelector: {matchLabels: {app: cache}}
            preferredDuringSchedulingIgnoredDuringExecution:
            - weight: 5
              podAffinityTerm:
                topologyKey: kubernetes.io/hostname
                labelSelector: {matchLabels: {app: db}}
          podAntiAffinity:
            requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector: {matchLabels: {app: web}}
            preferredDuringSchedulingIgnoredDuringExecution:
            - weight: 100
              podAffinityTerm:
                topologyKey: topology.kubernetes.io/zone
                labelSelector: {matchLabels: {app: web}}
    """)
    assert spec.job_affinity == (
        JobAffinity(ZONE, Selector((is_in("app", "cache"),))),
        JobAffinity(HOST, Selector((is_in("app", "web"),)), anti=True),
        JobAffinity(HOST, Selector((is_in("app", "db"),)), weight=5),
        JobAffinity(ZONE, Selector((is_in("app", "web"),)), anti=True, weight=100),
    )


class TestSelectors:
    def test_labels_and_expressions_must_all_hold(self) -> None:
        found = affinity(
            "{topologyKey: z, labelSelector: {matchLabels: {app: web}, matchExpressions:"
            " [{key: tier, operator: NotIn, values: [b, a]}, {key: old, operator: DoesNotExist}]}}"
        )
        assert found.selector.requirements == (
            is_in("app", "web"),
            Requirement("old", Operator.DOES_NOT_EXIST),
            Requirement("tier", Operator.NOT_IN, ("a", "b")),
        )

    @pytest.mark.parametrize(
        ("selector", "selects"), [("", False), ("labelSelector: null,", False), ("labelSelector: {},", True)]
    )
    def test_none_selects_nothing_and_an_empty_one_everything(self, selector: str, selects: bool) -> None:
        found = affinity(f"{{topologyKey: z, {selector} matchLabelKeys: [app]}}")
        assert found.selector.selects((("app", "web"),)) is selects

    def test_label_keys_are_those_of_the_pod_itself(self) -> None:
        found = affinity(
            "{topologyKey: z, labelSelector: {}, matchLabelKeys: [hash, none], mismatchLabelKeys: [tenant]}",
            metadata="labels: {hash: f00, tenant: blue}",
        )
        assert found.selector.requirements == (
            is_in("hash", "f00"),
            Requirement("tenant", Operator.NOT_IN, ("blue",)),
        )

    def test_label_keys_that_the_cluster_has_merged_already_count_once(self) -> None:
        found = affinity(
            "{topologyKey: z, labelSelector: {matchExpressions: [{key: hash, operator: In, values: [f00]}]},"
            " matchLabelKeys: [hash]}",
            metadata="labels: {hash: f00}",
        )
        assert found.selector.requirements == (is_in("hash", "f00"),)

    def test_label_keys_stand_for_the_labels_that_the_pod_was_created_with(self) -> None:
        found = affinity(
            "{topologyKey: z, mismatchLabelKeys: [hash], labelSelector:"
            " {matchExpressions: [{key: hash, operator: NotIn, values: [f00]}]}}",
            metadata="labels: {hash: changed}",
        )
        assert found.selector.requirements == (Requirement("hash", Operator.NOT_IN, ("f00",)),)


BLUE = "{apiVersion: v1, kind: Namespace, metadata: {name: blue, labels: {team: a}}}"
GREEN = "{apiVersion: v1, kind: Namespace, metadata: {name: green, labels: {team: a}}}"
RED = "{apiVersion: v1, kind: Namespace, metadata: {name: red, labels: {team: b}}}"
SHOP = "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"


class TestNamespaces:
    @pytest.mark.parametrize(
        ("fields", "namespaces"),
        [
            ("", ()),
            ("namespaces: []", ()),
            ("namespaces: [shop]", ()),
            ("namespaces: [red, blue]", ("blue", "red")),
            ("namespaceSelector: {}", ("*",)),
            ("namespaceSelector: null", ()),
            ("namespaceSelector: {matchLabels: {team: a}}", ("blue", "green")),
            ("namespaceSelector: {matchLabels: {team: a}}, namespaces: [red]", ("blue", "green", "red")),
            (
                "namespaceSelector: {matchExpressions: [{key: team, operator: DoesNotExist}]}",
                (),
            ),
            ("namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: red}}", ("red",)),
        ],
    )
    def test_which_pods_are_meant(self, fields: str, namespaces: tuple[str, ...]) -> None:
        found = affinity(f"{{topologyKey: z, labelSelector: {{}}, {fields}}}", BLUE, GREEN, RED, SHOP)
        assert found.namespaces == namespaces
        assert found.selector == Selector()

    def test_a_selector_of_no_namespace_selects_no_pod(self) -> None:
        found = affinity(
            "{topologyKey: z, labelSelector: {}, namespaceSelector: {matchLabels: {team: c}}}", BLUE, SHOP
        )
        assert not found.selector.selects((("app", "web"),))

    def test_names_are_known_without_namespace_objects(self) -> None:
        found = affinity(
            "{topologyKey: z, labelSelector: {},"
            " namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: other}}}",
            pod("x", namespace="other"),
        )
        assert found.namespaces == ("other",)

    def test_labels_are_not_and_that_is_noted(self) -> None:
        term = "{topologyKey: z, labelSelector: {}, namespaceSelector: {matchLabels: {team: a}}}"
        spec = f"affinity: {{podAntiAffinity: {{{REQUIRED}: [{term}]}}}}"
        [note] = read(pod("a", spec), pod("b", spec), BLUE).notes
        assert note.subjects == ("shop",)
        assert "namespaceSelector" in note.reason


class TestSeveralRequiredTerms:
    """Kubernetes counts a pod for required affinity only if every term selects it."""

    def test_each_asks_for_all(self) -> None:
        spec = task_spec("""
            affinity:
              podAffinity:
                requiredDuringSchedulingIgnoredDuringExecution:
                - {topologyKey: zone, labelSelector: {matchLabels: {app: db}}, namespaces: [shop, data]}
                - {topologyKey: rack, labelSelector: {matchLabels: {tier: main}}, namespaceSelector: {}}
        """)
        both = Selector((is_in("app", "db"), is_in("tier", "main")))
        assert spec.job_affinity == (
            JobAffinity("zone", both, ("data", "shop")),
            JobAffinity("rack", both, ("data", "shop")),
        )

    def test_without_a_common_namespace_they_select_nothing(self) -> None:
        spec = task_spec("""
            affinity:
              podAffinity:
                requiredDuringSchedulingIgnoredDuringExecution:
                - {topologyKey: zone, labelSelector: {}}
                - {topologyKey: rack, labelSelector: {}, namespaces: [data]}
        """)
        assert not any(term.selector.selects((("app", "db"),)) for term in spec.job_affinity)

    def test_anti_affinity_terms_stand_alone(self) -> None:
        spec = task_spec("""
            affinity:
              podAntiAffinity:
                requiredDuringSchedulingIgnoredDuringExecution:
                - {topologyKey: zone, labelSelector: {matchLabels: {app: db}}}
                - {topologyKey: rack, labelSelector: {matchLabels: {tier: main}}}
        """)
        assert [term.selector for term in spec.job_affinity] == [
            Selector((is_in("app", "db"),)),
            Selector((is_in("tier", "main"),)),
        ]


WEB = "labelSelector: {matchLabels: {app: web}}"


def staying(key: str, value: str) -> Selector:
    """Pods with this label that aren't ending."""
    return Selector((NOT_ENDING, is_in(key, value)))


class TestSpread:
    @pytest.mark.parametrize(
        ("fields", "meaning"),
        [
            (WEB, Spread("zone", 2, staying("app", "web"))),
            (f"{WEB}, minDomains: 3", Spread("zone", 2, staying("app", "web"), min_domains=3)),
            (
                f"{WEB}, nodeAffinityPolicy: Ignore, nodeTaintsPolicy: Honor",
                Spread("zone", 2, staying("app", "web"), honor_affinity=False, honor_taints=True),
            ),
            (
                f"{WEB}, nodeAffinityPolicy: Honor, nodeTaintsPolicy: Ignore",
                Spread("zone", 2, staying("app", "web"), honor_affinity=True, honor_taints=False),
            ),
            (
                "labelSelector: {}, matchLabelKeys: [hash]",
                Spread("zone", 2, staying("hash", "f00")),
            ),
        ],
    )
    def test_constraints(self, fields: str, meaning: Spread) -> None:
        constraint = f"{{maxSkew: 2, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, {fields}}}"
        spec = task_spec(f"topologySpreadConstraints: [{constraint}]", metadata="labels: {hash: f00}")
        assert spec.spread == (meaning,)

    @pytest.mark.parametrize(
        "selector", ["", "labelSelector: {}", "labelSelector: {}, matchLabelKeys: [none]"]
    )
    def test_an_empty_selector_counts_no_pod(self, selector: str) -> None:
        """Elsewhere in Kubernetes it selects all of them."""
        constraint = f"{{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, {selector}}}"
        [spread] = task_spec(f"topologySpreadConstraints: [{constraint}]").spread
        assert not spread.selector.selects((("app", "web"),))

    def test_pods_that_are_ending_are_not_counted_but_distance_is_kept_from_them(self) -> None:
        constraint = f"{{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, {WEB}}}"
        term = f"{{topologyKey: zone, {WEB}}}"
        spec = f"""
            nodeName: n1
            topologySpreadConstraints: [{constraint}]
            affinity: {{podAntiAffinity: {{{REQUIRED}: [{term}]}}}}
        """
        for ending, counts in (("", True), ('deletionTimestamp: "2026-01-01T00:00:00Z"', False)):
            found = task_spec(spec, node(), metadata=f"labels: {{app: web}}\n{ending}")
            assert found.spread[0].selector.selects(found.labels) is counts
            assert found.job_affinity[0].selector.selects(found.labels)

    def test_some_are_mere_wishes(self) -> None:
        [spread] = task_spec("""
            topologySpreadConstraints:
            - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {}}
        """).spread
        assert not spread.required


def near(terms: str) -> str:
    return f"affinity: {{podAffinity: {{{REQUIRED}: {terms}}}}}"


NEAR = f"spec.affinity.podAffinity.{REQUIRED}[0]"


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (near("[{labelSelector: {}}]"), f"{NEAR}.topologyKey"),
        (
            near("[{topologyKey: z, labelSelector: {matchExpressions: [{key: a, operator: Gt}]}}]"),
            f"{NEAR}.labelSelector.matchExpressions[0].operator",
        ),
        (
            near("[{topologyKey: z, labelSelector: {matchExpressions: [{key: a, operator: In}]}}]"),
            f"{NEAR}.labelSelector.matchExpressions[0]",
        ),
        (
            f"affinity: {{podAffinity: {{{PREFERRED}: [{{weight: 0, podAffinityTerm: {{}}}}]}}}}",
            f"spec.affinity.podAffinity.{PREFERRED}[0].weight",
        ),
        (
            "topologySpreadConstraints: [{maxSkew: 0, topologyKey: z, whenUnsatisfiable: DoNotSchedule}]",
            "spec.topologySpreadConstraints[0].maxSkew",
        ),
        (
            "topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: Never}]",
            "spec.topologySpreadConstraints[0].whenUnsatisfiable",
        ),
    ],
)
def test_errors_name_the_field(spec: str, field: str) -> None:
    assert refusal(pod(spec=spec)).field == field
