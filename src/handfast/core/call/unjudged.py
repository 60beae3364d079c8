"""The texts for a schema that cannot be used: for the agent, the operator, and the call's record."""

from typing import Literal

from handfast.core.call import rules
from handfast.core.call.policy import Violation
from handfast.core.schema.compiled import UncompilableSchema

Direction = Literal["arguments", "result"]


def unjudged_arguments(reason: str) -> Violation:
    """The violation for arguments that break no other rule, but cannot be judged without the schema."""
    text = (
        f"The arguments cannot be checked, because the tool's input schema cannot be used: {reason} "
        "Do not repeat the call. Report this to the operator, who can have the schema corrected, or let such calls "
        'pass with input_validation.uncompilable_schema = "allow".'
    )
    return Violation(rules.ARGUMENTS_SCHEMA, text)


def unjudged_result(reason: str) -> Violation:
    """The same for a result."""
    why = reason.removesuffix(".")
    return Violation(
        rules.RESULT_SCHEMA,
        f"the tool's declared output schema cannot be used ({why}), "
        "and output_validation.uncompilable_schema does not allow that",
    )


def unused_schema(schema: UncompilableSchema, direction: Direction) -> str:
    """The text for the operator's log, once for each tool and schema."""
    side = "input" if direction == "arguments" else "output"
    return f"The tool's {side} schema cannot be used, so only what needs none is judged: {schema.reason}"
