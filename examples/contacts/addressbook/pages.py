"""Pages of every list."""

from rest_framework.pagination import PageNumberPagination


class Pages(PageNumberPagination):
    page_size = 25
    page_size_query_param = "page_size"
    max_page_size = 100
