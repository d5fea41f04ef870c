"""Documents in, ids out, and back: what ``pyharness encode`` and ``decode`` do to pipes, a bounded part at a time."""

from pyharness.commands.piping.decoding import decoded
from pyharness.commands.piping.documents import LONGEST_DOCUMENT, Part, parts
from pyharness.commands.piping.encoding import encoded, load, resolved, safe_cuts
from pyharness.commands.piping.ids import IdPart, ids_of
from pyharness.commands.piping.writing import Format, written

__all__ = [
    "LONGEST_DOCUMENT",
    "Format",
    "IdPart",
    "Part",
    "decoded",
    "encoded",
    "ids_of",
    "load",
    "parts",
    "resolved",
    "safe_cuts",
    "written",
]
