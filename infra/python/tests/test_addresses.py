"""Every address of a node, asked through the client."""

from __future__ import annotations

import json
import time
import urllib.request
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY, SCRIPT, Ground, Process, limn

import limn_client
from limn_client import BadRequestError, Client, ForbiddenError, NotFoundError

QUESTION = "how clear is the water of the lake"


def test_search(client: Client) -> None:
    answer = client.search(QUESTION)
    assert answer.question == QUESTION
    assert len(answer) == len(answer.results) == 5
    assert [hit.name for hit in answer] == [answer[place].name for place in range(5)]
    assert answer[-1] is answer.results[-1] and list(answer[1:3]) == list(answer.results[1:3])
    assert answer[0].name == "hydrology/secchi"
    scores = [hit.score for hit in answer]
    assert scores == sorted(scores, reverse=True) and scores[0] > 0
    best = answer[0]
    assert best in answer and best.format == "csv" and best.rows == 180 and best.rows_exact is True
    assert best.lake.endswith("/lake") and best.location.endswith("hydrology/secchi.csv")
    assert best.column_count == len(best.columns) > 2 and best.columns[0].data_type
    assert best.modified is not None and abs(datetime.now(timezone.utc) - best.modified) < timedelta(days=3650)
    assert best.modified.utcoffset() == timedelta(0)
    assert best.judged is None and best.error is None
    assert best.blocks[0].text and any(block.words for block in best.blocks)
    assert (answer.modes.lexical, answer.modes.semantic, answer.modes.judge) == (True, True, False)
    assert answer.tables_searched == client.status().tables > 20
    assert answer.took_ms > 0 and answer.snapshot == 2
    assert answer.ranking == "learned"
    assert answer.raw["results"][0] == best.raw and best.raw["table"] == best.name


def test_search_says_why_nothing_is_found(client: Client) -> None:
    answer = client.search("qwertyuiop", prefix="no/such/folder")
    assert not answer and answer.notes


def test_options_of_search_do_what_they_say(client: Client) -> None:
    def found(**options: Any) -> set[str]:
        return {hit.name for hit in client.search("water level wind name day", k=50, **options)}

    everything = found()
    assert len(client.search(QUESTION, k=3)) == 3
    assert client.search(QUESTION, alpha=1.0)[0].score == pytest.approx(client.search(QUESTION, alpha=1.0)[0].lexical)
    assert client.search(QUESTION, alpha=0.0)[0].score == pytest.approx(client.search(QUESTION, alpha=0.0)[0].semantic)
    assert found(prefix="hydrology") == {"hydrology/secchi", "hydrology/stations", "hydrology/lake_levels"}
    assert 0 < len(found(format="parquet")) < len(everything)
    assert 0 < len(found(column_type="float")) < len(everything)
    small, large = found(max_rows=100), found(min_rows=101)
    assert small and large and not small & large and small | large == everything
    now = datetime.now(timezone.utc) + timedelta(days=1)
    assert found(modified_before=now) == everything and not found(modified_after=now)
    assert found(modified_after="2001-01-01T00:00:00Z") == everything
    assert found(modified_after=date(2001, 1, 1)) == everything and not found(modified_before=date(2001, 1, 1))
    # In another time zone it is the same time.
    there = now.astimezone(timezone(timedelta(hours=-7)))
    assert found(modified_before=there) == everything
    with pytest.raises(ValueError, match="time zone"):
        client.search(QUESTION, modified_after=datetime(2024, 1, 1))
    assert client.search(QUESTION, judge=False).modes.judge is False
    assert len(client.search(QUESTION, candidates=1, k=5)) <= 10
    assert any(table.blocks for table in client.search(QUESTION))
    assert not any(table.blocks for table in client.search(QUESTION, blocks=0))


def test_suggest(client: Client) -> None:
    names = client.suggest("sec")
    assert names[0].kind == "table" and names[0].table == names[0].text == "hydrology/secchi" and names[0].tables == 1
    assert names[0].lake == client.table("hydrology/secchi").lake
    columns = [name for name in client.suggest("station_id", limit=50) if name.kind == "column"]
    assert columns[0].text == "station_id" and columns[0].tables >= 2 and columns[0].table is None
    assert len(client.suggest("e", limit=2)) == 2


