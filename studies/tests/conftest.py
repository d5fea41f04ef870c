"""Settings that the tests of studies share with those of pyharness."""

from __future__ import annotations

from hypothesis import settings

# A slow example is no fault: shared machines pass Hypothesis' limit of 200 ms now and then.
settings.register_profile("without_deadline", deadline=None)
settings.load_profile("without_deadline")
