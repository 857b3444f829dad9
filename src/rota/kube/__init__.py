"""A live Kubernetes cluster, over its API.

`config` finds the cluster and `credentials` keep what it takes to be let in; `client` makes calls of
`resources`; `informer` keeps a copy of what a resource holds, current by watching it; `work_queue` and
`leader` are what else a controller needs. It knows nothing of scheduling.
"""