def test_feedback(client: Client, ground: Ground) -> None:
    hit = client.search(QUESTION)[0]
    hit.feedback("right", comment="just so")
    client.feedback(QUESTION, "hr/employees", "wrong", lake=hit.lake, snapshot=1)
    lines = [json.loads(line) for line in Path(ground.feedback).read_text().splitlines()]
    first, second = lines[-2:]
    assert (first["question"], first["tables"], first["comment"]) == (QUESTION, [hit.name], "just so")
    assert (first["snapshot"], first["lake"]) == (2, hit.lake)
    assert (second["table"], second["tables"], second["snapshot"]) == ("hr/employees", [], 1)


def test_table(client: Client) -> None:
    hit = client.search(QUESTION)[0]
    detail = hit.table()
    assert detail == client.table(hit.name, lake=hit.lake) and detail.name == hit.name
    assert len(detail.columns) == detail.column_count and detail.snapshot == 2
    station = detail.columns[0]
    assert station.name in {column.name for column in hit.columns}
    assert station.min is not None and station.max is not None and station.min <= station.max
    assert 0.0 <= station.null_share <= 1.0 and station.distinct > 0 and station.profile_exact
    counted = [value for column in detail.columns for value in column.frequent]
    assert counted and all(value.count > 0 for value in counted)
    assert detail.previews and all(len(row) == detail.column_count for row in detail.sample) and detail.sample
    assert detail.contexts[0].source == "hydrology/secchi.md" and "disc" in detail.contexts[0].text
    assert detail.file_count == len(detail.files) == 1 and detail.files[0].path == "hydrology/secchi.csv"
    assert detail.files[0].size > 1000 and detail.files[0].modified == detail.modified
    assert detail.indexed is not None and detail.awaits_narration is False
    # Cells that are empty are None, not a text.
    assert any(value is None for row in client.table("hr/leave_requests").sample for value in row)


def test_similar(client: Client) -> None:
    answer = client.search(QUESTION)[0].similar(k=3)
    assert answer.table == "hydrology/secchi" and len(answer) == 3
    likes = [other.similarity for other in answer]
    assert likes == sorted(likes, reverse=True) and likes[0] <= 1.0
    assert "hydrology/secchi" not in {other.name for other in answer}
    assert answer[0].table().name == answer[0].name
    assert [it.name for it in client.similar("hydrology/secchi", k=3)] == [it.name for it in answer]


def test_joins(client: Client) -> None:
    answer = client.search(QUESTION)[0].joins()
    assert answer.table == "hydrology/secchi" and answer.snapshot >= 1
    assert all(it.table == answer.table for it in answer) and isinstance(answer.notes, tuple)
    way = client.joins("hydrology/secchi", other="hydrology/secchi")
    assert way.partners is None and way.path == () and len(way) == 0
    with pytest.raises(BadRequestError, match="copy"):
        client.joins("hydrology/secchi", kind="cousin")


def test_history(client: Client) -> None:
    got = client.history("hr/employees")
    assert [moment.change for moment in got] == ["changed", "appeared"]
    assert (got.table, got.back_to, got.is_whole) == ("hr/employees", 1, True)
    assert got[0].snapshot == 2 and got[0].published is not None and got[0].detail
    newest = client.history("hr/employees", limit=1)
    assert [moment.change for moment in newest] == ["changed"]
    assert newest.back_to == 2 and not newest.is_whole
    assert client.table("new/glaciers").history()[0].change == "appeared"
    # A removed table has a history, too; one that never was has none.
    removed = client.history("transit/stops")
    assert [moment.change for moment in removed] == ["vanished", "appeared"]
    with pytest.raises(NotFoundError):
        client.history("transit/nowhere")


