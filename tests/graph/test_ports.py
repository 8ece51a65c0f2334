"""The eight ports: what is required of actions, what they are handed, and what they may not do."""

from collections import UserDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from graph_ports import GOOD, NODES, TRUSTED, Ports, arun, events, failed, good, run

from diagnosis.actions import Actions
from diagnosis.catalog import diagnosis_model
from diagnosis.factory import OWNED, build_graph
from diagnosis.runtime import (
    ActionError,
    CompiledGraph,
    CompileError,
    ConditionError,
    Decision,
    DefinitionError,
    FrozenError,
    OwnershipError,
    ReportError,
    Rule,
    Run,
    RunConfig,
    RunError,
    UndeclaredKeyError,
)
from diagnosis.runtime.decisions import Condition
from diagnosis.state import KEYS
from diagnosis.trace import OrchestrationEvent


async def nothing(state: Mapping[str, Any], config: RunConfig) -> dict[str, Any]:
    return {}


# --- construction -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("node", NODES)
def test_a_missing_or_null_action_is_refused_by_name(node: str) -> None:
    rest = {each: nothing for each in NODES if each != node}
    for given in (rest, {**rest, node: None}):
        with pytest.raises(DefinitionError, match=f"all eight actions are required.*; {node} is None$"):
            Actions(**given)


@pytest.mark.parametrize("value", ["planner", 1, {}, []])
def test_an_action_that_is_no_function_is_refused_by_name(value: Any) -> None:
    with pytest.raises(DefinitionError, match="; composer is "):
        Actions(**{**dict.fromkeys(NODES, nothing), "composer": value})


def test_all_missing_actions_are_named_at_once() -> None:
    with pytest.raises(DefinitionError) as caught:
        Actions(planner=nothing)
    for node in NODES[1:]:
        assert f"{node} is None" in str(caught.value)
    assert "planner is" not in str(caught.value)


def test_there_is_no_ninth_port() -> None:
    with pytest.raises(TypeError, match="editor"):
        Actions(**dict.fromkeys([*NODES, "editor"], nothing))


def test_actions_are_told_by_node() -> None:
    actions = Actions(**dict.fromkeys(NODES, nothing))
    assert actions.by_node() == dict.fromkeys(NODES, nothing)


def test_an_action_that_takes_no_state_is_refused() -> None:
    async def bare() -> dict[str, Any]:
        return {}

    with pytest.raises(CompileError, match="executor: its action must take"):
        build_graph(Actions(**{**dict.fromkeys(NODES, nothing), "executor": bare}))


# --- what an action is handed -------------------------------------------------------------------------------------


def test_the_config_carries_thread_metadata_and_attempt() -> None:
    ports = Ports(planner=[{"planner_status": "INVALID_OUTPUT"}, GOOD["planner"]])
    arun(ports.graph, {"run_id": "r"}, config=RunConfig(thread_id="t", metadata={"tenant": ["a"]}, attempt=9))
    assert [config.thread_id for _, _, config in ports.calls] == ["t"] * 7
    assert all(config.metadata == {"tenant": ["a"]} for _, _, config in ports.calls)
    assert [config.attempt for _, _, config in ports.calls] == [1, 2, 1, 1, 1, 1, 1]


def test_metadata_is_read_only_and_a_copy() -> None:
    mine = {"tenant": ["a"]}

    def change(state: Any, config: RunConfig) -> Any:
        config.metadata["tenant"] = "b"  # type: ignore[index]

    error = arun(Ports(planner=change).graph, config=RunConfig(metadata=mine), check=False).error
    assert isinstance(error, ActionError)
    assert isinstance(error.__cause__, FrozenError)
    config = RunConfig(metadata=mine)
    mine["tenant"].append("b")
    assert config.metadata == {"tenant": ["a"]}


