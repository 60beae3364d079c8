"""System checks: what would hurt an agent, under the tag `handfast`. Importing this registers them with Django.

Those that need every view and serializer cost about a millisecond for each tool and may report errors. They run on
request (`manage.py check`, `run_checks()`), and not before every other command: a migration or a nightly job should
not wait for them, or fail because an agent could not call something.
"""

import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final

from django.core import checks
from django.core.management import get_commands

from handfast.django.checks.catalogue import CheckFinding, Level
from handfast.django.checks.setup import deployment_findings, setup_findings
from handfast.django.mounted import has_urls

TAG: Final = "handfast"
_LEVELS: Final[dict[Level, int]] = {"error": checks.ERROR, "warning": checks.WARNING, "info": checks.INFO}


@checks.register(TAG)
def check_setup(app_configs: Any, **_: Any) -> list[checks.CheckMessage]:  # Any: as Django calls it
    """Checks settings, apps and urls."""
    return _messages(setup_findings(), app_configs)


@checks.register(TAG)
def check_tools(app_configs: Any, **_: Any) -> list[checks.CheckMessage]:  # Any: as Django calls it
    """Errors and warnings about the tools; notes are left to `manage.py handfast doctor`."""
    is_broken = any(one.level == "error" for one in setup_findings())
    if is_broken or not has_urls() or not is_asked_for(sys.argv, get_commands()):
        return []
    from handfast.django.checks.surveyed import surveyed_findings, try_to_serve
    from handfast.django.discovery import survey

    # The database may not be migrated yet, and a check that needs a table would prevent that.
    found = survey(may_query=False)
    served = try_to_serve(found.tools)
    findings = [*([served] if isinstance(served, CheckFinding) else []), *surveyed_findings(found)]
    return _messages((one for one in findings if one.level != "info"), app_configs)


@checks.register(TAG, deploy=True)
def check_deployment(app_configs: Any, **_: Any) -> list[checks.CheckMessage]:  # Any: as Django calls it
    return _messages(deployment_findings(), app_configs)


def is_asked_for(argv: Sequence[str], commands: Iterable[str]) -> bool:
    """Whether this process runs checks on request, and not as the first step of another management command."""
    command = argv[1] if len(argv) > 1 else ""
    return command == "check" or command not in commands


def _messages(
    findings: Iterable[CheckFinding], app_configs: Any
) -> list[checks.CheckMessage]:  # Any: as Django calls it
    # `manage.py check APP` is about that app alone.
    if app_configs is not None and all(config.label != "handfast" for config in app_configs):
        return []
    return [
        checks.CheckMessage(_LEVELS[one.level], one.message, hint=one.hint, obj=one.where, id=one.id)
        for one in findings
    ]
