from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from diagnosis import cli
from diagnosis.commands import lab, verify
from diagnosis.runtime import DiagnosisError

ROOT = Path(__file__).parent.parent
VECTORS = ROOT / "tests" / "data" / "vectors"

HAPPY = """
name: happy
script:
  planner: [COMPLETED]
  executor: [COMPLETED]
  gatekeeper: [PASS]
  verifier: [{verdict: PASS}]
  composer: [COMPLETED]
expect: {final_node: composer}
"""

MODEL = """
from diagnosis import END, START, Condition, Decision, Model, Replace, Rule, StateGraph

def idle(state):
    return {}

def build(name="workers"):
    graph = StateGraph({"worker": Replace(), "steps": Replace(initial=0)}, name=name)
    for node in ("router", "work", "review", "note"):
        graph.add_node(node, idle)
    graph.add_edge(START, "router").add_edge("work", "review").add_edge("review", "note").add_edge("note", "router")
    named = Condition("worker_named", lambda s: s["worker"] in ("alpha", "beta"), "worker")
    over = Condition("steps_over_20", lambda s: s["steps"] > 20, "steps")
    rules = [Rule("work", "NAMED", named), Rule("end", "TOO_MANY", over), Rule("work", "DEFAULT")]
    graph.add_conditional_edges("router", Decision(rules), {"work": "work", "end": END})
    outcomes = {
        "router": {"alpha": {"worker": "alpha"}, "beta": {"worker": "beta"}},
        "work": {"done": lambda s: {"steps": s["steps"] + 1}},
        "review": {"fine": {}},
        "note": {"noted": {}},
    }
    return Model(name, graph.compile(recursion_limit=40), outcomes, counters=("steps",))

model = build()
number = 7
"""

BROKEN = "raise RuntimeError('no such luck')\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_graph.py").write_text(MODEL)
    (tmp_path / "own_broken.py").write_text(BROKEN)
    (tmp_path / "happy.yaml").write_text(HAPPY)
    yield tmp_path
    for name in ("own_graph", "own_broken", "own_loud", "own_wrong"):
        sys.modules.pop(name, None)
    if str(tmp_path) in sys.path:
        sys.path.remove(str(tmp_path))


