"""Settings from HANDFAST_* variables and from flags: the same keys as in the file, at the global level."""

from collections.abc import Mapping

from handfast.gateway.settings.check import WrongValue, parse_value
from handfast.gateway.settings.keys import GLOBAL_KEYS, Key
from handfast.gateway.settings.problems import Findings, Rank, nearest, quoted

PREFIX = "HANDFAST_"
VARIABLES: Mapping[str, Key] = {key.variable: key for key in GLOBAL_KEYS.values()}
# Read elsewhere: where state and settings are, who calls over stdio, which gateway a command talks to and as whom.
OTHERS = frozenset({"HANDFAST_STATE", "HANDFAST_CONFIG", "HANDFAST_ACTOR", "HANDFAST_URL", "HANDFAST_TOKEN"})


def environment_values(environ: Mapping[str, str], findings: Findings) -> dict[str, object]:
    """The values that variables set, by dotted key; wrong ones and misspelt names are noted."""
    values = {}
    for variable in sorted(name for name in environ if name.startswith(PREFIX) and name not in OTHERS):
        key = VARIABLES.get(variable)
        if key is None:
            _note_misspelt(variable, findings)
            continue
        try:
            values[key.dotted] = parse_value(key, environ[variable], is_text=True)
        except WrongValue as wrong:
            findings.note(f"{variable} {wrong}")
    return values


def flag_values(flags: Mapping[str, object], findings: Findings) -> dict[str, object]:
    """The values that flags set, by dotted key; None is a flag that was not given."""
    values = {}
    for dotted, value in flags.items():
        key = GLOBAL_KEYS.get(dotted)
        if key is None:
            meant = nearest(dotted, GLOBAL_KEYS)
            hint = f'did you mean "{meant}"?' if meant else "handfast config show lists them all"
            findings.note(f"flag {quoted(dotted)} is not a setting; {hint}", rank=Rank.KEY)
        elif value is not None:
            try:
                values[dotted] = parse_value(key, value, is_text=True)
            except WrongValue as wrong:
                findings.note(f"flag {dotted} {wrong}")
    return values


def _note_misspelt(variable: str, findings: Findings) -> None:
    """Only near misses: another program's variable may well start with our prefix."""
    meant = nearest(variable.removeprefix(PREFIX), (name.removeprefix(PREFIX) for name in VARIABLES))
    if meant is not None:
        findings.note(f"{variable} is not a setting; did you mean {PREFIX}{meant}?", rank=Rank.KEY)
