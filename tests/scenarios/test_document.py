"""Files are read safely: whatever they hold, they give plain data or one clear refusal."""

import contextlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diagnosis.scenarios import MAX_BYTES, MAX_DEPTH, DocumentError, load_document

Read = Callable[..., Any]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Give the data of a text, or the text of its refusal without the file's name."""

    def give(content: str | bytes, name: str = "d.yaml") -> Any:
        file = tmp_path / name
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return load_document(file).data

    return give


@pytest.fixture
def refusal(tmp_path: Path, read: Read) -> Callable[..., str]:
    def give(content: str | bytes, name: str = "d.yaml") -> str:
        with pytest.raises(DocumentError) as caught:
            read(content, name)
        assert caught.value.file == str(tmp_path / name)
        return str(caught.value).removeprefix(str(tmp_path / name))

    return give


LAUGHS = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 10)
)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", ": found an empty file; allowed: a scenario, or a list of scenarios"),
        (" \n\t\n", ": found an empty file"),
        ("# only a comment\n", ": found a file without content"),
        ("a: 1\n---\nb: 2\n", ", line 2, column 1: found a second YAML document; allowed: one document a file"),
        ("a: 1\na: 2\n", ", line 2, column 1: found the key 'a' twice; allowed: every key once; remove one"),
        ("a:\n  b: {c: 1, c: 2}\n", ", line 2, column 13, a.b: found the key 'c' twice"),
        ("1: a\n", ", line 1, column 1: found int 1 as a key; allowed: a text as key; put it in quotes"),
        ("a: {yes: b}\n", ", line 1, column 5, a: found bool True as a key"),
        ("? [a, b]\n: c\n", "found a list as a key"),
        ("? {a: b}\n: c\n", "found a mapping as a key"),
        ("~: a\n", "found null as a key"),
        ("2024-01-01: a\n", "found date 2024-01-01 as a key"),
        ("<<: {a: 1}\n", ", line 1, column 1: found the merge key <<; allowed: every key written out"),
        ("a: !!python/object/apply:os.system [x]\n", ", line 1, column 4, a: found the tag '!!python/object/apply:os."),
        ("a: !!binary aGk=\n", "found the tag '!!binary'; allowed: no tag, or one of !!str, !!int"),
        ("a: !!timestamp 2024-01-01\n", "found the tag '!!timestamp'"),
        ("!!set {a, b}\n", "found the tag '!!set'"),
        ("!!omap [a: 1]\n", "found the tag '!!omap'"),
        ("a: !mine x\n", "found the tag '!mine'"),
        ("!!map [a]\n", "found the tag '!!map'"),
        ("!!seq text\n", "found the tag '!!seq'"),
        ("a: !!int x\n", ", line 1, column 4, a: found 'x', which is no int; allowed: one that is, or a text"),
        ("a: !!int ''\n", "found '', which is no int"),
        ("a: !!bool maybe\n", "found 'maybe', which is no bool"),
        ("a: 2024-13-45\n", "found '2024-13-45', which is no timestamp"),
        ("a: .nan\n", ", line 1, column 4, a: found float nan; allowed: finite numbers"),
        ("a: [-.inf]\n", ", line 1, column 5, a[0]: found float -inf"),
        ("a: 0x" + "f" * 900 + "\n", "found a very long number; allowed: numbers of at most 1000 digits"),
        ("a: " + "1" * 5000 + "\n", "found a very long int; allowed: a shorter one, or a text"),
        ("a: 1" + ":1" * 100_000 + "\n", "found a very long int"),
        ("a: *x\n", ", line 1, column 4, a: found the alias *x; allowed: aliases of an anchor further up"),
        ("a: &x [1, *x]\n", ", line 1, column 11, a[1]: found the alias *x inside what it stands for"),
        ("a: &x\n  b: {c: *x}\n", ", line 2, column 10, a.b.c: found the alias *x inside"),
        ("a: [1, 2\n", ", line 2, column 1: found no YAML (while parsing a flow sequence did not find expected"),
        ("a: 'x\n", "found no YAML (while scanning a quoted scalar found unexpected end of stream)"),
        ("a: b: c\n", ", line 1, column 5: found no YAML (mapping values are not allowed in this context)"),
        ("\t- a\n", ", line 1, column 1: found no YAML"),
        ("a: \x07\n", ": found a character that YAML refuses (control characters are not allowed, at offset 3)"),
        ("a: b\0\n", "found a character that YAML refuses"),
        ('a: "\\ud800"\n', "found no YAML (while parsing a quoted scalar found invalid Unicode character escape code)"),
        (b"a: caf\xe9\n", ": found byte 0xe9 at offset 6, which is no UTF-8; allowed: UTF-8; save the file as UTF-8"),
        (b"\xef\xbb\xbfa: caf\xe9\n", ": found byte 0xe9 at offset 9, which is no UTF-8"),
        ("a: 1".encode("utf-16"), ": found byte 0xff at offset 0, which is no UTF-8"),
        (LAUGHS, ", line 6, a5: found more than 100,000 nodes; allowed: at most 100,000 keys and values"),
    ],
)
def test_unsafe_or_broken_yaml_is_refused_with_place_and_reason(
    content: str | bytes, says: str, refusal: Callable[..., str]
) -> None:
    assert says in refusal(content)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", ": found an empty file"),
        ('{"a": 1, "a": 2}', ": found the key 'a' twice; allowed: every key once; remove one"),
        ('{"a": [{"b": 1, "b": 2}]}', ", a[0]: found the key 'b' twice"),
        ('{"a": NaN}', ": found NaN; allowed: finite numbers; JSON has no such value"),
        ('{"a": -Infinity}', ": found -Infinity"),
        ('{"a": 1e999}', ", a: found float inf; allowed: finite numbers"),
        ('{"a": ' + "1" * 5000 + "}", ": found a very long number"),
        ('{"a": ' + "1" * 1100 + "}", ", a: found a very long number; allowed: numbers of at most 1000 digits"),
        ('{"a": "\\ud800"}', ", a: found '\\ud800', which holds half of a surrogate pair; allowed: Unicode texts"),
        ('{"\\udfff": 1}', "half of a surrogate pair"),
        (
            '{"a" 1}',
            ", line 1, column 6: found no JSON (Expecting ':' delimiter); allowed: one JSON object or list; mend it",
        ),
        ('{"a": 1}\n{"b": 2}', ", line 2, column 1: found no JSON (Extra data)"),
        ('{"a": "x\ty"}', "found no JSON (Invalid control character at)"),
        ('{"a": "x', ", line 1, column 7: found no JSON (Unterminated string starting at)"),
        ("a: 1", ", line 1, column 1: found no JSON (Expecting value)"),
        ("[" * 500_000, "found more than 100 levels of nesting"),
        ("[" * 101 + "]" * 101, "[0][0][0][0][0]: found more than 100 levels of nesting; allowed: at most 100 levels"),
        (json.dumps(list(range(100_000))), "found more than 100,000 nodes"),
        (json.dumps(dict.fromkeys(map(str, range(50_000)), 0)), "found more than 100,000 nodes"),
    ],
)
def test_unsafe_or_broken_json_is_refused_with_place_and_reason(
    content: str, says: str, refusal: Callable[..., str]
) -> None:
    assert says in refusal(content, "d.json")


