"""Token replay of a log of traces by PM4Py, parsing included; prints the seconds of its core.

Run by an interpreter that has PM4Py, and nothing of this project.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pandas
from pm4py.algo.conformance.tokenreplay import algorithm
from pm4py.objects.petri_net.obj import Marking, PetriNet
from pm4py.objects.petri_net.utils.petri_utils import add_arc_from_to


def net_of(edges: list[list[str]]) -> tuple[PetriNet, Marking, Marking]:
    """Give the net of a graph: a transition a node, between a place before and one after it; a silent one an edge."""
    net = PetriNet("graph")
    names = {name for edge in edges for name in edge}
    before, after = ({name: PetriNet.Place(f"{when} {name}") for name in names} for when in ("before", "after"))
    before["__END__"] = after["__END__"]
    after["__START__"] = before["__START__"]
    net.places.update((*before.values(), *after.values()))
    moves = [(before[name], name, after[name]) for name in sorted(names) if not name.startswith("__")]
    moves += [(after[source], None, before[target]) for source, target in edges]
    for number, (source, label, target) in enumerate(moves):
        move = PetriNet.Transition(f"t{number}", label)
        net.transitions.add(move)
        add_arc_from_to(source, move, net)
        add_arc_from_to(move, target, net)
    return net, Marking({before["__START__"]: 1}), Marking({after["__END__"]: 1})


def frame_of(path: str) -> pandas.DataFrame:
    cases, names = [], []
    with Path(path).open("rb") as stream:
        for line in stream:
            record = json.loads(line)
            trace = record.get("orchestration_trace", record)
            nodes = [step["from"] for step in trace["transitions"]] + [trace["final_node"]]
            cases += [record["run_id"]] * len(nodes)
            names += nodes
    times = pandas.to_datetime(range(len(names)), unit="s", utc=True)
    return pandas.DataFrame({"case:concept:name": cases, "concept:name": names, "time:timestamp": times})


def main(path: str, edges: str) -> None:
    net, start, end = net_of(json.loads(edges))
    begun = time.process_time()
    found = algorithm.apply(frame_of(path), net, start, end, parameters={"show_progress_bar": False})
    spent = time.process_time() - begun
    assert all(each["trace_is_fit"] for each in found)
    print(spent)


if __name__ == "__main__":
    main(*sys.argv[1:])
