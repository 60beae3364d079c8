"""The API of contacts. Every action that the router offers is a tool as well."""

from django.utils import timezone
from rest_framework import viewsets
from rest_framework.decorators import action
from rest_framework.permissions import IsAdminUser
from rest_framework.request import Request
from rest_framework.response import Response

from contacts.filters import ContactFilter
from contacts.models import Company, Contact, Tag
from contacts.serializers import CompanySerializer, ContactSerializer, TagSerializer
from handfast.django import mcp_tool

ERASED = {
    "type": "object",
    "properties": {"erased": {"type": "string", "format": "uuid"}, "phones": {"type": "integer"}},
    "required": ["erased", "phones"],
}


class ContactViewSet(viewsets.ModelViewSet):
    """People we know.

    list: Find people by name, company, tag or status.
    retrieve: Everything that is known about one person.
    create: Add a person, with their company, tags and phone numbers.
    update: Replace what is known about a person.
    partial_update: Correct what is known about a person.
    destroy: Delete a person who was entered by mistake.
    """

    queryset = Contact.objects.select_related("company").prefetch_related("tags", "phones")
    serializer_class = ContactSerializer
    filterset_class = ContactFilter
    search_fields = ("first_name", "last_name", "email", "notes")
    ordering_fields = ("last_name", "email", "created_at", "updated_at")

    @mcp_tool(output=ContactSerializer)
    @action(detail=True, methods=["post"])
    def archive(self, request: Request, pk: str) -> Response:
        """Put a person out of sight without forgetting them."""
        contact = self.get_object()
        if contact.archived_at is None:
            contact.archived_at = timezone.now()
            contact.save()
        return Response(self.get_serializer(contact).data)

    @mcp_tool(kind="admin", output=ERASED)
    @action(detail=True, methods=["post"], permission_classes=[IsAdminUser])
    def erase(self, request: Request, pk: str) -> Response:
        """Erase a person and their numbers for good, as they may demand."""
        contact = self.get_object()
        phones = contact.phones.count()
        contact.delete()
        return Response({"erased": pk, "phones": phones})


class CompanyViewSet(viewsets.ModelViewSet):
    """Companies that people work for."""

    queryset = Company.objects.all()
    serializer_class = CompanySerializer
    search_fields = ("name",)
    ordering_fields = ("name",)


class TagViewSet(viewsets.ModelViewSet):
    """Tags that people carry."""

    queryset = Tag.objects.all()
    serializer_class = TagSerializer
    search_fields = ("name",)
    ordering_fields = ("name",)
