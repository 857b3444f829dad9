"""What is wrong in a file is said with its line, its field and what to do: a table of mistakes.

Each row: what is wrong, the file's text, the line and the field that the error names, words of the error.
"""

from typing import NamedTuple

import pytest

from rota.intake.document import parse_documents
from rota.intake.errors import InputError
from rota.intake.files import records_from_documents
from rota.intake.policies import policy_from

pytestmark = pytest.mark.covers("ops-3")


class Bad(NamedTuple):
    what: str
    text: str
    line: int
    field: str
    words: tuple[str, ...]


NODE = "nodes:\n- name: n1\n  resources: {cpu: 8}\n"

CLUSTERS = [
    Bad("negative amount", "nodes:\n- name: a\n  resources: {cpu: -1}", 3, "nodes[0].resources.cpu", ("negative", "0 or more")),
    Bad("absurd amount", "nodes:\n- name: a\n  resources:\n    memory: 99999999999Ti", 4, "nodes[0].resources.memory", ("absurdly large",)),
    Bad("all together absurd", "nodes:\n- {name: a, count: 9, resources: {memory: 1Ei}}", 2, "nodes[0].resources", ("memory of all nodes", "beyond counting")),
    Bad("amount that is none", "nodes:\n- name: a\n  resources: {cpu: lots}", 3, "nodes[0].resources.cpu", ("not an amount of CPU", "250m")),
    Bad("amount that is not finite", "nodes:\n- name: a\n  resources: {cpu: .nan}", 3, "nodes[0].resources.cpu", ("nan", "finite")),
    Bad("unit misspelt", "nodes:\n- name: a\n  resources: {memory: 4gi}", 3, "nodes[0].resources.memory", ('unknown unit "gi"', 'did you mean "Gi"')),
    Bad("part of a thing", "nodes:\n- name: a\n  resources: {example.com/fpga: 1.5}", 3, 'nodes[0].resources["example.com/fpga"]', ("not a whole number",)),
    Bad("resource misspelt", "nodes:\n- name: a\n  resources: {memroy: 4Gi}", 3, "nodes[0].resources.memroy", ("unknown resource", 'did you mean "memory"', "example.com")),
    Bad("GPUs as a resource", "nodes:\n- name: a\n  resources: {gpu: 4}", 3, "nodes[0].resources.gpu", ("`gpus:`",)),
    Bad("no slots", "nodes:\n- name: a\n  resources: {slots: 0}", 3, "nodes[0].resources.slots", ("without slots", "cordoned")),
    Bad("too many GPUs", "nodes:\n- {name: a, resources: {}, gpus: 2000}", 2, "nodes[0].gpus", ("2000 GPUs", "1024")),
    Bad("field misspelt", "nodes:\n- name: a\n  resources: {}\n  lables: {}", 4, "nodes[0].lables", ("unknown field", 'did you mean "labels"')),
    Bad("no name", "nodes:\n- resources: {cpu: 8}", 2, "nodes[0].name", ("is missing",)),
    Bad("no resources", "nodes:\n- name: a", 2, "nodes[0].resources", ("is missing",)),
    Bad("name with a space", "nodes:\n- {name: a b, resources: {}}", 2, "nodes[0].name", ("spaces",)),
    Bad("name of a node of an offer", 'nodes:\n- {name: "a#1", resources: {}}', 2, "nodes[0].name", ("#", "offer")),
    Bad("name that is a number", "nodes:\n- {name: 7, resources: {}}", 2, "nodes[0].name", ("expected text", "quotes")),
    Bad("node twice", f"{NODE}- name: n1\n  resources: {{}}", 4, "nodes[1].name", ('node named "n1"', "line 2", "rename")),
    Bad("node twice by its count", "nodes:\n- {name: a-1, resources: {}}\n- {name: a, count: 2, resources: {}}", 3, "nodes[1].name", ('"a-1"', "line 2")),
    Bad("count of none", "nodes:\n- {name: a, count: 0, resources: {}}", 2, "nodes[0].count", ("out of range", "at least 1")),
    Bad("too many nodes", "nodes:\n- {name: a, count: 600000, resources: {}}\n- {name: b, count: 600000, resources: {}}", 3, "nodes[1]", ("1,000,000 nodes",)),
    Bad("label that is a number", "nodes:\n- name: a\n  resources: {}\n  labels: {rack: 7}", 4, "nodes[0].labels.rack", ("expected text", "quotes")),
    Bad("label of the name", "nodes:\n- name: a\n  resources: {}\n  labels: {host: b}", 4, "nodes[0].labels.host", ("host is its name",)),
    Bad("load above 1", "nodes:\n- {name: a, resources: {}, load: 25}", 2, "nodes[0].load", ("out of range", "at most 1")),
    Bad("load that is not finite", "nodes:\n- {name: a, resources: {}, load: .inf}", 2, "nodes[0].load", ("finite",)),
    Bad("negative price", "nodes:\n- {name: a, resources: {}, price_per_hour: -3}", 2, "nodes[0].price_per_hour", ("negative",)),
    Bad("price with a currency", "nodes:\n- {name: a, resources: {}, price_per_hour: 3 EUR}", 2, "nodes[0].price_per_hour", ("not a price", "currency")),
    Bad("unknown effect in short", "nodes:\n- name: a\n  resources: {}\n  taints: [k=v:NoSchedul]", 4, "nodes[0].taints[0]", ("unknown effect", 'did you mean "NoSchedule"')),
    Bad("unknown effect", "nodes:\n- name: a\n  resources: {}\n  taints: [{key: k, effect: NoRun}]", 4, "nodes[0].taints[0].effect", ("unknown value", "NoExecute")),
    Bad("taint without effect", "nodes:\n- name: a\n  resources: {}\n  taints: [k=v]", 4, "nodes[0].taints[0]", ("no effect", "k=v:NoSchedule")),
    Bad("taint twice", "nodes:\n- name: a\n  resources: {}\n  taints: ['k:NoExecute', 'k=v:NoExecute']", 4, "nodes[0].taints[1]", ("there already",)),
    Bad("taint that is none", "nodes:\n- name: a\n  resources: {}\n  taints: ['=:']", 4, "nodes[0].taints[0]", ("cannot be read", "dedicated=ml:NoSchedule")),
    Bad("taint of an odd time", "nodes:\n- name: a\n  resources: {}\n  taints: [{key: k, effect: NoExecute, added: today}]", 4, "nodes[0].taints[0].added", ("not a time",)),
    Bad("offer twice", "offers:\n- {name: o, limit: 1, resources: {}}\n- {name: o, limit: 1, resources: {}}", 3, "offers[1].name", ("offer", "line 2")),
    Bad("offer without limit", "offers:\n- {name: o, resources: {}}", 2, "offers[0].limit", ("is missing",)),
    Bad("offer of none", "offers:\n- {name: o, limit: 0, resources: {}}", 2, "offers[0].limit", ("at least 1",)),
    Bad("negative delay", "offers:\n- {name: o, limit: 1, startup: -5s, resources: {}}", 2, "offers[0].startup", ("negative",)),
    Bad("ambiguous delay", "offers:\n- {name: o, limit: 1, startup: 1:30, resources: {}}", 2, "offers[0].startup", ("hours or minutes",)),
    Bad("usage of nobody", "usage:\n- {tenant: a/b/c, as_of: 0}", 2, "usage[0].tenant", ("no tenant", "project/user")),
    Bad("usage twice", "usage:\n- {tenant: a, as_of: 0}\n- {tenant: a, as_of: 9}", 3, "usage[1].tenant", ("tenant", "line 2")),
    Bad("usage without a time", "usage:\n- {tenant: a}", 2, "usage[0].as_of", ("is missing",)),
    Bad("time without zone", "usage:\n- {tenant: a, as_of: 2026-01-01T00:00:00}", 2, "usage[0].as_of", ("time zone",)),
    Bad("a list", "- nodes", 1, "", ("expected a mapping, got a list",)),
    Bad("nothing given", "nodes:\n- name: a\n  resources: {}\n  labels:", 4, "nodes[0].labels", ("got nothing", "remove the field")),
]  # fmt: skip

