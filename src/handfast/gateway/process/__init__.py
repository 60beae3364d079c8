"""The processes of stdio servers, and the channel to each."""
