"""invoke: one call of a tool, through the view that its url leads to."""

from collections.abc import Mapping
from contextlib import nullcontext
from io import BytesIO
from typing import Any, Final

from django.core.files.uploadedfile import InMemoryUploadedFile
from django.http import HttpRequest

from handfast.core.answers.errors import ErrorCode, ToolError, error_invalid_input
from handfast.core.call.strict_json import depth_exceeds
from handfast.django.discovery.tool import ViewTool
from handfast.django.invocation.answers import read_answer
from handfast.django.invocation.inner_request import Address, Content, make_request
from handfast.django.invocation.late_body import FORM_TYPE, LateContent, late_class
from handfast.django.invocation.parts import Parts, split_arguments
from handfast.django.invocation.places import Kind, Path
from handfast.django.invocation.prepared import Prepared, prepare
from handfast.django.invocation.refusals import refusal_of
from handfast.django.invocation.running import call_view, one_transaction
from handfast.django.invocation.uploads import read_upload
from handfast.toolkit.running.json_text import write_json

# A result may have 64 levels, and a page of rows inside rows adds some around a stored value: one deeper than this
# could never be read again, and neither could any list that contains it.
_DEEPEST: Final = 48


def invoke(tool: ViewTool, arguments: Mapping[str, Any], request: HttpRequest) -> Any:  # Any: JSON
    """Runs the view once and returns its data. `request` is the outer one, with the caller on it.

    Raises: ToolError, for whatever the view refuses.
    """
    prepared = prepare(tool)
    try:
        parts = split_arguments(tool, arguments)
        written = write_json(parts.body) if parts.has_body else b""
    except UnicodeEncodeError:
        raise error_invalid_input("The arguments hold half a character. Send valid Unicode and call again.") from None
    if depth_exceeds(written, _DEEPEST):
        raise error_invalid_input(f"The arguments are nested deeper than {_DEEPEST} levels. Send them flatter.")
    late = _late_content(prepared, parts) if parts.has_body else None
    inner = _inner(prepared, parts, written, late, request)
    # By itself a view that takes a list may store only part of it, and an agent would not know which part.
    with one_transaction(request) if tool.takes_list else nullcontext():
        response = call_view(tool.callback, inner, parts.target.kwargs)
        if response.status_code < 400:
            return read_answer(response)
        raise (late and late.problem) or refusal_of(tool, arguments, response)


def _inner(
    prepared: Prepared, parts: Parts, written: bytes, late: LateContent | None, outer: HttpRequest
) -> HttpRequest:
    address = Address(prepared.tool.method, parts.target.path, parts.query, prepared.accept)
    if late is None:
        content = Content(prepared.content_type, len(written), BytesIO(written)) if parts.has_body else None
        inner = make_request(outer, address, content)
    else:
        # The final length is not known yet, but the headers must show that there is a body.
        content = Content(FORM_TYPE if late.is_form else prepared.content_type, len(written))
        kind = late_class(type(outer))  # type: ignore[arg-type]  # a class, which has a hash
        inner = make_request(outer, address, content, kind)
        inner._late = late  # type: ignore[attr-defined]  # of this class
    inner.resolver_match = prepared.match.of(inner.path_info, parts.target)
    return inner


def _late_content(prepared: Prepared, parts: Parts) -> LateContent | None:
    """The body that is made late; None where it can be sent as it is. Raises: ToolError."""
    if prepared.form == "bare_file" and parts.body:
        raise ToolError(
            ErrorCode.NOT_SUPPORTED,
            "The view behind this tool takes a bare file for its body, which a tool cannot send. Send it over HTTP.",
        )
    files: dict[Path, InMemoryUploadedFile] = {}
    lookups: list[Path] = []

    def change(kind: Kind, value: Any, path: Path) -> Any:  # Any: JSON, and uploaded files
        if kind == "relation":
            lookups.append(path)
            return value
        files[path] = read_upload(value, path)
        return files[path]

    body = _rewritten(prepared, parts.body, change)
    is_form = bool(files) or prepared.form == "form"
    if not is_form and not lookups:
        return None
    return LateContent(prepared.tool, body, has_lookups=bool(lookups), files=files, is_form=is_form)


def _rewritten(prepared: Prepared, body: Any, change: Any) -> Any:  # Any: JSON, and uploaded files
    places = prepared.places
    if isinstance(body, list):
        name = next(iter(places.arguments), None)
        return body if name is None else places.rewritten(name, body, change)
    touched = [name for name in body if name in places.arguments]
    return {**body, **{name: places.rewritten(name, body[name], change) for name in touched}} if touched else body
