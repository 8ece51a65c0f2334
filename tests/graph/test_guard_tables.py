"""The guard tables, row by row, and the edges they lead along."""

from types import MappingProxyType
from typing import Any

import pytest
from graph_ports import GAP, NODES, TRUSTED

from diagnosis.actions import Actions
from diagnosis.catalog import diagnosis_model
from diagnosis.factory import OWNED, build_graph, state_graph
from diagnosis.router import GUARDS, RETRY_LIMIT, TARGETS
from diagnosis.runtime import END, REPEAT, START, Decision, Rule
from diagnosis.topology import KINDS, RECURSION_LIMIT
from diagnosis.topology import NODES as DECLARED

GRAPH = diagnosis_model().graph.definition

RETRYABLE = ("INVALID_OUTPUT", "RETRYABLE_FAILED")
SPENT: tuple[Any, ...] = (1, 2, True, False, -1, "0", 0.0, [])
LEFT = (0, None)
UNKNOWN: tuple[Any, ...] = (None, "", "???", "completed", " COMPLETED", "UNKNOWN", 1, True, ["COMPLETED"], {})


def technical(node: str) -> list[tuple[str, dict[str, Any], str, str]]:
    """The rows that planner, verifier and composer share, once for every value that they cover."""
    status, count, upper = f"{node}_status", f"{node}_retry_count", node.upper()
    rows: list[tuple[str, dict[str, Any], str, str]] = []
    for value in RETRYABLE:
        rows += [(node, {status: value, count: left}, f"retry_{node}", f"{upper}_RETRY") for left in LEFT]
        rows += [(node, {status: value, count: spent}, "fallback", f"{upper}_RETRY_EXHAUSTED") for spent in SPENT]
    rows += [(node, {status: "FAILED", count: each}, "fallback", f"{upper}_FAILED") for each in (*LEFT, *SPENT)]
    rows += [(node, {status: value}, "fallback", f"{upper}_STATUS_UNKNOWN") for value in UNKNOWN]
    return rows


def judged(verdict: Any, ceiling: Any = "PASS", output: Any = None, count: Any = 0) -> dict[str, Any]:
    return {
        "verifier_status": "COMPLETED",
        "effective_verdict": verdict,
        "verifier_verdict_ceiling": ceiling,
        "verifier_output": output,
        "evidence_retry_count": count,
    }


ROWS: list[tuple[str, dict[str, Any], str, str]] = [
    ("planner", {"planner_status": "COMPLETED"}, "executor", "PLAN_READY"),
    ("planner", {"planner_status": "COMPLETED", "planner_retry_count": 1}, "executor", "PLAN_READY"),
    *technical("planner"),
    ("executor", {"executor_status": "COMPLETED"}, "gatekeeper", "EVIDENCE_COLLECTED"),
    ("executor", {"executor_status": "FAILED"}, "fallback", "EXECUTOR_FAILED"),
    *[("executor", {"executor_status": value}, "fallback", "EXECUTOR_STATUS_UNKNOWN") for value in UNKNOWN],
    *[("executor", {"executor_status": value}, "fallback", "EXECUTOR_STATUS_UNKNOWN") for value in RETRYABLE],
    (
        "gatekeeper",
        {"gatekeeper_status": "REJECT", "checked_bindings": [TRUSTED]},
        "fallback",
        "GATEKEEPER_REJECTED",
    ),
    ("gatekeeper", {"gatekeeper_status": "REJECT"}, "fallback", "GATEKEEPER_REJECTED"),
    *[
        ("gatekeeper", {"gatekeeper_status": status, "checked_bindings": bindings}, *way)
        for status in ("PASS", "LOW_CONFID")
        for bindings, way in (
            ([TRUSTED], ("verified_input", "EVIDENCE_TRUSTED")),
            (({"trusted": False}, TRUSTED), ("verified_input", "EVIDENCE_TRUSTED")),
            ([{"trusted": 1}], ("fallback", "NO_TRUSTED_BINDINGS")),
            ([], ("fallback", "NO_TRUSTED_BINDINGS")),
            (None, ("fallback", "NO_TRUSTED_BINDINGS")),
            (TRUSTED, ("fallback", "NO_TRUSTED_BINDINGS")),
        )
    ],
    *[
        ("gatekeeper", {"gatekeeper_status": value, "checked_bindings": [TRUSTED]}, "fallback", reason)
        for value in (*UNKNOWN, "COMPLETED", "pass")
        for reason in ["GATEKEEPER_STATUS_UNKNOWN"]
    ],
    *technical("verifier"),
    ("verifier", judged("PASS"), "composer", "VERDICT_PASS"),
    ("verifier", judged("PASS", None, GAP, "?"), "composer", "VERDICT_PASS"),
    *[("verifier", judged("LOW_CONFID", "PASS", GAP, left), "evidence_retry", "EVIDENCE_GAP") for left in LEFT],
    *[("verifier", judged("LOW_CONFID", "PASS", GAP, spent), "composer", "VERDICT_LOW_CONFID") for spent in SPENT],
    *[
        ("verifier", judged("LOW_CONFID", ceiling, GAP), "composer", "VERDICT_LOW_CONFID")
        for ceiling in ("LOW_CONFID", "REJECT", None, "pass", "???")
    ],
    ("verifier", judged("LOW_CONFID", "PASS", {}), "composer", "VERDICT_LOW_CONFID"),
    ("verifier", judged("LOW_CONFID", "PASS", None), "composer", "VERDICT_LOW_CONFID"),
    ("verifier", judged("REJECT", "PASS", GAP), "fallback", "VERDICT_REJECTED"),
    *[("verifier", judged(value, "PASS", GAP), "fallback", "VERDICT_UNKNOWN") for value in (*UNKNOWN, "COMPLETED")],
    ("composer", {"composer_status": "COMPLETED"}, "end", "ANSWER_COMPOSED"),
    *technical("composer"),
]


