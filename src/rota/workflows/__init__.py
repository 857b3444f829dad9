"""GitHub Actions workflows, as GitHub runs them."""
