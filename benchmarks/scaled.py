"""The contract graph's shape with limits of any size, and several agents of it that take turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from diagnosis import (
    END,
    REPEAT,
    START,
    Condition,
    Decision,
    Effect,
    Model,
    Property,
    Replace,
    Rule,
    StateGraph,
    always,
)

NODES = ("planner", "executor", "gatekeeper", "verified_input", "verifier", "composer", "evidence_retry", "fallback")

OVER = "over"
"""Where an agent stands that is through."""

_TECHNICAL = ("COMPLETED", "INVALID_OUTPUT", "RETRYABLE_FAILED", "FAILED", None)
_RETRYABLE = ("INVALID_OUTPUT", "RETRYABLE_FAILED")
_RANKS = {"PASS": 2, "LOW_CONFID": 1, "REJECT": 0}


class Limits(NamedTuple):
    """How often each may be done again."""

    planner: int = 1
    verifier: int = 1
    composer: int = 1
    evidence: int = 1

    @classmethod
    def all(cls, limit: int) -> Limits:
        """Give the same limit to all four."""
        return cls(limit, limit, limit, limit)


class _Guard(NamedTuple):
    target: str
    reason: str
    when: tuple[Condition, ...] = ()


class Agent:
    """The keys, conditions, updates and reports of one agent."""

    def __init__(self, prefix: str, limits: Limits) -> None:
        self.prefix, self.limits = prefix, limits
        counts = [f"{node}_count" for node in ("planner", "verifier", "composer", "evidence")]
        statuses = [f"{node}_status" for node in ("planner", "executor", "gatekeeper", "verifier", "composer")]
        self.keys = {prefix + key: Replace(initial=0) for key in counts}
        self.keys |= {prefix + key: Replace() for key in (*statuses, "trusted", "ceiling", "gap", "verdict")}
        self.guards = {node: tuple(self._guards(node)) for node in NODES}

    def _is(self, key: str, *values: object) -> Condition:
        name, found = self.prefix + key, frozenset(values)
        return Condition(f"{key}_is_{'_or_'.join(map(str, values))}", lambda state: state[name] in found, name)

    def _below(self, node: str) -> Condition:
        name, limit = f"{self.prefix}{node}_count", getattr(self.limits, node)
        return Condition(f"{node}_below_{limit}", lambda state: state[name] < limit, name)

    def _retries(self, node: str) -> Iterator[_Guard]:
        retryable = self._is(f"{node}_status", *_RETRYABLE)
        yield _Guard(node, f"{node}_retry", (retryable, self._below(node)))
        yield _Guard("fallback", f"{node}_exhausted", (retryable,))
        yield _Guard("fallback", f"{node}_failed", (self._is(f"{node}_status", "FAILED"),))

    def _guards(self, node: str) -> Iterator[_Guard]:
        """Go through the rules of a node, those of the contract; a rule without conditions is a fixed edge."""
        if node == "planner":
            yield _Guard("executor", "plan_ready", (self._is("planner_status", "COMPLETED"),))
            yield from self._retries(node)
            yield _Guard("fallback", "planner_unknown")
        elif node == "executor":
            yield _Guard("gatekeeper", "evidence_collected", (self._is("executor_status", "COMPLETED"),))
            yield _Guard("fallback", "executor_failed", (self._is("executor_status", "FAILED"),))
            yield _Guard("fallback", "executor_unknown")
        elif node == "gatekeeper":
            passed = self._is("gatekeeper_status", "PASS", "LOW_CONFID")
            yield _Guard("fallback", "gatekeeper_rejected", (self._is("gatekeeper_status", "REJECT"),))
            yield _Guard("verified_input", "evidence_trusted", (passed, self._is("trusted", True)))
            yield _Guard("fallback", "nothing_trusted", (passed,))
            yield _Guard("fallback", "gatekeeper_unknown")
        elif node == "verifier":
            low = self._is("verdict", "LOW_CONFID")
            yield from self._retries(node)
            yield _Guard("fallback", "verifier_unknown", (self._is("verifier_status", None),))
            yield _Guard("composer", "verdict_pass", (self._is("verdict", "PASS"),))
            gap = (low, self._is("ceiling", "PASS"), self._is("gap", True), self._below("evidence"))
            yield _Guard("evidence_retry", "evidence_gap", gap)
            yield _Guard("composer", "verdict_low", (low,))
            yield _Guard("fallback", "verdict_rejected", (self._is("verdict", "REJECT"),))
            yield _Guard("fallback", "verdict_unknown")
        elif node == "composer":
            yield _Guard(OVER, "answer_composed", (self._is("composer_status", "COMPLETED"),))
            yield from self._retries(node)
            yield _Guard("fallback", "composer_unknown")
        else:
            target = {"verified_input": "verifier", "evidence_retry": "planner", "fallback": OVER}[node]
            yield _Guard(target, f"{node}_done")

    def owned(self, node: str) -> tuple[str, ...]:
        """Give the keys that a node's action writes."""
        further = {"gatekeeper": ("trusted",), "verifier": ("gap", "verdict")}.get(node, ())
        status = (f"{node}_status",) if f"{self.prefix}{node}_status" in self.keys else ()
        return tuple(self.prefix + key for key in (*status, *further))

    def reports(self, node: str) -> dict[str, dict[str, Any]]:
        """Give what a node may report: the verification alphabet of the contract."""
        if node in ("planner", "composer"):
            found = {str(status): {f"{node}_status": status} for status in _TECHNICAL}
        elif node == "executor":
            found = {str(status): {"executor_status": status} for status in ("COMPLETED", "FAILED", None)}
        elif node == "gatekeeper":
            found = {
                f"{status}/{trusted}": {"gatekeeper_status": status, "trusted": trusted}
                for status in ("PASS", "LOW_CONFID", "REJECT", None)
                for trusted in (False, True)
            }
        elif node == "verifier":
            found = {str(status): {"verifier_status": status, "gap": False} for status in _TECHNICAL[1:]}
            found |= {
                f"{verdict}/{gap}": {"verifier_status": "COMPLETED", "verdict": verdict, "gap": gap}
                for verdict in ("PASS", "LOW_CONFID", "REJECT", None)
                for gap in (False, True)
            }
        else:
            found = {"done": {}}
        return {name: {self.prefix + key: value for key, value in report.items()} for name, report in found.items()}

    def entry(self, node: str) -> tuple[Effect, ...]:
        """Give what counts the retries of a node."""
        if node not in ("planner", "verifier", "composer"):
            return ()
        status, count = f"{self.prefix}{node}_status", f"{self.prefix}{node}_count"

        def counted(state: Mapping[str, Any]) -> dict[str, Any]:
            return {count: state[count] + 1} if state[status] in _RETRYABLE else {}

        return (Effect(f"count_{self.prefix}{node}", counted, reads=(status, count), writes=count),)

    def exit(self, node: str) -> tuple[Effect, ...]:
        """Give what the contract's wrapper does after a node."""
        prefix = self.prefix
        if node == "gatekeeper":
            status, ceiling = prefix + "gatekeeper_status", prefix + "ceiling"
            known = {"PASS": "PASS", "LOW_CONFID": "LOW_CONFID"}
            return (
                Effect(f"{prefix}ceiling", lambda s: {ceiling: known.get(s[status])}, reads=status, writes=ceiling),
            )
        if node == "verified_input":
            return (_resets(prefix + "verifier_count"),)
        if node == "verifier":
            verdict, ceiling = prefix + "verdict", prefix + "ceiling"

            def lowered(state: Mapping[str, Any]) -> dict[str, Any]:
                found, most = state[verdict], state[ceiling]
                if found is None or (most is not None and _RANKS[found] <= _RANKS[most]):
                    return {}
                return {verdict: most}

            return (Effect(f"{prefix}lower", lowered, reads=(verdict, ceiling), writes=verdict),)
        if node == "evidence_retry":
            count = prefix + "evidence_count"
            counts = Effect(f"count_{prefix}evidence", lambda s: {count: s[count] + 1}, reads=count, writes=count)
            return (counts, _resets(prefix + "planner_count"))
        return ()

    def claims(self) -> Iterator[Property]:
        """Go through what must hold of every run: each counter keeps its limit."""
        for node in Limits._fields:
            count, limit = f"{self.prefix}{node}_count", getattr(self.limits, node)
            yield always(f"{count}_at_most_{limit}", "A limit is kept.", _at_most(count, limit), reads=count)


