"""The witness as a server of 2026-07-28 alone: it knows no handshake, and its questions stand in results."""

from conformance.era_launch import launch
from conformance.modern_server import ModernOnly, _serve_streams

import tests.real.witness_server  # noqa: F401 - its tools join those of the suite's server

if __name__ == "__main__":
    launch(ModernOnly, _serve_streams)
