"""The doctor's words for people."""

from dataclasses import replace

from django.core.management.color import make_style, no_style

from handfast.django.checks.catalogue import CheckFinding
from handfast.django.inspect.doctor import Diagnosis, examine_project
from handfast.django.inspect.doctor_report import render_report, tool_report

PLAIN = no_style()
SEEN = {one.name: one for one in examine_project().tools}
ERROR = CheckFinding("handfast.E001", "Two of one name.", "Rename one.", "shop.views")
NOTE = CheckFinding("handfast.I001", "Is no tool.", "Make it one.", "shop.views.Login")


def lines(diagnosis: Diagnosis, width: int | None = None) -> list[str]:
    return list(render_report(diagnosis, PLAIN, width))


def test_tools_are_a_table_and_findings_follow() -> None:
    tools = (SEEN["contacts__destroy"], SEEN["echo"])
    assert lines(Diagnosis(("/mcp/",), tools, (ERROR, NOTE), 2)) == [
        "MCP endpoint: /mcp/",
        "",
        "tool               kind   result   call                           permissions  arguments",
        "contacts__destroy  write  nothing  DELETE /api/v1/contacts/{id}/  none         id*",
        "echo               write  open     POST /api/v1/echo/             none         text*",
        "2 tools; * must be sent",
        "",
        "error handfast.E001  shop.views",
        "  Two of one name.",
        "  Rename one.",
        "",
        "note handfast.I001  shop.views.Login",
        "  Is no tool.",
        "  Make it one.",
        "",
        "1 error, 1 note (2 silenced)",
    ]


def test_nothing_at_all_is_said_plainly() -> None:
    assert lines(Diagnosis((), (), ())) == [
        "MCP endpoint: nowhere",
        "",
        "No tools: an agent would see nothing.",
        "",
        "nothing is wrong",
    ]


def test_on_a_terminal_arguments_are_wrapped_into_their_column() -> None:
    create = SEEN["dcim__devices__create"]
    shown = lines(Diagnosis((), (create,), ()), 120)
    begin = shown[2].index("arguments")
    rows = shown[3 : shown.index("1 tool; * must be sent")]
    assert len(rows) > 1
    assert {line[:begin].strip() for line in rows[1:]} == {""}
    assert max(map(len, rows)) <= 120
    whole = " ".join(line[begin:] for line in rows)
    assert whole == lines(Diagnosis((), (create,), ()))[3][begin:]


def test_what_is_not_known_and_what_takes_nothing_has_a_sign() -> None:
    bare = replace(SEEN["ping__get"], permissions=None)
    assert lines(Diagnosis((), (bare,), ()))[3].split() == [
        *("ping__get", "read", "typed", "GET", "/api/v1/ping/", "?", "-"),
    ]


def test_tools_behind_dispatchers_are_counted() -> None:
    shown = lines(Diagnosis((), (SEEN["echo"],), (), hidden=(SEEN["alarm"], SEEN["ping__get"])))
    assert shown[4] == "1 tool, and 2 behind dispatchers; * must be sent"


def test_levels_have_their_colours() -> None:
    style = make_style("error=red;warning=yellow;success=green")
    said = list(render_report(Diagnosis((), (), (ERROR,)), style))
    assert said[4].startswith("\x1b[31merror handfast.E001\x1b[0m  ")
    assert said[-1] == "\x1b[31m1 error\x1b[0m"
    assert list(render_report(Diagnosis((), (), ()), style))[-1] == "\x1b[32mnothing is wrong\x1b[0m"


def test_one_tool_is_told_with_both_schemas() -> None:
    said = list(tool_report(SEEN["alarm"], [NOTE], PLAIN))
    assert said[0] == "alarm"
    assert said[3:10] == [
        "kind         admin",
        "call         POST /api/v1/health/sound_alarm/",
        "view         tests.django.project.views.HealthViewSet.sound_alarm",
        "permissions  none",
        "result       typed",
        "annotations  destructiveHint",
        "",
    ]
    assert said[10] == "arguments"
    assert '"password"' in said[11]
    assert said[13:15] == ["result", '{\n  "type": "object"\n}']
    assert said[16] == "note handfast.I001  shop.views.Login"