def _resets(key: str) -> Effect:
    return Effect(f"reset_{key}", lambda state: {key: 0}, writes=key)


def _at_most(key: str, limit: int) -> Callable[[Any], bool]:
    return lambda move: bool(move.after[key] <= limit)


def _idle(state: Mapping[str, Any]) -> dict[str, Any]:
    return {}


def one_agent(limits: Limits, *, bound: int | None = None) -> Model:
    """Give the contract graph with other limits.

    Args:
        limits: how often each may be done again; 1 everywhere gives the contract's 1,165 control states.
        bound: the longest run that is claimed.
    """
    agent = Agent("", limits)
    graph = StateGraph(agent.keys, name="scaled")
    for node in NODES:
        graph.add_node(
            node, _idle, owns=agent.owned(node), whole_report=True, entry=agent.entry(node), exit=agent.exit(node)
        )
    graph.add_edge(START, "planner")
    for node in NODES:
        guards = agent.guards[node]
        if guards[0].when:
            rules = [Rule(guard.target, guard.reason, guard.when) for guard in guards]
            graph.add_conditional_edges(node, Decision(rules), {g.target: _place(g.target) for g in guards})
        elif node == "fallback":
            graph.add_edge(node, END, reason=REPEAT)
        else:
            graph.add_edge(node, guards[0].target, reason=guards[0].reason)
    reports = {node: agent.reports(node) for node in NODES}
    return Model("scaled", graph.compile(), reports, tuple(agent.claims()), bound=bound)


