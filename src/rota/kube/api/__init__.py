"""Kubernetes' API: which cluster, as whom; typed calls, informers, leader election. No scheduling."""
