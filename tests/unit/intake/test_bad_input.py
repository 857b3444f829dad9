"""What is wrong in a file is said with its line, its field and what to do: a table of mistakes.

Each file has one mistake. A comment `#! field: words … words` stands on the line that the error must name,
and says which field and which words must be in it.
"""

import re
from typing import NamedTuple

import pytest

from rota.intake.documents.document import parse_documents
from rota.intake.errors import InputError
from rota.intake.files import records_from_documents
from rota.intake.policies import policy_from

pytestmark = pytest.mark.covers("ops-3")

CLUSTERS = """

## negative amount
nodes:
- name: a
  resources: {cpu: -1}  #! nodes[0].resources.cpu: negative … 0 or more

## absurd amount
nodes:
- name: a
  resources:
    memory: 99999999999Ti  #! nodes[0].resources.memory: absurdly large

## all together absurd
nodes:
- name: a
  count: 9
  resources: {memory: 1Ei}  #! nodes[0].resources: memory of all nodes … too large

## amount that is none
nodes:
- name: a
  resources: {cpu: lots}  #! nodes[0].resources.cpu: not an amount of CPU … 250m

## amount that is not finite
nodes:
- name: a
  resources: {cpu: .nan}  #! nodes[0].resources.cpu: nan … finite

## unit misspelt
nodes:
- name: a
  resources: {memory: 4gi}  #! nodes[0].resources.memory: unknown unit "gi" … did you mean "Gi"

## part of a thing
nodes:
- name: a
  resources: {example.com/fpga: 1.5}  #! nodes[0].resources["example.com/fpga"]: not a whole number

## resource misspelt
nodes:
- name: a
  resources: {memroy: 4Gi}  #! nodes[0].resources.memroy: did you mean "memory" … example.com

## GPUs as a resource
nodes:
- name: a
  resources: {gpu: 4}  #! nodes[0].resources.gpu: `gpus:`

## no slots
nodes:
- name: a
  resources: {slots: 0}  #! nodes[0].resources.slots: without slots … cordoned

## too many GPUs
nodes:
- {name: a, resources: {}, gpus: 2000}  #! nodes[0].gpus: 2000 GPUs … 1024

## field misspelt
nodes:
- name: a
  resources: {}
  lables: {}  #! nodes[0].lables: unknown field … did you mean "labels"

## no name
nodes:
- resources: {cpu: 8}  #! nodes[0].name: is missing

## no resources
nodes:
- name: a  #! nodes[0].resources: is missing

## name with a space
nodes:
- {name: a b, resources: {}}  #! nodes[0].name: spaces

## name of a node of an offer
nodes:
- {name: "a#1", resources: {}}  #! nodes[0].name: # … offer

## name that is a number
nodes:
- {name: 7, resources: {}}  #! nodes[0].name: expected text … quotes

## node twice
nodes:
- name: n1
  resources: {cpu: 8}
- name: n1  #! nodes[1].name: node named "n1" … line 2 … rename
  resources: {}

## node twice by its count
nodes:
- {name: a-1, resources: {}}
- {name: a, count: 2, resources: {}}  #! nodes[1].name: "a-1" … line 2

## count of none
nodes:
- {name: a, count: 0, resources: {}}  #! nodes[0].count: out of range … at least 1

## too many nodes
nodes:
- {name: a, resources: {}}
- {name: b, count: 1000000, resources: {}}  #! nodes[1]: 1,000,000 nodes

## label that is a number
nodes:
- name: a
  resources: {}
  labels: {rack: 7}  #! nodes[0].labels.rack: expected text … quotes

## label of the name
nodes:
- name: a
  resources: {}
  labels: {host: b}  #! nodes[0].labels.host: host is its name

## load above 1
nodes:
- {name: a, resources: {}, load: 25}  #! nodes[0].load: out of range … at most 1

## load that is not finite
nodes:
- {name: a, resources: {}, load: .inf}  #! nodes[0].load: finite

## negative price
nodes:
- {name: a, resources: {}, price_per_hour: -3}  #! nodes[0].price_per_hour: negative

## price with a currency
nodes:
- {name: a, resources: {}, price_per_hour: 3 EUR}  #! nodes[0].price_per_hour: not a price … currency

## unknown effect in short
nodes:
- name: a
  resources: {}
  taints: [k=v:NoSchedul]  #! nodes[0].taints[0]: unknown effect … did you mean "NoSchedule"

## unknown effect
nodes:
- name: a
  resources: {}
  taints: [{key: k, effect: NoRun}]  #! nodes[0].taints[0].effect: unknown value … NoExecute

## taint without effect
nodes:
- name: a
  resources: {}
  taints: [k=v]  #! nodes[0].taints[0]: no effect … k=v:NoSchedule

## taint twice
nodes:
- name: a
  resources: {}
  taints: ['k:NoExecute', 'k=v:NoExecute']  #! nodes[0].taints[1]: there already

## taint that is none
nodes:
- name: a
  resources: {}
  taints: ['=:']  #! nodes[0].taints[0]: cannot be read … dedicated=ml:NoSchedule

## taint of an odd time
nodes:
- name: a
  resources: {}
  taints: [{key: k, effect: NoExecute, added: today}]  #! nodes[0].taints[0].added: not a time

## offer twice
offers:
- {name: o, limit: 1, resources: {}}
- {name: o, limit: 1, resources: {}}  #! offers[1].name: offer … line 2

## offer without limit
offers:
- {name: o, resources: {}}  #! offers[0].limit: is missing

## offer of none
offers:
- {name: o, limit: 0, resources: {}}  #! offers[0].limit: at least 1

## negative delay
offers:
- {name: o, limit: 1, startup: -5s, resources: {}}  #! offers[0].startup: negative

## ambiguous delay
offers:
- {name: o, limit: 1, startup: 1:30, resources: {}}  #! offers[0].startup: hours or minutes

## usage of nobody
usage:
- {tenant: a/b/c, as_of: 0}  #! usage[0].tenant: not a tenant … project/user

## usage twice
usage:
- {tenant: a, as_of: 0}
- {tenant: a, as_of: 9}  #! usage[1].tenant: tenant … line 2

## usage without a time
usage:
- {tenant: a}  #! usage[0].as_of: is missing

## time without zone
usage:
- {tenant: a, as_of: 2026-01-01T00:00:00}  #! usage[0].as_of: time zone

## maintenance that doesn't end
maintenance:
- {name: patch, start: 2026-01-01T00:00:00Z}  #! maintenance[0]: the end is missing … for

## maintenance with two ends
maintenance:
- name: patch
  start: 2026-01-01T00:00:00Z
  end: 2026-01-01T02:00:00Z
  for: 2h  #! maintenance[0].for: given already … remove one

## maintenance that ends before it starts
maintenance:
- name: patch
  start: 2026-01-01T02:00:00Z
  end: 2026-01-01T01:00:00Z  #! maintenance[0].end: the end is not after the start … later

## maintenance of no length
maintenance:
- name: patch
  start: 2026-01-01T02:00:00Z
  end: 2026-01-01T03:00:00+01:00  #! maintenance[0].end: the end is not after the start

## maintenance for no time
maintenance:
- {name: patch, start: 0, for: 0}  #! maintenance[0].for: the duration is 0

## maintenance for less than no time
maintenance:
- {name: patch, start: 0, for: -2h}  #! maintenance[0].for: negative

## maintenance at an odd time
maintenance:
- {name: patch, start: tomorrow, for: 2h}  #! maintenance[0].start: not a time

## maintenance in an unknown zone
maintenance:
- {name: patch, start: 2026-01-01T02:00:00, for: 2h}  #! maintenance[0].start: time zone

## maintenance without a start
maintenance:
- {name: patch, end: 9}  #! maintenance[0].start: is missing

## maintenance without a name
maintenance:
- {start: 0, end: 9}  #! maintenance[0].name: is missing

## maintenance of an unknown node
nodes: [{name: n1, resources: {}}]
maintenance:
- {name: patch, start: 0, for: 2h, nodes: [n1, n11]}  #! maintenance[0].nodes[1]: did you mean "n1"

## maintenance of no nodes
maintenance:
- {name: patch, start: 0, for: 2h, nodes: []}  #! maintenance[0].nodes: no nodes … leave it out

## maintenance of one node, not a list
maintenance:
- {name: patch, start: 0, for: 2h, nodes: n1}  #! maintenance[0].nodes: expected a list

## maintenance twice
maintenance:
- {name: patch, start: 0, for: 2h}
- {name: patch, start: 9, for: 2h}  #! maintenance[1].name: "patch" … line 2

## entries of one name
nodes: [{name: n1, resources: {}}]
maintenance:
- {name: night, start: 0, for: 2h}
reservations:
- {name: night, start: 9, for: 2h, nodes: [n1], tenants: [a]}  #! reservations[0].name: "night" … line 3

## reservation without nodes
reservations:
- {name: r, start: 0, for: 2h, tenants: [a]}  #! reservations[0].nodes: is missing

## reservation of no nodes
reservations:
- {name: r, start: 0, for: 2h, nodes: [], tenants: [a]}  #! reservations[0].nodes: no nodes … name some

## reservation of an unknown node
reservations:
- {name: r, start: 0, for: 2h, nodes: [n1], tenants: [a]}  #! reservations[0].nodes[0]: no node named "n1"

## reservation for unnamed tenants
nodes: [{name: n1, resources: {}}]
reservations:
- {name: r, start: 0, for: 2h, nodes: [n1]}  #! reservations[0].tenants: is missing

## reservation for nobody
nodes: [{name: n1, resources: {}}]
reservations:
- {name: r, start: 0, for: 2h, nodes: [n1], tenants: []}  #! reservations[0].tenants: no tenant is named

## reservation for no tenant
nodes: [{name: n1, resources: {}}]
reservations:
- {name: r, start: 0, for: 2h, nodes: [n1], tenants: [a/b/c]}  #! reservations[0].tenants[0]: not a tenant

## reservation without end
nodes: [{name: n1, resources: {}}]
reservations:
- {name: r, start: 0, nodes: [n1], tenants: [a]}  #! reservations[0]: the end is missing

## reservation of more than there is
nodes: [{name: n1, resources: {cpu: 8}}, {name: n2, resources: {cpu: 4}}]
reservations:
- name: r
  start: 0
  for: 2h
  nodes: [n1, n2]
  tenants: [a]
  resources: {cpu: 6}  #! reservations[0].resources.cpu: more than the node n2 has … leave the node out

## reservation of what a node doesn't have
nodes: [{name: n1, resources: {cpu: 8}}]
reservations:
- name: r
  start: 0
  for: 2h
  nodes: [n1]
  tenants: [a]
  resources:
    cpu: 1
    example.com/fpga: 1  #! reservations[0].resources["example.com/fpga"]: more than the node n1 has

## reservation of more slots than a node has by default
nodes: [{name: n1, resources: {cpu: 8}}]
reservations:
- name: r
  start: 0
  for: 2h
  nodes: [n1]
  tenants: [a]
  resources: {slots: 111}  #! reservations[0].resources.slots: more than the node n1 has

## reservation of more GPUs than a node has
nodes: [{name: n1, resources: {cpu: 8}, gpus: 2}]
reservations:
- name: r
  start: 0
  for: 2h
  nodes: [n1]
  tenants: [a]
  gpus: 3  #! reservations[0].gpus: more than the node n1 has

## reservation of GPUs as a resource
nodes: [{name: n1, resources: {cpu: 8}, gpus: 2}]
reservations:
- name: r
  start: 0
  for: 2h
  nodes: [n1]
  tenants: [a]
  resources: {gpu: 1}  #! reservations[0].resources.gpu: `gpus:`

## reservation of part of a GPU
nodes: [{name: n1, resources: {cpu: 8}, gpus: 2}]
reservations:
- name: r
  start: 0
  for: 2h
  nodes: [n1]
  tenants: [a]
  gpus: 0.5  #! reservations[0].gpus: whole number

## reservation of nothing
nodes: [{name: n1, resources: {cpu: 8}}]
reservations:
- name: r
  start: 0
  for: 2h
  nodes: [n1]
  tenants: [a]
  resources: {}  #! reservations[0].resources: the share is empty … whole nodes

## reservations of the same node
nodes: [{name: n1, resources: {cpu: 8}}, {name: n2, resources: {cpu: 8}}]
reservations:
- {name: first, start: 0, for: 2h, nodes: [n1, n2], tenants: [a]}
- name: second
  start: 3600
  for: 2h
  nodes: [n2, n1]  #! reservations[1].nodes: at the same time the node n1 … "first" … share
  tenants: [b]

## reservations of the same node, the later one first
nodes: [{name: n1, resources: {cpu: 8}}]
reservations:
- {name: late, start: 3600, for: 2h, nodes: [n1], tenants: [a]}
- {name: early, start: 0, for: 2h, nodes: [n1], tenants: [a]}  #! reservations[1].nodes: n1 … "late"

## reservation of a node of which a share is reserved
nodes: [{name: n1, resources: {cpu: 8}}]
reservations:
- {name: share, start: 0, for: 2h, nodes: [n1], tenants: [a], resources: {cpu: 1}}
- {name: all, start: 60, for: 1h, nodes: [n1], tenants: [a]}  #! reservations[1].nodes: "share"

## shares that are too much together
nodes: [{name: n1, resources: {cpu: 8}}]
reservations:
- {name: r1, start: 0, for: 2h, nodes: [n1], tenants: [a], resources: {cpu: 3}}
- {name: r2, start: 0, for: 2h, nodes: [n1], tenants: [b], resources: {cpu: 3}}
- name: r3  #! reservations[2]: "r1" and "r2" … more cpu … the node n1
  start: 60
  for: 2h
  nodes: [n1]
  tenants: [c]
  resources: {cpu: 3}

## state of no queue
queues:
- {state: paused}  #! queues[0].name: is missing

## queue without a state
queues:
- {name: batch}  #! queues[0].state: is missing

## unknown state
queues:
- {name: batch, state: pause}  #! queues[0].state: did you mean "paused"

## states of one queue
queues:
- {name: batch, state: paused}
- {name: batch, state: open}  #! queues[1].name: queue named "batch" … line 2

## state since an odd time
queues:
- {name: batch, state: closed, since: monday}  #! queues[0].since: not a time

## a list
- nodes  #! : expected a mapping, got a list

## nothing given
nodes:
- name: a
  resources: {}
  labels:  #! nodes[0].labels: got nothing … remove the field
"""

