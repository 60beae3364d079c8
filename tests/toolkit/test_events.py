"""The toolkit's events are those of the core, by the same names."""

from handfast.core import events as core_events
from handfast.toolkit import events


def test_the_toolkit_hands_on_every_event() -> None:
    named = {name: getattr(events, name) for name in events.__all__ if name.isupper()}
    assert named == core_events.registered_events()
    assert events.register_event is core_events.register_event
