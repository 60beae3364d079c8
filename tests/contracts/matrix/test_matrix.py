"""The same contract at every place: every front, every way to a server, clients and servers of both eras."""

import json
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.contracts.judged import RIGHT, TOTAL, WRONG, WRONG_REASON, is_blocked, is_unremarkable, is_warned, structured
from tests.contracts.matrix.client import PREFIX, Asked
from tests.contracts.matrix.exactness import elements_of, is_in_era, is_same_result, members_of, own_names, result_of
from tests.contracts.matrix.places import PLACES, Place
from tests.contracts.matrix.stage import LATER, Stage, in_era, matrix_case, staged
from tests.contracts.rig import Json
from tests.gateway.running import eventually, read_records
from tests.gateway.translate.servers.asking import PIPED

COUNTED = {
    "type": "object",
    "properties": {"count": {"type": "integer"}, "name": {"type": "string"}},
    "required": ["count"],
}
DECLARED = 'Declared fields: ["count", "name"].'
FINE = '{"content":[{"type":"text","text":"fine"}]}'

FIRST = matrix_case("first", COUNTED, calls=['{"count": "many"}'], input_mode="strict")
EXACT = matrix_case(
    "exact",
    {"type": "object", "properties": {"z": {}, "a": {}}},
    TOTAL,
    calls=['{"z" : {"b":1.0,"a":[9007199254740993, -0, 1E2]}, "a":"\\u00e9\\/é😀\\ud83d\\ude00"}'],
    result='{"structuredContent":{"z":1.0, "total" :\t9007199254740993,"e":"\\u00e9é\\/"} ,'
    '"_meta":{"example.com/k":1e2},"content":[ {"type":"text","text":"\\u2028"} ],"unheardOf":{"n":-0.0}}',
    input_mode="strict",
    output_mode="strict",
)
METHODS = {
    "resources/list": '{"resources":[{"uri":"test://a/b","name":"r","size":1.0,"x":"\\u00e9"}]}',
    "resources/read": '{"contents":[{"uri":"test://a/b","text":"\\u00e9\\/","n":1.0}]}',
    "resources/templates/list": '{"resourceTemplates":[]}',
    "prompts/list": '{"prompts":[{"name": "greet","x":1.0}]}',
    "prompts/get": '{"description":"\\u00e9","messages":[{"role":"user","content":{"type":"text","text":"\\/"}}]}',
    "logging/setLevel": "{}",
}
ABILITIES = {"tools": {"listChanged": True}, "resources": {}, "prompts": {}, "logging": {}}


@pytest.fixture(scope="module", params=PLACES, ids=str)
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    place: Place = request.param
    with staged(place, tmp_path_factory.mktemp("place"), methods=METHODS, capabilities=ABILITIES) as running:
        # Before anything else is asked for: handfast has to find out for itself what the tool promised.
        running.client.begin_call(FIRST.tool, b'{"count": "many"}').answer()
        yield running


# --- arguments -------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("C3")
@pytest.mark.requirement("D21")
@pytest.mark.requirement("004-15")
def test_a_call_before_any_list_is_judged(stage: Stage) -> None:
    assert stage.stub.journal.calls(FIRST.tool) == []
    assert [(record["type"], record["status"], record["rule"]) for record in stage.records(FIRST.tool)] == [
        ("policy_decision", "blocked", "arguments.schema"),
        ("tool_call", "blocked", "arguments.schema"),
    ]


@pytest.mark.requirement("004-3")
@pytest.mark.requirement("004-15")
def test_a_good_call_and_its_result_arrive_byte_for_byte(stage: Stage) -> None:
    outcome = stage.run(EXACT, meta={"example.com/trace": "1.0 é"})
    assert is_unremarkable(outcome)
    assert json.loads(outcome.reached[0].bytes)["params"]["_meta"]["example.com/trace"] == "1.0 é"