JOBS = [
    Bad("negative amount", "jobs:\n- name: j\n  resources: {memory: -1Gi}", 3, "jobs[0].resources.memory", ("negative",)),
    Bad("more than the limit", "jobs:\n- name: j\n  resources: {cpu: 4}\n  limits: {cpu: 2}", 3, "jobs[0].resources.cpu", ("more than its limit",)),
    Bad("field misspelt", "jobs:\n- name: j\n  min-available: 2", 3, "jobs[0].min-available", ("unknown field", 'did you mean "min_available"')),
    Bad("unlike any field", "jobs:\n- name: j\n  xyz: 2", 3, "jobs[0].xyz", ("unknown field", "known fields")),
    Bad("job twice", "jobs:\n- name: j\n- name: k\n- name: j", 4, "jobs[2].name", ('job named "j"', "line 2")),
    Bad("job of the cluster too", "jobs:\n- name: runs", 2, "jobs[0].name", ('job named "runs"', "cluster.yaml, line 5")),
    Bad("name that is empty", 'jobs:\n- name: ""', 2, "jobs[0].name", ("empty",)),
    Bad("project with a slash", "jobs:\n- {name: j, project: a/b}", 2, "jobs[0].project", ("slash",)),
    Bad("unknown priority", "jobs:\n- name: j\n  priority: hihg", 3, "jobs[0].priority", ("unknown value", 'did you mean "high"')),
    Bad("priority with decimals", "jobs:\n- name: j\n  priority: 1.5", 3, "jobs[0].priority", ("expected", "1.5")),
    Bad("absurd priority", "jobs:\n- name: j\n  priority: 99999999999", 3, "jobs[0].priority", ("out of range",)),
    Bad("no tasks", "jobs:\n- name: j\n  tasks: 0", 3, "jobs[0].tasks", ("out of range", "at least 1")),
    Bad("absurdly many tasks", "jobs:\n- name: j\n  tasks: 1000001", 3, "jobs[0].tasks", ("out of range", "1000000")),
    Bad("too many tasks in all", "jobs:\n- {name: j, tasks: 600000}\n- {name: k, tasks: 600000}", 3, "jobs[1]", ("1,000,000 tasks",)),
    Bad("tasks beyond counting", "jobs:\n- {name: j, tasks: 900000, resources: {storage: 1Pi, memory: 8Ti}}", 2, "jobs[0].resources", ("beyond counting",)),
    Bad("tasks and groups", "jobs:\n- name: j\n  tasks: 2\n  groups: [{tasks: 1}]", 3, "jobs[0].tasks", ("either tasks or groups",)),
    Bad("no groups", "jobs:\n- name: j\n  groups: []", 3, "jobs[0].groups", ("no groups",)),
    Bad("wrong in a group", "jobs:\n- name: j\n  groups:\n  - tasks: 1\n  - resources: {cpu: x}", 5, "jobs[0].groups[1].resources.cpu", ("not an amount",)),
    Bad("wrong beside groups", "jobs:\n- name: j\n  resources: {cpu: x}\n  groups:\n  - tasks: 1", 3, "jobs[0].resources.cpu", ("not an amount",)),
    Bad("cost of a group", "jobs:\n- name: j\n  groups:\n  - cost: {max_total: 3}", 4, "jobs[0].groups[0].cost.max_total", ("move it to the job",)),
    Bad("min_available above tasks", "jobs:\n- name: j\n  tasks: 4\n  min_available: 5", 4, "jobs[0].min_available", ("5 of 4 tasks", "1 to 4")),
    Bad("min_available below 1", "jobs:\n- name: j\n  min_available: 0", 3, "jobs[0].min_available", ("0 of 1",)),
    Bad("min_available of 0 %", "jobs:\n- name: j\n  min_available: 0%", 3, "jobs[0].min_available", ("0%",)),
    Bad("min_available above 100 %", "jobs:\n- name: j\n  min_available: 101%", 3, "jobs[0].min_available", ("more than all",)),
    Bad("fine percentage", "jobs:\n- name: j\n  min_available: 33.3%", 3, "jobs[0].min_available", ("33.3%", "whole")),
    Bad("min_available negative", "jobs:\n- name: j\n  min_available: -2", 3, "jobs[0].min_available", ("negative",)),
    Bad("share of several GPUs", "jobs:\n- name: j\n  gpus: {count: 2, share: 0.5}", 3, "jobs[0].gpus.count", ("of one device",)),
    Bad("one GPU and a half", "jobs:\n- name: j\n  gpus: 1.5", 3, "jobs[0].gpus", ("more than one GPU but not whole",)),
    Bad("share above 1", "jobs:\n- name: j\n  gpus: {share: 2}", 3, "jobs[0].gpus.share", ("no share of one GPU",)),
    Bad("share of 0", "jobs:\n- name: j\n  gpus: {share: 0}", 3, "jobs[0].gpus.share", ("no share",)),
    Bad("GPUs of a model only", "jobs:\n- name: j\n  gpus: {models: [A100]}", 3, "jobs[0].gpus", ("how many",)),
    Bad("too many GPUs", "jobs:\n- name: j\n  gpus: 5000", 3, "jobs[0].gpus", ("more than a node can have",)),
    Bad("negative GPUs", "jobs:\n- name: j\n  gpus: -1", 3, "jobs[0].gpus", ("negative",)),
    Bad("port 0", "jobs:\n- name: j\n  ports: [0]", 3, "jobs[0].ports[0]", ("out of range", "65535")),
    Bad("port twice", "jobs:\n- name: j\n  ports: [80, {port: 80, address: 0.0.0.0}]", 3, "jobs[0].ports[1]", ("there already",)),
    Bad("unknown protocol", "jobs:\n- name: j\n  ports: [{port: 80, protocol: tcp}]", 3, "jobs[0].ports[0].protocol", ('did you mean "TCP"',)),
    Bad("host name as address", "jobs:\n- name: j\n  ports: [{port: 80, address: web}]", 3, "jobs[0].ports[0].address", ("no IP address",)),
    Bad("label that is a number", "jobs:\n- name: j\n  labels: {version: 1.10}", 3, "jobs[0].labels.version", ("expected text", "quotes")),
    Bad("label without end", f"jobs:\n- name: j\n  labels: {{a: {'x' * 300}}}", 3, "jobs[0].labels.a", ("too long",)),
    Bad("unknown operator", "jobs:\n- name: j\n  node_affinity:\n    required: [{labels: [{key: k, operator: in, values: [a]}]}]", 4, "jobs[0].node_affinity.required[0].labels[0].operator", ('did you mean "In"',)),
    Bad("In without values", "jobs:\n- name: j\n  node_affinity: {required: [{labels: [{key: k, operator: In}]}]}", 3, "jobs[0].node_affinity.required[0].labels[0].values", ("needs values",)),
    Bad("In with a number", "jobs:\n- name: j\n  node_affinity: {required: [{labels: [{key: k, operator: In, values: [7]}]}]}", 3, "jobs[0].node_affinity.required[0].labels[0].values[0]", ("quotes",)),
    Bad("Exists with values", "jobs:\n- name: j\n  node_affinity: {required: [{labels: [{key: k, operator: Exists, values: [a]}]}]}", 3, "jobs[0].node_affinity.required[0].labels[0].values", ("takes no values",)),
    Bad("Gt with two numbers", "jobs:\n- name: j\n  node_affinity: {required: [{labels: [{key: k, operator: Gt, values: [1, 2]}]}]}", 3, "jobs[0].node_affinity.required[0].labels[0].values", ("one whole number",)),
    Bad("Lt with a word", "jobs:\n- name: j\n  node_affinity: {required: [{labels: [{key: k, operator: Lt, values: [few]}]}]}", 3, "jobs[0].node_affinity.required[0].labels[0].values", ("one whole number",)),
    Bad("empty alternative", "jobs:\n- name: j\n  node_affinity: {required: [{}]}", 3, "jobs[0].node_affinity.required[0]", ("without conditions",)),
    Bad("wish without weight", "jobs:\n- name: j\n  node_affinity: {preferred: [{names: [n1]}]}", 3, "jobs[0].node_affinity.preferred[0].weight", ("is missing",)),
    Bad("weight above 100", "jobs:\n- name: j\n  affinity: [{to: {a: b}, within: zone, weight: 101}]", 3, "jobs[0].affinity[0].weight", ("at most 100",)),
    Bad("weight that is not finite", "jobs:\n- name: j\n  affinity: [{to: {a: b}, within: zone, weight: .nan}]", 3, "jobs[0].affinity[0].weight", ("nan",)),
    Bad("near to everything", "jobs:\n- name: j\n  affinity: [{to: {}, within: zone}]", 3, "jobs[0].affinity[0].to", ("select everything",)),
    Bad("near to no value", "jobs:\n- name: j\n  affinity: [{to: {app: []}, within: zone}]", 3, "jobs[0].affinity[0].to.app", ("at least one",)),
    Bad("near in no domain", "jobs:\n- name: j\n  affinity: [{to: {a: b}}]", 3, "jobs[0].affinity[0].within", ("is missing",)),
    Bad("spread of what", "jobs:\n- name: j\n  spread: [{over: zone}]", 3, "jobs[0].spread[0]", ("which tasks", "labels")),
    Bad("spread of everything", "jobs:\n- name: j\n  spread: [{over: zone, of: {}}]", 3, "jobs[0].spread[0].of", ("select everything",)),
    Bad("skew of 0", "jobs:\n- name: j\n  spread: [{over: zone, max_skew: 0, of: {a: b}}]", 3, "jobs[0].spread[0].max_skew", ("at least 1",)),
    Bad("wish for domains", "jobs:\n- name: j\n  spread: [{over: zone, of: {a: b}, required: false, min_domains: 2}]", 3, "jobs[0].spread[0].min_domains", ("required: true",)),
    Bad("unknown topology", "jobs:\n- name: j\n  topology: [{key: zone, tasks: sme}]", 3, "jobs[0].topology[0].tasks", ('did you mean "same"',)),
    Bad("more domains than tasks", "jobs:\n- name: j\n  tasks: 2\n  topology: [{key: zone, tasks: 3}]", 4, "jobs[0].topology[0].tasks", ("2 tasks", "3 domains")),
    Bad("two rules for a key", "jobs:\n- name: j\n  topology:\n  - {key: zone, tasks: same}\n  - {key: zone, tasks: different}", 5, "jobs[0].topology[1].key", ("a rule already",)),
    Bad("Exists with a value", "jobs:\n- name: j\n  tolerations: [{key: k, operator: Exists, value: v}]", 3, "jobs[0].tolerations[0].value", ("takes no value",)),
    Bad("value of no key", "jobs:\n- name: j\n  tolerations: [{value: v}]", 3, "jobs[0].tolerations[0]", ("no key",)),
    Bad("seconds of NoSchedule", "jobs:\n- name: j\n  tolerations: [{key: k, effect: NoSchedule, seconds: 3}]", 3, "jobs[0].tolerations[0].seconds", ("NoExecute",)),
    Bad("negative seconds", "jobs:\n- name: j\n  tolerations: [{key: k, effect: NoExecute, seconds: -3}]", 3, "jobs[0].tolerations[0].seconds", ("out of range",)),
    Bad("unknown goal", "jobs:\n- name: j\n  cost: {goal: cheap}", 3, "jobs[0].cost.goal", ('did you mean "cheapest"',)),
    Bad("cost without end", "jobs:\n- name: j\n  cost: {max_total: 20}", 3, "jobs[0].cost.max_total", ("time limit", "add time_limit")),
    Bad("no time", "jobs:\n- name: j\n  time_limit: 0", 3, "jobs[0].time_limit", ("no time",)),
    Bad("time in words", "jobs:\n- name: j\n  time_limit: two hours", 3, "jobs[0].time_limit", ("not a duration", "2h30m")),
    Bad("time in milliseconds", "jobs:\n- name: j\n  submitted: 1767225600000", 3, "jobs[0].submitted", ("seconds, not milliseconds",)),
    Bad("partner unknown", "jobs:\n- name: server\n- name: j\n  connect_to: servr", 4, "jobs[1].connect_to", ('no job named "servr"', 'did you mean "server"')),
    Bad("partner itself", "jobs:\n- name: j\n  connect_to: j", 3, "jobs[0].connect_to", ("itself",)),
    Bad("partners in a circle", "jobs:\n- {name: z, connect_to: a}\n- {name: a, connect_to: b}\n- {name: b, connect_to: c}\n- {name: c, connect_to: a}", 3, "jobs[1].connect_to", ("a → b → c → a",)),
    Bad("preempted by itself", "jobs:\n- name: j\n  preempted_by: [j]", 3, "jobs[0].preempted_by[0]", ("itself",)),
    Bad("on an unknown node", "jobs:\n- name: j\n  running_on: [n11]", 3, "jobs[0].running_on[0]", ('no node named "n11"', 'did you mean "n1"')),
    Bad("on one unknown node", "jobs:\n- name: j\n  running_on: moon", 3, "jobs[0].running_on", ("no node", "cluster file")),
    Bad("too few nodes", "jobs:\n- name: j\n  tasks: 2\n  running_on: n1", 4, "jobs[0].running_on", ("1 nodes for 2 tasks", "null")),
    Bad("too many nodes", "jobs:\n- name: j\n  running_on: [n1, n1]", 3, "jobs[0].running_on", ("2 nodes for 1 tasks",)),
    Bad("rank out of range", "jobs:\n- name: j\n  tasks: 2\n  running_on: [{rank: 2, node: n1}]", 4, "jobs[0].running_on[0].rank", ("no task of rank 2", "0 to 1")),
    Bad("rank twice", "jobs:\n- name: j\n  running_on: [{rank: 0, node: n1}, {rank: 0, node: n1}]", 3, "jobs[0].running_on[1].rank", ("there already",)),
    Bad("two forms", "jobs:\n- name: j\n  tasks: 2\n  running_on: [{rank: 0, node: n1}, n1]", 4, "jobs[0].running_on", ("mixes",)),
    Bad("device out of range", "jobs:\n- name: j\n  gpus: 1\n  running_on: [{rank: 0, node: n1, gpus: [2]}]", 4, "jobs[0].running_on[0].gpus[0]", ("no GPU 2", "it has 2")),
    Bad("fewer devices than asked", "jobs:\n- name: j\n  gpus: 2\n  running_on: [{rank: 0, node: n1, gpus: [0]}]", 4, "jobs[0].running_on[0].gpus", ("2 GPUs",)),
    Bad("since when, but not where", "jobs:\n- name: j\n  started: 5", 3, "jobs[0].started", ("running_on",)),
    Bad("done out of range", "jobs:\n- name: j\n  done: [1]", 3, "jobs[0].done[0]", ("no task of rank 1", "only rank is 0")),
    Bad("done and running", "jobs:\n- name: j\n  running_on: n1\n  done: [0]", 4, "jobs[0].done[0]", ("runs",)),
    Bad("negative retries", "jobs:\n- name: j\n  retries: -1", 3, "jobs[0].retries", ("out of range",)),
    Bad("true as text", 'jobs:\n- name: j\n  exclusive: "yes"', 3, "jobs[0].exclusive", ("expected true or false",)),
    Bad("a cluster", "nodes: []", 1, "nodes", ("cluster first",)),
    Bad("no jobs", "job: []", 1, "job", ("unknown field", 'did you mean "jobs"')),
    Bad("key twice", "jobs:\n- name: j\n  name: k", 3, "", ("duplicate key", "line 2")),
]  # fmt: skip