def _place(target: str) -> str:
    return END if target == OVER else target


def several_agents(limits: Sequence[Limits]) -> Model:
    """Give several agents that take turns in any order: each report says who goes on.

    Where an agent stands is a key, which it sets by its own guards; the decision of a node is who moves next.

    Args:
        limits: those of each agent.
    """
    agents = [Agent(f"{number}.", limit) for number, limit in enumerate(limits)]
    keys = {"turn": Replace(initial=0)}
    for agent in agents:
        keys |= {**agent.keys, f"{agent.prefix}at": Replace(initial="planner")}
    places = [f"{agent.prefix}at" for agent in agents]
    graph = StateGraph(keys, name="agents")
    rules = [Rule("end", "all_over", tuple(_stands(place, OVER) for place in places))]
    rules += [
        Rule(agent.prefix + node, f"{agent.prefix}{node}", (_turn(number), _stands(place, node)))
        for number, (agent, place) in enumerate(zip(agents, places, strict=True))
        for node in NODES
    ]
    targets = {"end": END, **{agent.prefix + node: agent.prefix + node for agent in agents for node in NODES}}
    reports: dict[str, dict[str, Any]] = {}
    for agent in agents:
        for node in NODES:
            name = agent.prefix + node
            graph.add_node(
                name,
                _idle,
                owns=(*agent.owned(node), "turn"),
                whole_report=True,
                entry=agent.entry(node),
                exit=(*agent.exit(node), _goes_on(agent, node), _next(places)),
            )
            graph.add_conditional_edges(name, Decision(rules), targets)
            reports[name] = {
                f"{outcome}>{then}": {**report, "turn": then}
                for outcome, report in agent.reports(node).items()
                for then in range(len(agents))
            }
    graph.add_edge(START, f"{agents[0].prefix}planner")
    claims = tuple(claim for agent in agents for claim in agent.claims())
    return Model("agents", graph.compile(), reports, claims)


def _stands(place: str, node: str) -> Condition:
    return Condition(f"{place}_{node}", lambda state: state[place] == node, place)


def _turn(number: int) -> Condition:
    return Condition(f"turn_{number}", lambda state: state["turn"] == number, "turn")


def _goes_on(agent: Agent, node: str) -> Effect:
    """Set where an agent stands, by its guards."""
    place, guards = f"{agent.prefix}at", agent.guards[node]

    def moved(state: Mapping[str, Any]) -> dict[str, Any]:
        return {place: next(g.target for g in guards if all(c.test(state) for c in g.when))}

    reads = tuple(dict.fromkeys(key for guard in guards for condition in guard.when for key in condition.reads))
    return Effect(f"{agent.prefix}{node}_goes_on", moved, reads=reads, writes=place)


def _next(places: Sequence[str]) -> Effect:
    """Hand the turn on where it went to one that is through."""

    def handed(state: Mapping[str, Any]) -> dict[str, Any]:
        turn = state["turn"]
        order = [(turn + step) % len(places) for step in range(len(places))]
        return {"turn": next((number for number in order if state[places[number]] != OVER), 0)}

    return Effect("next", handed, reads=("turn", *places), writes="turn")