STRICT = matrix_case("strict_input", COUNTED, calls=['{"count": "many"}'], input_mode="strict")
WARN = matrix_case("warn_input", COUNTED, calls=['{"count": "many"}'])
WRAPPED = matrix_case("wrapped", COUNTED, calls=['{"data": {"count": 1}}'])
UNKNOWN = matrix_case("unknown", COUNTED, calls=['{"count": 1, "extra": 2}'], unknown_arguments="reject_all")
WRONG_COUNT = (
    "The arguments do not fit what the tool declares: count: must be an integer, not a string. "
    "Correct them and call again."
)


@pytest.mark.requirement("D2")
@pytest.mark.requirement("D16")
def test_strict_blocks_arguments_that_break_the_schema(stage: Stage) -> None:
    outcome = stage.run(STRICT)
    assert outcome.refused(f"{WRONG_COUNT}\n{DECLARED}")
    assert (outcome.decision["status"], outcome.decision["rule"]) == ("blocked", "arguments.schema")
    assert (outcome.call["status"], outcome.call["rule"]) == ("blocked", "arguments.schema")
    assert outcome.call["request_id"] == outcome.decision["request_id"]


@pytest.mark.requirement("D2")
@pytest.mark.requirement("D16")
def test_warn_lets_them_pass_and_records_it(stage: Stage) -> None:
    outcome = stage.run(WARN)
    assert outcome.passed()
    assert (outcome.decision["status"], outcome.decision["reason"]) == ("warning", WRONG_COUNT)
    assert outcome.call["status"] == "success"


@pytest.mark.requirement("000-1")
@pytest.mark.requirement("000-3")
@pytest.mark.requirement("000-13")
def test_a_wrapped_payload_is_refused_with_the_same_four_lines(stage: Stage) -> None:
    outcome = stage.run(WRAPPED)
    assert outcome.refused(
        "Argument 'data' is not a declared field and its value is a nested object.\n"
        "Likely cause: REST-style wrapper — send fields flat at the top level.\n"
        'Unwrap \'data\': send "count" directly, not inside "data".\n'
        f"{DECLARED}"
    )
    assert outcome.decision["rule"] == outcome.call["rule"] == "arguments.nested_wrapper"


@pytest.mark.requirement("D4")
def test_unknown_arguments_are_refused_where_the_policy_says_so(stage: Stage) -> None:
    outcome = stage.run(UNKNOWN)
    assert outcome.refused(f"Argument 'extra' is not a declared field. Remove it and call again.\n{DECLARED}")
    assert outcome.decision["rule"] == outcome.call["rule"] == "arguments.unknown"


# --- schemas that cannot be compiled, and those that only the slow lane can run --------------------------------------

REMOTE = {"type": "object", "properties": {"count": {"$ref": "https://example.com/x"}, "name": {"type": "string"}}}
REMOTE_REASON = "The schema refers to something outside itself; references are never fetched."
PATTERNED = {"type": "object", "properties": {"count": {}, "name": {"pattern": r"^(?=.*[A-Z])(?=.*\d).{8,}$"}}}
REMOTE_WRAPPED = matrix_case("remote_wrapped", REMOTE, calls=['{"data": {"count": 1}}'])
REMOTE_STRICT = matrix_case("remote_strict", REMOTE, calls=['{"count": 1}'], input_mode="strict")
REMOTE_WARN = matrix_case("remote_warn", REMOTE, REMOTE, calls=['{"count": 1}'], result=structured('{"count":1}'))
REMOTE_RESULT = matrix_case(
    "remote_result", None, REMOTE, result=structured('{"count":1}'), calls=["{}"], output_mode="strict"
)
AHEAD_RIGHT = matrix_case("ahead_right", PATTERNED, calls=['{"name": "Passw0rd"}'], input_mode="strict")
AHEAD_WRONG = matrix_case("ahead_wrong", PATTERNED, calls=['{"name": "password"}'], input_mode="strict")


