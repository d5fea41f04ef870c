"""Wheels of revisions: built, kept for a day, and what the log of a build that failed says."""

from pyharness.features.gate.building.wheels import NotBuilt as NotBuilt
from pyharness.features.gate.building.wheels import Workshop as Workshop
from pyharness.features.gate.building.wheels import export as export
from pyharness.features.gate.building.wheels import kept as kept
from pyharness.features.gate.building.wheels import run_pip as run_pip
from pyharness.features.gate.building.wheels import wheel_of as wheel_of
