"""Arguments outside a schema: what is tried of each kind, and that none of it meets the schema."""

from typing import Any

from handfast.toolkit.testing.generate.arguments import arguments_for
from handfast.toolkit.testing.generate.outside import outside
from handfast.toolkit.writing.schemas import input_schema_of
from tests.toolkit.contacts import NewContact
from tests.toolkit.testing.tried_schemas import SCHEMAS, compiled, of


def test_everything_that_is_tried_breaks_the_schema() -> None:
    for schema in map(compiled, SCHEMAS.values()):
        for valid in arguments_for(schema, 5):
            for what, wrong in outside(schema, valid):
                is_root = what in ("an unknown key", "a payload wrapped in an object")
                assert is_root or not schema.is_valid(wrong), (what, wrong)


def test_each_field_is_left_out_and_given_in_every_other_type_at_every_level() -> None:
    schema = compiled(input_schema_of(NewContact))
    valid = {"email": "a", "address": {"city": "x"}}
    tried: dict[str, Any] = dict(outside(schema, valid))
    assert tried["an unknown key"] == {**valid, "not_a_declared_field": 1}
    assert tried["a payload wrapped in an object"] == {"data": valid}
    assert tried["no 'email'"] == {"address": {"city": "x"}}
    assert tried["no 'address/city'"] == {"email": "a", "address": {}}
    assert tried["an unknown key in 'address'"] == {
        "email": "a",
        "address": {"city": "x", "not_a_declared_field": 1},
    }
    wrong = {what for what in tried if what.startswith("'email' as")}
    assert len(wrong) == 8  # all kinds but one
    assert "'address/city' as a value of the shape null" in tried
    assert "'born' as a value of the shape null" not in tried


def test_a_wrapper_is_never_a_declared_field() -> None:
    schema = compiled(of(data={"type": "object", "additionalProperties": {"type": "string"}}))
    assert dict(outside(schema, {"data": {}}))["a payload wrapped in an object"] == {"payload": {"data": {}}}
