"""The Django adapter: what a REST framework API serves over HTTP becomes tools that lose nothing silently."""
