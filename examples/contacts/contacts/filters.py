"""What lists of contacts can be narrowed by."""

import django_filters

from contacts.models import Contact


class ContactFilter(django_filters.FilterSet):
    company = django_filters.CharFilter(
        field_name="company__name", lookup_expr="iexact", help_text="The company's name"
    )
    tag = django_filters.CharFilter(field_name="tags__name", help_text="A tag's name")
    archived = django_filters.BooleanFilter(
        field_name="archived_at", lookup_expr="isnull", exclude=True, help_text="Only archived ones, or only the others"
    )
    created = django_filters.DateFromToRangeFilter(field_name="created_at")

    class Meta:
        model = Contact
        fields = ("status", "email")
