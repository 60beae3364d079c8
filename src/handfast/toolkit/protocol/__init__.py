"""The protocol without an SDK: the answer to one POST, in the era of the client."""