JOBS = """

## negative amount
jobs:
- name: j
  resources: {memory: -1Gi}  #! jobs[0].resources.memory: negative

## more than the limit
jobs:
- name: j
  resources: {cpu: 4}  #! jobs[0].resources.cpu: more than its limit
  limits: {cpu: 2}

## field misspelt
jobs:
- name: j
  min-available: 2  #! jobs[0].min-available: unknown field … did you mean "min_available"

## unlike any field
jobs:
- name: j
  xyz: 2  #! jobs[0].xyz: unknown field … known fields

## job twice
jobs:
- name: j
- name: k
- name: j  #! jobs[2].name: job named "j" … line 2

## job of the cluster too
jobs:
- name: runs  #! jobs[0].name: job named "runs" … cluster.yaml, line 5

## name that is empty
jobs:
- name: ""  #! jobs[0].name: empty

## project with a slash
jobs:
- {name: j, project: a/b}  #! jobs[0].project: slash

## unknown priority
jobs:
- name: j
  priority: hihg  #! jobs[0].priority: unknown value … did you mean "high"

## priority with decimals
jobs:
- name: j
  priority: 1.5  #! jobs[0].priority: expected … 1.5

## absurd priority
jobs:
- name: j
  priority: 99999999999  #! jobs[0].priority: out of range

## no tasks
jobs:
- name: j
  tasks: 0  #! jobs[0].tasks: out of range … at least 1

## absurdly many tasks
jobs:
- name: j
  tasks: 1000001  #! jobs[0].tasks: out of range … 1000000

## too many tasks in all
jobs:
- {name: j, tasks: 600000}
- {name: k, tasks: 600000}  #! jobs[1]: 1,000,000 tasks

## tasks beyond counting
jobs:
- {name: j, tasks: 900000, resources: {storage: 1Pi, memory: 8Ti}}  #! jobs[0].resources: too large

## tasks and groups
jobs:
- name: j
  tasks: 2  #! jobs[0].tasks: either tasks or groups
  groups: [{tasks: 1}]

## no groups
jobs:
- name: j
  groups: []  #! jobs[0].groups: no groups

## wrong in a group
jobs:
- name: j
  groups:
  - tasks: 1
  - resources: {cpu: x}  #! jobs[0].groups[1].resources.cpu: not an amount

## wrong beside groups
jobs:
- name: j
  resources: {cpu: x}  #! jobs[0].resources.cpu: not an amount
  groups:
  - tasks: 1

## cost of a group
jobs:
- name: j
  groups:
  - cost: {max_total: 3}  #! jobs[0].groups[0].cost.max_total: move it to the job

## min_available above tasks
jobs:
- name: j
  tasks: 4
  min_available: 5  #! jobs[0].min_available: 5 of 4 tasks … 1 to 4

## min_available below 1
jobs:
- name: j
  min_available: 0  #! jobs[0].min_available: 0 of 1

## min_available of 0 %
jobs:
- name: j
  min_available: 0%  #! jobs[0].min_available: 0%

## min_available above 100 %
jobs:
- name: j
  min_available: 101%  #! jobs[0].min_available: more than all

## fine percentage
jobs:
- name: j
  min_available: 33.3%  #! jobs[0].min_available: 33.3% … whole

## min_available negative
jobs:
- name: j
  min_available: -2  #! jobs[0].min_available: negative

## share of several GPUs
jobs:
- name: j
  gpus: {count: 2, share: 0.5}  #! jobs[0].gpus.count: of one device

## one GPU and a half
jobs:
- name: j
  gpus: 1.5  #! jobs[0].gpus: more than one GPU but not whole

## share above 1
jobs:
- name: j
  gpus: {share: 2}  #! jobs[0].gpus.share: not a share of one GPU

## share of 0
jobs:
- name: j
  gpus: {share: 0}  #! jobs[0].gpus.share: not a share

## GPUs of a model only
jobs:
- name: j
  gpus: {models: [A100]}  #! jobs[0].gpus: the number of GPUs is missing

## too many GPUs
jobs:
- name: j
  gpus: 5000  #! jobs[0].gpus: more than a node can have

## negative GPUs
jobs:
- name: j
  gpus: -1  #! jobs[0].gpus: negative

## port 0
jobs:
- name: j
  ports: [0]  #! jobs[0].ports[0]: out of range … 65535

## port twice
jobs:
- name: j
  ports: [80, {port: 80, address: 0.0.0.0}]  #! jobs[0].ports[1]: there already

## unknown protocol
jobs:
- name: j
  ports: [{port: 80, protocol: tcp}]  #! jobs[0].ports[0].protocol: did you mean "TCP"

## host name as address
jobs:
- name: j
  ports: [{port: 80, address: web}]  #! jobs[0].ports[0].address: not an IP address

## label that is a number
jobs:
- name: j
  labels: {version: 1.10}  #! jobs[0].labels.version: expected text … quotes

## unknown operator
jobs:
- name: j
  node_affinity:
    required:
    - labels:
      - key: k
        operator: in  #! jobs[0].node_affinity.required[0].labels[0].operator: did you mean "In"

## In without values
jobs:
- name: j
  affinity:
  - within: zone
    to: [{key: k, operator: In}]  #! jobs[0].affinity[0].to[0].values: needs values

## In with a number
jobs:
- name: j
  affinity:
  - within: zone
    to: [{key: k, operator: In, values: [7]}]  #! jobs[0].affinity[0].to[0].values[0]: quotes

## Exists with values
jobs:
- name: j
  affinity:
  - within: zone
    to: [{key: k, operator: Exists, values: [a]}]  #! jobs[0].affinity[0].to[0].values: takes no values

## Gt with two numbers
jobs:
- name: j
  affinity:
  - within: zone
    to: [{key: k, operator: Gt, values: [1, 2]}]  #! jobs[0].affinity[0].to[0].values: one whole number

## Lt with a word
jobs:
- name: j
  affinity:
  - within: zone
    to: [{key: k, operator: Lt, values: [few]}]  #! jobs[0].affinity[0].to[0].values: one whole number

## empty alternative
jobs:
- name: j
  node_affinity: {required: [{}]}  #! jobs[0].node_affinity.required[0]: without conditions

## wish without weight
jobs:
- name: j
  node_affinity: {preferred: [{names: [n1]}]}  #! jobs[0].node_affinity.preferred[0].weight: is missing

## weight above 100
jobs:
- name: j
  affinity: [{to: {a: b}, within: zone, weight: 101}]  #! jobs[0].affinity[0].weight: at most 100

## weight that is not finite
jobs:
- name: j
  affinity: [{to: {a: b}, within: zone, weight: .nan}]  #! jobs[0].affinity[0].weight: whole number

## near to everything
jobs:
- name: j
  affinity: [{to: {}, within: zone}]  #! jobs[0].affinity[0].to: select everything

## near to no value
jobs:
- name: j
  affinity: [{to: {app: []}, within: zone}]  #! jobs[0].affinity[0].to.app: at least one

## near in no domain
jobs:
- name: j
  affinity: [{to: {a: b}}]  #! jobs[0].affinity[0].within: is missing

## spread of what
jobs:
- name: j
  spread: [{over: zone}]  #! jobs[0].spread[0]: tasks to spread … labels

## spread of everything
jobs:
- name: j
  spread: [{over: zone, of: {}}]  #! jobs[0].spread[0].of: select everything

## skew of 0
jobs:
- name: j
  spread: [{over: zone, max_skew: 0, of: {a: b}}]  #! jobs[0].spread[0].max_skew: at least 1

## wish for domains
jobs:
- name: j
  spread:
  - over: zone
    required: false
    min_domains: 2  #! jobs[0].spread[0].min_domains: required: true

## unknown topology
jobs:
- name: j
  topology: [{key: zone, tasks: sme}]  #! jobs[0].topology[0].tasks: did you mean "same"

## more domains than tasks
jobs:
- name: j
  tasks: 2
  topology: [{key: zone, tasks: 3}]  #! jobs[0].topology[0].tasks: 2 tasks … 3 domains

## two rules for a key
jobs:
- name: j
  topology:
  - {key: zone, tasks: same}
  - {key: zone, tasks: different}  #! jobs[0].topology[1].key: a rule already

## Exists with a value
jobs:
- name: j
  tolerations: [{key: k, operator: Exists, value: v}]  #! jobs[0].tolerations[0].value: takes no value

## value of no key
jobs:
- name: j
  tolerations: [{value: v}]  #! jobs[0].tolerations[0]: no key

## seconds of NoSchedule
jobs:
- name: j
  tolerations: [{key: k, effect: NoSchedule, seconds: 3}]  #! jobs[0].tolerations[0].seconds: NoExecute

## negative seconds
jobs:
- name: j
  tolerations: [{key: k, effect: NoExecute, seconds: -3}]  #! jobs[0].tolerations[0].seconds: out of range

## unknown goal
jobs:
- name: j
  cost: {goal: cheap}  #! jobs[0].cost.goal: did you mean "cheapest"

## cost without end
jobs:
- name: j
  cost: {max_total: 20}  #! jobs[0].cost.max_total: time limit … add time_limit

## no time
jobs:
- name: j
  time_limit: 0  #! jobs[0].time_limit: the duration is 0

## time in words
jobs:
- name: j
  time_limit: two hours  #! jobs[0].time_limit: not a duration … 2h30m

## time in milliseconds
jobs:
- name: j
  submitted: 1767225600000  #! jobs[0].submitted: seconds, not milliseconds

## partner unknown
jobs:
- name: server
- name: j
  connect_to: servr  #! jobs[1].connect_to: no job named "servr" … did you mean "server"

## partner itself
jobs:
- name: j
  connect_to: j  #! jobs[0].connect_to: itself

## partners in a circle
jobs:
- {name: z, connect_to: a}
- {name: a, connect_to: b}  #! jobs[1].connect_to: a → b → c → a
- {name: b, connect_to: c}
- {name: c, connect_to: a}

## preempted by itself
jobs:
- name: j
  preempted_by: [j]  #! jobs[0].preempted_by[0]: itself

## on an unknown node
jobs:
- name: j
  running_on: [n11]  #! jobs[0].running_on[0]: no node named "n11" … did you mean "n1"

## on one unknown node
jobs:
- name: j
  running_on: moon  #! jobs[0].running_on: no node … cluster file

## too few nodes
jobs:
- name: j
  tasks: 2
  running_on: n1  #! jobs[0].running_on: 1 nodes for 2 tasks … null

## too many nodes
jobs:
- name: j
  running_on: [n1, n1]  #! jobs[0].running_on: 2 nodes for 1 tasks

## rank out of range
jobs:
- name: j
  tasks: 2
  running_on: [{rank: 2, node: n1}]  #! jobs[0].running_on[0].rank: no task of rank 2 … 0 to 1

## rank twice
jobs:
- name: j
  running_on: [{rank: 0, node: n1}, {rank: 0, node: n1}]  #! jobs[0].running_on[1].rank: there already

## two forms
jobs:
- name: j
  tasks: 2
  running_on: [{rank: 0, node: n1}, n1]  #! jobs[0].running_on: mixes

## device out of range
jobs:
- name: j
  gpus: 1
  running_on: [{rank: 0, node: n1, gpus: [2]}]  #! jobs[0].running_on[0].gpus[0]: no GPU 2 … it has 2

## fewer devices than asked
jobs:
- name: j
  gpus: 2
  running_on: [{rank: 0, node: n1, gpus: [0]}]  #! jobs[0].running_on[0].gpus: 2 GPUs

## since when, but not where
jobs:
- name: j
  started: 5  #! jobs[0].started: running_on

## done out of range
jobs:
- name: j
  done: [1]  #! jobs[0].done[0]: no task of rank 1 … only rank is 0

## done and running
jobs:
- name: j
  running_on: n1
  done: [0]  #! jobs[0].done[0]: runs

## period that ends before it begins
jobs:
- name: j
  start_after: 2026-01-01T08:00:00Z
  start_before: 2026-01-01T08:00:00+01:00  #! jobs[0].start_before: before start_after, 2026-01-01T08:00:00Z

## period in words
jobs:
- name: j
  start_after: noon  #! jobs[0].start_after: not a time

## period as a duration
jobs:
- name: j
  start_before: 2h  #! jobs[0].start_before: not a time

## no time to start within
jobs:
- name: j
  start_within: 0  #! jobs[0].start_within: the duration is 0

## less than no time to start within
jobs:
- name: j
  start_within: -5m  #! jobs[0].start_within: negative

## start after it has failed
jobs:
- name: j
  submitted: 2026-01-01T08:00:00Z
  start_within: 1h
  start_after: 2026-01-01T09:00:01Z  #! jobs[0].start_after: fails at 2026-01-01T09:00:00Z … longer

## unknown reservation
jobs:
- name: j
  reservation: exm  #! jobs[0].reservation: no reservation named "exm" … did you mean "exam"

## unlike any reservation
jobs:
- name: j
  reservation: holidays  #! jobs[0].reservation: no reservation … cluster file

## unknown fate at maintenance
jobs:
- name: j
  at_maintenance: kill  #! jobs[0].at_maintenance: unknown value … "requeue" or "end"

## promise without a start
jobs:
- name: j
  promised: {on: n1}  #! jobs[0].promised.start: is missing

## promise without a place
jobs:
- name: j
  promised: {start: 9}  #! jobs[0].promised.on: is missing

## promise of an odd time
jobs:
- name: j
  promised: {start: soon, on: n1}  #! jobs[0].promised.start: not a time

## promise before it was submitted
jobs:
- name: j
  submitted: 10
  promised: {start: 9, on: n1}  #! jobs[0].promised.start: before the job was submitted

## promise before its period
jobs:
- name: j
  start_after: 10
  promised: {start: 9, on: n1}  #! jobs[0].promised.start: before its start_after

## promise after its period
jobs:
- name: j
  start_before: 8
  promised: {start: 9, on: n1}  #! jobs[0].promised.start: after its start_before

## promise of an unknown node
jobs:
- name: j
  promised: {start: 9, on: n11}  #! jobs[0].promised.on: did you mean "n1"

## promise of an unknown node with devices
jobs:
- name: j
  gpus: 1
  promised: {start: 9, on: [{node: n11, gpus: [0]}]}  #! jobs[0].promised.on[0].node: did you mean "n1"

## promise of too few nodes
jobs:
- name: j
  tasks: 3
  promised: {start: 9, on: [n1, n22]}  #! jobs[0].promised.on: 2 nodes for 3 tasks … null

## promise of a part of a gang
jobs:
- name: j
  tasks: 3
  min_available: 2
  promised: {start: 9, on: [n1, null, null]}  #! jobs[0].promised.on: 1 of the 2 tasks

## promise of nothing
jobs:
- name: j
  promised: {start: 9, on: [null]}  #! jobs[0].promised.on: 0 of the 1 tasks

## promise to a task that runs
jobs:
- name: j
  tasks: 2
  running_on: [null, n1]
  promised: {start: 9, on: [n1, n1]}  #! jobs[0].promised.on[1]: rank 1 runs … null

## promise to the only task, which runs
jobs:
- name: j
  running_on: n1
  promised: {start: 9, on: n1}  #! jobs[0].promised.on: rank 0 runs

## promise of GPUs without their numbers
jobs:
- name: j
  gpus: 2
  promised: {start: 9, on: n1}  #! jobs[0].promised.on: which 2 GPUs of n1 … gpus: [0]

## promise of no GPUs
jobs:
- name: j
  gpus: 2
  promised: {start: 9, on: [{node: n1}]}  #! jobs[0].promised.on[0].gpus: which 2 GPUs of n1

## promise of a GPU that isn't there
jobs:
- name: j
  gpus: 1
  promised: {start: 9, on: [{node: n1, gpus: [2]}]}  #! jobs[0].promised.on[0].gpus[0]: no GPU 2

## promise of too many GPUs
jobs:
- name: j
  gpus: 1
  promised: {start: 9, on: [{node: n1, gpus: [0, 1]}]}  #! jobs[0].promised.on[0].gpus: not the 1 GPUs

## negative retries
jobs:
- name: j
  retries: -1  #! jobs[0].retries: out of range

## true as text
jobs:
- name: j
  exclusive: "yes"  #! jobs[0].exclusive: expected true or false

## a cluster
nodes: []  #! nodes: cluster first

## no jobs
job: []  #! job: unknown field … did you mean "jobs"

## key twice
jobs:
- name: j
  name: k  #! : duplicate key … line 2
"""

