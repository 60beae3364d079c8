"""When two names are the same to a reader that is lax about them."""


def fold_name(name: str) -> str:
    """A name as the laxest reader takes it: without case, NUL and blanks."""
    return "".join(name.replace("\0", "").split()).casefold()
