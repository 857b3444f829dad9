"""What all tests share: how hard the property tests try, chosen by HYPOTHESIS_PROFILE."""

import os

from hypothesis import settings

# Deadlines would make tests fail on a busy machine. "quick" and "ci" try the same examples each
# time, so that a run says something about the change and not about luck; "default" explores.
settings.register_profile("quick", max_examples=25, deadline=None, derandomize=True)
settings.register_profile("default", max_examples=100, deadline=None)
settings.register_profile("ci", max_examples=200, deadline=None, derandomize=True, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