@pytest.mark.requirement("S3")
@pytest.mark.requirement("D14")
def test_a_wrapper_is_refused_although_the_schema_cannot_be_compiled(stage: Stage) -> None:
    outcome = stage.run(REMOTE_WRAPPED)
    assert outcome.reached == []
    assert outcome.decision["rule"] == outcome.call["rule"] == "arguments.nested_wrapper"


@pytest.mark.requirement("S3")
@pytest.mark.requirement("D14")
def test_strict_refuses_what_cannot_be_judged_and_warn_marks_it(stage: Stage) -> None:
    arguments, result, warned = stage.run(REMOTE_STRICT), stage.run(REMOTE_RESULT), stage.run(REMOTE_WARN)
    assert (arguments.reached, arguments.call["rule"]) == ([], "arguments.schema")
    assert arguments.call["details"]["unjudged"] == [f"arguments: {REMOTE_REASON}"]
    assert (len(result.reached), result.answer.is_error, result.call["rule"]) == (1, True, "result.schema")
    assert result.call["details"]["unjudged"] == [f"result: {REMOTE_REASON}"]
    assert warned.passed()
    assert warned.call["details"]["unjudged"] == [f"arguments: {REMOTE_REASON}", f"result: {REMOTE_REASON}"]


@pytest.mark.requirement("S3")
@pytest.mark.requirement("D14")
def test_look_ahead_is_judged_both_ways(stage: Stage) -> None:
    assert stage.run(AHEAD_RIGHT).passed()
    outcome = stage.run(AHEAD_WRONG)
    assert (outcome.reached, outcome.call["rule"]) == ([], "arguments.schema")
    assert "name: must match the pattern" in outcome.answer.text


# --- results ---------------------------------------------------------------------------------------------------------

RESULT_WARN = matrix_case("result_warn", None, TOTAL, result=structured(WRONG))
RESULT_STRICT = matrix_case("result_strict", None, TOTAL, result=structured(WRONG), output_mode="strict")
MISSING = matrix_case("missing", None, TOTAL, result=FINE, output_mode="strict", missing_structured_content="block")
TWICE = matrix_case("twice", None, TOTAL, result=structured('{"total":1,"total":1}'), output_mode="strict")
LARGE = matrix_case("large", None, TOTAL, result=structured('{"total":1, "x":2}'), output_mode="strict", max_bytes=17)
DEEP = matrix_case("deep", None, TOTAL, result=structured('{"total":1,"x":[[]]}'), output_mode="strict", max_depth=2)
BLOCKED = {
    RESULT_STRICT: ("result.schema", WRONG_REASON),
    MISSING: ("result.missing", "the tool declares an output schema but sent no structured content"),
    TWICE: ("result.ambiguous", "the structured content is ambiguous: an object has the same key twice"),
    LARGE: ("result.max_bytes", "the structured content has 18 bytes, over the limit of 17"),
    DEEP: ("result.max_depth", "the structured content is nested deeper than the limit of 2 levels"),
}


@pytest.mark.requirement("004-2")
@pytest.mark.requirement("004-4")
@pytest.mark.requirement("004-5")
@pytest.mark.requirement("004-6")
@pytest.mark.requirement("004-8")
@pytest.mark.requirement("D20")
@pytest.mark.parametrize("which", BLOCKED, ids=lambda which: which.tool)
def test_strict_replaces_a_result_that_breaks_its_promise(stage: Stage, which: Json) -> None:
    assert is_blocked(stage.run(which), *BLOCKED[which])


@pytest.mark.requirement("004-4")
@pytest.mark.requirement("004-11")
def test_warn_forwards_such_a_result_as_it_is_and_records_it(stage: Stage) -> None:
    assert is_warned(stage.run(RESULT_WARN), "result.schema", WRONG_REASON)


