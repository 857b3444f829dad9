"""Commands around GitHub Actions workflows."""
