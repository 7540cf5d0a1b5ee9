"""What lies around a company's tables: exports by day, partitions, archives, copies, texts, broken files, and no tables at all.

Each function yields (path, bytes) and, where the files are tables, gives `logical` their names, their rows, and what else may be
named in an answer instead: the tables of single files, where a family is not one table.
"""
import gzip
import io
import tarfile

from . import write

SITES = "aarhus bremen lyon sevilla gdansk sendai oslo malmo cork leeds".split()
STORES = "aarhus odense hamburg bremen lyon sevilla gdansk oslo".split()

# Files that are one table: folder, names of the files, rows of each, columns, from which file on there is one more, its column.
SERIES = [
    ("webshop/exports/daily_orders", [f"orders_2024-{3 + day // 30:02d}-{1 + day % 30:02d}.csv" for day in range(90)], 14,
     "order_no:SO@; placed_at:time=2024; visitor_id:hex=12; basket_eur:money=15,6000; payment_method:pick=card,invoice,paypal; promo_code:maybe=WARM10,FILTER15", 60, "delivery_slot:pick=morning,afternoon,evening"),
    ("finance/general_ledger", [f"gl_{year}_{month:02d}.csv" for year in (2023, 2024) for month in range(1, 13)], 60,
     "posting_date:date; document_no:pat=0199999999; ledger_account:pat=4999; cost_center:CC@; debit_eur:money=0,9000; credit_eur:money=0,9000; text:text=4", 18, "profit_center:pat=PC99"),
    ("it/access_logs", [f"access-2024-05-{day:02d}.jsonl" for day in range(1, 31)], 24,
     "at:time=2024; method:pick=GET,POST; url:pick=/api/device,/shop,/login,/img; status:pick=200,200,404,500; bytes:int=90,90000; agent:pick=curl,Firefox,Bot", 99, ""),
    ("external/ecb", [f"eurofxref-202401{day:02d}.csv" for day in range(1, 31)], 8,
     "currency:each=USD,JPY,GBP,DKK,PLN,SEK,NOK,CHF; reference_rate:float=0.8,170,4; fixed_on:date=2024", 99, ""),
    ("telemetry/modbus_dumps", [f"NH24-{4100 + unit:06d}.csv" for unit in range(30)], 6, None, 99, ""),
]
HEADERLESS = ("finance/bank/daily", [f"camt_{day:03d}.txt" for day in range(1, 21)], 12, "a:date=2024; b:pat=DK9999999999; c:money=-900,900; d:text=3")
PARTITIONED = ("telemetry/readings", 12, "device_id:DEV@; ts:time=2024; supply_temp_c:float=22,60,1; return_temp_c:float=20,52,1; outdoor_temp_c:float=-18,32,1; compressor_hz:int=0,90; power_w:int=0,6000; flow_l_min:float=0,40,1")
POINT_OF_SALE = "receipt_no:pat=R9999999; sold_at:time=2024; article:part; pieces:int=1,6; total_eur:money=2,900; cashier:EMP@; promo_code:maybe=INSTALL5"
OLD = {
    "archive/orders_2021.zip": ("orders_2021_{:02d}.csv", 12, "legacy_order:pat=A99999; dealer:firm; ordered:date=2021; boiler_model:pick=Kedel 20,Kedel 30,Pille 15; amount_dkk:money=900,90000"),
    "archive/legacy_crm.tar.gz": ("visits_{:02d}.csv", 6, "visit_id:pat=V9999; sales_rep:person; dealer:firm; visited:date=2016,2018; remark:text=8"),
}