def call(*arguments):
    result = CliRunner().invoke(cli.app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result


# --- run --------------------------------------------------------------------------------------------------------------


def test_run_passes_on_every_vector():
    result = call("run", VECTORS)
    assert result.exit_code == 0
    assert result.stdout.rstrip().endswith("80 passed, 0 failed, 0 refused")


def test_run_json_is_one_object_with_what_tools_rely_on():
    document = json.loads(call("run", VECTORS, "--json").stdout)
    assert list(document) == ["scenarios", "passed", "failed", "refused"]
    assert (document["passed"], document["failed"], document["refused"]) == (80, 0, [])
    first = document["scenarios"][0]
    assert list(first) == ["name", "file", "passed", "mismatches", "path", "trace", "counters", "error"]
    assert list(first["trace"]) == [
        "version", "transitions", "final_node", "termination_reason", "degraded", "evidence_retry_count"
    ]  # fmt: skip


@pytest.mark.parametrize("command", ["run", "coverage"])
def test_with_json_the_tables_go_to_standard_error(here, command):
    plain, machine = call(command, "happy.yaml"), call(command, "happy.yaml", "--json")
    json.loads(machine.stdout)
    assert machine.stderr == plain.stdout


def test_a_mismatch_is_status_1(here):
    (here / "happy.yaml").write_text(HAPPY.replace("composer}", "fallback}"))
    result = call("run", "happy.yaml")
    assert result.exit_code == 1
    assert "FAIL  happy" in result.stdout
    assert "final_node: expected 'fallback', found 'composer'" in result.stdout


def test_a_bad_file_is_status_2_and_the_others_still_run(here):
    (here / "bad.yaml").write_text("name: 5\n")
    result = call("run", here)
    assert result.exit_code == 2
    assert "pass  happy" in result.stdout
    assert "1 passed, 0 failed, 1 refused" in result.stdout
    assert "bad.yaml" in result.stdout


def test_a_missing_path_is_status_2(here):
    result = call("run", "nowhere.yaml", "--json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["refused"][0]["file"] == "nowhere.yaml"


def test_nothing_to_check_is_status_2(here):
    (here / "empty").mkdir()
    result = call("run", "empty")
    assert result.exit_code == 2
    assert "nothing was found to check" in result.stderr


def test_no_path_at_all_is_a_usage_error():
    assert call("run").exit_code == 2


def test_terminal_escapes_in_texts_are_shown_and_not_obeyed(here):
    (here / "happy.yaml").write_text(HAPPY + 'title: "\\e[31mred\\e[0m [bold]x[/bold] \\u202e 中文"\n')
    result = call("run", "happy.yaml")
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    assert "\u202e" not in result.stdout
    assert "\\x1b[31mred\\x1b[0m [bold]x[/bold] \\u202e 中文" in result.stdout


# --- coverage ---------------------------------------------------------------------------------------------------------


def test_coverage_names_what_is_missing():
    result = call("coverage", VECTORS)
    assert result.exit_code == 0
    assert "missing mcdc: verifier.EVIDENCE_GAP.evidence_gap" in result.stdout


def test_coverage_json_has_each_kind():
    document = json.loads(call("coverage", VECTORS, "--json").stdout)
    assert document["route"] == {"covered": 14, "total": 14, "missing": []}
    assert document["condition"]["total"] == 56


def test_fail_under_holds_for_each_kind():
    assert call("coverage", VECTORS, "--fail-under", "90").exit_code == 0
    result = call("coverage", VECTORS, "--fail-under", "97")
    assert result.exit_code == 1
    assert "outcome is covered 94.4 %, less than 97 %" in result.stderr
    assert "mcdc is covered 96.4 %, less than 97 %" in result.stderr
    assert call("coverage", VECTORS, "--fail-under", "101").exit_code == 2


def test_coverage_tells_of_failing_and_refused_scenarios(here):
    (here / "happy.yaml").write_text(HAPPY.replace("composer}", "fallback}"))
    assert call("coverage", "happy.yaml").exit_code == 1
    assert "FAIL  happy" in call("coverage", "happy.yaml").stderr
    assert call("coverage", "happy.yaml", "nowhere.yaml").exit_code == 2


def test_coverage_of_several_graphs_goes_by_name(here):
    script = '{"name": "own", "graph": "mine", "script": {"router": ["alpha"]}, "expect": {"error": "out of outcomes"}}'
    (here / "own.json").write_text(script)
    arguments = ("coverage", "own.json", "happy.yaml", "--graph", "mine=own_graph:model")
    assert set(json.loads(call(*arguments, "--json").stdout)) == {"mine", "diagnosis"}
    assert "mine" in call(*arguments).stdout


# --- verify -----------------------------------------------------------------------------------------------------------


def test_verify_proves_the_shipped_graph():
    result = call("verify")
    assert result.exit_code == 0
    assert "1165 control states, 1517 transitions, 10903 complete scripts of 2 to 18 node executions" in result.stdout
    assert "40 of 40 properties hold" in result.stdout
    assert json.loads(call("verify", "diagnosis", "--json").stdout)["scripts"] == 10903


def test_a_counterexample_is_saved_and_accepted_by_run(here):
    """C01: the loop is explored to a verdict, and the run that never ends can be replayed."""
    result = call("verify", "--graph", "mine=own_graph:model", "--max-states", "2000", "--save", "found")
    assert result.exit_code == 1
    assert "for ever" in result.stdout
    assert "rules never taken in what was explored: router.TOO_MANY" in result.stdout
    files = list(Path("found").glob("*.yaml"))
    assert len(files) == 1
    text = files[0].read_text()
    assert "graph: mine" in text
    again = call("run", files[0], "--graph", "mine=own_graph:model")
    assert again.exit_code == 0, again.stdout


def test_a_graph_may_be_named_by_module_and_attribute(here):
    result = call("verify", "own_graph:build", "--max-states", "300", "--json")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert document["scripts"] is None
    assert document["longest_path"] is None
    assert document["reason"].startswith("bound hit")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["verify", "nothing"], "no graph named 'nothing'; there is 'diagnosis'"),
        (["verify", "--graph", "oops"], "found 'oops'; allowed: NAME=module:attribute"),
        (["verify", "--graph", "a=b"], "found 'b'; allowed: NAME=module:attribute"),
        (["verify", "--graph", "a=own_graph:nope"], "cannot be loaded: AttributeError"),
        (["verify", "--graph", "a=own_graph:number"], "own_graph:number is int"),
        (["verify", "--graph", "a=no_such_module:x"], "cannot be loaded: ModuleNotFoundError"),
        (["verify", "--graph", "a=own_broken:x"], "RuntimeError: no such luck"),
        (["verify", "--graph", "a=own_graph:model", "--graph", "a=own_graph:model"], "'a' is given twice"),
        (["run", "x.yaml", "--graph", "=own_graph:model"], "allowed: NAME=module:attribute"),
        (["verify", "--max-states", "0"], "Invalid value"),
    ],
)
def test_a_bad_graph_is_refused_with_what_is_allowed(here, arguments, text):
    result = call(*arguments)
    assert result.exit_code == 2
    assert text in result.stderr


