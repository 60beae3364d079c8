"""What is known of the requests under way with one server: calls judged, answers paired, tasks remembered."""
