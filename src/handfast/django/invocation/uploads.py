"""Files in a call: turns an object with its content in base64 into the object that Django makes of an upload."""

import binascii
import mimetypes
from base64 import b64decode
from io import BytesIO
from typing import Any

from django.core.exceptions import SuspiciousFileOperation
from django.core.files.uploadedfile import InMemoryUploadedFile
from django.utils.datastructures import MultiValueDict

from handfast.core.answers.errors import ToolError, error_invalid_input
from handfast.django.invocation.places import Path, shown_path

_ANY_TYPE = "application/octet-stream"


def read_upload(value: dict[str, Any], path: Path) -> InMemoryUploadedFile:  # Any: JSON
    """The file that an argument describes. Raises: ToolError."""
    content = _content(value.get("content"), path)
    name = value.get("filename")
    if not isinstance(name, str):
        raise _refused((*path, "filename"), "is missing; send the name of the file")
    guessed = mimetypes.guess_type(name)[0] or _ANY_TYPE
    said = value.get("content_type")
    content_type = said if isinstance(said, str) and said.isprintable() and said else guessed
    try:
        # Django keeps the last part of a name that looks like a path, and refuses names such as "..".
        return InMemoryUploadedFile(BytesIO(content), str(path[0]), name, content_type, len(content), None)
    except SuspiciousFileOperation:
        raise _refused((*path, "filename"), "is not a name that a file can have") from None


def _content(text: object, path: Path) -> bytes:
    if not isinstance(text, str):
        raise _refused((*path, "content"), "is missing; send the file, encoded as base64")
    try:
        return b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise _refused((*path, "content"), "is not valid base64") from None


def _refused(path: Path, what: str) -> ToolError:
    place = shown_path(path)
    return error_invalid_input(f"{place}: {what}. Correct it and call again.", fields={place: [what]})


def files_by_field(files: dict[Path, InMemoryUploadedFile]) -> "MultiValueDict[str, InMemoryUploadedFile]":
    """The files as `request.FILES` holds them: those that are a field, and those in a list that is a field."""
    found: MultiValueDict[str, InMemoryUploadedFile] = MultiValueDict()
    for path, file in files.items():
        if len(path) == 1 or (len(path) == 2 and isinstance(path[1], int)):
            found.appendlist(str(path[0]), file)
    return found
