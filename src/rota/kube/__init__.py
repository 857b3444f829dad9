"""A live Kubernetes cluster, over its API, and the scheduler of its pods.

`config` finds the cluster and `credentials` keep what it takes to be let in; `client` makes calls of
`resources`; `informer` keeps a copy of what a resource holds, current by watching it; `work_queue` and
`leader` are what else a controller needs: up to here nothing knows of scheduling.

`mirror` makes records of what informers tell, with `gangs`, `pod_context` and `budgets`; `cycle` asks
`decide` about them, by the `filters` of kube-scheduler; `binding` carries plans out; `telling` and `words`
say what users see; `run` puts it together. Called by `rota kube-scheduler`. `asking` and `starts` answer
`rota why pod/NAME` and `rota eta pod/NAME`, from a mirror that is filled once.
"""
