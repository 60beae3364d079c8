"""`handfast` for a machine that is many times slower: what it does after a moment, it does as many times later."""

import sys
from importlib import import_module
from importlib.util import find_spec

from handfast.activity import recorder
from handfast.cli.main import main

# An earlier revision is measured with this file too, and had both in other places.
_IS_SORTED = find_spec("handfast.gateway.http") is not None
event_stream = import_module("handfast.gateway.http.event_stream" if _IS_SORTED else "handfast.gateway.event_stream")
exchange = import_module("handfast.gateway.http.exchange" if _IS_SORTED else "handfast.gateway.http_exchange")

# Under callgrind everything takes about fifty times as long. Without this, records would be written in batches of ten
# and not of hundreds, each of which has a price of its own; a client would be watched for leaving, and sent the
# beginning of a stream, in calls that are over long before. All the more, the busier the machine is.
SLOWER = 50


def slow_down() -> None:
    """There are no settings for these, and no user needs them."""
    recorder._GATHER_S *= SLOWER
    vars(event_stream)["OPEN_AFTER_SECONDS"] *= SLOWER  # before the command imports those who take it from there
    moments = exchange.HttpExchange.watch.__kwdefaults__  # of revisions in which watching a client cost a task
    if moments is not None:
        moments["after"] *= SLOWER


if __name__ == "__main__":
    slow_down()
    sys.exit(main())
