"""One line says what happened and what to do about it."""

import pytest

from handfast.core.call.unjudged import unjudged_arguments, unjudged_result, unused_schema
from handfast.core.schema.compiled import UncompilableSchema

pytestmark = [pytest.mark.requirement("S3"), pytest.mark.requirement("D14")]


def test_each_text_is_one_line_with_the_reason_and_the_setting() -> None:
    texts = [unjudged_arguments("It is so.").message, unjudged_result("It is so.").message]
    assert [len(text.splitlines()) for text in texts] == [1, 1]
    assert all("It is so" in text and "_validation.uncompilable_schema" in text for text in texts)


def test_the_operator_reads_which_schema_it_is() -> None:
    schema = UncompilableSchema("d", None, "It is so.")
    said = [unused_schema(schema, "arguments"), unused_schema(schema, "result")]
    assert said == [
        "The tool's input schema cannot be used, so only what needs none is judged: It is so.",
        "The tool's output schema cannot be used, so only what needs none is judged: It is so.",
    ]
