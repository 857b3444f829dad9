"""Whom to evict for a class, a quota, a taint or maintenance."""
