"""A warehouse behind a REST framework API: what is called through its views, with all that can stand around one."""
