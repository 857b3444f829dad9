"""A live Kubernetes cluster over its API, and `rota kube-scheduler` for it.

`api` talks to the cluster. `mirror` keeps it as a state that `decide` is asked with; `volumes` is its book of
claims and volumes. `scheduling` decides, binds and reports on pods. `asking` answers why a pod waits and when
it starts. What an object means in the model is read by `rota.kube_objects`. Called by the CLI.
"""
