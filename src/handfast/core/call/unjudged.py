"""What is said where a schema cannot be used: to the agent, to the operator, and in the record of the call."""

from typing import Literal

from handfast.core.call import rules
from handfast.core.call.policy import Violation
from handfast.core.schema.compiled import UncompilableSchema

Direction = Literal["arguments", "result"]


def unjudged_arguments(reason: str) -> Violation:
    """The arguments break no other rule, and without a schema they cannot be judged to be right."""
    text = (
        f"The arguments cannot be checked, because the tool's input schema cannot be used: {reason} "
        "Do not repeat the call. Report this to the operator, who can have the schema corrected, or let such calls "
        'pass with input_validation.uncompilable_schema = "allow".'
    )
    return Violation(rules.ARGUMENTS_SCHEMA, text)


def unjudged_result(reason: str) -> Violation:
    """The same for what a tool has sent."""
    why = reason.removesuffix(".")
    return Violation(
        rules.RESULT_SCHEMA,
        f"the tool's declared output schema cannot be used ({why}), "
        "and output_validation.uncompilable_schema does not allow that",
    )


def unused_schema(schema: UncompilableSchema, direction: Direction) -> str:
    """What the operator's log says once for each tool and schema."""
    side = "input" if direction == "arguments" else "output"
    return f"The tool's {side} schema cannot be used, so only what needs none is judged: {schema.reason}"
