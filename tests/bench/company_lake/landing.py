"""What arrives at a company and what it makes of it: folders of days, dumps of interfaces, maps, books, dbt, lineage, backups.

As in mess.py, each function yields (path, bytes) and gives `logical` the tables: their name, what else may be named in an
answer, the rows, and the names under which they may be listed. All of it is written without anything but Python, but for
the Parquet files.
"""
import base64
import datetime
import gzip
import json
import struct
import zlib

from . import values, write

# Each day (or hour, or week) brings the same files: their path by date, first day, hours between them, how many, rows of
# each, columns, options, the table they are, and how it may be listed.
DATED = [
    ("landing/erp/%Y/%m/%d/dispatch_notes.csv", "2024-05-20", 24, 14, 20, "dispatch_note:pat=DN9999999; order_no:SO@; packed_at:time=2024; packer:EMP@; parcels:int=1,6; gross_kg:float=1,90,1", {}, "landing/erp/dispatch_notes", "landing/erp*dispatch_notes*"),
    ("landing/erp/%Y/%m/%d/open_items.csv", "2024-05-20", 24, 14, 25, "document:pat=19999999; customer_id:CU@; due_on:date=2024; open_eur:money=5,9000; dunning_block:yn", {}, "landing/erp/open_items", "landing/erp*open_items*"),
    ("landing/erp/%Y/%m/%d/stock_snapshot.csv", "2024-05-20", 24, 14, 30, "warehouse:WH@; part_no:PA@; free_qty:int=0,900; blocked_qty:int=0,40", {"delimiter": ";"}, "landing/erp/stock_snapshot", "landing/erp*stock_snapshot*"),
    ("landing/scada/%Y-%m-%d/furnace_temperatures.csv", "2024-06-01", 24, 9, 30, "ts:time=2024; zone:int=1,6; setpoint_c:int=400,640; actual_c:float=390,650,1", {}, "landing/scada/furnace_temperatures", "landing/scada*"),
    ("landing/edi_invoices/%Y%m%d/invoices_%Y%m%d.csv", "2024-04-02", 24, 8, 12, "edi_invoice:pat=EDI999999; supplier_no:SU@; issued:date=2024; net_eur:money=20,9000; vat_eur:money=4,1800", {}, "landing/edi_invoices", "landing/edi_invoices*"),
    ("landing/firehose/%Y/%m/%d/%H/door-events-1-%Y-%m-%d-%H-00-07-{}.json.gz", "2024-05-01", 5, 12, 16, "door:pat=D-99; opened_at:time=2024; held_s:int=1,400; site:pick=Aarhus,Bremen,Lyon", {"suffix": "x.jsonl.gz"}, "landing/firehose", "landing/firehose*"),
    ("landing/crm_full/%G-W%V/leads_full.csv", "2024-04-01", 168, 5, 40, "lead_id:LE@; scored:int=0,100; region:pick=north,south,west; owner_emp:EMP@", {}, "landing/crm_full/leads_full", "landing/crm_full*"),
    ("landing/hr_feed/dt=%Y-%m-%d/data.csv", "2024-03-01", 24, 10, 15, "employee_no:EMP@; event:pick=hired,left,moved,renamed; effective:date=2024; cost_center:CC@", {}, "landing/hr_feed", "landing/hr_feed"),
]

# Months of leads, over which the export changed: (months, columns, options).
LEADS = [
    (range(1, 7), "lead_id:LE@; created:date=2023; source:pick=fair,web,referral; postcode:pat=99999; interest:pick=heat pump,service,tank; budget_eur:int=4000,40000", {"gzip": True}),
    (range(7, 13), "lead_id:LE@; created:date=2023; source:pick=fair,web,Empfehlung; postcode:pat=99999; interest:pick=heat pump,service,tank; budget_eur:int=4000,40000", {"delimiter": ";", "encoding": "cp1252"}),
    (range(13, 19), "lead_id:LE@; created:date=2024; source:pick=fair,web,referral,podcast; postcode:pat=99999; interest:pick=heat pump,service,tank; budget_eur:int=4000,40000; gdpr_consent:yn; utm_campaign:text=1", {}),
]

