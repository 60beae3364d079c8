"""What the API takes and sends for contacts."""

from django.db import transaction
from rest_framework import serializers

from contacts.models import Company, Contact, PhoneNumber, Tag


class CompanySerializer(serializers.ModelSerializer):
    class Meta:
        model = Company
        fields = ("id", "name", "website")


class TagSerializer(serializers.ModelSerializer):
    class Meta:
        model = Tag
        fields = ("id", "name")


class PhoneNumberSerializer(serializers.ModelSerializer):
    class Meta:
        model = PhoneNumber
        fields = ("kind", "number")


class ContactSerializer(serializers.ModelSerializer):
    phones = PhoneNumberSerializer(
        many=True, required=False, help_text="All numbers; those that are sent replace the others"
    )
    company_name = serializers.CharField(source="company.name", read_only=True)

    class Meta:
        model = Contact
        fields = (
            *("id", "email", "first_name", "last_name", "status", "company", "company_name", "tags", "phones", "notes"),
            *("archived_at", "created_at", "updated_at"),
        )
        read_only_fields = ("archived_at",)

    @transaction.atomic
    def create(self, validated_data: dict) -> Contact:
        phones = validated_data.pop("phones", [])
        contact = super().create(validated_data)
        return self._with_phones(contact, phones)

    @transaction.atomic
    def update(self, instance: Contact, validated_data: dict) -> Contact:
        phones = validated_data.pop("phones", None)
        contact = super().update(instance, validated_data)
        return contact if phones is None else self._with_phones(contact, phones)

    def _with_phones(self, contact: Contact, phones: list[dict]) -> Contact:
        PhoneNumber.objects.filter(contact=contact).delete()
        PhoneNumber.objects.bulk_create(PhoneNumber(contact=contact, **phone) for phone in phones)
        return contact