def test_lists_are_gone_through_page_by_page(client: Client) -> None:
    whole = client.tables(limit=1000)
    names = [table.name for table in whole]
    assert whole.total == len(whole) == len(set(names)) == client.status().tables and whole.next is None
    first = client.tables(limit=7)
    assert [table.name for table in first] == names[:7] and first.next is not None and first.total == whole.total
    assert [table.name for table in client.tables(limit=7, after=first.next)] == names[7:14]
    for page in (1, 7, len(names), 1000):
        assert [table.name for table in client.iter_tables(page=page)] == names, page
    # It goes on by tables whose names need escaping.
    assert any(SCRIPT not in name and "<" in name for name in names)
    assert {table.format for table in client.iter_tables(format="parquet")} == {"parquet"}
    assert [table.name for table in client.iter_tables(prefix="hydrology", page=2)] == [
        name for name in names if name.startswith("hydrology/")
    ]
    # No more is fetched than is wanted.
    assert next(client.iter_tables(page=1)).name == names[0]


def test_every_table_of_the_list_can_be_described(client: Client) -> None:
    for line in client.iter_tables():
        detail = line.table()
        assert (detail.name, detail.lake, detail.location) == (line.name, line.lake, line.location)


def test_tree(client: Client) -> None:
    top = client.tree()
    assert top.count == client.status().tables and top.prefix == "" and top.next is None
    first = client.tree(limit=1)
    assert len(first.folders) + len(first.tables) == 1 and first.next is not None
    assert client.tree(limit=1, after=first.next) != first and "not all" in repr(first)
    hydrology = next(folder for folder in top.folders if folder.name == "hydrology")
    below = hydrology.tree()
    assert below == client.tree("hydrology") and below.count == hydrology.tables == 3
    assert {table.name for table in below.tables} == {
        "hydrology/secchi",
        "hydrology/stations",
        "hydrology/lake_levels",
    }


def test_diff(client: Client) -> None:
    got = client.diff(older=1, newer=2)
    assert (got.older, got.newer) == (1, 2)
    assert [table.name for table in got.appeared] == ["new/glaciers"]
    assert [table.name for table in got.vanished] == ["transit/stops"]
    (changed,) = got.changed
    assert changed.name == "hr/employees" and (changed.rows_before, changed.rows_after) == (120, 1)
    assert changed.columns and {column.change for column in changed.columns} >= {"dropped"}
    assert changed.table().rows == 1
    counted = (len(got.appeared), len(got.renamed), len(got.changed), len(got.vanished))
    assert got.counts.total == sum(counted) and got.counts.appeared == 1
    assert client.diff(older=1, limit=1).counts == got.counts
    assert client.diff() == got
    # A day ago there was no index.
    young = client.diff(since="1d")
    assert (young.older, young.newer) == (0, 2) and young.counts.appeared == client.status().tables
    assert young == client.diff(older=0)
    assert not client.diff(older=1, prefix="hydrology").changed
    assert [table.name for table in client.diff(older=1, prefix="new").appeared] == ["new/glaciers"]


def test_renamed_tables(tmp_path: Path) -> None:
    ground = Ground(tmp_path)
    (ground.lake / "new/glaciers.csv").rename(ground.lake / "new/ice.csv")
    ground.update()
    process = ground.serve()
    with Client(process.url) as client:
        got = client.diff()
        names = [(it.old_name, it.new_name) for it in got.renamed]
        assert names == [("new/glaciers", "new/ice")]
        assert got.to_pandas()["name_before"].tolist() == ["new/glaciers"]
    process.end()


def test_tables_that_cannot_be_read(tmp_path: Path) -> None:
    ground = Ground(tmp_path)
    (ground.lake / "energy/turbine_output.parquet").write_bytes(b"no parquet")
    limn("index", str(ground.lake), "--index", str(ground.index), "--embedder", "hashed-words", code=1)
    process = ground.serve()
    with Client(process.url) as client:
        got = client.status()
        assert got.failure_count == len(got.failures) == 1
        (failure,) = got.failures
        assert failure.name == "energy/turbine_output" and failure.error
        assert failure.error == failure.table().error
        assert failure.error in client.tables(prefix="energy").to_pandas()["error"].tolist()
        assert "turbine_output" in repr(got) and failure.name in got._repr_html_()
        assert client.diff().changed[0].unreadable
    process.end()


def test_snapshots(client: Client) -> None:
    got = client.snapshots()
    assert [it.snapshot for it in got] == [2, 1]
    assert got[0].published is not None and got[1].published is not None and got[0].published >= got[1].published


