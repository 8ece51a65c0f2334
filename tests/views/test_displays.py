"""What a notebook shows: pictures and tables that need no trust, no network and no script."""

import base64
import html
import re
import subprocess
import sys
from html.parser import HTMLParser
from typing import Any

import pytest
from drawn_graphs import (
    EXPLODES,
    GIVES_UP,
    HOSTILE,
    STRAIGHT,
    branched,
    chinese,
    failing,
    fixed_fork,
    gotos,
    hostile_forks,
    hostile_graph,
    mapped,
    played,
    rule_fork,
    small_graph,
    small_model,
    small_run,
)

from diagnosis.catalog import diagnosis_model
from diagnosis.runtime import DiagnosisError, Shown
from diagnosis.scenarios import Refusal, Scenario, SuiteResult, scenario_text
from diagnosis.verify import measure, prove
from diagnosis.views import draw
from diagnosis.views.display import MAX_ROWS, bundle
from diagnosis.views.labels import visible

MODEL = diagnosis_model()
PICTURED = {
    "model": MODEL,
    "graph": MODEL.graph,
    "topology": MODEL.graph.topology,
    "run": played(STRAIGHT).run,
    "failed run": played(EXPLODES).run,
    "limited run": small_run(*[False] * 8),
    "coverage": measure(small_model(), [small_run(True, False)]),
    "result": played(GIVES_UP),
    "diagram": draw(small_graph()),
    "hostile graph": hostile_graph(),
    "graph with branches": rule_fork(),
    "topology with gotos": gotos().topology,
    "run with branches": mapped().run(),
    "run that failed in a branch": fixed_fork().with_actions({"zoom": failing}).run(check=False),
    "result with branches": branched("forks", chinese()),
    "hostile graph with branches": hostile_forks(),
}
TEXTS = {
    "explanation": small_graph().explain("ask", {"flag": False}),
    "explanation of a fixed edge": small_graph().explain("stop", {"flag": False}),
    "explanation with an error": small_graph().explain("ask", {}),
    "explanation of branches": rule_fork().explain("triage", {"flag": True}),
    "explanation of a fork": fixed_fork().explain("plan", {"flag": True}),
    "proof": prove(small_model()),
    "suite": SuiteResult((played(STRAIGHT), played(GIVES_UP)), (Refusal("<a>.yaml", DiagnosisError("<i>bad</i>")),)),
}


