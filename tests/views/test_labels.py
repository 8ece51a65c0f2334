"""Labels keep every text a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnosis.views.labels import columns, escaped, identifiers, visible, wrapped


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("规划器", "规划器"),
        ("שלום", "שלום"),
        ("a\nb\tc", "a\\nb\\tc"),
        ("\x00\x1b", "\\x00\\x1b"),
        ("a\u202eb", "a\\u202eb"),
        ("half \udc80", "half \\udc80"),
        ("\u00a0", " "),
        ("👩\u200d💻", "👩\u200d💻"),
        ("\ufffe", "\\ufffe"),
        ("a\u2060b", "a\\u2060b"),
        ("a\u200bb\u00adc", "a\\u200bb\\xadc"),
        ("a\u3164\u2800b\u115f", "a\\u3164\\u2800b\\u115f"),
        ("a\u200db", "a\\u200db"),
        ("a\ufe0fb", "a\\ufe0fb"),
        ("\u200ca", "\\u200ca"),
        ("نمی\u200cشود", "نمی\u200cشود"),
        ("نمی\u200c\u200cشود", "نمی\u200c\\u200cشود"),
        ("❤\ufe0f\u200d🔥", "❤\ufe0f\u200d🔥"),
    ],
)
def test_what_cannot_be_seen_is_spelled_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_a_visible_text_fits_into_any_file(text: str) -> None:
    shown = visible(text)
    shown.encode("utf-8")
    assert not any(ord(char) < 32 or ord(char) == 127 for char in shown)


def test_a_wide_character_takes_two_columns_and_an_accent_none() -> None:
    assert columns("ab") == 2
    assert columns("规划") == 4
    assert columns("e\u0301") == 1


def test_lines_break_behind_blanks_and_underscores() -> None:
    assert wrapped("the quick brown fox", width=10) == ["the quick", "brown fox"]
    assert wrapped("PLANNER_RETRY_EXHAUSTED", width=16) == ["PLANNER_RETRY_", "EXHAUSTED"]


def test_a_word_longer_than_a_line_is_broken_anywhere() -> None:
    assert wrapped("abcdefghij", width=4) == ["abcd", "efgh", "ij"]
    assert wrapped("规划器规划器", width=4) == ["规划", "器规", "划器"]


def test_a_blank_near_the_start_of_a_line_does_not_break_it() -> None:
    assert wrapped("a bcdefghijkl", width=10) == ["a bcdefghi", "jkl"]


def test_what_exceeds_the_lines_ends_in_an_ellipsis() -> None:
    assert wrapped("x" * 100, width=10, lines=2) == ["x" * 10, "x" * 9 + "…"]
    assert wrapped("x" * 100, width=10, lines=1) == ["x" * 9 + "…"]


@pytest.mark.parametrize("text", ["", "a"])
def test_a_short_text_is_one_line(text: str) -> None:
    assert wrapped(text) == [text]


@given(st.text(), st.integers(3, 12), st.integers(1, 5))
def test_no_line_is_too_wide_and_none_too_many(text: str, width: int, lines: int) -> None:
    found = wrapped(text, width=width, lines=lines)
    assert 1 <= len(found) <= lines
    assert all(columns(line) <= width for line in found)


def test_escapes_mean_themselves() -> None:
    assert escaped("\\N", "a&b") == "\\\\N\\na&amp;b"
    assert escaped("one", "two", left=True) == "one\\ltwo\\l"


def test_a_plain_word_is_its_own_identifier_and_anything_else_gets_a_number() -> None:
    names = ["planner", "规划器", "a b", "graph", "x" * 41, "", "planner"]
    assert identifiers(names, reserved=["graph"]) == {
        "planner": "planner",
        "规划器": "node_1",
        "a b": "node_2",
        "graph": "node_3",
        "x" * 41: "node_4",
        "": "node_5",
    }


def test_a_number_never_takes_the_name_of_another_node() -> None:
    assert identifiers(["a b", "node_0", "node__0"]) == {"a b": "node___0", "node_0": "node_0", "node__0": "node__0"}


@given(st.lists(st.one_of(st.text(), st.from_regex(r"\A(node_*)[0-9]\Z"))))
def test_identifiers_differ(names: list[str]) -> None:
    found = identifiers(names)
    assert set(found) == set(names)
    assert len(set(found.values())) == len(found)
