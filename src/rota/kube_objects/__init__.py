"""What Kubernetes' objects mean in the model: pods as tasks, gangs as jobs, nodes, selectors, volumes.

The only place that reads them. `intake/kubernetes` brings objects from files, `kube` from a live cluster.
"""
