"""Where in a JSON Schema schemas stand."""

from handfast.lint.tools.schema_positions import join, positions


def test_every_place_of_a_schema_is_told_and_nothing_that_only_looks_like_one() -> None:
    schema = {
        "properties": {"a": {"properties": {"b": {}}}, "c/d~": {"items": [{}, True]}},
        "$defs": {"x": {"anyOf": [{"not": {}}]}},
        "additionalProperties": {"contains": {}},
        "patternProperties": {"^p": {}},
        "examples": [{"properties": {"no": {}}}],
        "const": {"items": {}},
        "default": {"not": {}},
        "allOf": 7,
        "if": True,
    }
    assert [(position.path, position.names) for position in positions(schema)] == [
        ("", ()),
        ("properties/a", ("a",)),
        ("properties/a/properties/b", ("a", "b")),
        ("properties/c~1d~0", ("c/d~",)),
        ("properties/c~1d~0/items/0", None),
        ("$defs/x", None),
        ("$defs/x/anyOf/0", None),
        ("$defs/x/anyOf/0/not", None),
        ("additionalProperties", None),
        ("additionalProperties/contains", None),
        ("patternProperties/^p", None),
    ]


def test_what_is_no_object_has_no_places() -> None:
    odd: list[object] = [True, None, [], "x"]
    assert [list(positions(schema)) for schema in odd] == [[], [], [], []]


def test_a_path_never_shows_what_could_harm_a_terminal() -> None:
    assert join("a", "\x1b[31m", "x" * 100) == f"a/?[31m/{'x' * 64}…"