def test_status(client: Client) -> None:
    got = client.status()
    assert got.snapshot == 2 and got.version == limn_client.__version__ and got.embedder.startswith("hashed-words")
    assert got.rights == ("search", "rows", "ask", "describe", "admin") and got.prefixes is None and got.previews
    assert got.judge is None and got.failures == () and got.failure_count == 0
    assert got.tables > 20 and got.columns > got.tables and got.segments and got.index_bytes
    assert got.published is not None and got.opened is not None and got.uptime_s >= 0 and got.seen_s >= 0


def test_what_a_key_may_see(ground: Ground, guarded: Process) -> None:
    with Client(guarded.url, api_key=ground.hydrology) as client:
        got = client.status()
        assert got.prefixes == ("hydrology",) and got.rights == ("search",) and got.tables == 3
        detail = client.table("hydrology/secchi")
        assert not detail.previews and detail.sample == () and detail.preview.to_pandas().shape[0] == 0
        with pytest.raises(ForbiddenError):
            client.metrics()


def test_health_and_metrics(guarded: Process, admin_key: str) -> None:
    with Client(guarded.url) as client:
        assert client.is_live() and client.is_ready()
    with Client("http://127.0.0.1:1", retries=0) as nowhere:
        assert not nowhere.is_live() and not nowhere.is_ready()
    with Client(guarded.url, api_key=admin_key) as client:
        assert client.metrics().endswith("# EOF\n")


def test_the_readme(client: Client) -> None:
    """Its pieces of code, one after another, and the answer that it shows."""
    text = (REPOSITORY / "infra/python/README.md").read_text(encoding="utf-8")
    pieces = [piece.split("```")[0] for piece in text.split("```python\n")[1:]]
    assert len(pieces) >= 5
    names: dict[str, Any] = {}
    for piece in pieces:
        exec(piece.replace('"http://127.0.0.1:7700"', f'"{client.url}"'), names)
    assert names["client"].url == client.url and names["secchi"].name == "hydrology/secchi"
    title, header, first = text.split("```\nhow clear")[1].split("\n")[:3]
    got = repr(names["answer"]).split("\n")
    assert title.split(",")[0].split(":")[0] in got[0] and header.split() == got[1].split()
    # The scores are another embedder's, the table is the same.
    assert first.split()[:2] == got[2].split()[:2] and first.split()[3:5] == got[2].split()[3:5]


def test_events_reach_a_watcher(ground: Ground, tmp_path: Path, admin_key: str) -> None:
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake/wells.csv").write_text("well,depth\nOld,9\n")
    token = {"LIMN_EVENTS_TOKEN": "a-token-of-the-watcher"}
    watcher = Process(
        "watch", str(tmp_path / "lake"), "--index", str(tmp_path / "index"), "--embedder", "hashed-words",
        "--every", "1h", "--listen", "127.0.0.1:0", **token,
    )  # fmt: skip
    node = ground.serve("--keys", str(ground.keys), "--events-to", watcher.url, **token)
    event = {
        "Records": [
            {
                "eventName": "ObjectCreated:Put",
                "s3": {"bucket": {"name": "lake"}, "object": {"key": "data/south/rivers.csv"}},
            }
        ]
    }
    try:
        with Client(node.url, api_key=admin_key) as client:
            client.events(event)
            client.events({"objects": ["wells.csv"]})
            with pytest.raises(limn_client.BadRequestError, match="watcher"):
                client.events("no event")
        asked = urllib.request.Request(
            f"{watcher.url}/v1/health", headers={"Authorization": "Bearer a-token-of-the-watcher"}
        )
        deadline = time.monotonic() + 30
        while True:
            with urllib.request.urlopen(asked, timeout=10) as answer:
                counts = json.load(answer)
            if counts["events"] + counts["ignored"] >= 2 or time.monotonic() > deadline:
                break
            time.sleep(0.1)
        # An event of a bucket that is not the watcher's lake is taken, and of no interest to it.
        assert (counts["events"], counts["ignored"]) == (1, 1), counts
        with Client(node.url, api_key=ground.hydrology, retries=0) as client:
            with pytest.raises(ForbiddenError):
                client.events(event)
    finally:
        node.end()
        watcher.end()
