"""Plugins from outside, under a time limit."""
