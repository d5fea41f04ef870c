"""What a side of a gate is: a wheel, an environment, a revision of a checkout, or a tokenizer."""

from pyharness.features.gate.sources.named import Installed as Installed
from pyharness.features.gate.sources.named import NoRevision as NoRevision
from pyharness.features.gate.sources.named import Revision as Revision
from pyharness.features.gate.sources.named import Source as Source
from pyharness.features.gate.sources.named import Specified as Specified
from pyharness.features.gate.sources.named import find as find
from pyharness.features.gate.sources.named import notes as notes
from pyharness.features.gate.sources.wheels import CHOICES as CHOICES
from pyharness.features.gate.sources.wheels import Wheel as Wheel
from pyharness.features.gate.sources.wheels import check_unchanged as check_unchanged
from pyharness.features.gate.sources.wheels import wheel as wheel
