"""What ``pyharness gate`` does: a request, two arms that are ready, launches, verdicts."""

from pyharness.features.gate.commands.judging import judged as judged
from pyharness.features.gate.commands.ready import ReadyGate as ReadyGate
from pyharness.features.gate.commands.ready import session as session
from pyharness.features.gate.commands.request import GateRequest as GateRequest
from pyharness.features.gate.commands.running import gate as gate
