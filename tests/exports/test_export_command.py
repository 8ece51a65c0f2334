"""The commands that write a graph for other tools, and check what was proven of it."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from exported_models import voting

from diagnosis import cli, diagnosis_model
from diagnosis.exports import promela, vectors

HERE = Path(__file__).parent


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_models.py").write_text((HERE / "exported_models.py").read_text())
    yield tmp_path
    sys.modules.pop("my_models", None)
    if str(tmp_path) in sys.path:
        sys.path.remove(str(tmp_path))


def call(*arguments):
    result = CliRunner().invoke(cli.app, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result


def test_a_graph_is_written_as_promela(here):
    result = call("export", "-o", "model.pml")
    assert (result.exit_code, result.stdout) == (0, "model.pml\n")
    assert Path("model.pml").read_text() == promela(diagnosis_model())


def test_a_graph_of_ones_own_is_written_with_all_interleavings(here):
    assert call("export", "my_models:nested", "-o", "n.pml", "--interleave").exit_code == 0
    assert Path("n.pml").read_text().startswith("/* nested: all interleavings of branches.")


def test_vectors_are_written_and_told_to_machines(here):
    result = call("export", "my_models:searching", "-o", "v.json", "--json")
    assert json.loads(result.stdout) == {"graph": "searching", "file": "v.json", "what": "vectors"}
    assert len(json.loads(Path("v.json").read_bytes())["vectors"]) == 365


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("-o", "model.txt"), "has the ending '.txt'; a graph is exported as '.pml (Promela)', '.json (vectors)', "),
        (("-o", "model"), "has no ending"),
        (("-o", "nowhere/model.pml"), "there is no directory 'nowhere'"),
        (("-o", "v.json", "--max-states", "5"), "cannot be listed: the budget of 5 control states"),
        (("nobody", "-o", "model.pml"), "no graph named 'nobody'"),
        ((), "Missing option"),
    ],
)
def test_what_cannot_be_written_is_refused_with_status_2(here, arguments, why):
    result = call("export", *arguments)
    assert result.exit_code == 2
    assert why in result.stderr
    assert sorted(path.name for path in here.iterdir() if path.name != "__pycache__") == ["my_models.py"]


def test_every_script_is_written_as_an_event_log(here):
    assert call("export", "my_models:voting", "-o", "log.csv").exit_code == 0
    rows = list(csv.DictReader(Path("log.csv").read_text().splitlines()))
    runs = list(vectors(voting()))
    assert [row["case"] for row in rows] == [run["name"] for run in runs for _ in run["expect"]["path"]]
    assert [row["activity"] for row in rows] == [node for run in runs for node in run["expect"]["path"]]
    assert call("export", "my_models:voting", "-o", "log.xes").exit_code == 0
    assert len(ElementTree.parse("log.xes").findall(".//{*}trace")) == len(runs)


def test_a_certificate_is_written_and_still_stands(here):
    assert call("verify", "--certificate", "proof.json").exit_code == 0
    first = Path("proof.json").read_bytes()
    assert call("verify", "--certificate", "proof.json").exit_code == 0
    assert Path("proof.json").read_bytes() == first
    result = call("verify", "--check", "proof.json", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["certificate"] == {"file": "proof.json", "stale": False, "differences": []}


def test_a_certificate_of_another_state_of_the_graph_is_stale_with_status_1(here):
    call("verify", "--certificate", "proof.json")
    said = json.loads(Path("proof.json").read_bytes())
    said["scripts"], said["fingerprint"]["parts"]["rules"] = 19_543, "0" * 64
    Path("proof.json").write_text(json.dumps(said))
    result = call("verify", "--check", "proof.json", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["certificate"]["differences"] == [
        "fingerprint.rules: has changed",
        "scripts: was 19543, is 10903",
    ]
    assert "is stale" in call("verify", "--check", "proof.json").stdout


def test_what_is_no_certificate_is_refused_with_status_2(here):
    Path("proof.json").write_text("[]")
    result = call("verify", "--check", "proof.json")
    assert result.exit_code == 2
    assert "is no certificate" in result.stderr
