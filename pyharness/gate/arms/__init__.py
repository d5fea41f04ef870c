"""Two arms that differ in what is under test and in nothing else: found, built, installed, compared."""

from pyharness.gate.arms.arm import Arm as Arm
from pyharness.gate.arms.preparing import Arms as Arms
from pyharness.gate.arms.preparing import arms as arms
from pyharness.gate.building import NotBuilt as NotBuilt