def first_rule(node: str, state: dict[str, Any]) -> Rule:
    decision = GUARDS[node]
    view = MappingProxyType(state)
    return next(rule for rule in decision.rules if all(condition.test(view) for condition in rule.when))


@pytest.mark.parametrize(("node", "given", "route", "reason"), ROWS)
def test_the_first_rule_that_holds_decides(node: str, given: dict[str, Any], route: str, reason: str) -> None:
    for rest in ({}, dict.fromkeys(GRAPH.keys)):
        rule = first_rule(node, {**rest, **given})
        assert (rule.route, rule.reason) == (route, reason)


def test_every_row_of_the_tables_is_tried() -> None:
    assert {(node, reason) for node, _, _, reason in ROWS} == {
        (node, rule.reason) for node, decision in GUARDS.items() for rule in decision.rules
    }


def test_the_tables_hold_their_26_rules_in_order() -> None:
    assert {node: [(rule.route, rule.reason) for rule in decision.rules] for node, decision in GUARDS.items()} == {
        "planner": [
            ("executor", "PLAN_READY"),
            ("retry_planner", "PLANNER_RETRY"),
            ("fallback", "PLANNER_RETRY_EXHAUSTED"),
            ("fallback", "PLANNER_FAILED"),
            ("fallback", "PLANNER_STATUS_UNKNOWN"),
        ],
        "executor": [
            ("gatekeeper", "EVIDENCE_COLLECTED"),
            ("fallback", "EXECUTOR_FAILED"),
            ("fallback", "EXECUTOR_STATUS_UNKNOWN"),
        ],
        "gatekeeper": [
            ("fallback", "GATEKEEPER_REJECTED"),
            ("verified_input", "EVIDENCE_TRUSTED"),
            ("fallback", "NO_TRUSTED_BINDINGS"),
            ("fallback", "GATEKEEPER_STATUS_UNKNOWN"),
        ],
        "verifier": [
            ("retry_verifier", "VERIFIER_RETRY"),
            ("fallback", "VERIFIER_RETRY_EXHAUSTED"),
            ("fallback", "VERIFIER_FAILED"),
            ("fallback", "VERIFIER_STATUS_UNKNOWN"),
            ("composer", "VERDICT_PASS"),
            ("evidence_retry", "EVIDENCE_GAP"),
            ("composer", "VERDICT_LOW_CONFID"),
            ("fallback", "VERDICT_REJECTED"),
            ("fallback", "VERDICT_UNKNOWN"),
        ],
        "composer": [
            ("end", "ANSWER_COMPOSED"),
            ("retry_composer", "COMPOSER_RETRY"),
            ("fallback", "COMPOSER_RETRY_EXHAUSTED"),
            ("fallback", "COMPOSER_FAILED"),
            ("fallback", "COMPOSER_STATUS_UNKNOWN"),
        ],
    }
    assert RETRY_LIMIT == 1