POLICIES = """

## unknown strategy
strategy: binpacking2  #! strategy: did you mean "bin-packing"

## custom without plugin
strategy: custom  #! plugin: needs a plugin

## plugin without custom
strategy: balanced
plugin: mine  #! plugin: only the strategy custom

## unknown plugin
strategy: custom
plugin: thermel  #! plugin: unknown plugin … did you mean "thermal"

## unlike any plugin
plugins:
- name: xyz  #! plugins[0].name: unknown plugin … known plugins: quiet, thermal

## plugin twice
plugins:
- name: thermal
- name: thermal  #! plugins[1].name: plugin … line 2

## NaN weight
weights:
  load: .nan  #! weights.load: whole number

## infinite weight
weights:
  load: .inf  #! weights.load: whole number

## negative weight
weights: {load: -1}  #! weights.load: out of range … at least 0

## weight with decimals
weights: {load: 0.3}  #! weights.load: whole number

## unknown criterion
weights: {utilization: 3}  #! weights.utilization: did you mean "utilisation"

## unknown queue strategy
queues: [{strategy: lifo}]  #! queues[0].strategy: did you mean "fifo"

## unknown tenant key
queues: [{tenant_key: group}]  #! queues[0].tenant_key: unknown value … project/user

## queue twice
queues:
- name: a
- name: a  #! queues[1].name: queue … line 2

## no queues
queues: []  #! queues: no queue

## unknown backfill
queues: [{backfill: eazy}]  #! queues[0].backfill: did you mean "easy"

## unknown durations
queues: [{durations: learned}]  #! queues[0].durations: did you mean "learnt"

## no depth
queues: [{depth: 0}]  #! queues[0].depth: at least 1

## depth of easy backfill
queues: [{backfill: easy, depth: 5}]  #! queues[0].depth: conservative … easy

## depth without backfill
queues: [{backfill: none, depth: 5}]  #! queues[0].depth: conservative … none

## interactive by priority
queues:
- interactive: true
  strategy: priority  #! queues[0].strategy: first come … remove strategy, or interactive

## interactive by share
queues: [{interactive: true, strategy: fair}]  #! queues[0].strategy: first come

## interactive by size
queues: [{interactive: true, strategy: smallest}]  #! queues[0].strategy: first come

## interactive and strict
queues: [{interactive: true, strict: true}]  #! queues[0].strict: promises every job a start

## interactive without a calendar
queues: [{interactive: true, backfill: none}]  #! queues[0].backfill: place in the calendar

## interactive with half a calendar
queues: [{interactive: true, backfill: easy}]  #! queues[0].backfill: place in the calendar

## interactive by guess
queues: [{interactive: true, durations: learnt}]  #! queues[0].durations: time limits

## interactive up to a depth
queues: [{interactive: true, depth: 5}]  #! queues[0].depth: every job … remove depth

## interactive in words
queues: [{interactive: "yes"}]  #! queues[0].interactive: true or false

## negative pause
recovery: {backoff: -1s}  #! recovery.backoff: negative

## pause in words
recovery: {max_backoff: long}  #! recovery.max_backoff: not a duration

## pause above the longest
recovery: {backoff: 2h, max_backoff: 1h}  #! recovery.max_backoff: 2h, is longer than the longest, 1h

## pause above the longest by default
recovery: {backoff: 2h}  #! recovery.backoff: 2h, is longer than the longest, 1h … raise max_backoff

## wishes dropped before the first failure
recovery: {drop_wishes_after: 0}  #! recovery.drop_wishes_after: at least 1

## unknown in recovery
recovery: {drop_wishes: 3}  #! recovery.drop_wishes: did you mean "drop_wishes_after"

## scheduler twice
schedulers:
- name: a
- name: a  #! schedulers[1].name: scheduler … line 2

## no schedulers
schedulers: []  #! schedulers: no scheduler

## flat beside schedulers
schedulers: [{name: a}]
queues: [{name: b}]  #! queues: move it into them

## promotion above critical
promotion: {every: 1h, up_to: 1000000001}  #! promotion.up_to: above critical

## promotion to nowhere
promotion: {every: 1h, up_to: highest}  #! promotion.up_to: did you mean "high"

## promotion never
promotion: {up_to: high}  #! promotion: every or retry_budget

## promotion all the time
promotion: {every: 0}  #! promotion.every: the duration is 0

## negative run time
preemption: {min_run_time: -1s}  #! preemption.min_run_time: negative

## half-life of 0
fair_share: {half_life: 0s}  #! fair_share.half_life: the duration is 0

## unknown reclaim
fair_share: {reclaim: nevr}  #! fair_share.reclaim: did you mean "never"

## weight of 0
tenants:
  vision: {weight: 0}  #! tenants.vision.weight: at least 1

## user as a project
tenants:
  vision/ada: {weight: 1}  #! tenants["vision/ada"]: under `users`

## tenant twice
tenants:
  vision: {weight: 1}
  vision: {weight: 2}  #! : duplicate key … line 2

## unknown resource
tenants:
  vision: {quota: {gpus: 1}}  #! tenants.vision.quota.gpus: did you mean "gpu"

## negative quota
tenants:
  vision: {quota: {cpu: -1}}  #! tenants.vision.quota.cpu: negative

## borrow without quota
tenants:
  vision: {borrow: none}  #! tenants.vision.borrow: no quota

## unknown borrow
tenants:
  vision: {quota: {cpu: 1}, borrow: unlimted}  #! tenants.vision.borrow: did you mean "unlimited"

## borrow what is free
tenants:
  vision: {quota: {cpu: 1}, borrow: {gpu: 1}}  #! tenants.vision.borrow.gpu: doesn't limit

## lend more than one has
tenants:
  vision: {quota: {cpu: 1}, lend: {cpu: 2}}  #! tenants.vision.lend.cpu: more than the quota

## wrong with a user
tenants:
  vision:
    users:
      ada: {quota: {cpu: x}}  #! tenants.vision.users.ada.quota.cpu: not an amount

## platform above its limit
platforms:
  ubuntu: {requests: {cpu: 2}, limits: {cpu: 1}}  #! platforms.ubuntu.requests.cpu: more than its limit

## wrong overhead
runtimes:
  kata: {cpu: 250x}  #! runtimes.kata.cpu: unknown unit

## unknown field
queue: [{strategy: fair}]  #! queue: did you mean "queues"
"""


