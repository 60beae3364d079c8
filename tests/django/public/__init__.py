"""Public Django applications that nobody here wrote, with the adapter in them, driven by the official client."""
