"""Promela of the agents that take turns, written by hand: the export does not come to an end with who goes on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from benchmarks.scaled import NODES, OVER, Agent, Limits
from diagnosis import Condition

_VALUES: dict[str, tuple[Any, ...]] = {
    "planner_status": (None, "COMPLETED", "INVALID_OUTPUT", "RETRYABLE_FAILED", "FAILED"),
    "verifier_status": (None, "COMPLETED", "INVALID_OUTPUT", "RETRYABLE_FAILED", "FAILED"),
    "composer_status": (None, "COMPLETED", "INVALID_OUTPUT", "RETRYABLE_FAILED", "FAILED"),
    "executor_status": (None, "COMPLETED", "FAILED"),
    "gatekeeper_status": (None, "PASS", "LOW_CONFID", "REJECT"),
    "trusted": (None, False, True),
    "ceiling": (None, "PASS", "LOW_CONFID"),
    "gap": (None, False, True),
    "verdict": (None, "PASS", "LOW_CONFID", "REJECT"),
}
"""Key -> the values that it may have, by the number that stands for each."""


def _domain(agent: Agent, key: str) -> Sequence[Any]:
    name = key.removeprefix(agent.prefix)
    if name.endswith("_count"):
        return range(getattr(agent.limits, name.removesuffix("_count")) + 1)
    return _VALUES[name]


def _variable(key: str) -> str:
    return "k" + key.replace(".", "_")


def _holds(agent: Agent, condition: Condition) -> str:
    """Say a condition by the numbers of the values for which it holds."""
    key = condition.reads[0]
    numbers = [n for n, value in enumerate(_domain(agent, key)) if condition.test({key: value})]
    return "(" + (" || ".join(f"{_variable(key)} == {n}" for n in numbers) or "false") + ")"


def _effect(agent: Agent, effect: Any) -> Iterator[str]:
    """Say an update by a line for each case in which it changes something."""
    if not effect.reads:
        for key, value in effect.apply({}).items():
            yield f"{_variable(key)} = {list(_domain(agent, key)).index(value)};"
        return
    lines = []
    domains = [_domain(agent, key) for key in effect.reads]
    for values in product(*(list(enumerate(domain)) for domain in domains)):
        state = {key: value for key, (_, value) in zip(effect.reads, values, strict=True)}
        changes = {key: value for key, value in effect.apply(state).items() if value in _domain(agent, key)}
        if changes:
            when = " && ".join(f"{_variable(key)} == {n}" for key, (n, _) in zip(effect.reads, values, strict=True))
            then = " ".join(
                f"{_variable(key)} = {list(_domain(agent, key)).index(value)};" for key, value in changes.items()
            )
            lines.append(f":: {when} -> {then}")
    yield from ("if", *lines, ":: else", "fi;")


def agents_promela(limits: Sequence[Limits]) -> str:
    """Print the agents of :func:`benchmarks.scaled.several_agents` as Promela: an option for each outcome.

    Args:
        limits: those of each agent.
    """
    agents = [Agent(f"{number}.", limit) for number, limit in enumerate(limits)]
    places = {node: number for number, node in enumerate((*NODES, OVER))}
    lines = ["byte turn;", *(f"byte at{number};" for number in range(len(agents)))]
    lines += [f"byte {_variable(key)};" for agent in agents for key in agent.keys]
    lines += ["init {", "end: do"]
    for number, agent in enumerate(agents):
        for node in NODES:
            for report in agent.reports(node).values():
                for then in range(len(agents)):
                    lines.append(f":: d_step {{ turn == {number} && at{number} == {places[node]} ->")
                    for effect in agent.entry(node):
                        lines += _effect(agent, effect)
                    for key in agent.owned(node):
                        value = list(_domain(agent, key)).index(report.get(key))
                        lines.append(f"{_variable(key)} = {value};")
                    for effect in agent.exit(node):
                        lines += _effect(agent, effect)
                    lines += _onward(agent, node, f"at{number}", places)
                    order = [(then + step) % len(agents) for step in range(len(agents))]
                    lines.append("if")
                    lines += [f":: at{other} != {places[OVER]} -> turn = {other};" for other in order[:1]]
                    lines.append(":: else -> if" if len(order) > 1 else ":: else -> turn = 0;")
                    lines += [f":: at{other} != {places[OVER]} -> turn = {other};" for other in order[1:2]]
                    lines += [":: else -> turn = 0; fi;"] if len(order) > 1 else []
                    lines += ["fi; }"]
    return "\n".join([*lines, "od }", ""])


def _onward(agent: Agent, node: str, place: str, places: dict[str, int]) -> Iterator[str]:
    """Say the guards of a node, the first that holds."""
    depth = 0
    for guard in agent.guards[node]:
        if not guard.when:
            yield f"{place} = {places[guard.target]};"
            break
        when = " && ".join(_holds(agent, condition) for condition in guard.when)
        yield f"if :: {when} -> {place} = {places[guard.target]}; :: else ->"
        depth += 1
    yield "fi; " * depth
