"""Two versions of a graph: which scripts take another way, for another reason, or end otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diagnosis.runtime import END, DefinitionError, Model, Shown
from diagnosis.scenarios import Scenario
from diagnosis.verify.budget import Budget
from diagnosis.verify.counterexample import scenario_for
from diagnosis.verify.meeting import KINDS, Kind, Meeting, Shared, onward
from diagnosis.verify.paths import Script, Transition
from diagnosis.verify.space import MAX_STATES, Progress, StateSpace


@dataclass(frozen=True, slots=True)
class Change:
    """The shortest script of one kind of change, as it runs in both versions.

    Attributes:
        kind: what differs first: ``path``, ``termination`` or ``reason``.
        detail: at which call, and how.
        before: the run of the first version, as a scenario that passes there.
        after: the run of the second version, as a scenario that passes there.
    """

    kind: Kind
    detail: str
    before: Scenario
    after: Scenario


@dataclass(frozen=True, slots=True)
class Changed:
    """How many complete scripts changed in one way.

    Attributes:
        before: scripts of the first version.
        after: scripts of the second version.
    """

    before: int
    after: int


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """What two versions of a graph do with the same scripts.

    Attributes:
        before: the first version.
        after: the second version.
        changes: the shortest script of each kind of change that there is.
        unchanged: how many scripts run the same in both; ``None`` where there is no count.
        changed: how many scripts changed, by kind; ``None`` where there is no count.
        beyond: how many scripts need an outcome that only their own version knows.
        only_before: the outcomes that only the first version knows, as ``node.outcome``.
        only_after: the outcomes that only the second version knows.
        reported_anew: the outcomes of both whose fixed updates differ.
        reason: why there is no count, or ``None``.
        limits: how the recursion limits differ, where some run meets one of them; ``None`` elsewhere.
        complete: whether both were explored wholly.
    """

    before: Model
    after: Model
    changes: tuple[Change, ...]
    unchanged: int | None
    changed: Mapping[Kind, Changed] | None
    beyond: Changed | None
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    reported_anew: tuple[str, ...]
    reason: str | None
    limits: str | None
    complete: bool

    @property
    def same(self) -> bool:
        """Whether every script is known to run the same, and both versions know the same outcomes."""
        return self.complete and not (self.changes or self.limits or self.alphabets)

    def text(self) -> str:
        """Give how many scripts changed, then the shortest of each kind."""
        lines = [f"{self.before.name} and {self.after.name}: {self.verdict}"]
        for kind, count in (self.changed or {}).items():
            lines.append(f"  {kind}: {count.before} scripts before, {count.after} after")
        lines += [f"  {change.kind}: {change.detail}" for change in self.changes]
        lines += [f"  {line}" for line in self.alphabets]
        return "\n".join(lines)

    @property
    def verdict(self) -> str:
        """One line that says whether anything changed."""
        if self.changed is None or self.unchanged is None:
            word = (
                "scripts changed"
                if self.changes or self.limits
                else "no change was found"
                if self.complete
                else "not proven"
            )
            return f"{word}; {self.reason}"
        before, after = (
            sum(getattr(count, version) for count in self.changed.values()) for version in ("before", "after")
        )
        told = f"scripts that run the same: {self.unchanged}"
        return f"{told}; that changed: {before} before, {after} after" if before or after else f"{told}; none changed"

    @property
    def alphabets(self) -> tuple[str, ...]:
        """A line for each difference of the alphabets."""
        told = (
            ("outcomes only before", self.only_before),
            ("outcomes only after", self.only_after),
            ("outcomes with another update", self.reported_anew),
        )
        lines = [f"{what}: {', '.join(names)}" for what, names in told if names]
        if lines and self.beyond is not None and self.beyond != Changed(0, 0):
            lines.append(f"scripts with such outcomes: {self.beyond.before} before, {self.beyond.after} after")
        return tuple(lines)

    def to_json(self) -> dict[str, Any]:
        """Give the comparison as ``diagnosis diff --json`` prints it."""

        def pair(count: Changed | None) -> dict[str, int] | None:
            return None if count is None else {"before": count.before, "after": count.after}

        document: dict[str, Any] = {
            "before": self.before.name,
            "after": self.after.name,
            "same": self.same,
            "unchanged": self.unchanged,
            "changed": None if self.changed is None else {kind: pair(count) for kind, count in self.changed.items()},
            "beyond": pair(self.beyond),
            "only_before": list(self.only_before),
            "only_after": list(self.only_after),
            "reported_anew": list(self.reported_anew),
            "changes": [
                {
                    "kind": change.kind,
                    "detail": change.detail,
                    "before": change.before.to_map(),
                    "after": change.after.to_map(),
                }
                for change in self.changes
            ],
        }
        if self.reason is not None:
            document["reason"] = self.reason
        return document


def compare(
    before: Model,
    after: Model,
    *,
    max_states: int = MAX_STATES,
    max_seconds: float | None = None,
    max_memory: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare two versions of a graph over every script that both can be given.

    Args:
        before: the first version.
        after: the second version.
        max_states: the budget of control states of each.
        max_seconds: the budget of time of both together.
        max_memory: the budget of memory: MiB that the process may hold.
        progress: called now and then with states explored and states known.

    Returns:
        How many scripts changed, and the shortest of each kind of change.

    Raises:
        DefinitionError: one of them is no model.
    """
    for model in (before, after):
        if not isinstance(model, Model):
            raise DefinitionError(f"a comparison needs two Models, found {type(model).__name__}; see diagnosis.Model")
    budget = Budget(max_seconds, max_memory)
    left, right = (
        StateSpace(model, max_states=max_states, progress=progress, budget=budget) for model in (before, after)
    )
    meeting = Meeting(left, right)
    names = [
        {f"{node}.{outcome}" for node, outcomes in model.alphabet.items() for outcome in outcomes}
        for model in (before, after)
    ]
    limits = _limits(left, right)
    unchanged, changed, beyond = _counted(meeting) if limits is None else (None, None, None)
    return Comparison(
        before,
        after,
        _changes(meeting),
        unchanged,
        changed,
        beyond,
        tuple(sorted(names[0] - names[1])),
        tuple(sorted(names[1] - names[0])),
        _reported_anew(before, after),
        _reason(meeting, limits),
        limits,
        meeting.stopped is None,
    )