TEXTS = {
    "README.md": "# Nordhavn Heat data lake\n\nHeat pumps, their customers and their makers. Folders are departments. Ask data@example.org.\nAnything in tmp or backup folders is a copy. Orders, invoices, employees and devices have ids that join.\n",
    "crm/README.md": "# Customers\n\nWho buys from us, who installs, who complains. customer_id joins to sales and service. Exported nightly.\n",
    "sales/README.md": "# Sales\n\nOrders with their lines, quotes, price lists. promo_code is explained in marketing. Returns are RMA cases.\n",
    "marketing/README.md": "# Marketing\n\nCampaigns, spend, fairs. Every partner sends a settlement of its own with the promo_code it used.\n",
    "finance/README.txt": "Finance exports. The general ledger comes by month; from July 2024 on with profit centers. Budget: one sheet a year.\n",
    "hr/README.md": "# People\n\nPersonal data. Payroll has a sheet for each month. Absences include sickness and parental leave.\n",
    "production/README.md": "# Production\n\nLines L1 to L3 in Aarhus and Bremen. torque_log_L2.dat: time, screw, torque in Nm, angle, verdict; no header.\n",
    "quality/README.md": "# Quality\n\nEverything that is measured, rejected, recalled or audited.\n",
    "telemetry/README.md": "# Devices in the field\n\nConnected heat pumps send readings every minute (partitioned by site and month), alarms, and heartbeats of their gateways.\n",
    "service/README.md": "# Service\n\nTickets, visits, warranty. Error codes are those on the display.\n",
    "subsidiaries/README.md": "# Subsidiaries\n\nEach country keeps its files in its own language; nobody translates them.\n",
    "external/README.md": "# From outside\n\nWeather, prices, subsidies, statistics: bought or downloaded.\n",
    "logistics/README.html": "<html><body><h1>Logistics</h1><p>Shipments, containers, stock and the warehouse system (wms.sqlite).</p></body></html>",
    "facilities/README.md": "# Facilities\n\nBuildings, cars, energy, canteen.\n",
    "sap/data_dictionary.md": "# SAP extracts\n\n| table | meaning |\n|---|---|\n| KNA1 | customer master, general data |\n| LFA1 | vendor master |\n| VBAK | sales document headers |\n| VBAP | sales document items |\n"
    "| MARA | material master |\n| MARD | stock of material by storage location; LABST unrestricted, INSME in quality inspection |\n| BSEG | accounting document segments |\n| ZHR_T512 | wage types |\n\n- KUNNR: customer number\n- LIFNR: vendor number\n- MATNR: material number\n- NETWR: net value\n- STCD1: tax number\n",
    "warehouse/marts/schema.yml": "version: 2\nmodels:\n  - name: fct_sales\n    description: One row for each invoiced line, with revenue and margin\n    columns:\n      - name: gross_margin_eur\n        description: revenue minus standard cost\n"
    "  - name: dim_customer\n    description: Customers with their history of segments\n  - name: dim_product\n    description: Products with their life cycle\n  - name: fct_service_cost\n    description: What each visit cost, by labour, parts and travel\n",
    "warehouse/staging/_staging__models.yml": "version: 2\nmodels:\n  - name: stg_crm__accounts\n    description: accounts as the CRM has them\n  - name: stg_tickets__events\n    description: what happened to a ticket, one event a row\n",
    "warehouse/exports/x17_final_v3.md": "Churn scores for the board. c1 customer, c2 scored on, c3 expected loss in EUR, c4 already called, c5 run, c6 risk class 0 to 9.\n",
    "rnd/climate_chamber.md": "Measurements of the climate chamber: cop is the coefficient of performance, rh_pct the relative humidity, q_heat_w the heat delivered.\n",
    "finance/bank_statement_2024.md": "Account statement of the house bank: booking day, value day, counter account, amount, purpose.\n",
    "production/paint_batches.md": "Powder coat of the casings; one row for each batch of colour.\n",
}

NO_TABLES = {
    "legal/minutes/board_2024_{}.md": (10, b"# Minutes\n\nThe board met. Sales were discussed. The budget was approved. Blood oranges were served.\n"),
    "service/photos/IMG_{}.jpg": (24, b"\xff\xd8\xff\xe0\x00\x10JFIF" + bytes(range(256)) * 3),
    "rnd/cad/housing_{}.step": (8, b"ISO-10303-21;\nHEADER;\nENDSEC;\nEND-ISO-10303-21;\n"),
    "it/scripts/job_{}.py": (8, b"import csv\n\n\ndef main():\n    print('load orders')\n"),
    "it/scripts/query_{}.sql": (6, b"select customer_id, sum(net_total) from orders group by 1;\n"),
    "marketing/brochures/flyer_{}.docx": (6, b"PK\x03\x04 not really"),
    "production/logs/plc_{}.log": (8, b"12:00:01 WARN belt slow\n12:00:02 INFO belt ok\n"),
    "rnd/notebooks/defrost_{}.ipynb": (4, b'{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'),
    "hr/letters/reference_{}.txt": (8, b"To whom it may concern.\n\nShe worked with us for nine years and was always on time. We wish her well.\n"),
}

BROKEN = {
    "finance/tmp_export.csv": b"",
    "sales/orders_2019.parquet": b"PAR1\x15\x04\x15",
    "hr/old_payroll.xlsx": b"PK\x03\x04" + bytes(200),
    "logistics/wms_backup.sqlite": b"SQLite format 3\x00" + bytes(60),
    "telemetry/export_failed.csv": b'{"error": {"code": 503, "message": "upstream timed out"}}\n',
    "supply/suppliers_portal.xls": b"<html><body><table><tr><td>Supplier</td><td>City</td></tr></table></body></html>",
    "crm/contacts_dump.csv.gz": gzip.compress(b"contact_id,first_name\n1,Ann\n" * 400, mtime=0)[:90],
    "webshop/cart_events.jsonl": b'{"cart": 1, "at": \n{"cart": ]\n',
    "warehouse/lake.duckdb": b"\x00" * 8 + b"DUCK" + bytes(300),
    "external/regions.shp": b"\x00\x00\x27\x0a" + bytes(96),
    "external/regions.dbf": b"\x03\x7c\x06\x1e" + bytes(60),
    "finance/~$budget.xlsx": b"\x05owner",
    "facilities/Thumbs.db": bytes(512),
    "hr/.DS_Store": b"\x00\x00\x00\x01Bud1",
    "sales/_SUCCESS": b"",
    "rnd/archive_broken.zip": b"PK\x05\x06" + bytes(9),
}

