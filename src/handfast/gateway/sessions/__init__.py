"""Sessions of clients with the gateway, whether their requests are relayed or translated."""
