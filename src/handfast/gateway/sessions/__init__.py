"""Sessions of clients with the gateway, on whichever way their requests go on."""