ATTACKS: dict[str, Callable[[Any], object]] = {
    "set a key": lambda state: state.__setitem__("final_answer", "x"),
    "delete a key": lambda state: state.__delitem__("final_answer"),
    "update": lambda state: state.update(final_answer="x"),
    "clear": lambda state: state.clear(),
    "pop": lambda state: state.pop("final_answer"),
    "change a mapping": lambda state: state["planner_output"].__setitem__("goal", "x"),
    "change a mapping inside": lambda state: state["planner_output"]["deep"].update(a=2),
    "append to a list": lambda state: state["checked_bindings"].append({"trusted": True}),
    "append to a list inside": lambda state: state["planner_output"]["deep"]["list"].append(2),
    "change an element": lambda state: state["checked_bindings"][0].__setitem__("trusted", False),
    "sort": lambda state: state["checked_bindings"].sort(),
    "add to the events": lambda state: state["orchestration_events"].append("x"),
    "replace an event": lambda state: state["orchestration_events"].__setitem__(0, "x"),
    "change an event": lambda state: setattr(state["orchestration_events"][0], "node", "x"),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_state_is_read_only_to_an_action_however_deep(attack: str) -> None:
    seen: list[Any] = []

    def verifier(state: Any, config: RunConfig) -> Any:
        with pytest.raises((FrozenError, TypeError, AttributeError)):
            ATTACKS[attack](state)
        seen.append(True)
        return GOOD["verifier"]

    plan = {"goal": "g", "deep": {"a": 1, "list": [1]}}
    found = run(planner=good("planner", planner_output=plan), verifier=verifier)
    assert seen == [True]
    assert found.state["planner_output"] == {"goal": "g", "deep": {"a": 1, "list": [1]}}
    assert found.state["checked_bindings"] == [TRUSTED]
    assert len(found.state["orchestration_events"]) == 6


# --- what an action returns ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize("key", KEYS)
def test_an_action_writes_only_keys_that_its_node_owns(node: str, key: str) -> None:
    if key in OWNED[node] or key == "orchestration_events":
        return
    reports = {"planner": {"planner_status": "FAILED"}} if node == "fallback" else {}
    if node == "evidence_retry":
        reports["verifier"] = good(
            "verifier",
            effective_verdict="LOW_CONFID",
            verifier_output={"facts_checked": [{"fact": "f", "verification": "no_evidence"}]},
        )
    error = failed(**{**reports, node: good(node, **{key: None})})
    assert type(error) is OwnershipError
    assert error.node == node
    allowed = sorted([*OWNED[node], "orchestration_events"], key=list(KEYS).index)
    assert str(error) == (
        f"node {node!r} wrote {key!r}, which it does not own; it may write {', '.join(map(repr, allowed))}"
    )
    assert node not in error.path
    assert len(error.state["orchestration_events"]) == len(error.path)


def test_an_undeclared_key_is_refused_by_name() -> None:
    error = failed(executor=good("executor", verdict="PASS"))
    assert type(error) is UndeclaredKeyError
    assert str(error).startswith("node 'executor' wrote 'verdict', which the graph does not declare")


@pytest.mark.parametrize("report", [None, [], (), "planner_status", 1, [("planner_status", "COMPLETED")], {1}])
def test_an_update_that_is_no_mapping_is_refused(report: Any) -> None:
    error = failed(planner=lambda state, config: report)
    assert type(error) is ReportError
    assert str(error).startswith(f"node 'planner' returned {type(report).__name__}, not a mapping")
    assert error.state["planner_status"] is None


@pytest.mark.parametrize("form", [dict, UserDict, MappingProxyType])
def test_any_mapping_is_an_update(form: Any) -> None:
    assert run(planner=form(GOOD["planner"])).final_node == "composer"


def test_a_value_that_nothing_can_keep_from_changing_is_refused() -> None:
    error = failed(planner=good("planner", planner_output={"goal": object()}))
    assert type(error) is ReportError
    assert "node 'planner' wrote 'planner_output': a value of type builtins.object at ['goal']" in str(error)


def test_what_an_action_returns_is_copied() -> None:
    binding = dict(TRUSTED)
    bindings = [binding]
    report = {"gatekeeper_status": "PASS", "checked_bindings": bindings}

    def later(state: Any, config: RunConfig) -> Any:
        binding["trusted"] = False
        bindings.clear()
        report["gatekeeper_status"] = "REJECT"
        assert state["checked_bindings"] == [TRUSTED]
        return GOOD["verified_input"]

    found = run(gatekeeper=report, verified_input=later)
    assert found.final_node == "composer"
    assert found.state["checked_bindings"] == [TRUSTED]
    assert found.state["gatekeeper_status"] == "PASS"


# --- an event of one's own ----------------------------------------------------------------------------------------

TRUE = {"node": "planner", "outcome": "COMPLETED", "reason_code": "PLAN_READY", "attempt": 1}


def own(value: Any) -> Any:
    return {"planner": good("planner", orchestration_events=value)}


@pytest.mark.parametrize(
    "value",
    [
        None,
        [TRUE],
        (TRUE,),
        [OrchestrationEvent(**TRUE)],  # type: ignore[arg-type]
        (OrchestrationEvent(**TRUE),),  # type: ignore[arg-type]
        [MappingProxyType(TRUE)],
        [UserDict(TRUE)],
    ],
)
def test_an_event_of_ones_own_that_is_true_is_accepted_and_stands_once(value: Any) -> None:
    found = run(**own(value))
    assert events(found)[0] == ("planner", "COMPLETED", "PLAN_READY", 1)
    assert len(found.state["orchestration_events"]) == 6
    assert all(type(event) is OrchestrationEvent for event in found.state["orchestration_events"])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([], "holds 0 events"),
        ((), "holds 0 events"),
        ([TRUE, TRUE], "holds 2 events"),
        ([TRUE] * 3, "holds 3 events"),
        (TRUE, "is FrozenDict"),
        (OrchestrationEvent(**TRUE), "is OrchestrationEvent"),  # type: ignore[arg-type]
        ("planner", "is str"),
        (1, "is int"),
        (False, "is bool"),
        (frozenset({1}), "is frozenset"),
        ([None], r"orchestration_events\[0\]: found NoneType"),
        (["planner"], "found str"),
        ([{**TRUE, "more": 1}], "an event has exactly node, outcome, reason_code, attempt"),
        ([{key: TRUE[key] for key in ("node", "outcome", "attempt")}], "an event has exactly"),
        ([{**TRUE, "node": ""}], "node must be a text that is not blank"),
        ([{**TRUE, "outcome": " "}], "outcome must be a text that is not blank"),
        ([{**TRUE, "reason_code": None}], "reason_code must be a text that is not blank"),
        ([{**TRUE, "attempt": 0}], "attempt must be a whole number from 1"),
        ([{**TRUE, "attempt": True}], "attempt must be a whole number from 1"),
        ([{**TRUE, "attempt": 1.0}], "attempt must be a whole number from 1"),
        ([{**TRUE, "node": "executor"}], "is not what happened"),
        ([{**TRUE, "outcome": "FAILED"}], "is not what happened"),
        ([{**TRUE, "reason_code": "PLANNER_RETRY"}], "is not what happened"),
        ([{**TRUE, "attempt": 2}], "is not what happened"),
    ],
)
def test_any_other_event_of_ones_own_is_refused(value: Any, text: str) -> None:
    error = failed(**own(value))
    assert type(error) is ReportError
    assert error.node == "planner"
    with pytest.raises(ReportError, match=text):
        raise error
    assert error.path == ()
    assert list(error.state["orchestration_events"]) == []


