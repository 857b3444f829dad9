"""Tasks as pods of a Kubernetes cluster. Called by `server`, which makes one backend a cluster.

    start ─► Secret, Service, Pod ─► informer: what becomes of it ─► reports
                │    setup ─► runner (the shim around the user's command) + log-collector
                └──── commands run in its containers bring files in, and output and files back

Everything goes through the API server: pods need no way to Rota, and Rota none to pods. The objects of the
cluster are the only record: after a restart the pods tell which tasks there are.
"""
