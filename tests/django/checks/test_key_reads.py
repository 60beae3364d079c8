"""Which keys a method provably reads, and all the ways in which that is not certain."""

# ruff: noqa: F841 - methods are written here as authors write them
import functools
from typing import Any

import pytest
from django.db import transaction

from handfast.django.checks.key_reads import body_keys_read, keys_read


class Proven:
    def by_subscript(self, values: Any) -> Any:
        return create(email=values["email"], notes=values.get("notes", ""))

    def by_asking_first(self, values: Any) -> Any:
        tags = values.pop("tags", [])
        if "email" in values and "phone" not in values:
            values["state"] = "new"
        return values.setdefault("name", "x")

    def nothing(self, values: Any) -> Any:
        return create()

    @transaction.atomic
    def in_a_transaction(self, values: Any) -> Any:
        return create(email=values["email"])


def noted(method: Any) -> Any:
    @functools.wraps(method)
    def inner(self: Any, values: Any) -> Any:
        create(**values)
        return method(self, values)

    return inner


class Uncertain:
    @noted
    def decorated(self, values: Any) -> Any:
        return create(email=values["email"])

    def as_a_whole(self, values: Any) -> Any:
        return create(**values)

    def handed_on(self, values: Any) -> Any:
        return create(values)

    def renamed(self, values: Any) -> Any:
        data = values
        return data["email"]

    def by_name(self, values: Any) -> Any:
        return [values[name] for name in ("email", "notes")]

    def all_of_them(self, values: Any) -> Any:
        return list(values.items())

    def through_super(self, values: Any) -> Any:
        return super().through_super(values)  # type: ignore[misc]  # it has no base

    def from_elsewhere(self, values: Any) -> Any:
        return create(email=values["email"], notes=self.initial_data["notes"])  # type: ignore[attr-defined]  # as above

    def by_request(self, values: Any) -> Any:
        return create(email=values["email"], ip=self.context["request"].data)  # type: ignore[attr-defined]  # as above

    def by_locals(self, values: Any) -> Any:
        return create(email=values["email"], **locals())

    def stored(self, values: Any) -> Any:
        values = dict(values)
        return values["email"]

    def bound(self, values: Any) -> Any:
        read = values.get
        return read("email")

    def of_a_method(self, values: Any) -> Any:
        return values.keys() and values["email"]


def create(*args: Any, **kwargs: Any) -> Any:
    return None


def test_keys_that_are_written_out_are_all_that_is_read() -> None:
    assert keys_read(Proven.by_subscript, 1) == frozenset(("email", "notes"))
    assert keys_read(Proven.by_asking_first, 1) == frozenset(("tags", "email", "phone", "state", "name"))
    assert keys_read(Proven.nothing, 1) == frozenset()
    assert keys_read(Proven.in_a_transaction, 1) == frozenset(("email",))


@pytest.mark.parametrize("name", [name for name in vars(Uncertain) if not name.startswith("__")])
def test_where_it_is_not_certain_nothing_is_said(name: str) -> None:
    assert keys_read(getattr(Uncertain, name), 1) is None


def test_a_method_without_source_or_parameter_says_nothing() -> None:
    made: dict[str, Any] = {}
    exec("def create(self, values):\n    return values['email']", made)
    assert keys_read(made["create"], 1) is None
    assert keys_read(dict.get, 1) is None
    assert keys_read(lambda self, values: values["a"], 1) is None
    assert keys_read(Proven.nothing, 2) is None


class Handler:
    def by_hand(self, request: Any, pk: str) -> Any:
        if request.user.is_staff and "notes" in request.data:
            self.check_object_permissions(request.user)  # type: ignore[attr-defined]  # a view has it
        return create(email=request.data["email"], site=request.query_params.get("site"))


class UncertainHandler:
    def by_serializer(self, request: Any) -> Any:
        return self.get_serializer(data=request.data)  # type: ignore[attr-defined]  # a view has it

    def by_own_request(self, request: Any) -> Any:
        return create(email=request.data["email"], rest=self.request.data)  # type: ignore[attr-defined]  # as above

    def by_form(self, request: Any) -> Any:
        return create(email=request.data["email"], rest=request.POST)

    def handed_on(self, request: Any) -> Any:
        return create(email=request.data["email"], request=request)

    def as_a_whole(self, request: Any) -> Any:
        return create(**request.data)

    def through_super(self, request: Any) -> Any:
        request.data["email"] = ""
        return super().create(request)  # type: ignore[misc]  # it has no base


def test_keys_of_a_body_that_are_written_out_are_all_that_is_read() -> None:
    assert body_keys_read(Handler.by_hand) == frozenset(("email", "notes"))


@pytest.mark.parametrize("name", [name for name in vars(UncertainHandler) if not name.startswith("__")])
def test_where_a_body_may_be_read_in_another_way_nothing_is_said(name: str) -> None:
    assert body_keys_read(getattr(UncertainHandler, name)) is None


def test_a_handler_without_source_or_request_says_nothing() -> None:
    assert body_keys_read(dict.get) is None
    assert body_keys_read(noted) is None
