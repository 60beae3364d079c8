"""Contacts in the admin site."""

from django.contrib import admin

from contacts.models import Company, Contact, PhoneNumber, Tag


class PhoneNumberInline(admin.TabularInline):
    model = PhoneNumber
    extra = 1


@admin.register(Contact)
class ContactAdmin(admin.ModelAdmin):
    list_display = ("__str__", "email", "company", "status", "archived_at")
    list_filter = ("status", "tags", "company")
    list_select_related = ("company",)
    search_fields = ("first_name", "last_name", "email", "notes")
    autocomplete_fields = ("company", "tags")
    readonly_fields = ("id", "archived_at", "created_at", "updated_at")
    inlines = (PhoneNumberInline,)
    fieldsets = (
        (None, {"fields": (("first_name", "last_name"), "email", "status", "company", "tags", "notes")}),
        ("On record", {"fields": ("id", "archived_at", "created_at", "updated_at"), "classes": ("collapse",)}),
    )


@admin.register(Company)
class CompanyAdmin(admin.ModelAdmin):
    list_display = ("name", "website")
    search_fields = ("name",)


@admin.register(Tag)
class TagAdmin(admin.ModelAdmin):
    search_fields = ("name",)