def test_conditions_have_the_names_that_reports_rely_on() -> None:
    assert list(dict.fromkeys(each.name for decision in GUARDS.values() for each in decision.conditions)) == [
        "completed",
        "retryable",
        "retry_count_below_1",
        "failed",
        "reject",
        "pass_or_low_confid",
        "has_trusted_binding",
        "not_completed",
        "verdict_pass",
        "verdict_low_confid",
        "ceiling_pass",
        "evidence_gap",
        "evidence_retry_count_below_1",
        "verdict_reject",
    ]


def test_route_keys_lead_where_the_contract_says() -> None:
    assert TARGETS == {
        "planner": {"executor": "executor", "retry_planner": "planner", "fallback": "fallback"},
        "executor": {"gatekeeper": "gatekeeper", "fallback": "fallback"},
        "gatekeeper": {"verified_input": "verified_input", "fallback": "fallback"},
        "verifier": {
            "composer": "composer",
            "retry_verifier": "verifier",
            "evidence_retry": "evidence_retry",
            "fallback": "fallback",
        },
        "composer": {"end": "__END__", "retry_composer": "composer", "fallback": "fallback"},
    }
    assert {conditional.source: dict(conditional.targets) for conditional in GRAPH.conditionals} == TARGETS
    assert len({route for targets in TARGETS.values() for route in targets}) == 10


def test_fixed_edges_give_their_reasons() -> None:
    assert [(edge.source, edge.target, edge.reason) for edge in GRAPH.edges if edge.source != START] == [
        ("verified_input", "verifier", "VERIFIED_INPUT_READY"),
        ("evidence_retry", "planner", "EVIDENCE_RETRY_SCHEDULED"),
        ("fallback", END, REPEAT),
    ]
    assert GRAPH.entry == "planner"
    assert (START, END) == ("__START__", "__END__")


def test_15_node_to_node_transitions_are_possible() -> None:
    between = {(source, target) for source, target in GRAPH.links() if source != START and target != END}
    assert len(between) == 15
    assert {(node, node) for node in ("planner", "verifier", "composer")} <= between
    assert {source for source, target in GRAPH.links() if target == END} == {"composer", "fallback"}


def test_there_are_eight_nodes() -> None:
    assert GRAPH.names == DECLARED == NODES
    assert set(KINDS) == set(NODES)


def test_each_key_has_the_owners_of_the_contract() -> None:
    owners = {key: [node for node in NODES if key in OWNED[node]] for key in GRAPH.keys}
    expected = {key: [] for key in GRAPH.keys} | {
        "planner_status": ["planner"],
        "planner_output": ["planner"],
        "executor_status": ["executor"],
        "executor_output": ["executor"],
        "tool_trace_summary": ["executor"],
        "gatekeeper_status": ["gatekeeper"],
        "gatekeeper_output": ["gatekeeper"],
        "checked_bindings": ["gatekeeper"],
        "verified_input": ["verified_input"],
        "verifier_status": ["verifier"],
        "verifier_output": ["verifier"],
        "effective_verdict": ["verifier"],
        "evidence_retry_context": ["evidence_retry"],
        "composer_status": ["composer"],
        "composer_output": ["composer"],
        "final_answer": ["composer", "fallback"],
    }
    assert owners == expected


def test_guards_declare_what_they_read_and_change_nothing() -> None:
    for node, given, _, _ in ROWS:
        state = {**dict.fromkeys(GRAPH.keys), **given}
        before = dict(state)
        for condition in GUARDS[node].conditions:
            first = condition.test(MappingProxyType(state))
            assert isinstance(first, bool)
            assert condition.test({key: state[key] for key in condition.reads}) is first
        assert state == before


def test_the_graph_runs_32_nodes_at_most() -> None:
    assert RECURSION_LIMIT == diagnosis_model().graph.recursion_limit == 32


def test_the_builder_makes_the_graph_that_ships() -> None:
    async def nothing(state: Any, config: Any) -> dict[str, Any]:
        return {}

    actions = Actions(**dict.fromkeys(NODES, nothing))
    assert build_graph(actions).fingerprint == diagnosis_model().graph.fingerprint
    assert state_graph(actions).compile(recursion_limit=5).fingerprint == diagnosis_model().graph.fingerprint
    assert build_graph(actions, recursion_limit=7).recursion_limit == 7
    assert all(isinstance(conditional.decision, Decision) for conditional in GRAPH.conditionals)