class Bad(NamedTuple):
    text: str
    line: int
    field: str
    words: list[str]

    def check(self, error: InputError) -> None:
        assert (error.line, error.field) == (self.line, self.field), str(error)
        for words in self.words:
            assert words in str(error)


_MARK = re.compile(r"#! (?P<field>.*?): (?P<words>.*)")


def mistakes(table: str) -> pytest.MarkDecorator:
    """A test for each file of the table, with the mistake that is marked in it."""
    cases = []
    for entry in table.split("\n## ")[1:]:
        name, _, text = entry.partition("\n")
        mark = _MARK.search(text)
        assert mark is not None, name
        line = text[: mark.start()].count("\n") + 1
        bad = Bad(text, line, mark["field"], mark["words"].split(" … "))
        cases.append(pytest.param(bad, id=name))
    return pytest.mark.parametrize("bad", cases)


@mistakes(CLUSTERS)
def test_cluster(bad: Bad) -> None:
    with pytest.raises(InputError) as caught:
        records_from_documents(parse_documents(bad.text.encode(), "cluster.yaml"))
    bad.check(caught.value)


CLUSTER = b"""\
nodes:
- {name: n1, resources: {cpu: 8}, gpus: 2}
- {name: n22, resources: {cpu: 8}}
jobs:
- {name: runs, running_on: n1}
reservations:
- {name: exam, start: 0, for: 1h, nodes: [n22], tenants: [vision]}
"""