def test_the_event_of_a_second_attempt_says_so() -> None:
    again = {**TRUE, "attempt": 2}
    first = {**TRUE, "outcome": "INVALID_OUTPUT", "reason_code": "PLANNER_RETRY"}
    reports = [
        {"planner_status": "INVALID_OUTPUT", "orchestration_events": [first]},
        good("planner", orchestration_events=[again]),
    ]
    assert run(planner=reports).final_node == "composer"


def test_the_history_so_far_is_not_an_event_of_ones_own() -> None:
    error = failed(executor=lambda state, config: good("executor", orchestration_events=state["orchestration_events"]))
    assert type(error) is ReportError
    assert error.path == ("planner",)


# --- what goes wrong is undone ------------------------------------------------------------------------------------


class BrokenError(Exception):
    pass


def broken(state: Any, config: Any) -> Any:
    raise BrokenError("no model today")


def refusing(name: str) -> CompiledGraph:
    """The graph whose planner decision raises at the second attempt."""
    graph = diagnosis_model().graph

    def raises(state: Mapping[str, Any]) -> bool:
        raise BrokenError(name)

    conditionals = []
    for conditional in graph.definition.conditionals:
        if conditional.source == "planner":
            assert isinstance(conditional.decision, Decision)
            first, second, *rest = conditional.decision.rules
            later = Condition("later", lambda state: state["planner_retry_count"] == 1, "planner_retry_count")
            bad = Rule("executor", "BAD", (later, Condition("bad", raises, "planner_status")))
            conditional = replace(conditional, decision=Decision([bad, first, second, *rest]))
        conditionals.append(conditional)
    return CompiledGraph(replace(graph.definition, conditionals=tuple(conditionals)), recursion_limit=32)


