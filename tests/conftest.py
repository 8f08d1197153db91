"""Settings for all tests."""

import os

from hypothesis import settings

# The same cases in every run, so that a red run means a change and not luck; no deadline, since a
# busy machine is no failure. `HYPOTHESIS_PROFILE=search` looks for new cases.
settings.register_profile("default", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None, max_examples=2_000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
