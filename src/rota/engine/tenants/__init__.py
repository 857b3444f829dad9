"""What tenants hold and may hold: shares, quotas, limits."""