# Dumps of interfaces: path, rows of each, columns, planted cells, how the rows are wrapped (ROWS), the table, how it may be listed.
DUMPS = [
    ([f"landing/api/stripe/charges_page_{page:03d}.json" for page in range(1, 7)], 40, "id:pat=ch_9AxxxAAAxx99; amount:int=900,900000; currency:pick=eur,dkk,pln; created:int=1704067200,1719700000; paid:bool; receipt_email:email; order_no:SO@",
     [{"id": "ch_9Kx27PqLmT04"}], '{"object": "list", "url": "/v1/charges", "has_more": true, "data": ROWS}', "landing/api/stripe/charges", "landing/api/stripe*"),
    (["landing/api/hubspot/companies_2024-05.json"], 60, "hs_object_id:pat=99999999999; name:firm; domain:pat=aaaaa.example; lifecycle_stage:pick=lead,customer,evangelist; employees:int=1,900",
     [], '{"results": ROWS, "paging": {"next": {"after": "60", "link": "https://api.example/companies?after=60"}}}', "landing/api/hubspot/companies_2024-05", "landing/api/hubspot*"),
    ([f"landing/api/zendesk/2024-05-0{day}.json" for day in range(1, 5)], 25, "id:seq=90001; subject:text=5; priority:pick=low,normal,urgent; requester_id:pat=99999999; created_at:time=2024; satisfaction:pick=offered,good,bad",
     [], '{"tickets": ROWS, "next_page": null, "previous_page": null, "count": 25}', "landing/api/zendesk", "landing/api/zendesk*"),
    (["landing/api/meteo/forecast.json"], 72, "valid_at:time=2024; grid:pat=X99Y99; t2m_c:float=-10,30,1; precip_mm:float=0,9,1", [], '{"data": ROWS}', "landing/api/meteo/forecast", "landing/api/meteo*"),
    (["landing/api/workday/workers.json"], 50, "worker_id:pat=WD-99999; job_profile:pick=Welder,Buyer,Engineer; supervisory_org:text=2; fte:float=0.5,1,1", [{"worker_id": "WD-40918"}],
     '{"data": {"total": 50, "workers": ROWS}, "meta": {"version": "v41.1"}}', "landing/api/workday/workers", "landing/api/workday/workers*"),
]

# Tables with nothing special but their place: path, rows, columns, options as of the other tables.
TABLES = [
    ("analytics/marts/rpt_installer_ranking.parquet", 300, "installer_id:IN#; rank_no:seq; avg_stars:float=1,5,2; visits_12m:int=0,400; complaint_ratio:float=0,0.3,3"),
    ("analytics/marts/rpt_refund_quota.parquet", 48, "month:month; country:country; gross_eur:money=9000,900000; rq:float=0,0.2,4"),
    ("analytics/marts/int_call_reasons.parquet", 200, "call_date:date; rsn_cd:pick=R01,R02,R03,R07,R11; n:int=1,90; aht:int=60,900"),
    ("analytics/marts/rpt_field_stock.parquet", 150, "van:pat=V-99; part_no:PA@; d_qty:int=-9,9; wk:int=1,52"),
    ("analytics/dbt_nordhavn/seeds/country_codes.csv", 11, "iso2:each=DK,DE,FR,ES,PL,JP,NO,SE,FI,IE,GB; iso3:pat=AAA; sales_area:pick=Nordics,DACH,Iberia,CEE,APAC"),
    ("opendata/energy_labels/data/labels.csv", 160, "eprel_id:pat=EPREL-9999999; supplier_mark:pick=Nordhavn,NIBE,Daikin; class_35:pick=A+,A++,A+++; class_55:pick=A,A+,A++; prated_kw:int=3,18", {"plant": [{"eprel_id": "EPREL-1184207"}]}),
    ("opendata/energy_labels/data/ratings.csv", 90, "eprel_id:pat=EPREL-9999999; eta_s_pct:int=110,210; lwa_outdoor_db:int=40,68; climate:pick=average,colder,warmer"),
    ("geo/parking_permits.json", 30, "permit:pat=PP-999; plate:pat=AA 99 999; zone:text=1; until:date=2024"),
]

