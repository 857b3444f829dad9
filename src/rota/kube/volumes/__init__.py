"""Volumes of a live cluster: what pods need of them, which are to be had where, and who gets which.

`book` is told by informers, and puts the rest together for whoever reads, places and binds pods.
"""