@pytest.mark.parametrize(
    "content",
    ["[" * 500_000, "[" * 101 + "]" * 101, "- " * 400_000, "{a: " * 200 + "1" + "}" * 200, "? " * 100_000],
    ids=["open", "closed", "block", "mappings", "keys"],
)
def test_deep_nesting_is_refused_and_never_overflows(content: str, refusal: Callable[..., str]) -> None:
    assert "nesting" in refusal(content)


def test_depth_counts_aliases_as_what_they_stand_for(refusal: Callable[..., str], read: Read) -> None:
    half = MAX_DEPTH // 2
    levels = f"a: &a {'[' * half}x{']' * half}\n"
    assert read(levels + "b: " + "[" * (half - 1) + "*a" + "]" * (half - 1) + "\n")
    assert "levels of nesting" in refusal(levels + "b: " + "[" * half + "*a" + "]" * half + "\n")


def test_a_hundred_aliases_are_read_and_one_more_is_refused(read: Read, refusal: Callable[..., str]) -> None:
    start = "a: &a [x]\nb:\n"
    assert read(start + "  - *a\n" * 100)["b"] == [["x"]] * 100
    assert ", line 103, column 5, b[100]: found more than 100 aliases" in refusal(start + "  - *a\n" * 101)


def test_a_hundred_thousand_nodes_are_read_and_one_more_is_refused(read: Read, refusal: Callable[..., str]) -> None:
    assert len(read("[" + "a," * 99_999 + "]")) == 99_999
    assert "found more than 100,000 nodes" in refusal("[" + "a," * 100_000 + "]")
    assert len(read("[" + "1," * 99_998 + "1]", "d.json")) == 99_999


def test_an_alias_bomb_is_refused_in_milliseconds(refusal: Callable[..., str]) -> None:
    started = time.perf_counter()
    assert "more than 100,000 nodes" in refusal(LAUGHS)
    assert time.perf_counter() - started < 5  # expanding it would take hours


def test_a_file_of_two_mebibytes_is_refused_unread(tmp_path: Path, refusal: Callable[..., str]) -> None:
    assert (
        refusal(b"\xff" * 2 * MAX_BYTES) == ": found 2,097,152 bytes; allowed: at most 1,048,576 bytes; split the file"
    )


def test_a_file_of_one_mebibyte_is_read(read: Read) -> None:
    assert read("a: x\n#" + "-" * (MAX_BYTES - 6)) == {"a": "x"}


