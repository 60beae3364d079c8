"""A body that is made when the view asks for it: by then the caller is authenticated, permitted and throttled.

Rows that are named by their fields must be found in the field's own queryset, which may depend on the caller, and
a caller must not learn what exists before the view has let it in. So the lookup waits until REST framework reads the
body. The view then reads what an HTTP caller would have sent: ids, slugs and links.
"""

import sys
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadedfile import InMemoryUploadedFile
from django.http import HttpRequest, QueryDict
from django.http.request import RawPostDataException, UnreadablePostError
from django.utils.datastructures import MultiValueDict
from rest_framework.exceptions import UnsupportedMediaType, ValidationError
from rest_framework.request import Request
from rest_framework.views import APIView

from handfast.core.answers.errors import ToolError
from handfast.django.discovery.tool import ViewTool
from handfast.django.invocation.lookups import find_rows
from handfast.django.invocation.places import Path
from handfast.django.invocation.uploads import files_by_field
from handfast.toolkit.running.json_text import write_json

_AUTHENTICATING = Request._authenticate.__code__  # type: ignore[attr-defined]  # not in the stubs
FORM_TYPE = "multipart/form-data; boundary=handfast"


@dataclass(frozen=True, slots=True)
class BodyReader:
    """The reader of a body: REST framework's request and its view, and whether authentication is still under way."""

    request: Request
    view: APIView
    is_authenticating: bool


def who_asks() -> BodyReader | None:
    """Finds the reader of the body on the stack, since REST framework does not pass on its request and view.

    None: something other than REST framework reads it.
    """
    frame: FrameType | None = sys._getframe(1)
    found: Request | None = None
    is_authenticating = False
    while frame is not None:
        asking = frame.f_locals.get("self")
        if isinstance(asking, Request):
            found = asking if found is None else found
            is_authenticating |= asking is found and frame.f_code is _AUTHENTICATING
        frame = frame.f_back
    view = None if found is None else found.parser_context.get("view")
    return BodyReader(found, view, is_authenticating) if found is not None and isinstance(view, APIView) else None


class LateContent:
    """The body to send: JSON with files in their places, and rows that are still to be looked up."""

    def __init__(
        self,
        tool: ViewTool,
        body: Any,  # Any: JSON, and uploaded files
        *,
        has_lookups: bool,
        files: dict[Path, InMemoryUploadedFile],
        is_form: bool,
    ) -> None:
        self._tool = tool
        self._body = body
        self._has_lookups = has_lookups
        self.files = files_by_field(files)
        self.is_form = is_form
        self.problem: ToolError | None = None  # why it could not be made

    @property
    def is_settled(self) -> bool:
        """Whether the body is final, without rows to look up."""
        return not self._has_lookups

    def made(self, asking: BodyReader | None) -> Any:  # Any: JSON, and uploaded files
        """Raises: UnreadablePostError, while the caller is not known; ValidationError, for the view to answer with."""
        if not self._has_lookups or asking is None:
            return self._body
        if asking.is_authenticating:
            # Only the CSRF check reads the body that early; it takes this for an absent token field.
            raise UnreadablePostError("The caller is not known yet.")
        _ = asking.request.user  # authenticates, which a view may have put off
        self._body, self.problem = find_rows(self._tool, asking.view, self._body)
        if self.problem is not None:
            raise ValidationError(self.problem.message)
        self._has_lookups = False
        return self._body


class ParsedForm(dict[str, Any]):  # Any: JSON, and uploaded files
    """A form with files in their places and JSON otherwise, so that an omitted boolean is not read as false."""

    def copy(self) -> "ParsedForm":
        return ParsedForm(self)

    def update(self, *given: Any, **more: Any) -> None:  # Any: as a dict's own
        """Ignores `request.FILES`, which REST framework adds to a form: the files are in their places already."""
        super().update(*(one for one in given if not isinstance(one, MultiValueDict)), **more)


class LateBody(HttpRequest):
    """The part of a request that makes its body late; the other base is the class of the outer request."""

    _late: LateContent
    _post = None  # says to REST framework that a form was read already
    _made: bytes | None = None
    _unread: BytesIO | None = None

    @property
    def _read_started(self) -> bool:
        return self._late.is_form

    @_read_started.setter
    def _read_started(self, _: bool) -> None:
        """Ignores the flag: reading the body changes nothing."""

    @property
    def body(self) -> bytes:
        if self._late.is_form:
            asking = who_asks()
            if asking is not None and not asking.request._supports_form_parsing():  # type: ignore[attr-defined]  # not in the stubs
                # Without a parser for forms REST framework would go on with an empty body.
                raise UnsupportedMediaType("multipart/form-data")
            raise RawPostDataException("The form is read already.")
        if self._made is None:
            made = write_json(self._late.made(who_asks()))
            most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
            if most is not None and len(made) > most:
                raise RequestDataTooBig("Request body exceeded settings.DATA_UPLOAD_MAX_MEMORY_SIZE.")
            if not self._late.is_settled:
                return made
            self._made = made
        return self._made

    @property
    def _stream(self) -> BytesIO:  # type: ignore[override]  # an attribute elsewhere
        if self._unread is None:
            self._unread = BytesIO(self.body)
        return self._unread

    @property
    def POST(self) -> Any:  # type: ignore[override]  # noqa: N802 - Django's name. Any: a form with JSON in it
        if not self._late.is_form:
            return QueryDict()
        made = self._late.made(who_asks())
        return ParsedForm(made) if isinstance(made, dict) else made

    @property
    def FILES(self) -> "MultiValueDict[str, InMemoryUploadedFile]":  # type: ignore[override]  # noqa: N802 - as above
        return self._late.files


@lru_cache(maxsize=16)
def late_class(cls: type[HttpRequest]) -> type[HttpRequest]:
    """A class of requests like `cls` that make their body late."""
    return type(cls.__name__, (LateBody, cls), {"__module__": cls.__module__})