# dbt's models: name, description, columns' descriptions.
MODELS = {
    "rpt_installer_ranking": ("Installers ranked by how satisfied the owners are whom they served", {"avg_stars": "mean of the stars that owners gave", "complaint_ratio": "complaints per visit"}),
    "rpt_refund_quota": ("Which share of the turnover was paid back, by month and country", {"rq": "refund quota: money returned over gross turnover", "gross_eur": "turnover before refunds"}),
    "int_call_reasons": ("Why people called the hotline: calls a day by reason", {"rsn_cd": "code of the reason", "aht": "average handling time in seconds", "n": "calls"}),
    "rpt_field_stock": ("Weekly difference of what vans carry", {"d_qty": "counted minus expected", "wk": "calendar week"}),
}

# A book whose last year has a column more, and which explains itself on a sheet of prose; and a book a year.
CAPEX = ("finance/capex.xlsx", ["2021", "2022", "2023", "2024"], 36, "project:pat=CX-999; site:pick=Aarhus,Bremen,Lyon; planned_eur:money=5000,900000; approved_eur:money=5000,900000", "co2_effect_t:float=0,90,1")
CAPEX_NOTES = ["Capital expenditure", "Approved means by the board in December.", "Projects below 5,000 EUR are not listed."]
HEADCOUNT = ("hr/headcount_{}.xlsx", range(2021, 2025), 28, "department:pick=Assembly,Sales,Service,R&D,IT; month:int=1,12; heads:int=3,120; fte:float=3,110,1")

# Files that only people name: folder, names, rows of each, columns, options, the table, how it may be listed.
NAMED = [
    ("sales/regional", [f"Sales {month} 2024.csv" for month in "Jan Feb Mar Apr May Jun".split()], 20, "dealer:firm; region:pick=north,south,west; units:int=1,90; turnover_eur:money=900,90000", {}, "sales/regional", "sales/regional*"),
    ("subsidiaries/de/umsatz", [f"umsatz_{month}_2024.csv" for month in "januar februar märz april mai".split()], 18, "Filiale:city; Umsatz:german=900,90000; Kunden:int=1,900", {"delimiter": ";"}, "subsidiaries/de/umsatz", "subsidiaries/de/umsatz*"),
    ("it/unload", [f"20240501_031500_0000{part}_k3f9q_{part}b41c0de-77aa.gz" for part in range(3)], 30, "host:pat=nh-aaa-99; at:time=2024; cpu_pct:float=0,100,1", {"suffix": "x.jsonl.gz"}, "it/unload", "it/unload*"),
    ("subsidiaries/dk", ["kassekladde_2024.csv"], 60, "bilag:seq; dato:gdate=2024; tekst:text=3; konto:pat=9999; beløb:german=-900,9000", {"delimiter": ";", "foot": ["I alt;;;;12.450,75"]}, "subsidiaries/dk/kassekladde_2024", "subsidiaries/dk/*"),
    ("production/mainframe", ["lagerliste.csv"], 45, "part:PA@; bin:pat=A-99-99; qty:int=0,400", {"delimiter": ";", "foot": ["*** END OF LIST ***"]}, "production/mainframe/lagerliste", "production/mainframe*"),
    ("facilities/cleaning", ["cleaning_plan.csv"], 30, "room:pat=R9.99; weekday:pick=Mon,Wed,Fri; firm:firm", {"foot": [";;", ";;", ";;"]}, "facilities/cleaning/cleaning_plan", "facilities/cleaning*"),
]
# A database that is dumped each day, and a book a month.
DUMPED = ("logistics/wms_dumps/wms_2024-05-{:02d}.sqlite", 5, {"shelves": (40, "shelf:pat=A-99; level:int=1,9; load_kg:int=0,900"), "transfers": (30, "at:time=2024; from_shelf:pat=A-99; to_shelf:pat=A-99; pieces:int=1,90")})
OVERTIME = ("hr/overtime/overtime_2024-{:02d}.xlsx", 6, 25, "employee_no:EMP@; hours:float=0,30,1; paid_out:yn")
MONTHS = ("subsidiaries/de/stunden_2023.xlsx", "Januar Februar März April Mai Juni".split(), 22, "Personalnummer:EMP@; Stunden:float=80,190,1; Schicht:pick=früh,spät,nacht")

