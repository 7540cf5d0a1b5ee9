"""Tables with a log: Delta by delta-rs, Iceberg by pyiceberg, Hudi by hand, each with a history of some weeks.

  python -m company_lake.lakehouse FOLDER SEED

writes them into a lake's folder and prints, as JSON, each table with its rows, as the writer itself counts them. A history is a
line of steps. Rows are seeded; the logs' times and the files' names are the writers' own, and differ from run to run. It is a process of
its own because the writers' threads do not survive an ordinary end.

One person asked to be forgotten. She is in older versions, in files that no version names any more, and in no live row.
"""
import datetime
import json
import os
import pathlib
import shutil
import sys
import uuid

sys.path.append(str(pathlib.Path.home() / ".cache/limn/python"))
import pyarrow  # noqa: E402
import pyarrow.compute  # noqa: E402
import pyarrow.parquet  # noqa: E402

from . import values  # noqa: E402

# The person, and the cells by which she would be known.
FORGOTTEN = {"name": "Leocadia Thistlewhite", "email": "leocadia.thistlewhite@example.org", "phone": "+45 71 40 99 18"}

# Path, partition columns, columns, what is said of the table and its columns, steps.
DELTA = [
    ("silver/crm/accounts", None, "account_no:pat=AC-999999; legal_name:firm; vat_id:pat=DK99999999; city:city; contact_person:person; contact_email:email; credit_hold:int=0,1; churn_risk:float=0,1,3",
     "Customers as finance knows them", {"credit_hold": "1 if deliveries are stopped until invoices are paid", "vat_id": "checked against VIES each month"},
     [("create", 220), ("plant", {"vat_id": "DK37409118"}), ("forget-later", {"contact_person": "name", "contact_email": "email"}), ("append", 60), ("update", {"credit_hold": "1"}, "churn_risk > 0.9"), ("merge", "account_no", 40, 15),
      ("forget", "contact_person = 'Leocadia Thistlewhite'"), ("checkpoint",), ("append", 10)]),
    ("silver/sales/order_events", ["event_month"], "event_id:pat=EV-99999-QX; order_no:SO@; event_type:pick=placed,paid,packed,shipped,cancelled; event_at:time=2024; actor:EMP@; event_month:pick=2024-01,2024-02,2024-03,2024-04",
     "What happened to each order, one event a row", {"actor": "employee number, or empty where the shop did it"},
     [("create", 120), ("append", 90), ("plant", {"event_id": "EV-88172-QX"}), ("append", 80), ("evolve", 70, "channel:pick=web,phone,field"), ("append", 60), ("delete", "event_type = 'cancelled'"), ("compact",), ("append", 40), ("leftover", 25)]),
    ("gold/daily_revenue", None, "day:date=2024; country:country; revenue_eur:money=100,90000; orders:int=1,300; refunds_eur:money=0,2000",
     "Revenue by day and country, written anew each night", {}, [("create", 90), ("overwrite", 120), ("overwrite", 150), ("overwrite", 180), ("vacuum",), ("overwrite", 210)]),
    ("gold/customer_360", None, "customer_id:CU@; orders_12m:int=0,40; open_tickets:int=0,5", "All about a customer in one row", {},
     [("create", 200), ("rewrite", 240, "customer_id:CU@; lifetime_value_eur:money=100,90000; devices:int=0,9; last_contact:date=2024; segment_name:pick=gold,silver,bronze")]),
    ("silver/devices/twin_state", None, "device_id:DEV#; setpoint_c:float=18,24,1; holiday_mode:bool; legionella_due:date=2024,2025; last_seen:time=2024", "Last known state of each connected heat pump",
     {"legionella_due": "day of the next thermal disinfection of the hot water", "holiday_mode": "true while the owner is away"},
     [("create", 300), *[("merge", "device_id", 60, 20)] * 6, ("checkpoint",), ("cleanup",), ("merge", "device_id", 30, 0)]),
    ("bronze/iot/vibration_raw", ["site"], "sensor:pat=VS-999; ts:time=2024; bearing:pick=drive end,fan end,gearbox; rms_mm_s:float=0.1,12,2; peak_g:float=0.1,40,2; site:pick=Aarhus,Bremen,Gdańsk", "Raw vibration of bearings of machines", {},
     [("create", 60), *[("append", 30)] * 8, ("compact",), ("vacuum",), ("append", 30), ("zorder", ["sensor"]), ("leftover", 40)]),
    ("bronze/web/clicks", None, "click:hex=12; at:time=2024; page:pick=/,/shop,/cart,/support; referrer:pick=google,direct,mail; consent:bool", None, {}, [("create", 20), *[("append", 15)] * 24, ("checkpoint",), ("cleanup",)]),
    ("silver/hr/leave_balances", None, "employee_no:EMP#; leave_type:pick=holiday,care,special; days_left:float=0,30,1; expires:date=2024,2025", "Days of leave that are left", {"expires": "days not taken by then are lost"},
     [("create", 400), ("update", {"days_left": "days_left - 1"}, "days_left > 20"), ("delete", "days_left < 2"), ("append", 25), ("compact",)]),
    ("silver/service/van_stock", ["depot"], "van:pat=V-99; part_no:PA@; qty:int=0,12; counted_on:date=2024; depot:pick=north,south,west", "What each service van carries", {"qty": "pieces on the van when it was counted"},
     [("create", 240), ("replace", "depot = 'north'", 70, {"depot": "north"}), ("append", 30), ("replace", "depot = 'west'", 45, {"depot": "west"})]),
    ("silver/marketing/consents", None, "contact:email; purpose:pick=newsletter,phone,post; granted:bool; recorded_at:time=2024; proof:hex=16", "Who agreed to be written to, and when", {},
     [("create", 150), ("append", 50), ("delete", "granted = 'false'"), ("restore", 1), ("append", 12)]),
    ("silver/finance/accruals", None, "accrual_no:pat=AR-9999; cost_center:CC@; period:month; amount_eur:money=100,90000", "Accruals at the end of a month; filled from October on", {"amount_eur": "positive where we expect an invoice"}, [("create", 0)]),
]
# A shallow clone: another table's files under a log of its own.
CLONE = ("sandbox/mjo/order_events_clone", "silver/sales/order_events")