def _limits(left: StateSpace, right: StateSpace) -> str | None:
    """Say how the recursion limits differ, where some run of either version may meet one of them."""
    before, after = (space.model.graph.recursion_limit for space in (left, right))
    if before == after:
        return None
    differ = f"the recursion limit is {before} before and {after} after"
    if left.cycles or right.cycles:
        return f"{differ}, and a run may go on for ever"
    longest = max(0 if space.counts is None else space.counts[1][0] for space in (left, right))
    return f"{differ}, and some run takes {longest} node executions" if longest > min(before, after) else None


def _reason(meeting: Meeting, limits: str | None) -> str | None:
    if meeting.stopped is not None:
        return "; ".join(filter(None, (limits, f"bound hit: {meeting.stopped}")))
    if limits is not None:
        return limits
    return None if meeting.left.counts and meeting.right.counts else "a run may go on for ever"


def _reported_anew(before: Model, after: Model) -> tuple[str, ...]:
    found = []
    for node, outcomes in before.alphabet.items():
        for outcome, update in outcomes.items():
            other = after.alphabet.get(node, {}).get(outcome, update)
            if not callable(update) and not callable(other) and update != other:
                found.append(f"{node}.{outcome}")
    return tuple(sorted(found))


def _counted(meeting: Meeting) -> tuple[int | None, Mapping[Kind, Changed] | None, Changed | None]:
    """Count the scripts that run the same, those that changed by kind, and those that only one version knows."""
    left, right = meeting.left.counts, meeting.right.counts
    if left is None or right is None or meeting.stopped is not None:
        return None, None, None
    if not meeting.meets:
        none = Changed(0, 0)
        return 0, {kind: Changed(left[0][0], right[0][0]) if kind == "path" else none for kind in KINDS}, none
    prefixes = meeting.prefixes()
    same, beyond = 0, Changed(0, 0)
    found: dict[Kind, Changed] = dict.fromkeys(KINDS, Changed(0, 0))
    for shared in meeting.calls:
        count = prefixes[shared.source]
        here = Changed(count * _rest(shared.left, left[0]), count * _rest(shared.right, right[0]))
        if not shared.comparable:
            beyond = _sum(beyond, here)
        elif shared.ends:
            if shared.source.differed or shared.kind == "reason":
                found["reason"] = _sum(found["reason"], here)
            else:
                same += count
        elif shared.kind is not None and shared.target is None:
            found[shared.kind] = _sum(found[shared.kind], here)
    return same, found, beyond


