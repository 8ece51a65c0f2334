"""Scripts say where a node that may redirect goes, and are refused where it cannot."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from branched import WORDS, crowd, desk

from diagnosis.runtime import Command, FrozenDict, Model, Send
from diagnosis.scenarios import DocumentError, Scenario, ScenarioResult, Script, load, run_scenario


def run(model: Model, script: Any, **more: Any) -> ScenarioResult:
    return run_scenario(Scenario.parse({"name": "a", "graph": model.name, "script": script, **more}), model)


def read(item: Any, node: str = "boss", make: Callable[[], Model] = crowd) -> Any:
    model = make()
    return Script.of(Scenario.parse({"name": "a", "script": {node: [item]}}), model).calls[node][0]


@pytest.mark.parametrize(
    ("item", "command"),
    [
        ({"goto": "end"}, Command("end", reason="end")),
        ({"goto": "end", "update": {"note": "n"}, "reason": "STOP"}, Command("end", {"note": "n"}, reason="STOP")),
        ({"goto": ["worker"]}, Command(["worker"], reason="worker")),
        ({"goto": ["worker", "helper", "worker"]}, Command(["worker", "helper", "worker"], reason="worker + helper")),
        (
            {"goto": [{"to": "worker", "update": {"item": [1]}}, {"to": "helper"}, "sum"], "reason": "SPLIT"},
            Command([Send("worker", {"item": [1]}), Send("helper"), "sum"], reason="SPLIT"),
        ),
        ("two", Command([Send("worker", {"item": 1}), Send("worker", {"item": 2})], {"note": "two"}, reason="TWO")),
    ],
)
def test_an_item_stands_for_a_command(item: Any, command: Command) -> None:
    assert read(item) == command


def test_what_a_command_of_a_script_holds_is_frozen_when_it_is_read() -> None:
    command = read({"goto": [{"to": "worker", "update": {"item": [1]}}], "update": {"note": {"a": [2]}}})
    assert type(command.update) is FrozenDict
    assert type(command.goto[0].update) is FrozenDict
    assert type(read("two").update) is FrozenDict


def test_a_node_that_redirects_goes_where_its_script_says() -> None:
    bye = {"goto": "bye", "update": {"note": "over"}}
    result = run(desk(), {"triage": ["fix", bye], "support": ["back"]})
    assert result.passed, result.text()
    assert result.path == ("triage", "support", "triage")
    assert (result.run.reason, result.run.state["note"]) == ("bye", "over")
    assert result.to_json()["trace"] == {
        "version": 1,
        "transitions": [
            {"from": "triage", "to": "support", "reason_code": "ASKED", "attempt": 1},
            {"from": "support", "to": "triage", "reason_code": "WRONG_DESK", "attempt": 1},
        ],
        "final_node": "triage",
        "termination_reason": "bye",
    }
    assert run(desk(), {"triage": ["default"]}).path == ("triage", "sales")
    assert run(desk(), {"triage": [{"update": {}}]}).path == ("triage", "sales")


def test_an_update_that_is_sent_is_seen_by_its_branch_only() -> None:
    goto = [{"to": "worker", "update": {"item": "a"}}, {"to": "worker", "update": {"item": "b"}}, {"to": "worker"}]
    result = run(crowd(), {"boss": [{"goto": goto}], "worker": ["copies"] * 3, "check": ["done"] * 3})
    assert list(result.run.state["log"]) == ["a", "done", "b", "done", None, "done"]
    assert result.run.state["item"] is None


def test_what_only_the_run_can_tell_fails_it() -> None:
    for item, says in (
        ({"goto": "end", "update": {"gone": 1}}, "wrote 'gone', which the graph does not declare"),
        ({"goto": [{"to": "worker", "update": {"gone": 1}}]}, "sent 'gone' to 'worker', which the graph does not decl"),
    ):
        assert says in str(run(crowd(), {"boss": [item]}).error)


WAYS = "'worker', 'helper', 'sum'"
KEYS = "a mapping from state key to value"
UNFIT: list[tuple[Any, tuple[str | int, ...], str, str]] = [
    ({"goto": "nowhere"}, ("goto",), "'nowhere'", f"{WAYS}, 'end'"),
    ({"goto": ""}, ("goto",), "''", f"{WAYS}, 'end'"),
    ({"goto": ["worker", "nowhere"]}, ("goto", 1), "'nowhere'", WAYS),
    ({"goto": ["worker", {"to": "nowhere"}]}, ("goto", 1, "to"), "'nowhere'", WAYS),
    ({"goto": ["end"]}, ("goto", 0), "'end', which opens no branch", WAYS),
    ({"goto": [{"to": "end"}]}, ("goto", 0, "to"), "'end', which opens no branch", WAYS),
    ({"goto": 1}, ("goto",), "int 1", "a route key, or a list of them; put it in quotes"),
    ({"goto": True}, ("goto",), "bool True", "a route key, or a list of them; put it in quotes"),
    ({"goto": None}, ("goto",), "null", "a route key, or a list of them; put it in quotes"),
    ({"goto": []}, ("goto",), "an empty list", "at least one route key"),
    ({"goto": {"to": "worker"}}, ("goto",), "a mapping", "a route key, or a list of them"),
    ({"goto": [1]}, ("goto", 0), "int 1", "a route key, or a mapping with 'to' and 'update'; put it in quotes"),
    ({"goto": [["worker"]]}, ("goto", 0), "a list", "a route key, or a mapping with 'to' and 'update'"),
    ({"goto": [{}]}, ("goto", 0), "no 'to'", "one; 'to' is required"),
    ({"goto": [{"to": ["worker"]}]}, ("goto", 0, "to"), "a list", "a route key"),
    ({"goto": [{"to": 1}]}, ("goto", 0, "to"), "int 1", "a route key; put it in quotes"),
    ({"goto": [{"to": "sum", "set": {}}]}, ("goto", 0, "set"), "the unknown key 'set'", "'to', 'update'"),
    ({"goto": [{"to": "sum", "update": []}]}, ("goto", 0, "update"), "an empty list", KEYS),
    ({"goto": [{"to": "sum", "update": None}]}, ("goto", 0, "update"), "null", KEYS),
    ({"goto": "end", "update": [1]}, ("update",), "a list", KEYS),
    ({"goto": "end", "reason": 5}, ("reason",), "int 5", "a text; put it in quotes"),
    ({"goto": "end", "reason": None}, ("reason",), "null", "a text; put it in quotes"),
    ({"goto": "end", "reason": " "}, ("reason",), "a blank reason", "a text that is not blank"),
    ({"goto": "end", "status": "x"}, ("status",), "the unknown key 'status'", "'goto', 'update', 'reason'"),
    ({"goto": "end", "raises": "x"}, (), "'raises' beside 'goto'", "'raises' alone; make two items of it"),
    ({"update": {}, "reason": "x"}, (), "'update' beside 'reason'", "'update' alone; make two items of it"),
]


@pytest.mark.parametrize(("item", "at", "found", "allowed"), UNFIT, ids=[json.dumps(item) for item, *_ in UNFIT])
@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_a_goto_that_cannot_be_is_refused_where_it_stands(
    item: Any, at: tuple[str | int, ...], found: str, allowed: str, ending: str, tmp_path: Path
) -> None:
    document = {"name": "a", "graph": "crowd", "script": {"boss": ["two", item]}}
    file = tmp_path / f"case.{ending}"
    file.write_text(yaml.safe_dump(document) if ending == "yaml" else json.dumps(document))
    (refusal,) = load(file, {"crowd": crowd()}).refused
    error = refusal.error
    assert isinstance(error, DocumentError)
    assert (error.place, error.found, error.allowed) == (("script", "boss", 1, *at), found, allowed)
    assert (error.line is not None) is (ending == "yaml")


@pytest.mark.parametrize(
    ("item", "node", "found", "allowed"),
    [
        (
            {"goto": "sell"},
            "sales",
            "a goto, but node 'sales' declares none",
            "none; or add the node with goto={route key: target}",
        ),
        ({"goto": ["sell"]}, "triage", "a list, but node 'triage' declares no fork", "one of 'sell', 'fix', 'bye'"),
        (
            {"goto": "x" * 900},
            "support",
            "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx ... " + "x" * 56 + "'",
            "'back'",
        ),
    ],
)
def test_a_node_goes_only_where_it_declares_to_go(item: Any, node: str, found: str, allowed: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read(item, node, desk)
    assert (caught.value.where, caught.value.found, caught.value.allowed) == (f"script.{node}[0].goto", found, allowed)


@pytest.mark.parametrize(
    ("item", "where"),
    [
        ({"goto": "end", 1: 2}, "script.boss[0]"),
        ({"goto": [{"to": "sum", 1: 2}]}, "script.boss[0].goto[0]"),
        ({"goto": [{"to": "sum", "update": {1: 2}}]}, "script.boss[0].goto[0].update"),
        ({"goto": "end", "update": {1: 2}}, "script.boss[0].update"),
    ],
)
def test_keys_that_only_code_can_make_are_refused_too(item: Any, where: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read(item)
    assert (caught.value.where, caught.value.found) == (where, "int 1 as a key")


def test_short_forms_of_ones_own_may_give_and_spell_commands() -> None:
    class Forms:
        def parse(self, node: str, item: Any) -> Any:
            return Command("back", {"log": [item["status"]]}, reason="R") if node == "support" else WORDS["done"]

        def spell(self, node: str, outcome: str) -> Any:
            return {"goto": "fix", "reason": "ONLY"} if node == "triage" else outcome

    base = desk()
    alphabet = {
        "triage": {"fix": Command("fix", reason="ONLY")},
        "sales": {"s": {}},
        "support": base.alphabet["support"],
    }
    model = Model("desk", base.graph, alphabet, short_forms=Forms())
    result = run(model, {"support": ["again", {"update": {}}]})
    assert result.passed, result.text()
    assert (result.path, list(result.run.state["log"])) == (("triage", "support") * 2, ["again"])
    assert result.run.events[0].reason == "ONLY"
