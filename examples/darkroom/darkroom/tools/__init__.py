"""The 22 tools, one file for each kind of work."""

from darkroom.refusal import DECLARED
from darkroom.studio import Studio
from darkroom.tools import edits, memory, pictures, prints, versions, words
from handfast.toolkit import Toolbox

INSTRUCTIONS = """\
Edit pictures without touching their originals. Take one in with `ingest`, read `read_context` and `list_vocabulary`,
then edit with `apply_primitive` and `bind_layers` and look with `render_preview` or `compare`. Every edit is a
snapshot: nothing is ever lost, and any of them can be checked out again. Branch on `error.code`."""


def build_tools(studio: Studio) -> Toolbox:
    """Every tool of the darkroom, over one workspace."""
    tools = Toolbox("darkroom", envelope="result", codes=DECLARED, app=studio, instructions=INSTRUCTIONS)
    for group in (words, edits, prints, versions, pictures, memory):
        group.add_to(tools)
    return tools
