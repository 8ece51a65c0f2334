"""The picture in the README is the contract graph as it is now."""

from pathlib import Path

import pytest

from diagnosis.catalog import diagnosis_model
from diagnosis.views import draw, find_engine

PICTURE = Path(__file__).parents[2] / "docs" / "topology.svg"


def test_the_picture_is_up_to_date() -> None:
    engine = find_engine()
    if engine is None or engine.origin != "graphviz-pure":
        pytest.skip("another layout engine draws other bytes")
    assert PICTURE.read_text(encoding="utf-8") == draw(diagnosis_model()).svg(), (
        "run: diagnosis draw -o docs/topology.svg"
    )


def test_the_picture_has_every_node_and_no_script() -> None:
    text = PICTURE.read_text(encoding="utf-8")
    assert all(f">{name}</text>" in text for name in diagnosis_model().graph.definition.names)
    assert "<script" not in text
    assert "href=" not in text