def test_a_shipped_name_may_be_taken_by_ones_own_graph(here):
    assert json.loads(call("draw", "diagnosis", "--graph", "diagnosis=own_graph:model", "--json").stdout)["nodes"][
        1
    ] == {
        "name": "router",
        "kind": "node",
    }


# --- draw -------------------------------------------------------------------------------------------------------------


def test_draw_without_a_file_prints_text():
    result = call("draw")
    assert result.exit_code == 0
    assert "  -> evidence_retry [evidence_retry] EVIDENCE_GAP" in result.stdout


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("t.svg", b"<?xml"),
        ("t.png", b"\x89PNG"),
        ("t.dot", b"digraph"),
        ("t.mmd", b"flowchart"),
        ("t.puml", b"@startuml"),
    ],
)
def test_draw_chooses_by_the_ending(here, name, start):
    result = call("draw", "-o", name)
    assert result.exit_code == 0
    assert result.stdout.strip() == name
    assert Path(name).read_bytes().lstrip().startswith(start)


def test_draw_refuses_other_endings_and_missing_folders(here):
    assert call("draw", "-o", "t.gif").exit_code == 2
    assert not Path("t.gif").exists()
    assert call("draw", "-o", "no/where/t.svg").exit_code == 2


def test_draw_json_lists_nodes_and_edges(here):
    document = json.loads(call("draw", "--json", "-o", "t.svg").stdout)
    assert (len(document["nodes"]), len(document["edges"]), document["file"]) == (10, 18, "t.svg")


# --- tour -------------------------------------------------------------------------------------------------------------


def test_the_tour_shows_everything_and_writes_the_report(here):
    result = call("tour")
    assert result.exit_code == 0, result.output
    for text in ("The graph diagnosis", "Coverage of diagnosis", "How the runs ended", "Proof of diagnosis"):
        assert text in result.stdout
    assert "build/report.html" in result.stdout.replace(os.sep, "/")
    report = Path("build/report.html").read_text(encoding="utf-8")
    assert report.startswith("<!doctype html>")
    assert "http://" not in report.replace("http://www.w3.org", "")
    assert "<script" not in report


def test_the_tour_repeats_byte_for_byte(here):
    call("tour", "-o", "one.html")
    call("tour", "-o", "two.html")
    assert Path("one.html").read_bytes() == Path("two.html").read_bytes()


