"""What a reload changes."""

from dataclasses import replace

import pytest

from handfast.core.call.policy import Mode, OutputPolicy, Overrides
from handfast.core.call.recording import Durability
from handfast.gateway.settings import ServerSettings, Settings, Transport
from handfast.gateway.settings.blocks import Activity, Bridge, Isolation, Surface
from handfast.gateway.settings.changes import ServerChanges, changed_servers, keys_that_wait

A = ServerSettings(transport=Transport.STDIO, command="a", env={"K": "1"})
B = ServerSettings(transport=Transport.HTTP, url="http://b", headers={"K": "1"})
STRICT = Overrides({}, {"mode": Mode.STRICT})


def test_equal_settings_change_nothing() -> None:
    assert changed_servers(Settings(servers={"a": A}), Settings(servers={"a": replace(A)})) == ServerChanges()


def test_servers_come_and_go_and_a_disabled_one_counts_as_absent() -> None:
    off = replace(A, disabled=True)
    old = Settings(servers={"gone": A, "off": A, "on": off, "still_off": off})
    new = Settings(servers={"new": A, "off": off, "on": A, "still_off": replace(off, command="b")})

    assert changed_servers(old, new) == ServerChanges(added=("new", "on"), removed=("gone", "off"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (A, replace(A, command="b")),
        (A, replace(A, args=("x",))),
        (A, replace(A, env={"K": "2"})),
        (A, replace(A, cwd="/")),
        (A, B),
        (B, replace(B, url="http://c")),
        (B, replace(B, headers={})),
        (B, replace(B, forward_headers=("X-Tenant",))),
        (A, replace(A, isolation=Isolation.SESSION)),
        (A, replace(A, bridge=Bridge.OFF)),
        (A, replace(A, command="b", overrides=STRICT)),
    ],
)
def test_what_a_server_was_started_with_restarts_it(before: ServerSettings, after: ServerSettings) -> None:
    changes = changed_servers(Settings(servers={"s": before, "t": A}), Settings(servers={"s": after, "t": A}))

    assert changes == ServerChanges(restarted=("s",))


@pytest.mark.parametrize(
    "after",
    [
        replace(A, overrides=STRICT),
        replace(A, tools={"t": STRICT}),
        replace(A, surface=Surface.COMPACT),
        replace(A, concurrent_calls=3),
        replace(A, retry_idempotent=True),
    ],
)
def test_other_rules_do_not_restart_a_server(after: ServerSettings) -> None:
    changes = changed_servers(Settings(servers={"s": A, "t": A}), Settings(servers={"s": after, "t": A}))

    assert changes == ServerChanges(policy_only=("s",))


def test_a_changed_global_block_changes_only_the_servers_that_follow_it() -> None:
    servers = {"follows": A, "own": replace(A, overrides=STRICT)}

    changes = changed_servers(
        Settings(servers=servers), Settings(servers=servers, output_validation=OutputPolicy(mode=Mode.OFF))
    )

    assert changes == ServerChanges(policy_only=("follows",))


def test_the_socket_and_the_store_wait_for_a_restart() -> None:
    new = Settings(
        listen="127.0.0.1:1", activity=Activity(store="postgresql://x", durability=Durability.ALL), allowed_hosts=("a",)
    )

    assert keys_that_wait(Settings(), new) == ("listen", "activity.store", "activity.durability")
    assert keys_that_wait(new, new) == ()
