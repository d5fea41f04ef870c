"""A record's numbers computed again from the state beside it; what differs is named, and what nobody can check."""

from pyharness.commands.rederiving.cases import Rederived
from pyharness.commands.rederiving.whole import Rederivation, rederive
from pyharness.commands.rederiving.words import lines

__all__ = ["Rederivation", "Rederived", "lines", "rederive"]