# Settings and empty answers, as they lie about: neither tables nor failures.
SETTINGS = {
    "it/web/package.json": b'{"name": "shop", "version": "2.1.0", "dependencies": {"react": "^18.2.0", "zod": "^3.22.4"}}',
    "it/web/tsconfig.json": b'{\n  // as the template has it\n  "compilerOptions": {"strict": true, "target": "es2022"}\n}\n',
    "it/web/openapi.json": b'{"openapi": "3.0.3", "info": {"title": "Shop", "version": "1"}, "paths": {"/orders": {"get": {"responses": {"200": {"description": "ok"}}}}}}',
    "topics/schemas/heating.commands.avsc.json": b'{"type": "record", "name": "command", "fields": [{"name": "verb", "type": "string"}, {"name": "accepted", "type": "boolean"}]}',
    "landing/api/zendesk_satisfaction/2024-05-01.json": b"[]",
    "landing/api/workday/departments.json": b'{"data": [], "total": 0}',
}

TOPIC = ("topics/heating.commands", 3, 4, 10, "command_id:hex=12; device_id:DEV@; issued_at:time=2024; verb:pick=SET_MODE,BOOST,VACATION,REBOOT; accepted:bool")
SPARK = ("exports/churn_features", 4, 50, "customer_id:CU@; tenure_months:int=1,180; tickets_90d:int=0,12; nps_last:int=0,10; p_churn:float=0,1,3")

READMES = {
    "silver/README.md": "# Silver\n\nCleaned tables, one for each thing of the business.\n\n- `accounts`: the customers as finance knows them\n- `van_stock`: what each service van carries\n- `twin_state`: the last known state of each connected heat pump\n",
    "gold/README.md": "# Gold\n\nWhat managers see. `daily_revenue` is written anew each night; `customer_360` is rebuilt on Sundays.\n",
    "bronze/README.md": "# Bronze\n\nAs it came from the devices and shops. Nothing here is cleaned. Ask platform@example.org before you use it.\n",
    "iceberg/README.md": "# Iceberg\n\nTables of the operations team, a folder for each domain. Columns may be renamed; names of files say nothing.\n",
    "geo/README.md": "# Maps\n\nWGS 84 everywhere. Zones and regions are drawn by the sales team once a year.\n",
    "landing/README.md": "# Landing zone\n\nOthers write here, each night. ERP: /yyyy/mm/dd. Nothing is ever changed afterwards.\n",
    "hudi/README.md": "# Hudi\n\nUpserts from the field. contract_changes: what customers changed in their maintenance contracts. delivery_stops.csv does not exist any more.\n",
}

# No table, and it is fair to say so; and what may be listed as a table or not.
BROKEN = ["landing/api/stripe/charges_page_007.json", "warehouse/reporting.duckdb"]
EITHER = ["lineage/openlineage*"]

REGIONS = ["Jylland Nord", "Jylland Syd", "Fyn", "Sjælland", "Hamburg-Umland", "Weser-Ems", "Sachsen", "Franken", "Rhône", "Bretagne", "Andalucía", "País Vasco", "Pomorze", "Tōhoku"]
# An empty database as DuckDB 1.1.3 writes it.
DUCKDB = b"c-rmPy$Qll6b8@~3faLO0+0Ntose|aS-}Y;xPyfoxI@Np2(h=Y$O12gNI(!QQ=HR$T<)#D?w(Jt;TqzzY3uzi`A-+JkmbMkVY{h{qRbEL1ONa4n1SW})*n}w$7haTrpv`UQk?++0D%7=0001(n-R>pGg$"


def _file(seed, path, count, text, options=None, suffix=None):
    """The bytes of one file; `suffix` says how it is written where its name does not."""
    options = options or {}
    names, rows = write.table(seed, path, count, text, options)
    return write.encoded(suffix or path, names, rows, options)


