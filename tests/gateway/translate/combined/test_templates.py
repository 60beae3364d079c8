"""URIs against URI templates: what a template can make fits it, and no template can take long."""

import time
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.gateway.translate.combined.templates import read_template
from handfast.gateway.translate.combined.uris import comparable, has_dot_segments

_LEAD = {"": "", "+": "", "#": "#", "/": "/", ".": ".", ";": ";", "?": "?", "&": "&"}
_OPERATORS = st.sampled_from(sorted(_LEAD))
_VALUES = st.text("ab/?#é&=.;%", max_size=4)


def _expanded(operator: str, value: str) -> str:
    """As RFC 6570 expands a variable called `v`."""
    text = quote(value, safe="/?#&=.;" if operator in ("+", "#") else "")
    if operator in ("?", "&", ";"):
        text = f"v={text}"
    return _LEAD[operator] + text


@given(st.lists(st.tuples(_OPERATORS, _VALUES, st.text("ab/.", max_size=3)), max_size=5))
def test_whatever_a_template_makes_fits_it(pieces: list[tuple[str, str, str]]) -> None:
    template = "x:" + "".join(f"{{{operator}v}}{text}" for operator, _, text in pieces)
    uri = "x:" + "".join(_expanded(operator, value) + text for operator, value, text in pieces)
    found = read_template(template)
    assert found is not None
    assert found.matches(comparable(uri)) or has_dot_segments(comparable(uri))


@pytest.mark.parametrize(
    ("template", "uri", "fits"),
    [
        ("file:///{+path}/{name}", "file:///a/b/c", True),
        ("file:///{name}", "file:///a/b", False),
        ("file:///{name}.txt", "file:///a.txt.txt", True),
        ("file:///{name}.txt", "file:///a.md", False),
        ("db://t{?q,r}", "db://t?q=1&r=2", True),
        ("db://t{?q}", "db://t", True),
        ("db://t{?q}", "db://table", False),
        ("db://t{/p*}", "db://t/a/b", True),
        ("db://t{/p*}", "db://t/a?b", False),
        ("db://{a}{b}-{c}x", "db://1-2-3x", True),
        ("db://{a}{b}-{c}x", "db://1-2-3", False),
        ("db://fixed", "db://fixed", True),
        ("db://fixed", "db://fixed2", False),
    ],
)
def test_templates_as_servers_write_them(template: str, uri: str, fits: bool) -> None:
    found = read_template(template)
    assert found is not None
    assert found.matches(uri) is fits


@pytest.mark.requirement("S9")
@pytest.mark.parametrize(
    "template",
    [
        "https://{+p}",
        "https://{host}/{+p}",
        "HTTPS://{host}",
        "https:{+p}",
        "https:/{/p*}",
        "https:{/p*}",
        "https://{+a}e{+b}",
        "https://d{+p}",
        "https://docs.example{+p}",
        "https://docs.example:{port}/{+p}",
        "https://docs.example@{+p}",
        "https://docs{.x*}/{+p}",
        "https://{host}/issues/{n}",
        "file:///{path}",
        "file:///{+path}",
        "file:///h{+path}",
        "file://{host}/home/{+path}",
        "s3://{bucket}/{key}",
        "data:{+x}",
        "urn:{+x}",
        "ui://{server}/index.html",
        "notes://{+p}",
        "notes:///{id}",
        "notes:{id}",
        "db://{table}/{row}",
        "db://{table}/-/{row}",
        "db://a{table}/{row}",
        "db://{table}?q={q}",
    ],
)
def test_a_template_whose_text_is_only_a_scheme_decides_nothing(template: str) -> None:
    found = read_template(template)
    assert found is not None
    assert not found.decides


@pytest.mark.requirement("S9")
@pytest.mark.parametrize(
    "template",
    [
        "https://docs.example/{+p}",
        "https://docs.example:8080/{+p}",
        "https://docs.example{/p*}",
        "https://docs.example{?q}",
        "file:///srv/{+path}",
        "file:///srv{/path*}",
        "urn:isbn:{n}",
        "s3://bucket/{key}",
        "demo://resource/dynamic/text/{id}",
        "repo://{owner}/{repo}/contents{/path*}",
        "notes://shared/{id}",
        "notes:shared:{id}",
        "db://tables/{table}",
        "db://fixed",
    ],
)
def test_a_template_with_a_whole_segment_of_its_own_decides(template: str) -> None:
    found = read_template(template)
    assert found is not None
    assert found.decides


@pytest.mark.requirement("S9")
@pytest.mark.parametrize(
    ("template", "uri", "fits"),
    [
        ("HTTPS://Docs.Example/{+p}", "https://docs.EXAMPLE/x", True),
        ("https://docs.example/%7eada/{p}", "https://docs.example/~ada/x", True),
        ("https://docs.example/a/{+p}", "https://docs.example/A/x", False),
        ("https://docs.example/a/{+p}", "https://docs.example/a/../b", False),
        ("https://docs.example/a/{+p}", "https://docs.example/a/%2e%2E/b", False),
        ("https://docs.example/a/{+p}", "https://docs.example/a/b/..", False),
        ("https://docs.example/a/{+p}", "https://docs.example/a/..b", True),
        ("https://docs.example/{+p}", "https://docs.example@evil.example/x", False),
        ("https://docs.example/{+p}", "https://docs.example.evil.example/x", False),
    ],
)
def test_spellings_of_one_uri_fit_alike_and_none_leads_out_of_a_template(template: str, uri: str, fits: bool) -> None:
    found = read_template(template)
    assert found is not None
    assert found.matches(comparable(uri)) is fits


@pytest.mark.parametrize("template", ["", "{+anything}", "{scheme}://x", "x:{", "x:}", "x:{a}{b", "x:" + "{a}" * 17])
def test_what_would_fit_everything_or_is_no_template_decides_nothing(template: str) -> None:
    assert read_template(template) is None


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_text_is_too_odd_to_be_read(template: str, uri: str) -> None:
    found = read_template(f"x:{template}")
    if found is not None:
        assert found.matches(f"x:{uri}") in (True, False)


def test_templates_made_to_take_long_do_not() -> None:
    found = read_template("x:" + "a{+v}" * 16 + "b")
    assert found is not None
    began = time.perf_counter()
    assert not found.matches("x:" + "a" * 4000 + "cb" + "x")
    assert not found.matches("x:" + "b" + "a" * 4000 + "b")
    for _ in range(10):
        found.matches("x:" + "a" * 4000 + "b")
    assert time.perf_counter() - began < 1  # as a regular expression this would take longer than anybody lives


@pytest.mark.requirement("S9")
@pytest.mark.parametrize("operator", [";x", "?x", "/x", "&x", "#x"])
def test_an_expression_that_may_be_empty_ends_no_segment_before_a_catch_all(operator: str) -> None:
    caught = read_template(f"https://d{{{operator}}}{{+p}}")
    ended = read_template(f"https://docs.example{{{operator}}}{{?q}}")
    assert caught is not None
    assert ended is not None
    assert (caught.decides, ended.decides) == (False, True)
