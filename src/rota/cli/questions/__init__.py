"""Commands that ask the engine: why, plan, eta, extend; of a server, of files, or of a Kubernetes cluster."""
