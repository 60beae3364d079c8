"""Lists of names as texts of refusals show them: scrubbed, bounded and quoted."""

import json
from collections.abc import Iterable

from handfast.core.schema.declared import Declared
from handfast.core.words.redaction import scrub_names
from handfast.core.words.wording import names_pattern


def declared_line(declared: Declared) -> str:
    if not declared.names and declared.patterns:
        return f"Declared fields: names that match {names_pattern(declared.patterns)}."
    return f"Declared fields: [{quoted_names(declared.names)}]."


def quoted_names(names: Iterable[str]) -> str:
    # The mark of a shortened list is a literal ..., not a field name.
    return ", ".join(name if name == "..." else json.dumps(name, ensure_ascii=False) for name in scrub_names(names))


def last_name(name: str) -> str:
    """Of a name with its place, such as `lines[0].sku`, the name."""
    return name.rpartition(".")[2]