POLICIES = [
    Bad("unknown strategy", "strategy: binpacking2", 1, "strategy", ('did you mean "bin-packing"',)),
    Bad("custom without plugin", "strategy: custom", 1, "plugin", ("needs a plugin",)),
    Bad("plugin without custom", "strategy: balanced\nplugin: mine", 2, "plugin", ("only the strategy custom",)),
    Bad("unknown plugin", "strategy: custom\nplugin: thermel", 2, "plugin", ("unknown plugin", 'did you mean "thermal"')),
    Bad("unlike any plugin", "plugins:\n- name: xyz", 2, "plugins[0].name", ("unknown plugin", "known plugins: quiet, thermal")),
    Bad("plugin twice", "plugins:\n- name: thermal\n- name: thermal", 3, "plugins[1].name", ("plugin", "line 2")),
    Bad("NaN weight", "weights:\n  load: .nan", 2, "weights.load", ("nan",)),
    Bad("infinite weight", "weights:\n  load: .inf", 2, "weights.load", ("inf",)),
    Bad("negative weight", "weights: {load: -1}", 1, "weights.load", ("out of range", "at least 0")),
    Bad("weight with decimals", "weights: {load: 0.3}", 1, "weights.load", ("whole number",)),
    Bad("unknown criterion", "weights: {utilization: 3}", 1, "weights.utilization", ('did you mean "utilisation"',)),
    Bad("unknown queue strategy", "queues: [{strategy: lifo}]", 1, "queues[0].strategy", ('did you mean "fifo"',)),
    Bad("unknown tenant key", "queues: [{tenant_key: group}]", 1, "queues[0].tenant_key", ("unknown value", "project/user")),
    Bad("queue twice", "queues:\n- name: a\n- name: a", 3, "queues[1].name", ("queue", "line 2")),
    Bad("no queues", "queues: []", 1, "queues", ("no queue",)),
    Bad("scheduler twice", "schedulers:\n- name: a\n- name: a", 3, "schedulers[1].name", ("scheduler", "line 2")),
    Bad("no schedulers", "schedulers: []", 1, "schedulers", ("no scheduler",)),
    Bad("flat beside schedulers", "schedulers: [{name: a}]\nqueues: [{name: b}]", 2, "queues", ("move it into them",)),
    Bad("promotion above critical", "promotion: {every: 1h, up_to: 1000000001}", 1, "promotion.up_to", ("above critical",)),
    Bad("promotion to nowhere", "promotion: {every: 1h, up_to: highest}", 1, "promotion.up_to", ('did you mean "high"',)),
    Bad("promotion never", "promotion: {up_to: high}", 1, "promotion", ("every or retry_budget",)),
    Bad("promotion all the time", "promotion: {every: 0}", 1, "promotion.every", ("no time",)),
    Bad("negative run time", "preemption: {min_run_time: -1s}", 1, "preemption.min_run_time", ("negative",)),
    Bad("half-life of 0", "fair_share: {half_life: 0s}", 1, "fair_share.half_life", ("no time",)),
    Bad("unknown reclaim", "fair_share: {reclaim: nevr}", 1, "fair_share.reclaim", ('did you mean "never"',)),
    Bad("weight of 0", "tenants:\n  vision: {weight: 0}", 2, "tenants.vision.weight", ("at least 1",)),
    Bad("user as a project", "tenants:\n  vision/ada: {weight: 1}", 2, 'tenants["vision/ada"]', ("under `users`",)),
    Bad("tenant twice", "tenants:\n  vision: {weight: 1}\n  vision: {weight: 2}", 3, "", ("duplicate key", "line 2")),
    Bad("unknown resource", "tenants:\n  vision: {quota: {gpus: 1}}", 2, "tenants.vision.quota.gpus", ('did you mean "gpu"',)),
    Bad("negative quota", "tenants:\n  vision: {quota: {cpu: -1}}", 2, "tenants.vision.quota.cpu", ("negative",)),
    Bad("borrow without quota", "tenants:\n  vision: {borrow: none}", 2, "tenants.vision.borrow", ("no quota",)),
    Bad("unknown borrow", "tenants:\n  vision: {quota: {cpu: 1}, borrow: unlimted}", 2, "tenants.vision.borrow", ('did you mean "unlimited"',)),
    Bad("borrow what is free", "tenants:\n  vision: {quota: {cpu: 1}, borrow: {gpu: 1}}", 2, "tenants.vision.borrow.gpu", ("doesn't limit",)),
    Bad("lend more than one has", "tenants:\n  vision: {quota: {cpu: 1}, lend: {cpu: 2}}", 2, "tenants.vision.lend.cpu", ("more than the quota",)),
    Bad("wrong with a user", "tenants:\n  vision:\n    users:\n      ada: {quota: {cpu: x}}", 4, "tenants.vision.users.ada.quota.cpu", ("not an amount",)),
    Bad("platform above its limit", "platforms:\n  ubuntu: {requests: {cpu: 2}, limits: {cpu: 1}}", 2, "platforms.ubuntu.requests.cpu", ("more than its limit",)),
    Bad("wrong overhead", "runtimes:\n  kata: {cpu: 250x}", 2, "runtimes.kata.cpu", ("unknown unit",)),
    Bad("unknown field", "queue: [{strategy: fair}]", 1, "queue", ('did you mean "queues"',)),
]  # fmt: skip