def _rest(edge: Transition | None, scripts: Sequence[int]) -> int:
    if edge is None:
        return 0
    return 1 if edge.target is None else scripts[edge.target]


def _sum(one: Changed, other: Changed) -> Changed:
    return Changed(one.before + other.before, one.after + other.after)


def _changes(meeting: Meeting) -> tuple[Change, ...]:
    """Give the shortest script of each kind of change."""
    if not meeting.meets:
        detail = f"it begins with {meeting.right.node(0)}, not with {meeting.left.node(0)}"
        return (_change(meeting, "path", detail, (), None, None),)
    found: dict[Kind, tuple[float, Shared]] = {}
    for shared in meeting.calls:
        kind = shared.kind
        if shared.ends and shared.source.differed:
            kind = "reason"
        if kind is None or (kind == "reason" and not shared.ends):
            continue
        length = meeting.depth(shared.source) + 1 + _distance(meeting, shared)
        if kind not in found or length < found[kind][0]:
            found[kind] = (length, shared)
    if "reason" not in found and (meeting.stopped or meeting.left.counts is None):
        # No such run was seen to end; that the reason changed is known all the same.
        seen = next((shared for shared in meeting.calls if shared.kind == "reason"), None)
        if seen is not None:
            found["reason"] = (0, seen)
    return tuple(_told(meeting, kind, found[kind][1]) for kind in KINDS if kind in found)


def _distance(meeting: Meeting, shared: Shared) -> float:
    """Give how many calls the shorter of both runs takes to end."""
    rests = [
        0.0 if edge.target is None else space.to_end[edge.target]
        for space, edge in ((meeting.left, shared.left), (meeting.right, shared.right))
        if edge is not None
    ]
    return min((rest for rest in rests if rest is not None), default=float("inf"))


def _told(meeting: Meeting, kind: Kind, shared: Shared) -> Change:
    stem = meeting.script_to(shared.source)
    detail = ""
    if kind != "reason":
        edge, space = (shared.left, meeting.left) if shared.left else (shared.right, meeting.right)
        assert edge is not None
        called = f"call {len(stem) + 1}, {space.node(edge.source)}={edge.outcome}"
        ways = (_way(meeting.left, shared.left), _way(meeting.right, shared.right))
        detail = f"{called}: {ways[0]} before, {ways[1]} after"
    return _change(meeting, kind, detail, stem, shared.left, shared.right)


def _way(space: StateSpace, edge: Transition | None) -> str:
    """Say where a run goes on after a transition."""
    if edge is None:
        return "no such run"
    what, *rest = onward(space, edge)
    if what == END:
        return f"the run ends for {rest[0]}"
    if what == "error":
        return f"the run stops with an error ({rest[0]})"
    opened = [choice.target for choice in edge.choices]
    node = " + ".join(opened) if len(opened) > 1 else rest[0]
    return f"{node}{f' in {rest[1]}' if rest[1] and len(opened) < 2 else ''} comes next"


def _change(
    meeting: Meeting, kind: Kind, detail: str, stem: Script, left: Transition | None, right: Transition | None
) -> Change:
    """Run the script in both versions, each to a nearest end of its own."""
    scenarios = []
    for space, edge, version in ((meeting.left, left, "before"), (meeting.right, right, "after")):
        script, here = stem, 0 if not stem and edge is None else None
        if edge is not None:
            script, here = (*stem, space.call(edge)), edge.target
        if here is not None:
            script = (*script, *space.finish(here, space.model.graph.recursion_limit + 1 - len(script)))
        name = f"diff_{kind}_{version}"
        title = f"{kind.capitalize()} changed, {version}: {detail}" if detail else f"{kind.capitalize()} changed"
        scenarios.append(scenario_for(space.model, script, name=name, title=title))
    one, other = scenarios
    return Change(kind, detail or _first_reason(one, other), one, other)


def _first_reason(before: Scenario, after: Scenario) -> str:
    """Say at which transition two runs differ for the first time in reason or attempt."""
    for left, right in zip(before.expect.transitions or (), after.expect.transitions or (), strict=False):
        if left != right:
            ways = [f"for {each.reason_code} (attempt {each.attempt})" for each in (left, right)]
            return f"{left.source} -> {left.target} {ways[0]} before, {ways[1]} after"
    return f"the run ends for {before.expect.termination_reason} before, {after.expect.termination_reason} after"
