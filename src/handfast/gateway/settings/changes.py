"""Compares two settings objects, so that only what must restart does."""

from dataclasses import dataclass

from handfast.gateway.settings import ServerSettings, Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerChanges:
    """Names of servers, sorted; a server is in one of these at most."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    restarted: tuple[str, ...] = ()
    policy_only: tuple[str, ...] = ()


def changed_servers(old: Settings, new: Settings) -> ServerChanges:
    """Returns which servers come, go, restart, or only change their policies; a disabled server counts as absent."""
    before, after = _running(old), _running(new)
    both = sorted(before.keys() & after.keys())
    restarted = tuple(name for name in both if _launch(before[name]) != _launch(after[name]))
    return ServerChanges(
        added=tuple(sorted(after.keys() - before.keys())),
        removed=tuple(sorted(before.keys() - after.keys())),
        restarted=restarted,
        policy_only=tuple(n for n in both if n not in restarted and _rules(old, n) != _rules(new, n)),
    )


def keys_that_wait(old: Settings, new: Settings) -> tuple[str, ...]:
    """Changed keys that hold only after a restart: the socket is opened and the recorder made once."""
    kept = old.activity.__struct_fields__
    pairs: dict[str, tuple[object, object]] = {"listen": (old.listen, new.listen)}
    pairs |= {"tls": (old.tls, new.tls)}
    pairs |= {f"activity.{key}": (getattr(old.activity, key), getattr(new.activity, key)) for key in kept}
    return tuple(name for name, (before, after) in pairs.items() if before != after)


def _running(settings: Settings) -> dict[str, ServerSettings]:
    return {name: server for name, server in settings.servers.items() if not server.disabled}


def _launch(server: ServerSettings) -> tuple[object, ...]:
    """What a running child or connection was made with; isolation and bridge decide whom it may serve and how."""
    process = (server.command, server.args, server.env, server.cwd)
    connection = (server.url, server.headers, server.forward_headers)
    return (server.transport, *process, *connection, server.isolation, server.bridge)


def _rules(settings: Settings, name: str) -> tuple[object, ...]:
    """What is in force for a server's tools, wherever it was written: a changed global block changes it too."""
    server = settings.servers[name]
    own = {tool: settings.policy(name, tool) for tool in server.tools}
    options = (server.surface, server.start, server.concurrent_calls, server.retry_idempotent)
    return (settings.policy(name, ""), own, *options)
