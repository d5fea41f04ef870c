"""Features: what the trunk can live without. A folder holds all of one, and can be deleted.

Its ``PLUGINS`` names the modules that offer something, by the group that an installed package would name as an entry
point: ``{"pyharness.benchmarks": ("benchmark",)}``. The trunk finds them there and nowhere else.
"""