IS_ERROR = matrix_case("is_error", None, TOTAL, result=structured(WRONG, ',"isError":true'), output_mode="strict")
ERROR = '{"code":-32000,"message":"no \\u00e9","data":{"z":1.0,"a":[9007199254740993]}}'
PROTOCOL_ERROR = matrix_case("protocol_error", None, TOTAL, scripted={"error": ERROR}, output_mode="strict")
BIG = matrix_case("big", None, TOTAL, result=structured(RIGHT, f',"pad":"{"é" * (1 << 19)}"'), output_mode="strict")


@pytest.mark.requirement("004-10")
def test_a_result_that_says_it_failed_passes(stage: Stage) -> None:
    assert is_unremarkable(stage.run(IS_ERROR), "error")


@pytest.mark.requirement("004-10")
def test_a_protocol_error_passes_with_its_code_and_its_data(stage: Stage) -> None:
    outcome = stage.run(PROTOCOL_ERROR)
    assert dict(members_of(outcome.answer.raw))["error"] == ERROR
    assert [(record["type"], record["status"]) for record in outcome.records] == [("tool_call", "error")]


@pytest.mark.requirement("004-3")
@pytest.mark.requirement("B6")
def test_a_megabyte_arrives_whole(stage: Stage) -> None:
    assert is_unremarkable(stage.run(BIG))


# --- what is not there -----------------------------------------------------------------------------------------------


@pytest.mark.requirement("D21")
def test_a_tool_that_nobody_has_is_an_error_of_the_protocol(stage: Stage) -> None:
    answer = stage.client.begin_call("nobody_has_it").answer()
    assert answer.message["error"]["code"] == -32602
    if stage.place.front == "all":
        (call,) = stage.records("up__nobody_has_it")
        assert (call["type"], call["rule"], call["server"]) == ("tool_call", "combined.refused", "")
        stage.client.sent["up__nobody_has_it"] = stage.client.sent.pop("nobody_has_it")  # it was no server's call
        return
    assert answer.message["error"]["message"] == "Unknown tool"
    (call,) = stage.records("nobody_has_it")
    assert (call["type"], call["status"], call["rule"]) == ("tool_call", "error", "contract.unknown")


def test_a_method_that_nobody_has_is_not_found(stage: Stage) -> None:
    answer = stage.client.ask("nobody/has")
    assert answer.message["error"]["code"] == -32601
    if stage.place.client == "modern" and stage.place.front != "wrap":
        assert answer.status == 404


def test_ping_is_answered_in_the_revisions_that_have_it(stage: Stage) -> None:
    answer = stage.client.ask("ping")
    if stage.place.client == "legacy":
        assert answer.result == {}
    else:
        assert answer.message["error"]["code"] == -32601


# --- lists -----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("004-1")
@pytest.mark.requirement("D12")
def test_tools_are_listed_as_their_server_listed_them(stage: Stage) -> None:
    result = result_of(stage.client.ask("tools/list"))
    assert is_in_era(stage.place, result, "tools/list")
    scripted = elements_of(json.loads(stage.stub.spec.read_text())["tools"])
    assert own_names(stage.place, elements_of(dict(members_of(result))["tools"])) == scripted


@pytest.mark.parametrize("method", ["resources/list", "prompts/list"])
def test_resources_and_prompts_are_listed_as_their_server_listed_them(stage: Stage, method: str) -> None:
    kind = method.partition("/")[0]
    result = result_of(stage.client.ask(method))
    assert is_in_era(stage.place, result, method)
    scripted = dict(members_of(METHODS[method]))[kind]
    assert own_names(stage.place, elements_of(dict(members_of(result))[kind])) == elements_of(scripted)


@pytest.mark.requirement("E5")
def test_a_resource_is_read_and_a_prompt_got_as_the_server_has_them(stage: Stage) -> None:
    name = json.dumps(f"{stage.place.prefix}greet").encode()
    for method, params in {"resources/read": b'"uri":"test://a/b"', "prompts/get": b'"name":' + name}.items():
        more = ('"ttlMs":0', '"cacheScope":"private"') if method == "resources/read" else ()
        scripted = in_era(stage.place, METHODS[method], *more)
        assert is_same_result(stage.place, stage.client.ask(method, params), scripted, method)


