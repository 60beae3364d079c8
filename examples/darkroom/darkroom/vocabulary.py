"""The vocabulary: what an agent can say to a picture, and the words for a parameter that is wrong."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError

from darkroom.canonical import canonical, sha256_hex
from darkroom.parameters import PRIMITIVES, PrimitiveParameters
from darkroom.refusal import Code, Refused
from darkroom.stack import Layer, Module, Parameters
from darkroom.told import Told


class Parameter(Told):
    """One parameter of a primitive, in words."""

    name: str
    expected: str
    required: bool


class Entry(Told):
    """One word of the vocabulary: a primitive (L3), or a template that fills L1 or L2 as a whole."""

    name: str
    layer: Layer
    description: str
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True, slots=True)
class Template:
    """A named set of edits for one layer, bound with `bind_layers`."""

    name: str
    layer: Layer
    description: str
    edits: tuple[tuple[str, Parameters], ...]

    def modules(self) -> tuple[Module, ...]:
        return tuple(
            Module(
                id=f"{self.layer.lower()}-{primitive}",
                primitive=primitive,
                layer=self.layer,
                enabled=True,
                parameters=complete_parameters(primitive, given),
                template=self.name,
            )
            for primitive, given in self.edits
        )


TEMPLATES: Final = {
    template.name: template
    for template in (
        Template(
            "clean_sensor",
            "L1",
            "A technical start: the ends of the scale trimmed, and a little sharpness back.",
            (("levels", {"black": 0.01, "white": 0.99}), ("sharpen", {"strength": 0.3, "radius": 0.8})),
        ),
        Template(
            "even_lens",
            "L1",
            "Take back the dark corners of a fast lens.",
            (("vignette", {"strength": -0.25, "softness": 0.8}),),
        ),
        Template(
            "look_neutral", "L2", "A faithful look with slightly firmer tones.", (("contrast", {"amount": 0.08}),)
        ),
        Template(
            "look_warm_film",
            "L2",
            "Warm light, lifted blacks, amber highlights over teal shadows.",
            (
                ("white_balance", {"temperature": 0.25}),
                ("curve", {"points": [[0.0, 0.04], [0.25, 0.22], [0.75, 0.8], [1.0, 0.98]]}),
                ("split_tone", {"shadow_hue": 190.0, "highlight_hue": 40.0, "strength": 0.15}),
            ),
        ),
        Template(
            "look_silver",
            "L2",
            "Black and white through a yellow filter, with firm contrast.",
            (("black_and_white", {"red": 0.45, "green": 0.5, "blue": 0.05}), ("contrast", {"amount": 0.2})),
        ),
    )
}


def complete_parameters(primitive: str, given: Parameters) -> Parameters:
    """The parameters with their defaults, within their bounds.

    Raises:
        Refused: not_found for an unknown primitive; invalid_input for parameters that do not fit it.
    """
    if primitive in TEMPLATES:
        raise Refused(Code.INVALID_INPUT, "That entry is a layer template. Bind it with `bind_layers`.", kind="value")
    model = PRIMITIVES.get(primitive)
    if model is None:
        raise Refused(
            Code.NOT_FOUND,
            "The vocabulary has no such primitive. `list_vocabulary` has them all; `log_vocabulary_gap` notes a wish.",
        )
    try:
        return model.model_validate(given).model_dump(mode="json")
    except ValidationError as problem:
        raise _unfit(primitive, model, problem) from None


def require_template(name: str, layer: Layer) -> Template:
    """A template for that layer.

    Raises:
        Refused: not_found when there is none of that name; invalid_input when it is for another layer.
    """
    template = TEMPLATES.get(name)
    if template is None and name not in PRIMITIVES:
        raise Refused(Code.NOT_FOUND, "The vocabulary has no such template. `list_vocabulary` has all of them.")
    if template is None or template.layer != layer:
        raise Refused(
            Code.INVALID_INPUT,
            f"That entry is not a template for {layer}. `list_vocabulary` says which layer each entry is for.",
            kind="value",
            layer=layer,
        )
    return template


def entries(layer: Layer | None = None) -> tuple[Entry, ...]:
    """The whole vocabulary, or one layer of it: templates first, in the order in which they are rendered."""
    templates = (
        Entry(name=template.name, layer=template.layer, description=template.description)
        for template in TEMPLATES.values()
    )
    primitives = (
        Entry(name=name, layer="L3", description=model.__doc__ or "", parameters=parameters_of(model))
        for name, model in PRIMITIVES.items()
    )
    return tuple(entry for entry in (*templates, *primitives) if layer in (None, entry.layer))


def digest() -> str:
    """Changes whenever the vocabulary does, so that an agent knows whether its picture of it is current."""
    words = [
        [entry.name, entry.layer, entry.description, [[p.name, p.expected, p.required] for p in entry.parameters]]
        for entry in entries()
    ]
    return sha256_hex(canonical(words))


def parameters_of(model: type[PrimitiveParameters]) -> tuple[Parameter, ...]:
    schema = model.model_json_schema()
    required = schema.get("required", [])
    return tuple(
        Parameter(name=name, expected=_expected(declared), required=name in required)
        for name, declared in schema["properties"].items()
    )


def _expected(declared: Mapping[str, object]) -> str:
    """What a parameter's schema asks for, in words."""
    if "enum" in declared:
        values = declared["enum"]
        assert isinstance(values, list)
        return " or ".join(f"'{value}'" for value in values)
    if declared.get("type") == "array":
        return f"{declared['minItems']} to {declared['maxItems']} pairs [in, out] of numbers from 0 to 1"
    kind = "a whole number" if declared.get("type") == "integer" else "a number"
    if "minimum" in declared and "maximum" in declared:
        return f"{kind} from {declared['minimum']} to {declared['maximum']}"
    lowest = (
        f"above {declared['exclusiveMinimum']}" if "exclusiveMinimum" in declared else f"at least {declared['minimum']}"
    )
    highest = (
        f"below {declared['exclusiveMaximum']}" if "exclusiveMaximum" in declared else f"at most {declared['maximum']}"
    )
    return f"{kind} {lowest} and {highest}"


def _unfit(primitive: str, model: type[PrimitiveParameters], problem: ValidationError) -> Refused:
    # A parameter of another primitive comes first: what is missing then follows from it.
    found = problem.errors(include_url=False, include_input=False)
    first = min(found, key=lambda error: error["type"] != "extra_forbidden")
    known = {parameter.name: parameter.expected for parameter in parameters_of(model)}
    if not first["loc"]:  # a rule of our own over several parameters; pydantic puts "Value error, " before it
        return _refuse(f"For {primitive}, {first['msg'].partition(', ')[2]}. Correct that and call again.")
    name = str(first["loc"][0])
    if name not in known:
        return _refuse(f"{primitive} does not take that parameter. It takes: {', '.join(known)}.")
    return _refuse(
        f"Parameter '{name}' of {primitive} must be {known[name]}. Send that and call again.", parameter=name
    )


def _refuse(message: str, **details: object) -> Refused:
    return Refused(Code.INVALID_INPUT, message, kind="value", **details)
