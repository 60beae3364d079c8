"""Writes that lose what an agent sends, and all those that only look as if they did."""

from typing import Any

import pytest
from django.db import connection, models, transaction
from django.db.models.signals import pre_save
from rest_framework import serializers, viewsets
from rest_framework.exceptions import ValidationError
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory

from handfast.django.checks.catalogue import CheckFinding, CheckId
from handfast.django.discovery import ProblemId
from tests.django.checks.found import findings
from tests.django.leftovers.models import Enquiry, Person, Visit

NOTED = (
    CheckId.EMPTY_CALL_CREATES,
    CheckId.FIELDS_DROPPED,
    CheckId.NOTHING_WRITABLE,
    CheckId.REQUIRED_UNREACHABLE,
    CheckId.NESTED_WRITE_FAILS,
)


def viewset(serializer: Any, **members: Any) -> Any:
    own = {
        "queryset": serializer.Meta.model.objects.all(),
        "serializer_class": serializer,
        "permission_classes": (IsAuthenticated,),
    }
    return type("Views", (viewsets.ModelViewSet,), {**own, **members, "__module__": __name__})


def told(serializer: Any, **members: Any) -> list[CheckFinding]:
    found = findings(viewset(serializer, **members))
    assert [one for one in found if one.id == ProblemId.SERIALIZER_UNUSABLE or one.level == "error"] == []
    return [one for one in found if one.id in NOTED]


def told_ids(serializer: Any, **members: Any) -> list[str]:
    return [str(one.id) for one in told(serializer, **members)]


def place(cls: type, method: str = "") -> str:
    return f"{__name__}.{cls.__qualname__}{method}"


def answer_to(views: Any, sent: dict[str, Any]) -> int:
    """The status of what REST framework itself makes of a create."""
    views = type("Open", (views,), {"permission_classes": ()})
    request = APIRequestFactory().post("/", sent, format="json")
    return int(views.as_view({"post": "create"})(request).status_code)


class PersonSerializer(serializers.ModelSerializer[Person]):
    class Meta:
        model = Person
        fields: Any = ("id", "email", "first_name", "last_name")


def test_a_good_serializer_is_not_mentioned() -> None:
    assert told(PersonSerializer) == []


# --- empty calls -----------------------------------------------------------------------------------------------------


class EnquirySerializer(serializers.ModelSerializer[Enquiry]):
    class Meta:
        model = Enquiry
        fields = ("id", "name", "email", "created")


def test_a_create_of_which_nothing_must_be_sent_is_told(database: None) -> None:
    assert told(EnquirySerializer) == [
        CheckFinding(
            CheckId.EMPTY_CALL_CREATES,
            "Has no field that must be sent: a call without any, or with their names misspelt, makes an empty row.",
            "Make a field required, or refuse an empty call in validate().",
            place(EnquirySerializer),
        )
    ]
    assert answer_to(viewset(EnquirySerializer), {"data": {"name": "Ada"}}) == 201
    assert list(Enquiry.objects.values("name", "email")) == [{"name": "", "email": None}]


def test_a_project_that_may_refuse_an_empty_call_is_believed() -> None:
    class Validating(EnquirySerializer):
        def validate(self, attrs: Any) -> Any:
            if not attrs:
                raise ValidationError("empty")
            return attrs

    def together(attrs: Any) -> None:
        """Refuse what does not go together."""

    class Together(EnquirySerializer):
        class Meta(EnquirySerializer.Meta):
            validators = (together,)

    def perform_create(self: Any, serializer: Any) -> None:
        if not serializer.validated_data:
            raise ValidationError("empty")
        serializer.save()

    def create(self: Any, request: Request) -> Response:
        return Response(status=400)

    assert told(Validating) == told(Together) == []
    assert told(EnquirySerializer, perform_create=perform_create) == []
    assert told(EnquirySerializer, create=create) == []


def test_a_project_that_only_adds_who_did_it_still_takes_an_empty_call() -> None:
    def perform_create(self: Any, serializer: Any) -> None:
        serializer.save(token=self.request.user.pk)

    assert told_ids(EnquirySerializer, perform_create=perform_create) == [CheckId.EMPTY_CALL_CREATES]


# --- fields that nobody reads ----------------------------------------------------------------------------------------


class Forgetful(PersonSerializer):
    phone = serializers.CharField(required=False)

    class Meta(PersonSerializer.Meta):
        fields = (*PersonSerializer.Meta.fields, "phone")

    def create(self, validated_data: Any) -> Person:
        return Person.objects.create(email=validated_data["email"], first_name=validated_data.get("first_name", ""))

    def update(self, instance: Person, validated_data: Any) -> Person:
        instance.email = validated_data["email"]
        instance.save()
        return instance


