"""Writes the shapefiles and dBase tables of the tests: `make_dbf.py` (needs pyshp==3.1.6 and dbf==0.99.11).

They are kept in the repository, so that nobody needs to run this but who changes them.
"""

import datetime
from decimal import Decimal
from pathlib import Path

import dbf
import shapefile

HERE = Path(__file__).parent

# Points, one of them null, with texts in UTF-8.
with shapefile.Writer(str(HERE / "places"), shapeType=shapefile.POINT, encoding="utf-8") as places:
    places.field("NAME", "C", size=20)
    places.field("PEOPLE", "N", size=10, decimal=0)
    places.field("HEIGHT", "N", size=10, decimal=2)
    places.field("FOUNDED", "D")
    places.field("CAPITAL", "L")
    places.point(7.45, 46.95)
    places.record("Bern", 134591, 540.5, datetime.date(1191, 1, 1), True)
    places.null()
    places.record("Nowhere", None, None, None, None)
    places.point(8.54, 47.37)
    places.record("Zürich", 421878, 408, datetime.date(1900, 2, 28), False)
(HERE / "places.cpg").write_text("UTF-8")
(HERE / "places.prj").write_text('GEOGCS["GCS_WGS_1984"]')

# Lines of one part and of two, with texts in windows-1252, which no file names.
with shapefile.Writer(str(HERE / "lines"), shapeType=shapefile.POLYLINEZ, encoding="cp1252") as lines:
    lines.field("ROUTE", "C", size=12)
    lines.field("LENGTH", "F", size=19, decimal=11)
    lines.linez([[[1, 5, 100], [5, -2.5, 0], [3, 1, 7]]])
    lines.record("Höhenweg", 1.5)
    lines.linez([[[0, 0, 0], [1, 1, 1]], [[10, 10, 0], [12, 11, 0]]])
    lines.record("Talweg", 1234567.25)

# Polygons.
with shapefile.Writer(str(HERE / "areas"), shapeType=shapefile.POLYGON) as areas:
    areas.field("ID", "N", size=4)
    for number in range(3):
        areas.poly([[[number, 0], [number, 2], [number + 1, 2], [number, 0]]])
        areas.record(number)

# Visual FoxPro's types, nulls, a memo, and a deleted row.
for old in ("fox.dbf", "fox.fpt"):
    (HERE / old).unlink(missing_ok=True)
fox = dbf.Table(
    str(HERE / "fox.dbf"),
    "name C(10) null; qty I; price Y; ratio B; at T null; ok L null; day D; n N(8,2) null; note M",
    dbf_type="vfp",
    codepage="cp1252",
)
fox.open(dbf.READ_WRITE)
when = datetime.datetime(2024, 2, 29, 13, 45, 30)
for row in (
    ("Äpfel", 7, Decimal("1.2345"), 0.5, when, True, datetime.date(2024, 2, 29), 12.25, "a memo"),
    ("gone", 1, Decimal("1"), 1.0, when, True, datetime.date(2024, 1, 1), 1.0, ""),
    (dbf.Null, -3, Decimal("-2.5"), -1e300, dbf.Null, dbf.Null, None, dbf.Null, ""),
):
    fox.append(row)
with fox[1]:
    dbf.delete(fox[1])
fox.close()

# dBase III with a memo.
for old in ("old.dbf", "old.dbt"):
    (HERE / old).unlink(missing_ok=True)
old = dbf.Table(str(HERE / "old.dbf"), "code C(5); qty N(5,0); note M", dbf_type="db3")
old.open(dbf.READ_WRITE)
old.append(("00712", 3, "something"))
old.append(("x", -4, ""))
old.close()

# What memos hold is not read.
for memo in ("fox.fpt", "old.dbt"):
    (HERE / memo).unlink()