# Place, columns, documentation of columns, comment, steps.
ICEBERG = [
    ("service.db/repair_orders", "repair_no:pat=RO-9999999; device_id:DEV@; technician_no:EMP@; opened:time=2024; failure:part; minutes:int=10,400; cost_eur:money=40,2200", {"minutes": "time on site, without the drive"}, "Repairs at the customer's",
     [("append", 120), ("plant", {"repair_no": "RO-5518209"}), ("append", 80), ("delete", "minutes < 30"), ("append", 40)]),
    ("logistics.db/parcel_scans", "parcel:pat=99999999999999; scanned_at:time=2024; hub:pick=Aarhus,Padborg,Hamburg,Lyon; status:pick=arrived,sorted,loaded,delivered; scanner:pat=SCN-99", {"hub": "where the parcel was seen"}, "Each time that a parcel was scanned",
     [("partition", "scanned_at", "day"), ("append", 60), ("append", 60), ("partition", "hub", "identity"), ("append", 80), ("unpartition", "scanned_at_day"), ("append", 50), ("delete", "status == 'sorted'")]),
    ("procurement.db/supplier_offers", "offer:pat=OF-99999; supplier_no:SU@; part_no:PA@; price:money=1,900; min_qty:int=1,500; valid_to:date=2024,2025; buyer_note:text=3", {"price": "net, without freight"}, None,
     [("append", 90), ("rename", "price", "unit_price_eur"), ("append", 60), ("drop", "buyer_note"), ("add", "incoterm:pick=FCA,DAP,EXW"), ("append", 70), ("overwrite", 20, "min_qty > 450")]),
    ("energy.db/meter_readings", "meter_point:pat=571313199999999999; read_at:time=2024; kwh:float=0,90,2; quality:pick=measured,estimated", {}, "Quarter-hour readings of our own buildings",
     [("partition", "read_at", "month"), ("append", 200), ("overwrite", 60, "quality == 'estimated'"), ("append", 100), ("properties", {"owner": "energy@example.org"})]),
    ("crm.db/consent_register", "person:person; mail:email; channel:pick=mail,phone,post; given_on:date=2022,2024; withdrawn:maybe=2024-03-01,2024-04-11", {"withdrawn": "empty while the consent holds"}, "Consent as the law wants it kept",
     [("append", 110), ("forget-later", {"person": "name", "mail": "email"}), ("append", 30), ("forget", "mail == 'leocadia.thistlewhite@example.org'"), ("append", 10)]),
    ("finance.db/fx_fixings", "fixing_id:pat=FX-99999; currency:pick=USD,DKK,PLN,SEK; fixed_on:date=2024; noon_rate:float=0.8,12,4", {"noon_rate": "units of the currency for one euro, fixed at noon"}, "Rates of the central bank",
     [("append", 130), ("upsert", "fixing_id", 30, 25), ("append", 20), ("expire",)]),
    ("quality.db/lab_requests", "request:pat=LR-9999; specimen:pat=SP-999; wanted:pick=tensile,ageing,x-ray; due:date=2024", {}, "Requests to the laboratory; starts in autumn", []),
]

