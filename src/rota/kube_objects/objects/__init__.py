"""Kubernetes objects, as far as scheduling looks at them.

Unlike in Rota's own formats fields that aren't here are ignored: objects from a cluster are full of them. All
but what Kubernetes itself requires may be missing or null, as its API has it.
"""
