"""The protocol without an SDK: what one POST is answered with, in the era of the client."""