class Elements(HTMLParser):
    """The elements of an HTML text, with their attributes, and its words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def shown(subject: object) -> dict[str, Any]:
    found = bundle(subject)
    assert found is not None
    return found


@pytest.mark.parametrize("subject", PICTURED.values(), ids=list(PICTURED))
def test_a_picture_stands_in_html_as_data_and_beside_it_as_svg(subject: Shown) -> None:
    found = shown(subject)
    assert set(found) == {"text/plain", "text/html", "image/svg+xml"}
    assert found["text/plain"] == subject.text()
    (image,) = [attributes for tag, attributes in Elements(found["text/html"]).tags if tag == "img"]
    assert set(image) == {"alt", "style", "src"}
    assert "max-width:100%" in (image["style"] or "")
    head, _, data = (image["src"] or "").partition(",")
    assert head == "data:image/svg+xml;base64"
    assert base64.b64decode(data).decode() == found["image/svg+xml"]
    assert image["alt"] == "\n".join(map(visible, [subject.text().split("\n")[0]]))


@pytest.mark.parametrize("subject", TEXTS.values(), ids=list(TEXTS))
def test_what_has_no_picture_has_a_table(subject: Shown) -> None:
    found = shown(subject)
    assert set(found) == {"text/plain", "text/html"}
    assert found["text/plain"] == subject.text()
    assert "table" in [tag for tag, _ in Elements(found["text/html"]).tags]


@pytest.mark.parametrize("subject", [*PICTURED.values(), *TEXTS.values()], ids=[*PICTURED, *TEXTS])
def test_a_display_runs_nothing_fetches_nothing_and_has_no_changing_names(subject: Shown) -> None:
    found = shown(subject)
    for tag, attributes in Elements(found["text/html"]).tags:
        assert tag in {"img", "p", "pre", "strong", "ul", "li", "table", "thead", "tbody", "tr", "th", "td"}
        assert set(attributes) <= {"alt", "style", "src", "class"}
    assert not re.search(r"0x[0-9a-f]{6}| id=|url\(|T_[0-9a-f]{5}", found["text/html"])
    assert shown(subject) == found


@pytest.mark.parametrize("subject", [None, 3, "text", [MODEL], Shown()], ids=lambda value: type(value).__name__)
def test_other_objects_have_no_display(subject: object) -> None:
    assert bundle(subject) is None


@pytest.mark.parametrize("subject", [*PICTURED.values(), *TEXTS.values()], ids=[*PICTURED, *TEXTS])
def test_jupyter_is_given_the_same_bundle(subject: Shown) -> None:
    assert subject._repr_mimebundle_() == shown(subject)
    assert repr(subject) == subject.text()


def test_a_run_lists_its_events() -> None:
    words = Elements(shown(PICTURED["run"])["text/html"]).words
    assert {"step", "reason_code", "EVIDENCE_COLLECTED", "gatekeeper"} <= set(words)
    assert "nan" not in words
    assert "<NA>" not in words


def test_a_run_with_branches_lists_them() -> None:
    words = Elements(shown(PICTURED["run with branches"])["text/html"]).words
    assert {"branch", "after", "worker[2]", "worker + worker + worker", "3, 5, 7"} <= set(words)
    assert "branch" not in Elements(shown(PICTURED["run"])["text/html"]).words


def test_a_rule_that_opens_branches_is_explained_with_all_of_them() -> None:
    text = shown(TEXTS["explanation of branches"])["text/html"]
    assert "<p>triage: goes to ask + search + search because HARD_CASE</p>" in text
    assert "<td>ask + wide + deep</td>" in text


def test_the_deciding_rule_is_marked_and_every_truth_shown() -> None:
    text = shown(TEXTS["explanation"])["text/html"]
    assert "<p>ask: goes to ask because ONCE_MORE</p>" in text
    rows = re.findall(r"<tr>(.*?)</tr>", text, re.DOTALL)
    marked = [row for row in rows if "decides" in row]
    assert len(marked) == 1
    assert "ONCE_MORE" in marked[0]
    assert text.count("<td>F</td>") == 3
    assert "<th>error</th>" not in text


def test_a_condition_that_raised_is_marked_in_an_explanation() -> None:
    text = shown(TEXTS["explanation with an error"])["text/html"]
    assert text.count("<td>!</td>") == 3
    assert html.escape("KeyError: 'flag'", quote=False) in text


def test_a_proof_lists_its_verdicts() -> None:
    text = shown(TEXTS["proof"])["text/html"]
    assert "every_run_ends" in text
    assert "control states" in text


def test_a_result_says_pass_or_fail_and_lists_its_mismatches() -> None:
    failed = shown(PICTURED["result"])["text/html"]
    assert "<strong>FAIL gives_up: &lt;b&gt;No&lt;/b&gt; plan</strong>" in failed
    assert failed.count("<li>") == 1
    passed = shown(played(STRAIGHT))["text/html"]
    assert "<strong>pass straight</strong>" in passed
    assert "<li>" not in passed


def test_a_suite_lists_runs_mismatches_and_refusals() -> None:
    text = shown(TEXTS["suite"])["text/html"]
    assert "<p>1 passed, 1 failed, 1 refused</p>" in text
    assert "<li>refused: &lt;i&gt;bad&lt;/i&gt;</li>" in text
    assert "<td>straight</td>" in text


@pytest.mark.parametrize("name", list(HOSTILE))
def test_hostile_texts_are_texts_in_a_table(name: str) -> None:
    graph = hostile_graph()
    text = HOSTILE[name]
    words = Elements(shown(graph.explain(text, {"flag": True}))["text/html"]).words
    assert visible(text).strip() in words


def test_long_texts_are_not_cut_and_nothing_is_typeset() -> None:
    import pandas

    from diagnosis.views.display import _table

    text = _table(pandas.DataFrame({"a": ["$x$ " + "y" * 300]}))
    assert "$x$ " + "y" * 300 in text
    assert "tex2jax_ignore" in text


def test_a_long_table_is_shown_from_both_ends() -> None:
    import pandas

    from diagnosis.views.display import _table

    text = _table(pandas.DataFrame({"a": range(10 * MAX_ROWS)}))
    assert text.count("<tr>") == MAX_ROWS + 1
    assert "<td>0</td>" in text
    assert f"<td>{10 * MAX_ROWS - 1}</td>" in text


def test_without_an_engine_the_dot_text_stands_in_for_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIAGNOSIS_DOT", "/no/such/dot")
    found = shown(played(EXPLODES).run)
    assert set(found) == {"text/plain", "text/html"}
    assert "No picture: DIAGNOSIS_DOT is" in found["text/html"]
    words = "".join(Elements(found["text/html"]).words)
    assert "digraph topology {" in words
    assert "planner -> executor" in words
    assert "img" not in [tag for tag, _ in Elements(found["text/html"]).tags]


def test_displays_need_no_ipython() -> None:
    program = (
        "import sys; sys.modules['IPython'] = None\n"
        "from diagnosis import diagnosis_model\n"
        "assert 'image/svg+xml' in diagnosis_model()._repr_mimebundle_()\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_the_scenarios_of_these_tests_can_be_written() -> None:
    assert "raises" in scenario_text(Scenario.parse(EXPLODES))
