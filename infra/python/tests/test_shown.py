"""How answers show themselves, and that nothing of a lake's texts does anything there; pandas and Arrow."""

from __future__ import annotations

import builtins
import html.parser
import importlib
import sys
from datetime import datetime
from typing import Any, List, Tuple

import pandas
import pyarrow
import pytest
from conftest import BACKWARDS, HOSTILE_TABLE, IMAGE, RED, SCRIPT

from limn_client import Client
from limn_client._text import marked


class Parsed(html.parser.HTMLParser):
    """The elements of a piece of HTML, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: List[Tuple[str, Tuple[str, ...]]] = []
        self.open: List[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == [], "every element is closed"

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        self.elements.append((tag, tuple(name for name, _ in attributes)))
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(decl)

    def handle_pi(self, data: str) -> None:
        raise AssertionError(data)


def everything(client: Client) -> List[Any]:
    """One of every kind of thing that shows itself, of hostile tables."""
    found = client.search("window pwned script image", k=50)
    assert {HOSTILE_TABLE, "nasty/script"} <= {hit.name for hit in found}
    hostile = next(hit for hit in found if hit.name == HOSTILE_TABLE)
    detail = client.table("nasty/script")
    return [
        found,
        found[0],
        hostile,
        hostile.table(),
        hostile.similar(k=50),
        hostile.similar()[0],
        hostile.history(),
        detail,
        detail.profile,
        detail.preview,
        client.search(SCRIPT),
        client.search(f"{RED} {BACKWARDS}"),
        client.search(f"no such thing {IMAGE}", prefix="nowhere"),
        client.suggest("<"),
        client.suggest("nasty"),
        client.tables(prefix="nasty"),
        client.tables().tables[0],
        client.tree(),
        client.tree("nasty"),
        client.tree(SCRIPT),
        client.diff(),
        client.snapshots(),
        client.status(),
    ]


def test_hostile_names_are_shown_and_do_nothing_in_a_notebook(client: Client) -> None:
    allowed = {"div", "p", "table", "thead", "tbody", "tr", "th", "td", "b", "bdi"}
    texts = []
    for shown in everything(client):
        parsed = Parsed(shown._repr_html_())
        assert {tag for tag, _ in parsed.elements} <= allowed, shown
        assert {name for _, names in parsed.elements for name in names} <= {"style"}
        texts.append(parsed.text)
    whole = "\n".join(texts)
    # Shown as they are.
    for text in (SCRIPT, IMAGE, HOSTILE_TABLE, BACKWARDS):
        assert text in whole, text


def test_hostile_names_do_nothing_in_a_terminal(client: Client) -> None:
    texts = [repr(shown) for shown in everything(client)] + [str(shown) for shown in everything(client)]
    for text in texts:
        assert all(line.isprintable() for line in text.split("\n")), text
        assert len(max(text.split("\n"), key=len)) < 200
    whole = "\n".join(texts)
    assert "\\x1b[31mred" in whole and "\\u202eabc" in whole and RED not in whole


def test_an_answer_in_a_terminal(client: Client) -> None:
    answer = client.search("how clear is the water of the lake", k=2)
    title, header, first, second = repr(answer).split("\n")[:4]
    assert title.startswith(f"how clear is the water of the lake: 2 of {answer.tables_searched} tables, ")
    assert header.split() == ["table", "grade", "rows", "columns", "changed"]
    assert first.split()[:2] == ["1", "hydrology/secchi"] and second.split()[0] == "2"
    assert first.index("hydrology/secchi") == header.index("table")
    assert repr(answer[0]).startswith("Hit('hydrology/secchi', score ")
    assert "180 rows" in repr(answer[0]) and "\n" not in repr(answer[0])
    preview = repr(client.table("hydrology/secchi").preview)
    assert "sampled row" in preview and client.table("hydrology/secchi").columns[0].name in preview
    assert "… and" in repr(client.tables()) and str(client.tables().total) in repr(client.tables())


def test_words_that_made_it_match_are_bold(client: Client) -> None:
    hit = client.search("water")[0]
    word = next(word for block in hit.blocks for word in block.words)
    assert f"<b>{word}</b>" in hit._repr_html_()
    # Whole words only, the longer of two; and nothing that is markup for somebody else.
    assert (
        marked("rates rate unrated <b>", ["rate", "rates"]) == "<bdi><b>rates</b> <b>rate</b> unrated &lt;b&gt;</bdi>"
    )


def test_pandas(client: Client) -> None:
    answer = client.search("water level", k=4)
    frame = answer.to_pandas()
    assert frame["table"].tolist() == [hit.name for hit in answer]
    assert frame["score"].tolist() == pytest.approx([hit.score for hit in answer])
    assert frame["rows"].tolist() == [hit.rows for hit in answer] and frame["rows"].dtype == "Int64"
    assert frame["judged"].isna().all() and frame["judged"].dtype == "boolean"
    assert str(frame["modified"].dtype) == "datetime64[us, UTC]"
    assert frame["modified"][0].to_pydatetime() == answer[0].modified
    assert frame["columns"][0] == [column.name for column in answer[0].columns]
    assert frame["because"][0] == answer[0].blocks[0].text
    # None found: the same columns, of the same types.
    none = client.search("water", prefix="nowhere").to_pandas()
    assert len(none) == 0 and none.dtypes.equals(frame.dtypes)
    assert pandas.concat([none, frame])["rows"].dtype == "Int64"


def test_arrow(client: Client) -> None:
    answer = client.search("water level", k=4)
    table = answer.to_arrow()
    assert table.column_names == answer.to_pandas().columns.tolist()
    assert table["table"].to_pylist() == [hit.name for hit in answer]
    assert table.schema.field("columns").type == pyarrow.list_(pyarrow.string())
    assert table.schema.field("modified").type == pyarrow.timestamp("us", tz="UTC")
    assert table["modified"].to_pylist()[0] == answer[0].modified
    none = client.search("water", prefix="nowhere").to_arrow()
    assert none.num_rows == 0 and none.schema == table.schema


def test_every_list_becomes_a_table(client: Client) -> None:
    detail = client.table("hydrology/secchi")
    lists: List[Tuple[Any, int]] = [
        (client.tables(), client.tables().total),
        (client.suggest("s"), len(client.suggest("s"))),
        (client.similar("hydrology/secchi"), 5),
        (client.history("hydrology/secchi"), 1),
        (client.snapshots(), 2),
        (client.diff(), 3),
        (detail.profile, detail.column_count),
        (detail.preview, len(detail.sample)),
    ]
    for got, lines in lists:
        frame, table = got.to_pandas(), got.to_arrow()
        assert len(frame) == table.num_rows == lines > 0, got
        assert frame.columns.tolist() == table.column_names and len(table.column_names) > 1
        for name in table.column_names:
            values = [None if it is pandas.NA or it is pandas.NaT else it for it in frame[name].tolist()]
            wanted = table[name].to_pylist()
            if values and isinstance(values[0], float):
                assert values == pytest.approx(wanted)
            else:
                assert values == wanted, name
    preview = detail.preview.to_pandas()
    assert preview.columns.tolist() == [column.name for column in detail.columns]
    assert [None if it is pandas.NA else it for it in preview.iloc[0].tolist()] == list(detail.sample[0])
    assert isinstance(client.tables().to_pandas()["modified"][0], datetime)


def test_columns_of_one_name(client: Client) -> None:
    from limn_client import Preview

    twice = Preview("t", ("a", "a"), (("1", "2"), (None, "4")))
    assert twice.to_pandas().columns.tolist() == ["a", "a"] and twice.to_pandas().iloc[0].tolist() == ["1", "2"]
    assert twice.to_arrow().column_names == ["a", "a"] and twice.to_arrow().column(0).to_pylist() == ["1", None]


def test_without_pandas_and_arrow_the_error_names_the_extra(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = client.search("water")
    for name in ("pandas", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install 'limn-client\[pandas\]'"):
        answer.to_pandas()
    with pytest.raises(ImportError, match=r"pip install 'limn-client\[arrow\]'"):
        answer.to_arrow()
    assert answer._repr_html_() and repr(answer)


@pytest.mark.skipif(sys.version_info < (3, 10), reason="this Python cannot say what its library has")
def test_nothing_but_the_standard_library_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of the package, imported anew with everything else refused."""
    for name in [name for name in sys.modules if name.split(".")[0] == "limn_client"]:
        monkeypatch.delitem(sys.modules, name)
    real, known = builtins.__import__, getattr(sys, "stdlib_module_names", ())

    def watched(name: str, scope: Any = None, inner: Any = None, names: Any = (), level: int = 0) -> Any:
        by = (scope or {}).get("__name__", "")
        if by.startswith("limn_client") and level == 0:
            assert name.split(".")[0] in known, name
        return real(name, scope, inner, names, level)

    monkeypatch.setattr(builtins, "__import__", watched)
    assert importlib.import_module("limn_client").Client