def test_a_field_that_create_or_update_never_reads_is_told(database: None) -> None:
    lost = [(one.where, one.message) for one in told(Forgetful) if one.id == CheckId.FIELDS_DROPPED]
    tail = "which the schema asks for: the call succeeds and the value is lost."
    # `first_name` is spoken of in create(), which is enough to leave it alone in update().
    assert lost == [
        (place(Forgetful, ".create"), f"Never reads 'last_name', 'phone', {tail}"),
        (place(Forgetful, ".update"), f"Never reads 'last_name', 'phone', {tail}"),
    ]
    sent = {"email": "a@example.com", "first_name": "Ada", "last_name": "L", "phone": "1"}
    assert answer_to(viewset(Forgetful), sent) == 201
    assert list(Person.objects.values_list("last_name", flat=True)) == [""]


def test_a_field_that_something_else_reads_is_not_told() -> None:
    class Confirming(PersonSerializer):
        again = serializers.CharField(write_only=True)
        captcha = serializers.CharField(write_only=True)

        class Meta(PersonSerializer.Meta):
            fields = (*PersonSerializer.Meta.fields, "again", "captcha")

        def validate_captcha(self, value: str) -> str:
            return value

        def validate(self, attrs: Any) -> Any:
            if attrs.pop("again") != attrs["email"]:
                raise ValidationError("differs")
            return attrs

        def create(self, validated_data: Any) -> Person:
            return Person.objects.create(
                email=validated_data["email"], first_name=validated_data["first_name"], last_name=self._last()
            )

        def _last(self) -> str:
            return str(self.context.get("last_name"))

    assert told(Confirming) == []


def test_a_create_that_hands_everything_on_is_not_told() -> None:
    class Whole(PersonSerializer):
        def create(self, validated_data: Any) -> Person:
            return Person.objects.create(**validated_data)

    class Base(PersonSerializer):
        @transaction.atomic
        def create(self, validated_data: Any) -> Person:
            validated_data["email"] = validated_data["email"].lower()
            return super().create(validated_data)

    assert told(Whole) == told(Base) == []


def test_a_renamed_field_is_known_by_its_source() -> None:
    class Renamed(serializers.ModelSerializer[Person]):
        mail = serializers.CharField(source="email")

        class Meta:
            model = Person
            fields = ("mail", "first_name")

        def create(self, validated_data: Any) -> Person:
            return Person.objects.create(email=validated_data["email"], first_name=validated_data["first_name"])

    assert told(Renamed) == []


def test_a_reader_of_its_own_that_leaves_fields_out_is_told() -> None:
    class Reading(PersonSerializer):
        def to_internal_value(self, data: Any) -> Any:
            return {"email": data["email"], "first_name": data.get("first_name")}

    assert [(one.id, one.where) for one in told(Reading)] == [
        (CheckId.FIELDS_DROPPED, place(Reading, ".to_internal_value"))
    ]


def test_a_view_that_reads_the_body_itself_and_leaves_fields_out_is_told() -> None:
    class Views(viewsets.ModelViewSet[Person]):
        queryset = Person.objects.all()
        serializer_class = PersonSerializer
        permission_classes = (IsAuthenticated,)

        def create(self, request: Any) -> Response:
            Person.objects.create(email=request.data["email"], first_name=request.data.get("first_name"))
            return Response(status=201)

    found = [(one.id, one.where) for one in findings(Views) if one.id in NOTED]
    assert found == [(CheckId.FIELDS_DROPPED, place(Views, ".create"))]


# --- fields that are not there ---------------------------------------------------------------------------------------


def test_a_write_without_a_field_to_write_is_told(database: None) -> None:
    class Frozen(serializers.ModelSerializer[Enquiry]):
        class Meta:
            model = Enquiry
            fields: Any = ("id", "name", "created")
            read_only_fields: Any = ("name",)

    assert [one.message for one in told(Frozen)] == [
        f"Has no field that can be written: every call of part0__{action}."
        for action in (
            "create makes an empty row",
            "partial_update succeeds and changes nothing",
            "update succeeds and changes nothing",
        )
    ]
    assert answer_to(viewset(Frozen), {"name": "Ada"}) == 201
    assert list(Enquiry.objects.values_list("name", flat=True)) == [""]

    class Stamped(Frozen):
        token = serializers.HiddenField(default="x")

        class Meta(Frozen.Meta):
            fields = ("id", "token")

    def perform_create(self: Any, serializer: Any) -> None:
        serializer.save(name="started")

    assert told(Stamped) == []
    assert [one.message for one in told(Frozen, perform_create=perform_create) if "create" in one.message] == []


