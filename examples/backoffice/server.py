"""Start the back office: python examples/backoffice/server.py [--all] [--http PORT]."""

from backoffice.server import main

main()
