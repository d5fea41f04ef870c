"""What ``pyharness gate`` does: a request, two arms that are ready, launches, verdicts."""

from pyharness.commands.gating.judging import judged as judged
from pyharness.commands.gating.ready import ReadyGate as ReadyGate
from pyharness.commands.gating.ready import session as session
from pyharness.commands.gating.request import GateRequest as GateRequest
from pyharness.commands.gating.running import gate as gate