def test_the_tour_of_other_scenarios(here):
    result = call("tour", "happy.yaml", "--json", "-o", "r.html")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert list(document) == ["run", "coverage", "proof", "report"]
    assert document["run"]["passed"] == 1
    assert document["report"] == "r.html"


def test_hostile_texts_stay_text_in_the_report(here):
    hostile = "<script>alert(1)</script>\"'&{{ 7*7 }}</style> 中文 " + "w" * 3000
    scenario = json.loads(
        json.dumps({"name": hostile, "title": hostile, "why": hostile, "script": {"planner": [hostile]}})
    )
    (here / "hostile.json").write_text(json.dumps(scenario))
    result = call("tour", "hostile.json")
    assert result.exit_code == 0
    report = Path("build/report.html").read_text(encoding="utf-8")
    assert "<script" not in report
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in report
    assert "{{ 7*7 }}" in report


def test_a_tour_of_nothing_writes_no_report(here):
    (here / "empty").mkdir()
    assert call("tour", "empty").exit_code == 2
    assert not Path("build").exists()


def test_a_report_that_cannot_be_written_is_status_2(here):
    (here / "build").write_text("in the way")
    assert call("tour", "happy.yaml").exit_code == 2
    assert (here / "build").read_text() == "in the way"


# --- lab and the command itself ---------------------------------------------------------------------------------------


def test_lab_says_what_it_would_open():
    document = json.loads(call("lab", "--json").stdout)
    assert Path(document["notebooks"]).name == "notebooks"
    assert document["command"][1:3] == ["-m", "jupyterlab"]


def test_lab_hands_arguments_on_and_gives_the_status_back(monkeypatch):
    seen = []

    def run(command, check):
        seen.append(command)
        return subprocess.CompletedProcess(command, 3)

    monkeypatch.setattr(lab.subprocess, "run", run)
    assert call("lab", "--no-browser", "--port", "8899").exit_code == 3
    assert seen[0][-3:] == ["--no-browser", "--port", "8899"]


def test_an_installed_package_copies_the_notebooks_and_keeps_what_is_there(here, monkeypatch):
    packaged = here / "site" / "diagnosis"
    (packaged / "notebooks").mkdir(parents=True)
    for name in ("a.ipynb", "b.ipynb"):
        (packaged / "notebooks" / name).write_text("shipped")
    (here / "diagnosis-notebooks").mkdir()
    (here / "diagnosis-notebooks" / "a.ipynb").write_text("mine")
    monkeypatch.setattr(lab, "__file__", str(packaged / "commands" / "lab.py"))
    monkeypatch.setattr("diagnosis.views.shipped.shipped_notebooks", lambda: packaged / "notebooks")
    monkeypatch.setattr(lab.subprocess, "run", lambda command, check: subprocess.CompletedProcess(command, 0))
    assert call("lab").exit_code == 0
    assert (here / "diagnosis-notebooks" / "a.ipynb").read_text() == "mine"
    assert (here / "diagnosis-notebooks" / "b.ipynb").read_text() == "shipped"


def test_lab_without_jupyterlab_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(lab.importlib.util, "find_spec", lambda name: None)
    result = call("lab")
    assert result.exit_code == 2
    assert "pip install 'diagnosis[lab]'" in result.stderr


@pytest.mark.parametrize("command", ["tour", "run", "coverage", "verify", "draw", "lab"])
def test_every_command_has_help_with_an_example_and_json(command):
    result = call(command, "--help")
    assert result.exit_code == 0
    assert "Example:" in result.stdout
    assert f"diagnosis {command}" in result.stdout
    assert "--json" in result.stdout