# Of these it is no fault to say nothing, and a fault to say that they failed: nobody meant them to be read.
NO_DATA = ["finance/~$budget.xlsx", "facilities/Thumbs.db", "hr/.DS_Store", "sales/_SUCCESS"]

# Copies: what begins with the first is also written under the second.
COPIES = [
    ("crm/", "backup_2024/crm/"), ("sales/", "backup_2024/sales/"), ("finance/", "backup_2024/finance/"), ("hr/employees", "backup_2024/hr/employees"),
    ("finance/general_ledger/gl_2023", "tmp/gl_check/gl_2023"), ("service/", "tmp/migration/service/"), ("supply/", "old/supply_before_move/"), ("webshop/", "tmp/webshop_test/"),
]
TWINS = ["crm/customers.csv", "sales/products.csv", "finance/invoices.csv", "hr/employees.csv", "service/error_codes.csv", "quality/recalled_batches.csv",
         "rnd/ip/patents.csv", "logistics/shipments.csv", "marketing/promo_codes.csv", "production/parts.csv"]
# An older state of a table is no copy of it.
OLDER = ["crm/customers.csv", "sales/products.csv", "hr/employees.csv", "supply/suppliers.csv", "logistics/stock_levels.csv"]


def series(seed, logical):
    """Exports by day and month, some with one column more; files without a header; partitions; shops."""
    for folder, names, count, text, more_from, more in SERIES:
        logical(folder, folder + "/*", rows=len(names) * count)
        for at, name in enumerate(names):
            path = f"{folder}/{name}"
            columns = f"{text}; {more}" if at >= more_from else text
            yield path, write.encoded(path, *write.table(seed, path, count, columns, {} if text else {"wide": 160}), {})
    folder, names, count, text = HEADERLESS
    logical(folder, folder + "/*", rows=len(names) * count)
    for name in names:
        path = f"{folder}/{name}"
        options = {"header": False, "delimiter": "|"}
        yield path, write.encoded(path, *write.table(seed, path, count, text, options), options)
    folder, count, text = PARTITIONED
    logical(folder, rows=len(SITES) * 12 * count)
    for site in SITES:
        for month in range(1, 13):
            path = f"{folder}/site={site}/month=2024-{month:02d}/part-00000.parquet"
            yield path, write.encoded(path, *write.table(seed, path, count, text, {}), {})
    for store in STORES:
        logical(f"pos/{store}", f"pos/{store}/*", rows=12 * 10)
        for month in range(1, 13):
            path = f"pos/{store}/sales_2024{month:02d}.csv"
            yield path, write.encoded(path, *write.table(seed, path, 10, POINT_OF_SALE, {}), {})


def archives(seed, logical):
    """Zip and tar of what nobody opens any more."""
    for path, (form, count, text) in OLD.items():
        logical(path, path + "//*", rows=count * 20)
        members = {}
        for at in range(1, count + 1):
            name = form.format(at)
            members[name] = write.encoded(name, *write.table(seed, path + name, 20, text, {}), {})
        yield path, write.zipped(members) if path.endswith(".zip") else tarred(members)


def tarred(members):
    """A .tar.gz of names and bytes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return gzip.compress(out.getvalue(), mtime=0)


def around():
    """Texts about folders, what is no table, and what is broken."""
    for path, text in TEXTS.items():
        yield path, text.encode()
    for form, (count, data) in NO_TABLES.items():
        for at in range(1, count + 1):
            yield form.format(at), data
    yield from BROKEN.items()


def copies(files):
    """Copies of files that are there, as (path, bytes, the path it is a copy of or None where it is an older state, its rows then)."""
    for path, data in files.items():
        for start, target in COPIES:
            if path.startswith(start) and not path.endswith((".md", ".txt")) and path not in BROKEN:
                yield target + path.removeprefix(start), data, path, None
    for path in TWINS:
        stem, dot, extension = path.rpartition(".")
        yield f"{stem} (1){dot}{extension}", files[path], path, None
    for path in OLDER:
        stem, dot, extension = path.rpartition(".")
        lines = files[path].splitlines(keepends=True)
        kept = lines[: 1 + len(lines) * 2 // 3]
        yield f"{stem}_old{dot}{extension}", b"".join(kept), None, len(kept) - 1
