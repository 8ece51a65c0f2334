"""Odds: how likely a node is to report each outcome, as exact fractions."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final

from diagnosis.runtime import DiagnosisError, Model, one_of
from diagnosis.scenarios.document import load_document
from diagnosis.verify.winners import contests_of

NO_WINNER: Final = "none"
"""How odds name that no branch of an ``any_of`` fork ends well."""

MODEL_KIND: Final = "agent"
"""The kind of the nodes that call a model, where odds name no others."""

_PARTS: Final = ("outcomes", "winners", "model_calls")
_EXPONENTS: Final = 300


class OddsError(DiagnosisError):
    """Odds do not fit the graph, or nothing can be computed from them."""


@dataclass(frozen=True)
class Odds:
    """What a graph's nodes are likely to report; :meth:`of` makes and checks it.

    Attributes:
        outcomes: node -> outcome -> probability; every node and outcome of the alphabet is there.
        winners: source of an ``any_of`` fork -> first node of a branch, or ``none`` -> weight. A fork that is not named
            is won by each branch that can with the same probability.
        callers: the nodes that call a model.
        assumed: what was not declared and is taken to be uniform: nodes, and forks as ``winner of X``.
    """

    outcomes: Mapping[str, Mapping[str, Fraction]]
    winners: Mapping[str, Mapping[str, Fraction]] = field(default_factory=dict)
    callers: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        model: Model,
        outcomes: Mapping[str, Mapping[str, Any]] | None = None,
        *,
        winners: Mapping[str, Mapping[str, Any]] | None = None,
        callers: Iterable[str] | None = None,
    ) -> Odds:
        """Make odds for a model.

        Args:
            model: the graph under test.
            outcomes: node -> outcome -> probability: a number, or a text such as ``1/3``. Those of a node sum
                to 1; or all are whole numbers, which are taken in proportion. An outcome that is left out of a node
                that is named never comes; a node that is not named reports each outcome with the same probability.
            winners: source of an ``any_of`` fork -> first node of a branch, or ``none`` -> the same.
            callers: the nodes that call a model; those of kind ``agent`` where absent.

        Raises:
            OddsError: a name is unknown, or numbers are no probabilities; the text says where.
        """
        nodes = model.graph.definition.names
        given = _mapping("outcomes", outcomes or {})
        _known("outcomes", given, nodes)
        every: dict[str, Mapping[str, Fraction]] = {}
        assumed = []
        for node in nodes:
            names = tuple(model.alphabet[node])
            if node in given:
                every[node] = _shares(f"outcomes.{node}", given[node], names)
            else:
                every[node] = dict.fromkeys(names, Fraction(1, len(names)))
                if len(names) > 1:
                    assumed.append(node)
        forks: dict[str, dict[str, None]] = {}
        for fan_out in contests_of(model.graph):
            forks.setdefault(fan_out.source, {}).update(dict.fromkeys((*fan_out.targets, NO_WINNER)))
        won = _mapping("winners", winners or {})
        _known("winners", won, forks)
        shares = {source: _shares(f"winners.{source}", won[source], tuple(forks[source])) for source in won}
        assumed += [f"winner of {source}" for source in forks if source not in won]
        if callers is None:
            named: tuple[str, ...] = tuple(n.name for n in model.graph.definition.nodes if n.kind == MODEL_KIND)
        else:
            if isinstance(callers, str | Mapping) or not isinstance(callers, Iterable):
                raise OddsError(f"odds: model_calls: found {callers!r}; allowed: a list of nodes")
            named = tuple(callers)
            _known("model_calls", named, nodes)
        return cls(every, shares, named, tuple(assumed))

    @classmethod
    def load(cls, path: str | os.PathLike[str], model: Model) -> Odds:
        """Read odds from a YAML or JSON file.

        Args:
            path: the file: a mapping of ``outcomes``, ``winners`` and ``model_calls``, each of which may be left out.
            model: the graph under test.

        Raises:
            OddsError: the odds do not fit the graph.
            DocumentError: the file is no such document.
        """
        data = load_document(path).data
        file = os.fspath(path)
        if not isinstance(data, Mapping):
            raise OddsError(f"{file}: found {type(data).__name__}; allowed: a mapping of {one_of(_PARTS)}")
        try:
            _known("", data, _PARTS)
            return cls.of(model, data.get("outcomes"), winners=data.get("winners"), callers=data.get("model_calls"))
        except OddsError as error:
            raise OddsError(f"{file}: {error}") from None

    def share(self, node: str, outcomes: Iterable[str]) -> Fraction:
        """Give the probability that a node reports one of some outcomes.

        Args:
            node: the node.
            outcomes: names of its alphabet.
        """
        return sum((self.outcomes[node][outcome] for outcome in self._checked(node, outcomes)), Fraction(0))

    def varied(self, node: str, outcomes: Iterable[str], share: Fraction) -> Odds:
        """Give the same odds, but that a node reports one of some outcomes with another probability.

        Args:
            node: the node.
            outcomes: names of its alphabet: they, and all others, keep their proportions among themselves. Where they
                have none, because their probability is 0, each is as likely.
            share: the probability that it is one of them, from 0 to 1.
        """
        chosen = self._checked(node, outcomes)
        if not 0 <= share <= 1:
            raise OddsError(f"odds: the probability of {node} {', '.join(chosen)}: found {share}; allowed: 0 to 1")
        parts = self._proportions(node, chosen)
        made = {name: part * (share if name in chosen else 1 - share) for name, part in parts.items()}
        return replace(self, outcomes={**self.outcomes, node: made})

    def slopes(self, node: str, outcomes: Iterable[str]) -> Mapping[str, Fraction]:
        """Give how the probability of each outcome changes with that of some of them, as :meth:`varied` changes it.

        Args:
            node: the node.
            outcomes: names of its alphabet.
        """
        chosen = self._checked(node, outcomes)
        return {name: part if name in chosen else -part for name, part in self._proportions(node, chosen).items()}

    def _checked(self, node: str, outcomes: Iterable[str]) -> tuple[str, ...]:
        _known("", (node,), self.outcomes)
        chosen = tuple(dict.fromkeys(outcomes))
        _known(node, chosen, self.outcomes[node])
        if not chosen or len(chosen) == len(self.outcomes[node]):
            allowed = f"some of {one_of(self.outcomes[node])}, but not all"
            raise OddsError(f"odds: {node}: found {len(chosen)} outcomes to vary; allowed: {allowed}")
        return chosen

    def _proportions(self, node: str, chosen: tuple[str, ...]) -> dict[str, Fraction]:
        """Give the share of each outcome among those that are chosen, or among the others."""
        found = {}
        for inside in (True, False):
            part = {name: p for name, p in self.outcomes[node].items() if (name in chosen) is inside}
            total = sum(part.values(), Fraction(0))
            found.update({name: p / total if total else Fraction(1, len(part)) for name, p in part.items()})
        return {name: found[name] for name in self.outcomes[node]}

    def weight(self, source: str, branch: str | None) -> Fraction:
        """Give the weight with which a branch of an ``any_of`` fork wins it.

        Args:
            source: the node that opens the fork.
            branch: the branch, such as ``fast[0]``; ``None`` where none wins.
        """
        declared = self.winners.get(source)
        if declared is None:
            return Fraction(1)
        for target, share in declared.items():
            if target == NO_WINNER if branch is None else re.fullmatch(rf"{re.escape(target)}(\[\d+\])+", branch):
                return share
        return Fraction(0)


def _mapping(place: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise OddsError(f"odds: {place}: found {type(value).__name__}; allowed: a mapping")
    return value


def _known(place: str, names: Iterable[Any], allowed: Iterable[str]) -> None:
    known = tuple(allowed)
    for name in names:
        if name not in known:
            where = f"odds: {place}" if place else "odds"
            raise OddsError(f"{where}: found {name!r}; allowed: {one_of(known) if known else 'nothing: there is none'}")


def _shares(place: str, value: object, names: tuple[str, ...]) -> dict[str, Fraction]:
    given = _mapping(place, value)
    _known(place, given, names)
    numbers = {name: _number(f"{place}.{name}", given[name]) for name in given}
    total = sum(numbers.values(), Fraction(0))
    if total != 1:
        if not all(type(given[name]) is int for name in given) or not total:
            raise OddsError(
                f"odds: {place}: found a sum of {total}; allowed: probabilities that sum to exactly 1 "
                "(write a third as '1/3'), or whole numbers, which are taken in proportion"
            )
        numbers = {name: number / total for name, number in numbers.items()}
    return {name: numbers.get(name, Fraction(0)) for name in names}


def _number(place: str, value: object) -> Fraction:
    """Read a number exactly as it is written."""
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str | Fraction):
            raise ValueError
        text = str(value)
        exponent = re.search(r"[eE]([+-]?\d+)", text)
        if exponent is not None and abs(int(exponent[1])) > _EXPONENTS:
            raise ValueError
        number = Fraction(text)
        if number < 0:
            raise ValueError
    except (ValueError, ZeroDivisionError):
        raise OddsError(f"odds: {place}: found {value!r}; allowed: a number from 0, or a text such as '1/3'") from None
    return number


def as_share(text: str) -> Fraction:
    """Read a probability exactly as it is written.

    Args:
        text: such as ``0.1`` or ``1/3``.

    Raises:
        OddsError: it is none.
    """
    number = _number("probability", text)
    if number > 1:
        raise OddsError(f"odds: probability: found {text!r}; allowed: 0 to 1")
    return number
