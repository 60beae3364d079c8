"""All servers as one backend: names, lists, resources, tasks and subscriptions led to their own server."""