# --- beside the answer -----------------------------------------------------------------------------------------------

PROGRESS = matrix_case("progress", scripted={"result": FINE, "faults": ["progress:2:0", "heard"]})
LOGS = matrix_case(
    "logs",
    scripted={
        "result": FINE,
        "faults": ["heard"],
        "aside": '{"jsonrpc":"2.0","method":"notifications/message",'
        '"params":{"level":"warning","logger":"stub","data":{"z":1.0,"a":"\\u00e9"}}}',
    },
)


def test_progress_arrives_with_the_token_that_the_client_chose(stage: Stage) -> None:
    outcome = stage.run(PROGRESS, meta={"progressToken": "the client's own"})
    assert outcome.answer.result["content"] == [{"type": "text", "text": "fine"}]
    progress = [
        stage.client.inbox.take(lambda heard: heard.method == "notifications/progress", "progress").message["params"]
        for _ in range(2 if stage.place.can_tell else 0)
    ]
    assert progress == [
        {"progressToken": "the client's own", "progress": number} for number in ((1, 2) if progress else ())
    ]


def test_a_log_message_arrives_at_the_level_that_the_client_asked_for(stage: Stage) -> None:
    level = {f"{PREFIX}logLevel": "info"} if stage.place.client == "modern" else {}
    if not level:
        assert stage.client.ask("logging/setLevel", b'"level":"info"').result == {}
    assert stage.run(LOGS, meta=level).call["status"] == "success"
    if stage.place.can_tell:
        heard = stage.client.inbox.take(lambda heard: heard.method == "notifications/message", "a log message")
        assert dict(members_of(heard.raw))["params"] == dict(members_of(str(LOGS.answer["aside"])))["params"]


# --- questions -------------------------------------------------------------------------------------------------------

ASKS = matrix_case("asks", None, TOTAL, scripted={"result": structured(RIGHT), "faults": ["ask"]}, output_mode="strict")
REPLY = b'{"action":"accept","content":{"z":1.0,"a":"\\u00e9\\/"}}'


@pytest.mark.requirement("D19")
def test_what_a_server_asks_in_mid_call_is_answered_in_the_way_of_each_side(stage: Stage) -> None:
    asked = stage.client.begin_call(ASKS.tool)
    answer = (answer_modern if stage.place.client == "modern" else answer_legacy)(stage, asked)
    assert is_same_result(stage.place, answer, in_era(stage.place, structured(RIGHT)))
    assert any(REPLY in entry.bytes for entry in stage.stub.journal.messages())
    # A question that is asked in a result ends one round, and every round is on record.
    stage.client.sent[ASKS.tool] = 1 if stage.place.is_relayed and stage.place.server == "legacy" else 2
    rounds = [(record["type"], record["status"]) for record in stage.records(ASKS.tool)]
    assert rounds == [("tool_call", "success")] * stage.client.sent[ASKS.tool]


QUESTION = '{"message":"Go on?","requestedSchema":{"type":"object","properties":{}}}'


def answer_legacy(stage: Stage, asked: Asked) -> Json:
    heard = stage.client.inbox.take(lambda heard: heard.method == "elicitation/create", "a question")
    assert dict(members_of(heard.raw))["params"] == QUESTION
    own_id = json.dumps(heard.message["id"]).encode()
    stage.client.send(b'{"jsonrpc":"2.0","id":' + own_id + b',"result":' + REPLY + b"}")
    return asked.answer()


def answer_modern(stage: Stage, asked: Asked) -> Json:
    result = dict(members_of(result_of(asked.answer())))
    assert result["resultType"] == '"input_required"'
    ((name, question),) = members_of(result["inputRequests"])
    assert members_of(question) == [("method", '"elicitation/create"'), ("params", QUESTION)]
    state = b',"requestState":' + result["requestState"].encode()
    responses = b',"inputResponses":{' + json.dumps(name).encode() + b":" + REPLY + b"}"
    return stage.client.begin_call(ASKS.tool, more=responses + state).answer()