# Path, partition column, key, columns, steps.
HUDI = [
    ("hudi/contract_changes", "", "change_no", "change_no:pat=CH-99999; contract:CT@; customer_name:person; change:pick=upgrade,downgrade,cancel,address; effective:date=2024; monthly_eur:money=5,60",
     [("insert", 80), ("forget-later", {"customer_name": "name"}), ("insert", 40), ("update", 15), ("forget", "customer_name"), ("insert", 20)]),
    ("hudi/delivery_stops", "region", "stop_id", "stop_id:pat=ST-999999; driver:person; customer_id:CU@; arrived:time=2024; unloaded_min:int=2,60; region:pick=north,south,west",
     [("insert", 90), ("plant", {"driver": "Ottilie Brannigan"}), ("insert", 60), ("update", 25), ("inflight", 30)]),
    ("hudi/heating_alerts", "severity", "alert_id", "alert_id:hex=12; device_id:DEV@; raised:time=2024; text:text=5; severity:pick=info,warning,critical",
     [("insert", 100), ("update", 30), ("insert", 50), ("cluster",), ("insert", 20), ("inflight", 15)]),
]


class Rows:
    """The rows of one table: they go on where the last were drawn."""

    def __init__(self, seed, path, text):
        self.rng, self.text, self.drawn, self.plants = values.generator(seed, path), text, 0, []

    def more(self, count, fixed=None):
        """`count` rows as an Arrow table; `fixed` cells are the same in all."""
        names = [name for name, _, _ in values.columns(self.text)]
        drawn = values.rows(self.text, count, self.rng, self.drawn)
        self.drawn += count
        for row, plant in zip(drawn[count // 2 :], self.plants if fixed is None else []):
            for name, cell in plant.items():
                row[names.index(name)] = cell
            self.plants = []
        return arrow(self.text, [{**dict(zip(names, row)), **(fixed or {})} for row in drawn])

    def again(self, table, key, count, new):
        """Some rows of a table with other cells, and some new ones: what is merged into it."""
        old = table[key].unique().to_pylist()
        rows = self.more(count + new).to_pylist()
        for row, value in zip(rows, self.rng.sample(old, min(count, len(old)))):
            row[key] = value
        return pyarrow.Table.from_pylist(rows, schema=schema(self.text))


def schema(text):
    """Columns as Arrow's types: dates and times are such."""
    kinds = {"date": pyarrow.date32(), "time": pyarrow.timestamp("us"), "int": pyarrow.int64(), "seq": pyarrow.int64(), "year": pyarrow.int64(),
             "float": pyarrow.float64(), "money": pyarrow.float64(), "bool": pyarrow.string()}
    return pyarrow.schema([(name, kinds.get(kind, pyarrow.string())) for name, kind, _ in values.columns(text)])


def arrow(text, records):
    wanted = schema(text)
    for record in records:
        for field in wanted:
            cell = record[field.name]
            if cell == "":
                record[field.name] = None
            elif pyarrow.types.is_date(field.type):
                record[field.name] = datetime.date.fromisoformat(cell)
            elif pyarrow.types.is_timestamp(field.type):
                record[field.name] = datetime.datetime.fromisoformat(cell)
            elif pyarrow.types.is_floating(field.type):
                record[field.name] = float(cell)
    return pyarrow.Table.from_pylist(records, schema=wanted)


def _person(columns):
    return {column: FORGOTTEN[what] for column, what in columns.items()}


# --- Delta


def delta(root, seed):
    """The Delta tables: path and rows."""
    from deltalake import DeltaTable

    for path, partitions, text, comment, columns, steps in DELTA:
        place, rows = str(root / path), Rows(seed, path, text)
        for step in steps:
            _delta_step(place, rows, partitions, step)
            if step[0] == "create":
                for column, said in columns.items():
                    DeltaTable(place).alter.set_column_metadata(column, {"comment": said})
                if comment:
                    DeltaTable(place).alter.set_table_description(comment)
        yield path, DeltaTable(place).to_pyarrow_table().num_rows
    clone, source = CLONE
    yield clone, _clone(root / clone, root / source)


def _delta_step(place, rows, partitions, step):
    from deltalake import DeltaTable, write_deltalake

    kind, *given = step
    if kind == "create":
        settings = {"delta.logRetentionDuration": "interval 0 days", "delta.deletedFileRetentionDuration": "interval 0 days"}
        write_deltalake(place, rows.more(*given), partition_by=partitions, configuration=settings)
        return
    table = DeltaTable(place)
    match kind:
        case "plant":
            rows.plants.append(given[0])
        case "append":
            write_deltalake(table, rows.more(*given), mode="append")
        case "forget-later":
            write_deltalake(table, rows.more(1, _person(given[0])), mode="append")
        case "evolve":
            rows.text += "; " + given[1]
            write_deltalake(table, rows.more(given[0]), mode="append", schema_mode="merge")
        case "overwrite":
            write_deltalake(table, rows.more(*given), mode="overwrite")
        case "rewrite":
            rows.text = given[1]
            write_deltalake(table, rows.more(given[0]), mode="overwrite", schema_mode="overwrite")
        case "replace":
            write_deltalake(table, rows.more(given[1], given[2]), mode="overwrite", predicate=given[0])
        case "update":
            table.update(updates=given[0], predicate=given[1])
        case "delete" | "forget":
            table.delete(given[0])
        case "merge":
            key, count, new = given
            source = rows.again(table.to_pyarrow_table(), key, count, new)
            table.merge(source, f"t.{key} = s.{key}", source_alias="s", target_alias="t").when_matched_update_all().when_not_matched_insert_all().execute()
        case "compact":
            table.optimize.compact()
        case "zorder":
            table.optimize.z_order(given[0])
        case "vacuum":
            table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
        case "checkpoint":
            table.create_checkpoint()
        case "cleanup":
            table.cleanup_metadata()
        case "restore":
            table.restore(given[0])
        case "leftover":
            # A writer that died before it committed.
            folder = f"{partitions[0]}={rows.more(1)[partitions[0]][0]}" if partitions else "."
            left = rows.more(*given).drop_columns(partitions or [])
            pyarrow.parquet.write_table(left, pathlib.Path(place) / folder / f"part-00000-{uuid.UUID(int=rows.rng.getrandbits(128))}-c000.snappy.parquet")


def _clone(place, source):
    """A log that names the other table's files, as `CREATE TABLE … SHALLOW CLONE` writes it."""
    from deltalake import DeltaTable

    of = DeltaTable(str(source))
    adds = pyarrow.table(of.get_add_actions()).to_pylist()
    metadata = of.metadata()
    fields = json.loads(of.schema().to_json())
    protocol = of.protocol()
    features = {"readerFeatures": protocol.reader_features, "writerFeatures": protocol.writer_features}
    actions = [{"protocol": {"minReaderVersion": protocol.min_reader_version, "minWriterVersion": protocol.min_writer_version, **{name: value for name, value in features.items() if value}}},
               {"metaData": {"id": str(uuid.UUID(int=len(adds))), "format": {"provider": "parquet", "options": {}}, "schemaString": json.dumps(fields), "partitionColumns": metadata.partition_columns, "configuration": {}, "createdTime": 1717000000000}}]
    for add in adds:
        parts = add.get("partition") or add.get("partition_values") or {}
        actions.append({"add": {"path": f"file://{source}/{add['path']}", "partitionValues": parts, "size": add["size_bytes"], "modificationTime": 1717000000000, "dataChange": True}})
    log = place / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text("".join(json.dumps(action) + "\n" for action in actions))
    return of.to_pyarrow_table().num_rows


# --- Iceberg


def iceberg(root, seed):
    """The Iceberg tables: path and rows. Their catalog lies beside the lake."""
    from pyiceberg.catalog.sql import SqlCatalog

    beside = root.parent / (root.name + ".catalog.sqlite")
    beside.unlink(missing_ok=True)
    catalog = SqlCatalog("nordhavn", uri=f"sqlite:///{beside}", warehouse=str(root / "iceberg"))
    for place, text, docs, comment, steps in ICEBERG:
        space, name = place.split(".db/")
        catalog.create_namespace_if_not_exists(space)
        table = catalog.create_table(f"{space}.{name}", schema(text), location=str(root / "iceberg" / place), properties={"comment": comment} if comment else {})
        with table.update_schema() as update:
            for column, said in docs.items():
                update.update_column(column, doc=said)
        rows = Rows(seed, place, text)
        for step in steps:
            _iceberg_step(catalog.load_table(f"{space}.{name}"), rows, step)
        yield f"iceberg/{place}", catalog.load_table(f"{space}.{name}").scan().to_arrow().num_rows


def _iceberg_step(table, rows, step):
    kind, *given = step
    match kind:
        case "plant":
            rows.plants.append(given[0])
        case "append":
            table.append(rows.more(*given))
        case "forget-later":
            table.append(rows.more(1, _person(given[0])))
        case "delete" | "forget":
            table.delete(given[0])
        case "overwrite":
            table.overwrite(rows.more(given[0]), overwrite_filter=given[1])
        case "upsert":
            key, count, new = given
            table.upsert(rows.again(table.scan().to_arrow().group_by(key).aggregate([]), key, count, new), join_cols=[key])
        case "partition":
            with table.update_spec() as update:
                update.add_field(given[0], given[1], f"{given[0]}_{given[1]}")
        case "unpartition":
            with table.update_spec() as update:
                update.remove_field(given[0])
        case "rename":
            rows.text = rows.text.replace(f"{given[0]}:", f"{given[1]}:")
            with table.update_schema() as update:
                update.rename_column(*given)
        case "drop":
            rows.text = "; ".join(part for part in rows.text.split("; ") if not part.startswith(f"{given[0]}:"))
            with table.update_schema() as update:
                update.delete_column(given[0])
        case "add":
            rows.text += "; " + given[0]
            with table.update_schema() as update:
                from pyiceberg.types import StringType

                update.add_column(given[0].partition(":")[0], StringType())
        case "properties":
            with table.transaction() as transaction:
                transaction.set_properties(given[0])
        case "expire":
            table.maintenance.expire_snapshots().older_than(datetime.datetime.now()).commit()


# --- Hudi


class Hudi:
    """A copy-on-write table of table version 6 on disk: file groups, each with slices, and a timeline."""

    def __init__(self, root, path, partition, key, rows):
        self.place, self.partition, self.key, self.rows = root / path, partition, key, rows
        self.at = datetime.datetime(2024, 5, 1, 2, 0, 0, 371000)
        # File group to its partition, rows and last instant.
        self.groups, self.writes = {}, 0
        (self.place / ".hoodie/archived").mkdir(parents=True)
        settings = {
            "hoodie.table.name": self.place.name, "hoodie.table.type": "COPY_ON_WRITE", "hoodie.table.version": 6, "hoodie.timeline.layout.version": 1, "hoodie.table.recordkey.fields": key,
            "hoodie.table.partition.fields": partition, "hoodie.table.base.file.format": "PARQUET", "hoodie.table.checksum": 2701849934, "hoodie.archivelog.folder": "archived", "hoodie.populate.meta.fields": "true",
            "hoodie.datasource.write.hive_style_partitioning": "true", "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.SimpleKeyGenerator" if partition else "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
            "hoodie.table.cdc.enabled": "false", "hoodie.datasource.write.drop.partition.columns": "false", "hoodie.table.precombine.field": key,
        }
        lines = ["#Properties saved on 2024-05-01T02:00:00.371Z", "#Wed May 01 02:00:00 UTC 2024", *(f"{name}={value}" for name, value in settings.items() if value != "")]
        (self.place / ".hoodie/hoodie.properties").write_text("\n".join(lines) + "\n")
        # Its table of metadata, which is a Hudi table itself, in files that nobody else reads.
        inner = self.place / ".hoodie/metadata"
        (inner / ".hoodie").mkdir(parents=True)
        (inner / ".hoodie/hoodie.properties").write_text(f"hoodie.table.name={self.place.name}_metadata\nhoodie.table.type=MERGE_ON_READ\nhoodie.table.version=6\nhoodie.table.base.file.format=HFILE\n")
        (inner / "files").mkdir()
        (inner / "files/files-0000-0_0-4-4_00000000000000010.hfile").write_bytes(b"DATABLK*" + bytes(64))

    def instant(self):
        self.at += datetime.timedelta(hours=23, minutes=51, milliseconds=17)
        return self.at.strftime("%Y%m%d%H%M%S") + f"{self.at.microsecond // 1000:03d}"

    def parts(self, table):
        """Rows by partition."""
        if not self.partition:
            return {"": table}
        column = table[self.partition]
        return {f"{self.partition}={value}": table.filter(pyarrow.compute.equal(column, value)) for value in sorted(set(column.to_pylist()))}

    def base(self, instant, group, part, table):
        """Writes one slice of a file group and returns what the commit says of it."""
        self.writes += 1
        folder = self.place / part
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / ".hoodie_partition_metadata").exists():
            (folder / ".hoodie_partition_metadata").write_text(f"#partition metadata\ncommitTime={instant}\npartitionDepth={1 if part else 0}\n")
        name = f"{group}_{self.writes % 5}-{20 + self.writes}-{400 + self.writes}_{instant}.parquet"
        meta = {
            "_hoodie_commit_time": [instant] * len(table), "_hoodie_commit_seqno": [f"{instant}_0_{at}" for at in range(len(table))],
            "_hoodie_record_key": [str(value) for value in table[self.key].to_pylist()], "_hoodie_partition_path": [part] * len(table), "_hoodie_file_name": [name] * len(table),
        }
        whole = pyarrow.table({**meta, **{column: table[column] for column in table.column_names}})
        pyarrow.parquet.write_table(whole, folder / name, compression="gzip")
        size = (folder / name).stat().st_size
        old = self.groups.get(group)
        return {"fileId": group, "path": f"{part}/{name}".lstrip("/"), "cdcStats": None, "prevCommit": old[2] if old else "null", "numWrites": len(table), "numDeletes": 0, "numUpdateWrites": 0, "numInserts": 0 if old else len(table),
                "totalWriteBytes": size, "totalWriteErrors": 0, "tempPath": None, "partitionPath": part, "totalLogRecords": 0, "totalLogFilesCompacted": 0, "totalLogSizeCompacted": 0, "totalUpdatedRecordsCompacted": 0,
                "totalLogBlocks": 0, "totalCorruptLogBlock": 0, "totalRollbackBlocks": 0, "fileSizeInBytes": size, "minEventTime": None, "maxEventTime": None, "runtimeStats": None}

    def commit(self, instant, stats, operation, action="commit", replaced=None):
        hoodie, by_part = self.place / ".hoodie", {}
        for stat in stats:
            by_part.setdefault(stat["partitionPath"], []).append(stat)
        fields = [{"name": field.name, "type": ["null", "string"], "default": None} for field in schema(self.rows.text)]
        said = {"partitionToWriteStats": by_part, "compacted": False, "extraMetadata": {"schema": json.dumps({"type": "record", "name": f"{self.place.name}_record", "namespace": f"hoodie.{self.place.name}", "fields": fields})}, "operationType": operation}
        if replaced is not None:
            said["partitionToReplaceFileIds"] = replaced
        (hoodie / f"{instant}.{action}.requested").write_bytes(b"")
        (hoodie / (f"{instant}.inflight" if action == "commit" else f"{instant}.{action}.inflight")).write_text(json.dumps({**said, "partitionToWriteStats": {}}))
        (hoodie / f"{instant}.{action}").write_text(json.dumps(said, indent=2))

    def new(self):
        return f"{uuid.UUID(int=self.rows.rng.getrandbits(128))}-0"

    def insert(self, table, action="commit"):
        instant, stats = self.instant(), []
        for part, rows in self.parts(table).items():
            group = self.new()
            stats.append(self.base(instant, group, part, rows))
            self.groups[group] = (part, rows, instant)
        self.commit(instant, stats, "INSERT")

    def rewrite(self, change, operation):
        """A new slice of each file group that a change touches; the old one stays where it is."""
        instant, stats = self.instant(), []
        for group, (part, rows, _) in list(self.groups.items()):
            changed = change(rows)
            if changed is not None:
                stats.append(self.base(instant, group, part, changed))
                self.groups[group] = (part, changed, instant)
        self.commit(instant, stats, operation)

    def cluster(self):
        """Each partition's groups become one; the timeline says which are replaced."""
        instant, stats, replaced = self.instant(), [], {}
        for part in sorted({part for part, _, _ in self.groups.values()}):
            old = [group for group, (of, _, _) in self.groups.items() if of == part]
            rows = pyarrow.concat_tables([self.groups[group][1] for group in old])
            group = self.new()
            stats.append(self.base(instant, group, part, rows))
            replaced[part] = old
            for one in old:
                del self.groups[one]
            self.groups[group] = (part, rows, instant)
        self.commit(instant, stats, "CLUSTER", "replacecommit", replaced)

    def inflight(self, table):
        """A writer that died: its files are there, its commit is not."""
        instant = self.instant()
        for part, rows in list(self.parts(table).items())[:1]:
            self.base(instant, self.new(), part, rows)
        (self.place / f".hoodie/{instant}.commit.requested").write_bytes(b"")
        (self.place / f".hoodie/{instant}.inflight").write_text("{}")


def hudi(root, seed):
    """The Hudi tables: path and rows."""
    for path, partition, key, text, steps in HUDI:
        rows = Rows(seed, path, text)
        table = Hudi(root, path, partition, key, rows)
        for kind, *given in steps:
            match kind:
                case "plant":
                    rows.plants.append(given[0])
                case "insert":
                    table.insert(rows.more(*given))
                case "forget-later":
                    table.insert(rows.more(1, _person(given[0])))
                case "forget":
                    # A whole file group may go: it keeps an empty slice.
                    table.rewrite(lambda of: of.filter(pyarrow.compute.not_equal(of[given[0]], FORGOTTEN["name"])) if FORGOTTEN["name"] in of[given[0]].to_pylist() else None, "DELETE")
                case "update":
                    table.rewrite(lambda of: _touched(of, rows, key, given[0]), "UPSERT")
                case "cluster":
                    table.cluster()
                case "inflight":
                    table.inflight(rows.more(*given))
        yield path, sum(len(of) for _, of, _ in table.groups.values())


def _touched(table, rows, key, count):
    """The table with other cells in some rows, the keys and the partition as they were."""
    fresh = rows.more(min(count, len(table)))
    kept = [name for name in table.column_names if name in (key, "driver", "region", "severity")]
    head = pyarrow.table({name: table[name][: len(fresh)] if name in kept else fresh[name] for name in table.column_names})
    return pyarrow.concat_tables([head, table[len(fresh) :]])


def main():
    root, seed = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2])
    made = {path: rows for writer in (delta, iceberg, hudi) for path, rows in writer(root, seed)}
    # A backup of a table is a copy of its folder, log and all.
    shutil.copytree(root / "gold/daily_revenue", root / "backup_2024/gold/daily_revenue")
    made["backup_2024/gold/daily_revenue"] = made["gold/daily_revenue"]
    print(json.dumps(made), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
