"""Features: what the trunk can live without. A folder holds all of one, and can be deleted.

Its ``PLUGINS`` names what it offers, "module:CONSTANT", by the group that an installed package would name as an entry
point: ``{"pyharness.benchmarks": ("benchmark:BENCHMARKS",)}``. The trunk finds it there and nowhere else, and loads it
when it is asked for.
"""