def dated(seed, logical):
    """Folders of days, hours and weeks; exports that changed over the months; a book a year; parts and topics."""
    for form, first, hours, count, rows, text, options, table, listed in DATED:
        logical(table, listed, rows=count * rows, listed=[listed])
        for step in range(count):
            at = datetime.datetime.fromisoformat(first) + datetime.timedelta(hours=hours * step)
            path = at.strftime(form).format(f"{zlib.crc32(at.isoformat().encode()):08x}-4c1f-4d3a")
            yield path, _file(seed, path, rows, text, options, options.get("suffix"))
    logical("marketing/exports/leads", "marketing/exports/leads*", rows=18 * 22, listed=["marketing/exports/leads"])
    for months, text, options in LEADS:
        for month in months:
            path = f"marketing/exports/leads/leads_{2023 + (month - 1) // 12}-{1 + (month - 1) % 12:02d}.csv"
            data = _file(seed, path, 22, text, options)
            yield (path + ".gz", gzip.compress(data, mtime=0)) if "gzip" in options else (path, data)
    form, years, rows, text = HEADCOUNT
    logical("hr/headcount", "hr/headcount*", rows=len(years) * rows, listed=["hr/headcount*"])
    for year in years:
        yield form.format(year), _file(seed, form.format(year), rows, text, {"sheet": "Headcount", "title": [f"Headcount {year}"]})
    for folder, names, rows, text, options, table, listed in NAMED:
        logical(table, listed, rows=len(names) * rows, listed=[listed])
        for name in names:
            yield f"{folder}/{name}", _file(seed, f"{folder}/{name}", rows, text, options, options.get("suffix"))
    folder, partitions, files, rows, text = TOPIC
    logical(folder, folder + "*", rows=partitions * files * rows, listed=[folder])
    for part in range(partitions):
        for at in range(files):
            path = f"{folder}/partition={part}/heating.commands+{part}+{at * rows:010d}.json"
            yield path, _file(seed, path, rows, text, suffix="x.jsonl")
    yield from _spark(seed, logical)