def test_the_packages_own_errors_are_status_2(monkeypatch):
    def fail(*args, **kwargs):
        raise DiagnosisError("something is off")

    monkeypatch.setattr(verify, "proven", fail)
    result = call("verify")
    assert result.exit_code == 2
    assert result.stderr == "diagnosis: something is off\n"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (SystemExit(0), "code of a graph ended the process"),
        (MemoryError(), "not enough memory"),
        (ZeroDivisionError("by nothing"), "ZeroDivisionError: by nothing"),
    ],
)
def test_whatever_a_users_code_does_is_status_2_and_no_traceback(monkeypatch, error, text):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr(verify, "proven", fail)
    result = call("verify")
    assert result.exit_code == 2
    assert text in result.stderr
    document = json.loads(call("verify", "--json").stdout)
    assert text in document["error"]


def test_what_a_users_code_prints_does_not_mix_with_the_json(here):
    (here / "own_loud.py").write_text(MODEL + "\nprint('hello')\n")
    result = call("draw", "own_loud:model", "--json")
    assert json.loads(result.stdout)["graph"] == "workers"
    assert "hello" in result.stderr


def test_a_refused_call_is_json_too(here):
    assert "no graph named" in json.loads(call("verify", "nothing", "--json").stdout)["error"]
    assert "No such option" in json.loads(call("verify", "--nothing", "--json").stdout)["error"]
    (here / "build").write_text("in the way")
    document = json.loads(call("tour", "happy.yaml", "--json").stdout)
    assert document["run"]["passed"] == 1
    assert document["report"] is None
    assert "cannot be written" in document["error"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", ""],
        ["tour", ""],
        ["draw", "-o", ""],
        ["coverage", "x", "--fail-under", "nan"],
        ["verify", "--max-seconds", "nan"],
        ["verify", "--max-seconds", "0"],
    ],
)
def test_an_empty_path_and_a_number_that_is_none_are_usage_errors(arguments):
    assert call(*arguments).exit_code == 2


def test_a_load_error_points_at_the_users_own_line(here):
    (here / "own_wrong.py").write_text("from diagnosis import Rule\n\nrule = Rule('a', 5)\n")
    result = call("verify", "own_wrong:rule")
    assert "own_wrong.py, line 3)" in result.stderr
    result = call("verify", "no_such_module:x")
    assert "importlib" not in result.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_an_output_that_cannot_be_written_is_status_2_and_no_traceback():
    command = [sys.executable, "-m", "diagnosis", "draw"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, cwd=ROOT)
    assert done.returncode == 2
    assert done.stderr == "diagnosis: the output cannot be written: No space left on device\n"


def test_a_reader_that_goes_away_is_no_failed_check():
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m diagnosis run {VECTORS} | head -1; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.stderr == ""
    assert done.returncode in (0, 2)


@pytest.mark.parametrize("closed", ["1", "2"])
def test_a_closed_stream_does_not_change_the_verdict(closed):
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m diagnosis verify {closed}>&-"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert ("properties hold" in done.stdout) is (closed == "2")


def test_a_device_or_pipe_is_written_to_and_never_replaced(here):
    os.mkfifo("pipe.svg")
    reader = subprocess.Popen(["cat", "pipe.svg"], stdout=subprocess.PIPE)
    assert call("draw", "-o", "pipe.svg").exit_code == 0
    assert reader.communicate()[0].startswith(b"<?xml")
    assert not Path("pipe.svg").is_file()


def test_an_interrupt_is_told_without_a_traceback(monkeypatch):
    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(verify, "proven", stop)
    result = call("verify")
    assert result.exit_code == 2
    assert "interrupted" in result.stderr


def test_the_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "diagnosis", "--version"], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0
    assert done.stdout.startswith("diagnosis, version ")


def test_the_command_works_in_a_terminal_that_knows_ascii_only(here):
    (here / "happy.yaml").write_text(HAPPY + "title: 中文\n", encoding="utf-8")
    command = shutil.which("diagnosis", path=str(Path(sys.executable).parent))
    assert command is not None
    environment = {"PATH": os.environ["PATH"], "LANG": "C", "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [command, "run", "happy.yaml"], capture_output=True, text=True, check=False, env=environment, cwd=here
    )
    assert done.returncode == 0, done.stderr
    assert "\\u4e2d\\u6587" in done.stdout
