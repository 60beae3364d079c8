"""A help desk: django-helpdesk, whose API is a router of viewsets."""