def _spark(seed, logical):
    """What Spark leaves: parts, checksums, signs that it is done."""
    folder, parts, rows, text = SPARK
    logical(folder, rows=parts * rows, listed=[folder])
    for part in range(parts):
        name = write.placed(f"part-{part:05d}-6f1c2a9e-7d10-4a63-9d1e-aa4d2c1f0b57-c000.snappy.parquet")
        data = _file(seed, f"{folder}/{name}", rows, text)
        yield f"{folder}/{name}", data
        yield f"{folder}/.{name}.crc", b"crc\x00\x00\x00\x02\x00" + struct.pack(">I", zlib.crc32(data))
    # A task that was killed.
    yield f"{folder}/_temporary/0/_temporary/attempt_202405010300_0007_m_000002_1/{name}", data[: len(data) // 2]
    yield f"{folder}/_SUCCESS", b""
    yield f"{folder}/_started_7719203345512", b""
    yield f"{folder}/_committed_7719203345512", b'{"added": [], "removed": []}'


def books(seed, logical, expect):
    """The book of investments: a sheet a year, the last with a column more, and a sheet of prose. Books and databases of months and days."""
    path, years, rows, text, more = CAPEX
    sheets = {}
    for year in years:
        names, cells = write.table(seed, f"{path}/{year}", rows, f"{text}; {more}" if year == years[-1] else text, {})
        sheets[year] = [names, *cells]
        logical(f"{path}//{year}", path, path.removesuffix(".xlsx"))
    sheets["Notes"] = [[line] for line in CAPEX_NOTES]
    expect(path, len(years) * rows, [path, path.removesuffix(".xlsx")])
    yield path, write.book(sheets)
    path, months, rows, text = MONTHS
    made = {month: write.table(seed, f"{path}/{month}", rows, text, {}) for month in months}
    logical(path.removesuffix(".xlsx"), path, path + "//*", rows=len(months) * rows, listed=[path, path + "//*"])
    yield path, write.book({month: [names, *cells] for month, (names, cells) in made.items()})
    form, months, rows, text = OVERTIME
    logical("hr/overtime", "hr/overtime*", rows=months * rows, listed=["hr/overtime", "hr/overtime*Overtime", "hr/overtime*.xlsx"])
    for month in range(1, months + 1):
        names, cells = write.table(seed, form.format(month), rows, text, {})
        yield form.format(month), write.book({"Overtime": [names, *cells], "Info": [["Confidential. Do not forward."]]})
    form, days, tables = DUMPED
    for name, (rows, _) in tables.items():
        logical(f"logistics/wms_dumps//{name}", f"logistics/wms_dumps*{name}", rows=days * rows, listed=[f"logistics/wms_dumps*{name}"])
    for day in range(1, days + 1):
        yield form.format(day), write.database({name: write.table(seed, f"{form.format(day)}/{name}", rows, text, {}) for name, (rows, text) in tables.items()})


def dumps(seed, logical):
    """Dumps of interfaces: rows within an envelope, in pages."""
    for paths, rows, text, plant, wrapped, table, listed in DUMPS:
        # A page that is an error is no piece of the table: `?` is the star that a family's name has.
        logical(table, listed, rows=rows * len(paths), listed=[table, listed.removesuffix("*"), listed.removesuffix("*") + "/*_?"] if len(paths) > 1 else [listed])
        for at, path in enumerate(paths):
            names, cells = write.table(seed, path, rows, text, {"plant": plant if at == 0 else []})
            yield path, wrapped.replace("ROWS", json.dumps(write.records(names, cells), ensure_ascii=False)).encode()
    yield "landing/api/stripe/charges_page_007.json", b'{"error": {"type": "rate_limit_error", "message": "Too many requests"}}'


def maps(seed, logical):
    """Points and polygons as GeoJSON, polygons as a shapefile."""
    rng = values.generator(seed, "geo")
    names, rows = write.table(seed, "geo/service_centres", 24, "centre:pat=SC-99; city:city; technicians:int=2,19; opened:date=2005,2023; phone:phone", {})
    yield "geo/service_centres.geojson", _geojson(names, rows, lambda: {"type": "Point", "coordinates": [round(rng.uniform(-6, 22), 5), round(rng.uniform(36, 60), 5)]})
    logical("geo/service_centres", rows=24)
    zones = "zone_id:pat=Z-999; zone_name:text=2; surcharge_eur:int=0,90; next_day:bool; depot:WH@"
    names, rows = write.table(seed, "geo/delivery_zones", 36, zones, {"plant": [{"zone_name": "Ringsted-Syd"}]})
    yield "geo/delivery_zones.geojson", _geojson(names, rows, lambda: {"type": "Polygon", "coordinates": [[list(point) for point in _ring(rng)]]})
    logical("geo/delivery_zones", rows=36)
    managers = [f"{rng.choice(values.FIRST)} {rng.choice(values.LAST)}" for _ in REGIONS]
    managers[5] = "Hjalmar Øster-Lindqvist"
    records = [(f"R{at:02d}", name, manager, rng.randrange(9000, 9_000_000)) for at, (name, manager) in enumerate(zip(REGIONS, managers), 1)]
    logical("geo/sales_regions", "geo/sales_regions.*", rows=len(records), listed=["geo/sales_regions", "geo/sales_regions.shp", "geo/sales_regions.dbf"])
    yield from _shapefile("geo/sales_regions", [_ring(rng) for _ in records], [("REGION_ID", "C", 4), ("REGION_NM", "C", 24), ("MANAGER", "C", 30), ("REVENUE", "N", 12)], records)


def _geojson(names, rows, geometry):
    features = [{"type": "Feature", "properties": record, "geometry": geometry()} for record in write.records(names, rows)]
    return json.dumps({"type": "FeatureCollection", "features": features}, ensure_ascii=False).encode()


def _ring(rng):
    """A square's five corners, clockwise."""
    x, y = round(rng.uniform(-6, 22), 3), round(rng.uniform(36, 60), 3)
    return [(x, y), (x, y + 0.5), (x + 0.5, y + 0.5), (x + 0.5, y), (x, y)]


def _shapefile(stem, rings, fields, records):
    """The four files of a shapefile of polygons of one ring each (ESRI, 1998), its attributes as dBASE III, in UTF-8."""
    shapes, places, at = b"", b"", 50
    for number, ring in enumerate(rings, 1):
        box = struct.pack("<4d", *_bounds(ring))
        content = struct.pack("<i", 5) + box + struct.pack("<3i", 1, len(ring), 0) + b"".join(struct.pack("<2d", *point) for point in ring)
        shapes += struct.pack(">2i", number, len(content) // 2) + content
        places += struct.pack(">2i", at, len(content) // 2)
        at += 4 + len(content) // 2
    head = struct.pack("<2i", 1000, 5) + struct.pack("<8d", *_bounds([point for ring in rings for point in ring]), 0, 0, 0, 0)
    for extension, body in (("shp", shapes), ("shx", places)):
        yield f"{stem}.{extension}", struct.pack(">7i", 9994, 0, 0, 0, 0, 0, (100 + len(body)) // 2) + head + body
    described = b"".join(name.encode().ljust(11, b"\0") + kind.encode() + bytes(4) + bytes([width, 0]) + bytes(14) for name, kind, width in fields)
    width = 1 + sum(width for _, _, width in fields)
    rows = b"".join(b" " + b"".join(_field(cell, kind, width) for cell, (_, kind, width) in zip(record, fields)) for record in records)
    yield f"{stem}.dbf", struct.pack("<4BIHH20x", 3, 124, 6, 30, len(records), 33 + len(described), width) + described + b"\r" + rows + b"\x1a"
    yield f"{stem}.cpg", b"UTF-8"
    yield f"{stem}.prj", b'GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137.0,298.257223563]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]]'


def _field(cell, kind, width):
    data = str(cell).encode()
    return data.rjust(width) if kind == "N" else data.ljust(width)


def _bounds(points):
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return min(xs), min(ys), max(xs), max(ys)


def described():
    """What dbt, OpenLineage and a data package say of tables, and the READMEs of domains."""
    for path, text in READMES.items():
        yield path, text.encode()
    yield "warehouse/reporting.duckdb", zlib.decompress(base64.b85decode(DUCKDB))
    yield "opendata/energy_labels/datapackage.json", _json({
        "name": "energy-labels", "title": "Energy labels of heat pumps from the European register", "licenses": [{"name": "CC-BY-4.0"}],
        "resources": [
            {"name": "labels", "path": "data/labels.csv", "description": "One row for each registered model", "schema": {"fields": [{"name": "class_35", "type": "string", "description": "efficiency class at 35 °C flow"}]}},
            {"name": "ratings", "path": "data/ratings.csv", "description": "Seasonal efficiency and sound by climate", "schema": {"fields": [{"name": "eta_s_pct", "type": "integer", "description": "seasonal space heating efficiency"}]}},
        ],
    })
    for day in range(1, 5):
        events = [_lineage(day, kind, model) for model in MODELS for kind in ("START", "COMPLETE")]
        yield f"lineage/openlineage/events_2024-05-0{day}.jsonl", "".join(json.dumps(event) + "\n" for event in events).encode()
    yield from SETTINGS.items()
    yield from _dbt()


def _lineage(day, kind, model):
    return {
        "eventType": kind, "eventTime": f"2024-05-0{day}T03:1{day}:00Z", "producer": "https://github.com/OpenLineage/OpenLineage/tree/1.16.0/integration/dbt",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": f"018f3{day:03x}-7a1c-7000-8000-{zlib.crc32(model.encode()):012x}", "facets": {}}, "job": {"namespace": "dbt", "name": f"nordhavn.{model}", "facets": {}},
        "inputs": [{"namespace": "file", "name": "landing/erp", "facets": {}}],
        "outputs": [{"namespace": "file", "name": f"analytics/marts/{model}.parquet", "facets": {"documentation": {"_producer": "dbt", "_schemaURL": "https://openlineage.io/spec/facets/1-0-0/DocumentationDatasetFacet.json", "description": MODELS[model][0]}}}],
    }


def _json(what):
    return json.dumps(what, indent=1, ensure_ascii=False).encode()


def _dbt():
    """A dbt project with what `dbt docs generate` leaves in `target`."""
    root = "analytics/dbt_nordhavn"
    nodes, catalog, schema = {}, {}, "version: 2\nmodels:\n"
    for name, (text, columns) in MODELS.items():
        key, path = f"model.nordhavn.{name}", f"models/{name}.sql"
        sql = f"select * from {{{{ source('erp', '{name}_src') }}}}\n"
        nodes[key] = {"resource_type": "model", "database": "analytics", "schema": "marts", "name": name, "alias": name, "unique_id": key, "package_name": "nordhavn", "path": f"{name}.sql", "original_file_path": path,
                      "fqn": ["nordhavn", name], "description": text, "columns": {column: {"name": column, "description": said, "meta": {}, "tags": []} for column, said in columns.items()},
                      "relation_name": f'"analytics"."marts"."{name}"', "raw_code": sql, "config": {"materialized": "external", "location": f"analytics/marts/{name}.parquet"}, "depends_on": {"macros": [], "nodes": []}}
        catalog[key] = {"metadata": {"type": "BASE TABLE", "database": "analytics", "schema": "marts", "name": name, "owner": "bi-team", "comment": None},
                        "columns": {column: {"type": "VARCHAR", "index": at, "name": column, "comment": None} for at, column in enumerate(columns, 1)}, "stats": {}, "unique_id": key}
        schema += f"  - name: {name}\n    description: {json.dumps(text, ensure_ascii=False)}\n    columns:\n" + "".join(f"      - name: {column}\n        description: {json.dumps(said)}\n" for column, said in columns.items())
        yield f"{root}/{path}", sql.encode()
        yield f"{root}/target/compiled/nordhavn/{path}", f"select * from erp.{name}_src\n".encode()
    yield f"{root}/dbt_project.yml", b"name: nordhavn\nversion: '1.4.0'\nprofile: nordhavn\nmodel-paths: [models]\nseed-paths: [seeds]\n"
    yield f"{root}/models/schema.yml", schema.encode()
    yield f"{root}/target/manifest.json", _json({"metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json", "dbt_version": "1.8.2", "project_name": "nordhavn"}, "nodes": nodes, "sources": {}, "macros": {}, "docs": {}, "exposures": {}, "parent_map": {key: [] for key in nodes}})
    yield f"{root}/target/catalog.json", _json({"metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/catalog/v1.json", "dbt_version": "1.8.2"}, "nodes": catalog, "sources": {}, "errors": None})
    yield f"{root}/target/run_results.json", _json({"metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/run-results/v6.json"}, "results": [{"status": "success", "unique_id": key, "execution_time": 1.5} for key in nodes], "elapsed_time": 9.1})


def backups(files, expect):
    """What people set aside, as (path, bytes, the path it is a copy of or None where it is an older state, its rows then)."""
    for name in ("sales/products.csv", "hr/employees.csv"):
        stem = name.removesuffix(".csv")
        yield f"{stem} - Copy.csv", files[name], name, None
        yield f"{name}.bak", files[name], name, None
    yield "finance/invoices_BACKUP_20240331.csv", files["finance/invoices.csv"], "finance/invoices.csv", None
    for name in ("crm/customers.csv", "supply/suppliers.csv"):
        lines = files[name].splitlines(keepends=True)
        kept = [lines[: len(lines) * tenths // 10] for tenths in (7, 8, 9)]
        # The same file week after week is one table, as it is of other folders of days.
        table = "backup/weekly/" + name.removesuffix(".csv")
        expect(table, sum(map(len, kept)) - len(kept), [table.replace("weekly/", "weekly/*")], "older state")
        for day, part in zip(("2024-05-05", "2024-05-12", "2024-05-19"), kept):
            yield f"backup/weekly/{day}/{name}", b"".join(part), None, None
