"""Starts the darkroom: python server.py [--workspace DIR] [--http PORT]"""

from darkroom.main import main

if __name__ == "__main__":
    main()
