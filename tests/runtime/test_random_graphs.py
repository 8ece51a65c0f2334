"""On any graph the engine takes the path that a few naive lines take, and finds the loops that a naive search finds."""

import asyncio
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from diagnosis.runtime import (
    END,
    START,
    Append,
    CompiledGraph,
    CompileError,
    Condition,
    Decision,
    LimitError,
    Replace,
    Rule,
    StateGraph,
    loops,
)

LIMIT = 25

# A node is what it adds to the counter, whether it is async, and where it leads: one target, or rows
# (modulus, remainder, target) of which the first that fits the counter decides, and a last target.
targets = st.integers(0, 5)
nodes = st.tuples(
    st.integers(0, 3),
    st.booleans(),
    targets | st.tuples(st.lists(st.tuples(st.integers(2, 4), st.integers(0, 3), targets), max_size=3), targets),
)
plans = st.lists(nodes, min_size=1, max_size=5)


def name_of(index: int, count: int) -> str:
    return f"node{index}" if index < count else END


def build(plan: list[Any]) -> StateGraph:
    graph = StateGraph({"n": Replace(initial=0), "log": Append()})
    count = len(plan)
    graph.add_edge(START, "node0")
    for index, (added, is_async, leads) in enumerate(plan):
        name = f"node{index}"

        def work(state: Any, name: str = name, added: int = added) -> dict[str, Any]:
            return {"n": state["n"] + added, "log": [name]}

        async def later(state: Any, work: Any = work) -> dict[str, Any]:
            return work(state)

        graph.add_node(name, later if is_async else work)
        if isinstance(leads, int):
            graph.add_edge(name, name_of(leads, count), reason=f"fixed{index}")
            continue
        rows, last = leads
        rules = [
            Rule(
                f"r{i}",
                f"rule{i}",
                (Condition(f"c{i}", lambda state, m=modulus, r=remainder: state["n"] % m == r, "n"),),
            )
            for i, (modulus, remainder, _) in enumerate(rows)
        ]
        mapping = {f"r{i}": name_of(target, count) for i, (_, _, target) in enumerate(rows)}
        graph.add_conditional_edges(
            name, Decision([*rules, Rule("last", "last")]), {**mapping, "last": name_of(last, count)}
        )
    return graph


def naive(plan: list[Any]) -> tuple[list[str], list[str], int, bool]:
    """Give path, reasons, counter, and whether END was reached within the limit."""
    path, reasons, n, here, count = [], [], 0, 0, len(plan)
    while len(path) < LIMIT:
        path.append(f"node{here}")
        added, _, leads = plan[here]
        n += added
        if isinstance(leads, int):
            reason, here_next = f"fixed{here}", leads
        else:
            rows, last = leads
            reason, here_next = "last", last
            for i, (modulus, remainder, target) in enumerate(rows):
                if n % modulus == remainder:
                    reason, here_next = f"rule{i}", target
                    break
        reasons.append(reason)
        if here_next >= count:
            return path, reasons, n, True
        here = here_next
    return path, reasons, n, False


def compiled(plan: list[Any]) -> CompiledGraph | None:
    try:
        return build(plan).compile(recursion_limit=LIMIT)
    except CompileError:
        return None


@given(plans)
def test_a_run_takes_the_path_of_a_naive_interpreter(plan: list[Any]) -> None:
    graph = compiled(plan)
    if graph is None:
        return
    path, reasons, n, ended = naive(plan)
    streamed: list[Any] = []

    def drain() -> None:
        try:
            streamed.extend(graph.stream())
        except LimitError:
            streamed.append(None)

    drain()
    for run in (graph.run(check=False), asyncio.run(graph.arun(check=False))):
        assert list(run.path) == path
        assert [event.reason for event in run.events] == reasons
        assert run.state == {"n": n, "log": path}
        assert run.ended == ended
        assert run.stop == ("ended" if ended else "limit")
        assert [len(state["log"]) for state in run.states] == list(range(len(path) + 1))
        for step in run.steps:
            told = graph.explain(step.event.node, step.after)
            assert (told.target, told.reason) == (step.event.choice.target, step.event.reason)
    assert [step.event.node for step in streamed if step is not None] == path
    assert (None in streamed) is not ended


@given(plans)
def test_what_the_checks_call_unreachable_or_endless_is_so(plan: list[Any]) -> None:
    ways: dict[str, set[str]] = {
        f"node{i}": {
            name_of(t, len(plan))
            for t in ([leads] if isinstance(leads, int) else [*(r[2] for r in leads[0]), leads[1]])
        }
        for i, (_, _, leads) in enumerate(plan)
    }
    ways[END] = set()
    reach = {name: reachable(ways, name) for name in ways}
    expected = {("unreachable_node", name) for name in ways if name not in {*reach["node0"], "node0", END}}
    expected |= {("cannot_reach_end", name) for name in ways if name != END and END not in reach[name]}
    try:
        build(plan).compile()
        found = set()
    except CompileError as error:
        found = {(finding.kind, finding.where) for finding in error.findings if finding.kind != "loop_without_exit"}
    assert found == expected


def reachable(ways: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    queue = [start]
    while queue:
        for target in ways[queue.pop()] - found:
            found.add(target)
            queue.append(target)
    return found


graphs = st.integers(0, 7).flatmap(
    lambda count: st.fixed_dictionaries(
        {i: st.lists(st.integers(0, max(count - 1, 0)), max_size=4) for i in range(count)}
    )
)


@given(graphs)
def test_loops_are_the_sets_of_nodes_that_reach_each_other(ways: dict[int, list[int]]) -> None:
    reach = {str(node): reachable({str(k): {str(v) for v in vs} for k, vs in ways.items()}, str(node)) for node in ways}
    expected: list[list[int]] = []
    for node in ways:
        together = [other for other in ways if str(other) in reach[str(node)] and str(node) in reach[str(other)]]
        if node in together and together not in expected:
            expected.append(together)
    assert loops(ways) == expected


def test_loops_of_a_long_chain_are_found_without_recursion() -> None:
    count = 50_000
    chain = {i: [i + 1] for i in range(count)} | {count: [0]}
    assert loops(chain) == [list(range(count + 1))]
    assert loops({i: [i + 1] if i < count else [] for i in range(count + 1)}) == []