# --- giving up -------------------------------------------------------------------------------------------------------
# After the questions: one that follows is not always known to be about its call (tests/attacks/test_given_up_calls.py).

SILENT = matrix_case("silent", scripted={"faults": ["silence"]})


def cancel(stage: Stage, asked: Asked) -> None:
    """As the client's era and transport have it."""
    if stage.place.client == "legacy" or stage.place.front == "wrap":
        params = {"requestId": asked.id, "reason": "enough"}
        stage.client.send(
            json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}).encode()
        )
    else:
        asked.leave()


@pytest.mark.requirement("P3")
def test_a_cancelled_call_is_cancelled_at_the_server_and_on_record_once(stage: Stage) -> None:
    asked = stage.client.begin_call(SILENT.tool)
    stage.stub.journal.wait_for(lambda journal: journal.calls(SILENT.tool))
    own_id = stage.stub.journal.calls(SILENT.tool)[0].message["id"]
    cancel(stage, asked)
    if stage.place.server == "modern" and stage.place.way not in PIPED:
        stage.stub.journal.wait_for(
            lambda journal: SILENT.tool in [entry.headers.get("mcp-name") for entry in journal.events("disconnected")]
        )
    else:
        stage.stub.journal.wait_for(lambda journal: own_id in cancelled(stage))
    assert [(record["type"], record["status"]) for record in stage.records(SILENT.tool)] == [("tool_call", "cancelled")]


def cancelled(stage: Stage) -> list[Json]:
    """The requests that the server was told not to go on with."""
    found = (entry.message for entry in stage.stub.journal.messages())
    return [each["params"]["requestId"] for each in found if each.get("method") == "notifications/cancelled"]


# --- changes ---------------------------------------------------------------------------------------------------------

CHANGES = matrix_case("changes", COUNTED, calls=['{"count": "many"}'], input_mode="strict")
LATER[CHANGES.tool] = {"type": "object", "properties": {"count": {"type": "string"}}}
CHANGED = "notifications/tools/list_changed"


def test_a_change_is_announced_in_the_way_of_the_clients_era_and_learnt(stage: Stage) -> None:
    assert stage.run(CHANGES).answer.is_error
    subscription: Json = None
    if stage.place.client == "modern":
        listen = stage.client.begin_request("subscriptions/listen", b'"notifications":{"toolsListChanged":true}')
        subscription = {"_meta": {f"{PREFIX}subscriptionId": listen.id}}
        heard = stage.client.inbox.take(lambda heard: heard.method == ACKNOWLEDGED, "the acknowledgement")
        assert heard.message["params"] == {"notifications": {"toolsListChanged": True}, **subscription}
    assert (announced(stage).get("params") or None) == subscription
    stage.client.ask("tools/list")
    assert not stage.client.begin_call(CHANGES.tool, b'{"count": "many"}').answer().is_error


ACKNOWLEDGED = "notifications/subscriptions/acknowledged"


def announced(stage: Stage) -> Json:
    """The first announcement to arrive: a legacy client cannot tell when handfast listens, so one may be lost."""

    def look() -> Json:
        stage.stub.take_next()
        try:
            return stage.client.inbox.take(lambda heard: heard.method == CHANGED, CHANGED, seconds=1).message
        except TimeoutError:
            return None

    return eventually(look, CHANGED)


# --- and after all that ----------------------------------------------------------------------------------------------


@pytest.mark.requirement("D16")
def test_every_call_is_on_record_exactly_once_under_the_servers_own_name(stage: Stage) -> None:
    wanted = stage.client.sent

    def look() -> bool:
        return len(read_records(stage.state, type="tool_call")) >= wanted.total()

    eventually(look, "all calls on record")
    calls = read_records(stage.state, type="tool_call")
    assert Counter(record.tool for record in calls) == wanted
    assert {record.server for record in calls if record.tool != "up__nobody_has_it"} == {"up"}
