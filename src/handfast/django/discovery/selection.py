"""Which tools a project wants: patterns over their names, their urls and their views."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from handfast.django.discovery.problems import DiscoveryProblems, ProblemId

Patterns = tuple[str, ...]


@dataclass(slots=True)
class Selection:
    """A tool must match one pattern of every list in `include`, and none of `exclude`."""

    include: tuple[Patterns, ...]
    exclude: Patterns
    matched: set[str] = field(default_factory=set)

    def admits(self, *handles: str) -> bool:
        """Whether a tool is wanted; `handles` are its name, its url, and its view with the action."""
        excluded = self._matching(self.exclude, handles)
        included = [self._matching(patterns, handles) for patterns in self.include]
        return not excluded and all(included)

    def _matching(self, patterns: Patterns, handles: Iterable[str]) -> bool:
        hits = {pattern for pattern in patterns for handle in handles if fnmatchcase(handle, pattern)}
        self.matched |= hits
        return bool(hits)

    def note_unmatched(self, findings: DiscoveryProblems) -> None:
        """Reports patterns that match no tool: a slip of the pen may leave a tool open that was meant to be closed."""
        patterns = dict.fromkeys([*self.exclude, *(one for patterns in self.include for one in patterns)])
        for pattern in patterns:
            if pattern not in self.matched:
                findings.add(
                    ProblemId.PATTERN_UNMATCHED,
                    f"No tool matches '{pattern}'.",
                    hint="Match a name (contacts__*), a url (/api/v1/*) or a view (shop.views.OrderViewSet.*).",
                    where="settings.HANDFAST",
                )


def read_selection(include: Iterable[str] = (), exclude: Iterable[str] = ()) -> Selection:
    """The given patterns and those of `settings.HANDFAST`: both apply, so each can only take tools away.

    Raises: ImproperlyConfigured.
    """
    configured = getattr(settings, "HANDFAST", {})
    if not isinstance(configured, Mapping):
        raise ImproperlyConfigured(
            "settings.HANDFAST must be a dict. Write HANDFAST = {'EXCLUDE': ['contacts__destroy']}."
        )
    lists = [_patterns(tuple(include), "include"), _patterns(configured.get("INCLUDE", ()), "HANDFAST['INCLUDE']")]
    own = _patterns(tuple(exclude), "exclude")
    return Selection(
        tuple(patterns for patterns in lists if patterns),
        (*own, *_patterns(configured.get("EXCLUDE", ()), "HANDFAST['EXCLUDE']")),
    )


def _patterns(value: object, name: str) -> Patterns:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ImproperlyConfigured(f"{name} is not a list of patterns. Write ['contacts__*'].")
    patterns = tuple(value)
    if not all(isinstance(pattern, str) for pattern in patterns):
        raise ImproperlyConfigured(f"{name} has something else than patterns in it. Write ['contacts__*'].")
    return patterns