SECOND: dict[str, tuple[Any, type[RunError]]] = {
    "an exception": (broken, ActionError),
    "no mapping": (lambda state, config: None, ReportError),
    "a foreign key": ({"final_answer": "x"}, OwnershipError),
    "an undeclared key": ({"x": "x"}, UndeclaredKeyError),
    "a value that cannot be kept": ({"planner_output": object()}, ReportError),
    "a false event": ({"planner_status": "COMPLETED", "orchestration_events": [TRUE]}, ReportError),
    "a condition that raises": (GOOD["planner"], ConditionError),
}


@pytest.mark.parametrize("how", SECOND)
def test_a_refusal_undoes_the_execution_and_its_entry_update(how: str) -> None:
    second, kind = SECOND[how]
    ports = Ports(planner=[{"planner_status": "INVALID_OUTPUT"}, second])
    graph = ports.graph
    if how == "a condition that raises":
        graph = refusing(how).with_actions({node: ports.action(node) for node in NODES})
    found: Run = arun(graph, {"run_id": "r"}, check=False)
    assert found.stop == "error"
    assert type(found.error) is kind
    assert (found.error.node, found.error.attempt) == ("planner", 2)
    assert ports.attempts("planner") == [1, 2]
    assert ports.seen("planner", "planner_retry_count") == [0, 1]
    assert found.path == ("planner",)
    assert found.state["planner_retry_count"] == 0
    assert found.state["planner_status"] == "INVALID_OUTPUT"
    assert events(found) == [("planner", "INVALID_OUTPUT", "PLANNER_RETRY", 1)]
    assert (found.position.node, found.position.reason) == ("planner", "PLANNER_RETRY")
    assert found.error.state == found.state


@pytest.mark.parametrize("node", NODES)
def test_an_action_that_raises_stops_the_run_with_its_node_and_attempt(node: str) -> None:
    reports: dict[str, Any] = {"planner": {}} if node == "fallback" else {}
    if node == "evidence_retry":
        gap = {"facts_checked": [{"fact": "f", "verification": "no_evidence"}]}
        reports["verifier"] = good("verifier", effective_verdict="LOW_CONFID", verifier_output=gap)
    error = failed(**{**reports, node: BrokenError("no model today")})
    assert str(error) == f"node {node!r}, attempt 1, raised BrokenError: no model today"
    assert type(error) is ActionError
    assert isinstance(error.__cause__, BrokenError)
    assert "fallback" not in error.path


def test_the_shipped_graph_has_no_actions_of_its_own() -> None:
    error = arun(diagnosis_model().graph, check=False).error
    assert type(error) is ActionError
    assert "this graph is a model without actions" in str(error)
