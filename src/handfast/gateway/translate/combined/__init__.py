"""All servers as one backend: names, lists, resources, tasks and subscriptions routed to their own server."""