@mistakes(JOBS)
def test_jobs(bad: Bad) -> None:
    cluster = parse_documents(CLUSTER, "cluster.yaml")
    with pytest.raises(InputError) as caught:
        records_from_documents(cluster, parse_documents(bad.text.encode(), "jobs.yaml"))
    bad.check(caught.value)


@mistakes(POLICIES)
def test_policy(bad: Bad) -> None:
    with pytest.raises(InputError) as caught:
        policy_from(parse_documents(bad.text.encode(), "policy.yaml")[0], known_plugins={"thermal", "quiet"})
    bad.check(caught.value)


def errors_in_jobs(text: str) -> list[tuple[int | None, str]]:
    cluster, jobs = parse_documents(CLUSTER, "cluster.yaml"), parse_documents(text.encode(), "jobs.yaml")
    with pytest.raises(InputError) as caught:
        records_from_documents(cluster, jobs)
    return [(error.line, error.field) for error in caught.value.all]


def test_all_that_is_wrong_is_said_at_once() -> None:
    text = "jobs:\n- {name: a, time_limit: 0}\n- {name: b}\n- {name: c, gpus: 1.5}\n- {name: b}"
    assert errors_in_jobs(text) == [(2, "jobs[0].time_limit"), (4, "jobs[2].gpus"), (5, "jobs[3].name")]


def test_reservations_that_meet_on_many_nodes_are_named_once() -> None:
    text = """
        nodes: [{name: n, count: 50, resources: {}}]
        reservations:
        - {name: a, start: 0, for: 2h, nodes: &all [NODES], tenants: [x]}
        - {name: b, start: 60, for: 2h, nodes: *all, tenants: [x]}
        - {name: c, start: 7260, for: 1m, nodes: [n-7], tenants: [x]}
        - {name: d, start: 7200, for: 1h, nodes: [n-7], tenants: [x]}
    """.replace("NODES", ", ".join(f"n-{number}" for number in range(50)))
    with pytest.raises(InputError) as caught:
        records_from_documents(parse_documents(text.encode(), "cluster.yaml"))
    assert [error.field for error in caught.value.all] == ["reservations[1].nodes", "reservations[3].nodes"]


def test_of_very_many_mistakes_the_first_are_named() -> None:
    text = "jobs:\n" + "- {name: a, time_limit: 0}\n" * 1000
    assert len(errors_in_jobs(text)) == 20


def test_labels_without_end() -> None:
    assert errors_in_jobs(f"jobs: [{{name: a, labels: {{x: {'y' * 300}}}}}]") == [(1, "jobs[0].labels.x")]
