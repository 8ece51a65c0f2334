"""Changes of decisions: their rules, the conditions of these, and where route keys lead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from diagnosis.mutation.domains import Domains
from diagnosis.mutation.mutant import Mutant
from diagnosis.mutation.predicates import always, changed_conditions
from diagnosis.runtime import END, Condition, Conditional, Decision, Definition, Model, RouterDecision, Rule
from diagnosis.runtime.decisions import Router


def decision_mutants(model: Model, domains: Domains) -> Iterator[Mutant]:
    """Go through the changes of every decision.

    Args:
        model: the graph.
        domains: what its conditions meet.
    """
    for conditional in model.graph.definition.conditionals:
        changes = _Changes(model, conditional)
        if isinstance(conditional.decision, RouterDecision):
            yield from changes.router(conditional.decision)
        else:
            yield from changes.rules(conditional.decision.rules, domains)
        yield from changes.targets()


def reasons_of(definition: Definition) -> tuple[str, ...]:
    """Give the reason codes that rules and fixed edges of a graph declare, each once.

    Args:
        definition: the graph.
    """
    reasons = [edge.reason for edge in definition.edges if isinstance(edge.reason, str)]
    for conditional in definition.conditionals:
        if isinstance(conditional.decision, Decision):
            reasons = [*(rule.reason for rule in conditional.decision.rules), *reasons]
    return tuple(dict.fromkeys(reasons))


def next_of(names: Sequence[str], name: str) -> str | None:
    """Give the name behind another one in a ring, or ``None`` where there is no other.

    Args:
        names: the ring, each name once.
        name: one of them.
    """
    following = names[(names.index(name) + 1) % len(names)]
    return None if following == name else following


def retargeted(definition: Definition, ways: Mapping[str, str]) -> Iterator[tuple[str, str, Mapping[str, str]]]:
    """Go through the mappings in which one route key leads elsewhere.

    Args:
        definition: the graph.
        ways: route key -> target.

    Returns:
        For each the route key, the other target, and the mapping.
    """
    for route, target in ways.items():
        for other in (*definition.names, END):
            if other != target:
                yield route, other, {**ways, route: other}


class _Changes:
    """The changes of one decision."""

    def __init__(self, model: Model, conditional: Conditional) -> None:
        self._definition = model.graph.definition
        self._limit = model.graph.recursion_limit
        self._conditional = conditional
        self._source = conditional.source

    def _mutant(self, operator: str, place: str, before: str, after: str, changed: Conditional) -> Mutant:
        others = tuple(changed if each is self._conditional else each for each in self._definition.conditionals)
        definition = replace(self._definition, conditionals=others)
        where = ".".join(filter(None, (self._source, place)))
        return Mutant(operator, where, before, after, self._source, definition, self._limit)

    def _with_rules(self, operator: str, place: str, before: str, after: str, rules: Sequence[Rule]) -> Mutant:
        # A route key that no rule gives any more goes as well: else the checks, and no scenario, would notice it.
        given = {route for rule in rules for route in rule.routes}
        targets = {route: target for route, target in self._conditional.targets.items() if route in given}
        changed = replace(self._conditional, decision=Decision(rules), targets=targets)
        return self._mutant(operator, place, before, after, changed)

    def rules(self, rules: tuple[Rule, ...], domains: Domains) -> Iterator[Mutant]:
        def with_rule(operator: str, place: int, new: Rule, what: tuple[str, str] | None = None) -> Mutant:
            before, after = what or (rule_text(rules[place]), rule_text(new))
            others = (*rules[:place], new, *rules[place + 1 :])
            return self._with_rules(operator, rules[place].name, before, after, others)

        reasons = reasons_of(self._definition)
        for place, rule in enumerate(rules):
            if len(rules) > 1:
                rest = (*rules[:place], *rules[place + 1 :])
                yield self._with_rules("drop_rule", rule.name, rule_text(rule), "no such rule", rest)
            if place + 1 < len(rules):
                second = rules[place + 1]
                swapped = (*rules[:place], second, rule, *rules[place + 2 :])
                order = f"{rule.name} before {second.name}", f"{second.name} before {rule.name}"
                yield self._with_rules("swap_rules", rule.name, *order, swapped)
            for route in self._conditional.targets:
                if route not in rule.routes:
                    yield with_rule("reroute_rule", place, replace(rule, route=route))
            other = next_of(reasons, rule.reason)
            if other is not None:
                yield with_rule("swap_reason", place, replace(rule, reason=other))
            for route in rule.routes if len(rule.routes) > 1 else ():
                left = tuple(each for each in rule.routes if each != route)
                yield with_rule("drop_branch", place, replace(rule, route=left if len(left) > 1 else left[0]))
            for mutant in self._conditions(rule, domains):
                operator, new, name, what = mutant
                changed = with_rule(operator, place, new, what)
                yield replace(changed, place=f"{changed.place}.{name}")
        yield from self._defaults(rules)

    def _defaults(self, rules: tuple[Rule, ...]) -> Iterator[Mutant]:
        """Let anything else count as what some other rule is for; one mutant a route key."""
        last = rules[-1]
        if last.when:
            return
        routes = {last.route}
        for rule in rules[:-1]:
            if rule.route not in routes:
                routes.add(rule.route)
                new = replace(last, route=rule.route, reason=rule.reason)
                others = (*rules[:-1], new)
                yield self._with_rules("default_as_rule", last.name, rule_text(last), rule_text(new), others)

    def _conditions(self, rule: Rule, domains: Domains) -> Iterator[tuple[str, Rule, str, tuple[str, str] | None]]:
        """Go through the rules with a changed condition: operator, rule, the condition, what is shown."""
        for place, condition in enumerate(rule.when):
            before, behind = rule.when[:place], rule.when[place + 1 :]
            if len(rule.when) > 1:
                yield "drop_condition", replace(rule, when=(*before, *behind)), condition.name, None
            else:
                changed = replace(rule, when=(always(condition),))
                yield "condition_true", changed, condition.name, (condition.name, "true")
            for operator, new, was, comes in changed_conditions(self._definition, self._source, condition, domains):
                yield operator, replace(rule, when=(*before, new, *behind)), condition.name, (was, comes)

    def router(self, decision: RouterDecision) -> Iterator[Mutant]:
        for route in self._conditional.targets:
            fixed = RouterDecision(_giving(route), decision.reads)
            changed = replace(self._conditional, decision=fixed)
            yield self._mutant("fix_route", "", "its router decides", f"always {route}", changed)

    def targets(self) -> Iterator[Mutant]:
        ways = self._conditional.targets
        for route, other, changed in retargeted(self._definition, ways):
            before, after = f"{route} -> {ways[route]}", f"{route} -> {other}"
            yield self._mutant("swap_target", route, before, after, replace(self._conditional, targets=changed))


def _giving(route: str) -> Router:
    return lambda state: route


def rule_text(rule: Rule) -> str:
    """Write a rule in one line.

    Args:
        rule: the rule.
    """
    return f"{' + '.join(rule.routes)} because {rule.reason}, {_when(rule.when)}"


def _when(conditions: Iterable[Condition]) -> str:
    names = " and ".join(condition.name for condition in conditions)
    return f"when {names}" if names else "for anything else"