def test_a_column_that_must_be_filled_in_and_cannot_be_is_told(database: None) -> None:
    class Nameless(serializers.ModelSerializer[Person]):
        first_name = serializers.SerializerMethodField()

        class Meta:
            model = Person
            fields = ("id", "email", "first_name")

        def get_first_name(self, person: Person) -> str:
            return str(person.first_name).title()

    class Homeless(serializers.ModelSerializer[Visit]):
        class Meta:
            model = Visit
            fields = ("id", "note")

    hint = "Let it be written, give the column a default, or fill it in in perform_create()."
    text = "Cannot be sent 'first_name', which leftovers.Person needs: every row is made with an empty one."
    key = "Cannot be sent 'person', which leftovers.Visit needs: every call fails."
    assert told(Nameless) == [CheckFinding(CheckId.REQUIRED_UNREACHABLE, text, hint, place(Nameless))]
    unreachable = [one for one in told(Homeless) if one.id == CheckId.REQUIRED_UNREACHABLE]
    assert unreachable == [CheckFinding(CheckId.REQUIRED_UNREACHABLE, key, hint, place(Homeless))]
    assert answer_to(viewset(Nameless), {"email": "a@example.com", "first_name": "Ada"}) == 201
    assert list(Person.objects.values_list("first_name", flat=True)) == [""]
    with pytest.raises(Exception, match=r"NOT NULL|null value"), transaction.atomic():
        answer_to(viewset(Homeless), {"note": "here"})
    assert connection.in_atomic_block


def test_a_column_that_somebody_fills_in_is_not_told() -> None:
    class Nameless(serializers.ModelSerializer[Person]):
        class Meta:
            model = Person
            fields = ("id", "email")

    class Creating(Nameless):
        def create(self, validated_data: Any) -> Person:
            return Person.objects.create(**validated_data, first_name="Ada")

    def perform_create(self: Any, serializer: Any) -> None:
        serializer.save(first_name=self.request.user.first_name)

    def fill_in(sender: Any, instance: Any, **_: Any) -> None:
        instance.first_name = instance.first_name or "Ada"

    assert told_ids(Nameless) == [CheckId.REQUIRED_UNREACHABLE]
    assert told(Creating) == []
    assert told(Nameless, perform_create=perform_create) == []
    pre_save.connect(fill_in, sender=Person)
    try:
        assert told(Nameless) == []
    finally:
        pre_save.disconnect(fill_in, sender=Person)


def test_a_column_that_fills_itself_in_is_not_told() -> None:
    class Slug(models.SlugField):  # type: ignore[type-arg]  # it has none at run time
        def pre_save(self, model_instance: Any, add: bool) -> Any:
            return "made"

    class Page(models.Model):
        title: Any = models.CharField(max_length=10)
        slug: Any = Slug(editable=False)

        class Meta:
            app_label = "pages"

    class PageSerializer(serializers.ModelSerializer[Page]):
        class Meta:
            model = Page
            fields = ("title",)

    assert told(PageSerializer) == []


def test_a_nested_field_that_cannot_be_stored_is_told(database: None) -> None:
    class WithPerson(serializers.ModelSerializer[Visit]):
        person = PersonSerializer()

        class Meta:
            model = Visit
            fields = ("person", "note")

    class Dotted(serializers.ModelSerializer[Visit]):
        mail = serializers.CharField(source="person.email")

        class Meta:
            model = Visit
            fields = ("mail", "note")

    def nested(serializer: Any) -> list[str]:
        return [one.message for one in told(serializer) if one.id == CheckId.NESTED_WRITE_FAILS]

    tail = "and cannot store it: REST framework refuses nested writes, so the call fails."
    assert nested(WithPerson) == [f"Takes 'person' {tail}"] * 2  # for create() and for update()
    assert nested(Dotted) == [f"Takes 'mail' {tail}"] * 2
    with pytest.raises(AssertionError, match="nested"):
        answer_to(viewset(WithPerson), {"person": {"email": "a@example.com", "first_name": "Ada"}})
    with pytest.raises(AssertionError, match="dotted"):
        answer_to(viewset(Dotted), {"mail": "a@example.com"})


def test_a_nested_field_that_the_project_stores_itself_is_not_told() -> None:
    class Finder(PersonSerializer):
        def to_internal_value(self, data: Any) -> Any:
            return Person.objects.get(email=data["email"])

    class Found(serializers.ModelSerializer[Visit]):
        person = Finder()

        class Meta:
            model = Visit
            fields = ("person", "note")

    class Storing(serializers.ModelSerializer[Visit]):
        person = PersonSerializer()

        class Meta:
            model = Visit
            fields = ("person", "note")

        def create(self, validated_data: Any) -> Visit:
            person = Person.objects.create(**validated_data.pop("person"))
            return Visit.objects.create(person=person, **validated_data)

        def update(self, instance: Visit, validated_data: Any) -> Visit:
            return super().update(instance, {"note": validated_data["note"], "person": validated_data["person"]})

    class Shown(serializers.ModelSerializer[Visit]):
        person = PersonSerializer(read_only=True)
        person_id: Any = serializers.PrimaryKeyRelatedField(source="person", queryset=Person.objects.all())

        class Meta:
            model = Visit
            fields = ("person", "person_id", "note")

    assert told(Found) == told(Storing) == told(Shown) == []