def _names(table: list[Bad]) -> list[str]:
    return [bad.what for bad in table]


def _check(error: InputError, bad: Bad) -> None:
    assert (error.line, error.field) == (bad.line, bad.field), str(error)
    for words in bad.words:
        assert words in str(error)


@pytest.mark.parametrize("bad", CLUSTERS, ids=_names(CLUSTERS))
def test_cluster(bad: Bad) -> None:
    documents = parse_documents(bad.text.encode(), "cluster.yaml")
    with pytest.raises(InputError) as caught:
        records_from_documents(documents)
    _check(caught.value, bad)


CLUSTER = """\
nodes:
- {name: n1, resources: {cpu: 8}, gpus: 2}
- {name: n22, resources: {cpu: 8}}
jobs:
- {name: runs, running_on: n1}
"""


@pytest.mark.parametrize("bad", JOBS, ids=_names(JOBS))
def test_jobs(bad: Bad) -> None:
    cluster = parse_documents(CLUSTER.encode(), "cluster.yaml")
    with pytest.raises(InputError) as caught:
        records_from_documents(cluster, parse_documents(bad.text.encode(), "jobs.yaml"))
    _check(caught.value, bad)


@pytest.mark.parametrize("bad", POLICIES, ids=_names(POLICIES))
def test_policy(bad: Bad) -> None:
    with pytest.raises(InputError) as caught:
        [document] = parse_documents(bad.text.encode(), "policy.yaml")
        policy_from(document, known_plugins={"thermal", "quiet"})
    _check(caught.value, bad)


def test_all_that_is_wrong_is_said_at_once() -> None:
    text = "jobs:\n- {name: a, time_limit: 0}\n- {name: b}\n- {name: c, gpus: 1.5}\n- {name: b}"
    with pytest.raises(InputError) as caught:
        records_from_documents(
            parse_documents(b"nodes: []", "cluster.yaml"), parse_documents(text.encode(), "jobs.yaml")
        )
    assert [(error.line, error.field) for error in caught.value.all] == [
        (2, "jobs[0].time_limit"),
        (4, "jobs[2].gpus"),
        (5, "jobs[3].name"),
    ]


def test_of_very_many_mistakes_the_first_are_named() -> None:
    text = "nodes:\n" + "- {name: a, resources: {cpu: -1}}\n" * 1000
    with pytest.raises(InputError) as caught:
        records_from_documents(parse_documents(text.encode(), "cluster.yaml"))
    assert len(caught.value.all) == 20