def test_a_file_that_grows_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: Callable[..., str]
) -> None:
    file = tmp_path / "small.yaml"
    file.write_text("a: 1")
    small = file.stat()
    monkeypatch.setattr(Path, "stat", lambda self, **_: small)
    assert "found more than 1,048,576 bytes" in refusal(b"#" * (MAX_BYTES + 1))


def test_missing_files_and_paths_that_cannot_be_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"gone\.yaml: found no such file; allowed: a file that exists"):
        load_document(tmp_path / "gone.yaml")
    with pytest.raises(DocumentError, match="found a path that cannot be looked at"):
        load_document("a\0b.yaml")
    with pytest.raises(DocumentError, match="found a path that cannot be looked at"):
        load_document(tmp_path / ("x" * 5000 + ".yaml"))


def test_a_directory_and_a_pipe_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    for path in (tmp_path, tmp_path / "pipe.yaml"):
        with pytest.raises(DocumentError, match=r"found no regular file; allowed: a file that ends in \.yaml, \.yml"):
            load_document(path)


def test_other_endings_are_refused(refusal: Callable[..., str]) -> None:
    assert refusal("a: 1", "d.txt") == ": found the ending '.txt'; allowed: a file that ends in .yaml, .yml, .json"


def test_an_unreadable_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(*args: object, **kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "d.yaml").write_bytes(b"a: 1")
    monkeypatch.setattr(Path, "open", deny)
    with pytest.raises(DocumentError, match=r"found a file that cannot be read .*Permission denied.*permissions"):
        load_document(tmp_path / "d.yaml")


def test_plain_data_is_read_as_it_is_meant(read: Read) -> None:
    text = (
        "\ufefftext: word\nquoted: '1'\nnumber: 12\nfraction: 1.5\nyes: no\n'yes': on\nnothing: ~\nlist: [a, {b: c}]\n"
    )
    with pytest.raises(DocumentError):  # yes is a key that is no text
        read(text)
    assert read(text.replace("yes: no\n", "", 1)) == {
        "text": "word",
        "quoted": "1",
        "number": 12,
        "fraction": 1.5,
        "yes": True,
        "nothing": None,
        "list": ["a", {"b": "c"}],
    }


def test_core_tags_and_odd_bare_words_are_read(read: Read) -> None:
    assert read("a: !!str 12\nb: !!int '3'\nc: ! 12\nd: =\ne: <<\n'<<': f\ng: !!map {h: !!seq [!!null '']}\n") == {
        "a": "12",
        "b": 3,
        "c": "12",
        "d": "=",
        "e": "<<",
        "<<": "f",
        "g": {"h": [None]},
    }


def test_aliases_stand_for_their_last_anchor(read: Read) -> None:
    assert read("a: &x k\nb: *x\nc: &x 2\nd: *x\n") == {"a": "k", "b": "k", "c": 2, "d": 2}
    assert read("a: &x k\n*x : v\n") == {"a": "k", "k": "v"}


def test_line_endings_and_endings_of_names_do_not_matter(read: Read) -> None:
    assert read("a: 1\r\nb: 2\r\n", "D.YML") == {"a": 1, "b": 2}
    assert read('{"a": "\\ud83d\\ude00\\u0000"}', "D.JSON") == {"a": "😀\0"}


def test_a_document_knows_the_lines_of_its_places(tmp_path: Path) -> None:
    (tmp_path / "d.yaml").write_text("a:\n  - b: 1\n    c:\n      - x\n      - y\n")
    document = load_document(tmp_path / "d.yaml")
    assert [document.line(place) for place in ([], ["a"], ["a", 0, "c", 1], ["a", 0, "gone"], ["gone"])] == [
        1,
        2,
        5,
        2,
        1,
    ]
    (tmp_path / "d.json").write_text("{}")
    assert load_document(tmp_path / "d.json").line(["a"]) is None


def test_a_name_that_is_no_unicode_can_still_be_printed(tmp_path: Path) -> None:
    file = os.fsencode(tmp_path) + b"/caf\xe9.yaml"
    Path(os.fsdecode(file)).write_text("a: 1\na: 2")
    with pytest.raises(DocumentError) as caught:
        load_document(os.fsdecode(file))
    assert "caf\ufffd.yaml, line 2" in str(caught.value)
    str(caught.value).encode()


def test_what_other_readers_accept_is_read_the_same(read: Read) -> None:
    for file in sorted((Path(__file__).parents[2] / "data" / "scenarios").rglob("*.yaml")):
        text = file.read_text(encoding="utf-8")
        assert read(text) == yaml.safe_load(text)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(content=st.one_of(st.binary(max_size=200), st.text(alphabet="a1:-[]{}&*!#'\"\n ,?|>~%<=", max_size=80)))
def test_any_bytes_give_data_or_a_refusal(content: bytes | str, read: Read) -> None:
    for name in ("d.yaml", "d.json"):
        with contextlib.suppress(DocumentError):
            read(content.encode() if isinstance(content, str) else content, name)
