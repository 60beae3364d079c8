"""Settings as a file that loads to equal ones: what loading is compared with."""

import json

from handfast.gateway.settings import Settings
from handfast.gateway.settings.dump import plain_value, render_server
from handfast.gateway.settings.keys import BLOCKS, TOP_KEYS


def escape(text: str) -> str:
    """The text such that `expand` gives it back unchanged."""
    return text.replace("${", "$${")


def dump_settings(settings: Settings) -> str:
    document: dict[str, object] = {
        "mcpServers": {name: render_server(server, escape) for name, server in settings.servers.items()}
    }
    for name, keys in BLOCKS.items():
        document[name] = {key: plain_value(getattr(getattr(settings, name), key)) for key in keys}
    document |= {name: plain_value(getattr(settings, name)) for name in TOP_KEYS}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
