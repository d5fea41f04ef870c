"""Two arms that differ in what is under test and in nothing else: found, built, installed, compared."""

from pyharness.features.gate.arms.arm import Arm as Arm
from pyharness.features.gate.arms.preparing import Arms as Arms
from pyharness.features.gate.arms.preparing import arms as arms
from pyharness.features.gate.building import NotBuilt as NotBuilt
