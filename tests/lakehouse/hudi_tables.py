"""Hudi tables in the layout that Hudi's specification gives (https://hudi.apache.org/tech-specs/), as the tests of limn want them: random
histories, and what is in them then. There is no writer of Hudi tables without a JVM, so this one keeps its own account of the rows.

  echo STEP | python hudi_tables.py LAKE SEED

As delta_tables.py. The first step makes the tables, and a process keeps the account of what it has made.
"""
import datetime
import json
import pickle
import uuid
import zlib

import pyarrow as pa
import pyarrow.parquet

from delta_tables import batch, checksum
from steps import take_steps

NULL = "__HIVE_DEFAULT_PARTITION__"
META = ["_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key", "_hoodie_partition_path", "_hoodie_file_name"]
AVRO = {
    pa.int32(): "int",
    pa.int64(): "long",
    pa.string(): "string",
    pa.float64(): "double",
    pa.date32(): {"type": "int", "logicalType": "date"},
    pa.timestamp("us", "UTC"): {"type": "long", "logicalType": "timestamp-micros"},
    pa.decimal128(12, 2): {"type": "fixed", "name": "amount_fixed", "size": 6, "logicalType": "decimal", "precision": 12, "scale": 2},
}
# What each table is: its version, type, partition fields, and whether folders say their names, values are encoded, and files lack them.
TABLES = {
    "dropped": dict(version=5, kind="COPY_ON_WRITE", fields=["region", "day"], hive=False, encode=False, drop=True),
    "empty": dict(version=6, kind="COPY_ON_WRITE", fields=[], hive=False, encode=False, drop=False),
    "merged": dict(version=8, kind="MERGE_ON_READ", fields=["region"], hive=False, encode=True, drop=False),
    "merged6": dict(version=6, kind="MERGE_ON_READ", fields=[], hive=False, encode=False, drop=False),
    "plain": dict(version=6, kind="COPY_ON_WRITE", fields=[], hive=False, encode=False, drop=False),
    "sales/parted": dict(version=9, kind="COPY_ON_WRITE", fields=["region", "day"], hive=True, encode=True, drop=False),
}


def time_of(moment):
    return moment.strftime("%Y%m%d%H%M%S") + f"{moment.microsecond // 1000:03}"


def zigzag(number):
    number = (number << 1) ^ (number >> 63)
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def text(value):
    value = value.encode()
    return zigzag(len(value)) + value


def blocks(entries):
    return (zigzag(len(entries)) + b"".join(entries) if entries else b"") + zigzag(0)


def optional(value):
    """A value of a union with null first."""
    return zigzag(0) if value is None else zigzag(1) + value


STRING = {"type": "string", "avro.java.string": "String"}
STAT = {"type": "record", "name": "HoodieWriteStat", "fields": [
    {"name": name, "type": ["null", kind], "default": None}
    for name, kind in [("fileId", STRING), ("path", STRING), ("prevCommit", STRING), ("numWrites", "long"), ("numDeletes", "long"), ("fileSizeInBytes", "long")]]}
COMMIT = {"type": "record", "name": "HoodieReplaceCommitMetadata", "namespace": "org.apache.hudi.avro.model", "fields": [
    {"name": "partitionToWriteStats", "type": ["null", {"type": "map", "values": {"type": "array", "items": STAT}}], "default": None},
    {"name": "extraMetadata", "type": ["null", {"type": "map", "values": STRING, "avro.java.string": "String"}], "default": None},
    {"name": "version", "type": ["int", "null"], "default": 1},
    {"name": "operationType", "type": ["null", STRING], "default": None},
    {"name": "partitionToReplaceFileIds", "type": ["null", {"type": "map", "values": {"type": "array", "items": STRING}}], "default": None},
]}


def avro(metadata, codec):
    """Commit metadata as an Avro file."""
    def stat(it):
        whole = [it["prevCommit"] and text(it["prevCommit"]), zigzag(it["numWrites"]), None, zigzag(it["fileSizeInBytes"])]
        return b"".join(map(optional, [text(it["fileId"]), text(it["path"]), *whole]))
    row = optional(blocks([text(partition) + blocks(list(map(stat, stats))) for partition, stats in metadata["partitionToWriteStats"].items()]))
    row += optional(blocks([text(key) + text(value) for key, value in metadata["extraMetadata"].items()]))
    row += zigzag(0) + zigzag(1)
    row += optional(text(metadata["operationType"]))
    replaced = metadata.get("partitionToReplaceFileIds")
    row += optional(replaced and blocks([text(partition) + blocks(list(map(text, ids))) for partition, ids in replaced.items()]))
    sync = bytes(range(16))
    header = {"avro.schema": json.dumps(COMMIT), "avro.codec": codec}
    if codec == "deflate":
        packer = zlib.compressobj(wbits=-15)
        row = packer.compress(row) + packer.flush()
    return b"Obj\1" + blocks([text(key) + text(value) for key, value in header.items()]) + sync + zigzag(1) + zigzag(len(row)) + row + sync


class Table:
    """A table, and the account of it. `groups` are the rows of base files by partition and file id; `waiting` those of log files."""

    def __init__(self, name, version, kind, fields, hive, encode, drop):
        self.name, self.version, self.kind, self.fields = name, version, kind, fields
        self.hive, self.encode, self.drop = hive, encode, drop
        self.clock = datetime.datetime(2024, 1, 1)
        self.groups, self.waiting, self.instants = {}, {}, []
        self.schema, self.saved = None, None
        self.count = 0

    def start(self, lake, chance):
        self.root = lake / self.name
        self.chance = chance

    @property
    def timeline(self):
        return self.root / ".hoodie" / ("timeline" if self.version >= 8 else "")

    def create(self, schema):
        self.schema = schema
        self.timeline.mkdir(parents=True)
        properties = {
            "hoodie.table.name": self.name.replace("/", "_"), "hoodie.table.version": self.version, "hoodie.table.type": self.kind,
            "hoodie.timeline.layout.version": 2 if self.version >= 8 else 1, "hoodie.table.base.file.format": "PARQUET",
            "hoodie.table.recordkey.fields": "id", "hoodie.table.partition.fields": ",".join(self.fields),
            "hoodie.datasource.write.hive_style_partitioning": self.hive, "hoodie.datasource.write.partitionpath.urlencode": self.encode,
            "hoodie.datasource.write.drop.partition.columns": self.drop, "hoodie.archivelog.folder": "archived", "hoodie.table.cdc.enabled": False,
            "hoodie.table.create.schema": json.dumps(self.avro_schema(schema)), "hoodie.populate.meta.fields": True,
            "hoodie.table.precombine.field": "at", "hoodie.table.metadata.partitions": "", "hoodie.table.timeline.timezone": "LOCAL",
            "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.ComplexKeyGenerator" if self.fields else "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
        }
        escaped = lambda value: str(value).replace("\\", "\\\\").replace(":", "\\:").replace("=", "\\=")
        written = lambda value: str(value).lower() if isinstance(value, bool) else escaped(value)
        lines = ["#Properties saved on 2024-01-01T00:00:00Z"] + [f"{key}={written(value)}" for key, value in properties.items()]
        (self.root / ".hoodie" / "hoodie.properties").write_text("\n".join(lines) + "\n")

    def avro_schema(self, schema):
        docs = {"id": "What the row is called"}
        fields = [{"name": field.name, "type": ["null", AVRO[field.type]], "default": None, **({"doc": docs[field.name]} if field.name in docs else {})} for field in schema]
        return {"type": "record", "name": "record", "namespace": "hoodie.t", "fields": fields}

    def partition(self, row):
        if not self.fields:
            return ""
        def folder(field):
            value = row[field]
            value = NULL if value is None else str(value)
            if self.encode:
                value = "".join(f"%{ord(c):02X}" if c in "\"#%'*/:=?\\{[]^" else c for c in value)
            return f"{field}={value}" if self.hive else value
        return "/".join(map(folder, self.fields))

    def tick(self):
        self.clock += datetime.timedelta(milliseconds=self.chance.randrange(10, 100_000))
        return time_of(self.clock)

    # The timeline.

    def planned(self, time, action, inflight=True):
        plan = {"replacecommit": "clustering", "compacted": "compaction"}.get(action, action) if self.version >= 8 or action == "compacted" else action
        (self.timeline / f"{time}.{plan}.requested").write_bytes(b"")
        if inflight:
            (self.timeline / (f"{time}.inflight" if plan == "commit" else f"{time}.{plan}.inflight")).write_bytes(b"{}")

    def completed(self, time, action, content=b"Obj"):
        end = f"_{time_of(self.clock + datetime.timedelta(milliseconds=7))}" if self.version >= 8 else ""
        (self.timeline / f"{time}{end}.{action}").write_bytes(content)

    def commit(self, time, action, operation, written, replaced=None, schema=True):
        """Completes an action: `written` are its files, (partition, file id, name, rows)."""
        self.planned(time, "compacted" if operation == "COMPACT" else action)
        stats = {}
        for partition, group, name, rows in written:
            path = f"{partition}/{name}" if partition else name
            stats.setdefault(partition, []).append({"fileId": group, "path": path, "prevCommit": None, "numWrites": rows,
                                                    "fileSizeInBytes": (self.root / path).stat().st_size})
        own = pa.schema([field for field in self.schema if not (self.drop and field.name in self.fields)])
        metadata = {"partitionToWriteStats": stats, "compacted": operation == "COMPACT", "operationType": operation,
                    "extraMetadata": {"schema": json.dumps(self.avro_schema(own)) if schema else "", "deltastreamer.checkpoint.key": "1"}}
        if replaced:
            metadata["partitionToReplaceFileIds"] = {}
            for partition, group in replaced:
                metadata["partitionToReplaceFileIds"].setdefault(partition, []).append(group)
        content = avro(metadata, self.chance.choice(["null", "deflate"])) if self.version >= 8 else json.dumps(metadata, indent=1).encode()
        self.completed(time, "commit" if operation == "COMPACT" else action, content)
        self.instants.append((time, action, list(replaced or [])))

    # Its files.

    def base(self, time, partition, group, rows, attempt=0):
        self.count += 1
        folder = self.root / partition
        folder.mkdir(parents=True, exist_ok=True)
        marker = folder / ".hoodie_partition_metadata"
        if not marker.exists():
            depth = len(self.fields)
            marker.write_text(f"#partition metadata\ncommitTime={time}\npartitionDepth={depth}\n")
        name = f"{group}_{attempt}-{self.count}-0_{time}.parquet"
        schema = pa.schema([field for field in self.schema if not (self.drop and field.name in self.fields)])
        table = pa.Table.from_pylist([{field.name: row.get(field.name) for field in schema} for row in rows], schema)
        meta = {
            "_hoodie_commit_time": [time] * len(rows), "_hoodie_commit_seqno": [f"{time}_0_{n}" for n in range(len(rows))],
            "_hoodie_record_key": [str(row["id"]) for row in rows], "_hoodie_partition_path": [partition] * len(rows), "_hoodie_file_name": [name] * len(rows)}
        whole = pa.table({**{key: pa.array(values, pa.string()) for key, values in meta.items()}, **{key: table[key] for key in table.column_names}})
        pa.parquet.write_table(whole, folder / name)
        return partition, group, name, len(rows)

    def group(self):
        return f"{uuid.UUID(int=self.chance.getrandbits(128))}-0"

    def log(self, time, partition, group, base):
        folder = self.root / partition
        folder.mkdir(parents=True, exist_ok=True)
        self.count += 1
        name = f".{group}_{time if self.version >= 8 else base or time}.log.{self.count}_0-{self.count}-0"
        (folder / name).write_bytes(b"#HUDI#")
        return partition, group, name, 1

    def parts(self, rows):
        parts = {}
        for row in rows:
            parts.setdefault(self.partition(row), []).append(row)
        return parts

    # What writers do.

    def insert(self, rows, action="commit"):
        time, written = self.tick(), []
        for partition, rows in self.parts(rows).items():
            near = [group for at, group in self.groups if at == partition]
            # Small files are filled up.
            if near and self.chance.random() < 0.4:
                group = self.chance.choice(near)
                rows = self.groups[partition, group] + rows
            else:
                group = self.group()
            self.groups[partition, group] = rows
            written.append(self.base(time, partition, group, rows))
        self.commit(time, action, "INSERT", written)

    def change(self, changed, operation, schema=True):
        """Writes the slices anew of which `changed` gives other rows."""
        time, written = self.tick(), []
        for (partition, group), rows in list(self.groups.items()):
            now = changed(rows)
            if now != rows:
                self.groups[partition, group] = now
                written.append(self.base(time, partition, group, now))
        self.commit(time, "commit", operation, written, schema=schema)

    def replace(self, replaced, rows, operation, schema=True):
        time, written = self.tick(), []
        for at in replaced:
            del self.groups[at]
        for partition, rows in self.parts(rows).items():
            half = len(rows) // 2 + 1
            for rows in filter(None, [rows[:half], rows[half:]]):
                group = self.group()
                self.groups[partition, group] = rows
                written.append(self.base(time, partition, group, rows))
        self.commit(time, "replacecommit", operation, written, replaced, schema)

    def fail(self, rows, clean_up):
        """A write that breaks off, and may be rolled back."""
        time = self.tick()
        self.planned(time, "commit" if self.kind == "COPY_ON_WRITE" else "deltacommit", inflight=self.chance.random() < 0.8)
        for partition, group in list(self.groups)[:2]:
            ghost = [{**row, "secret": "ghost000000"} for row in rows]
            _, _, name, _ = self.base(time, partition, group, ghost)
            if clean_up:
                (self.root / partition / name).unlink()
        if clean_up:
            for file in self.timeline.glob(f"{time}.*"):
                file.unlink()
            rollback = self.tick()
            self.planned(rollback, "rollback")
            self.completed(rollback, "rollback")

    def clean(self):
        """Removes what is not live; what is saved stays."""
        time = self.tick()
        self.planned(time, "clean")
        saved = self.saved["files"] if self.saved else set()
        pending = {path.name.split(".")[0] for path in self.timeline.glob("*.requested")} - {time for time, _, _ in self.instants}
        newest = {}
        done = {time for time, _, _ in self.instants}
        for path in self.root.rglob("*.parquet"):
            partition, (group, _, time_of) = str(path.parent.relative_to(self.root)), path.stem.split("_")
            key = ("" if partition == "." else partition, group)
            if time_of in done or time_of not in pending:
                newest[key] = max(newest.get(key, ""), time_of)
        for path in self.root.rglob("*.parquet"):
            partition, (group, _, time_of) = str(path.parent.relative_to(self.root)), path.stem.split("_")
            key = ("" if partition == "." else partition, group)
            is_live = key in self.groups and newest.get(key) == time_of
            if not is_live and time_of not in pending and path not in saved:
                path.unlink()
        self.completed(time, "clean")

    def archive(self):
        """Takes the older actions off the timeline. What they replaced has to be cleaned before."""
        if self.saved or any(self.timeline.glob("*.requested")) and self.chance.random() < 0.5:
            return
        self.clean()
        kept = self.instants[-2:]
        pending = {path.name.split(".")[0] for path in self.timeline.glob("*.requested")} - {time for time, _, _ in self.instants}
        oldest = min([kept[0][0], *pending])
        archived = self.root / ".hoodie" / "archived"
        archived.mkdir(exist_ok=True)
        for file in list(self.timeline.iterdir()):
            if file.is_file() and file.name[0].isdigit() and file.name.split("_")[0].split(".")[0] < oldest:
                (archived / ".commits_.archive.1_1-0-1").write_bytes(b"archived")
                file.unlink()
        self.instants = [it for it in self.instants if it[0] >= oldest]

    def save(self):
        """Sets a savepoint; or goes back to one; or gives one up."""
        if self.saved is None:
            time = self.instants[-1][0]
            self.completed(time, "savepoint")
            state = pickle.dumps((self.groups, self.instants, self.schema))
            self.saved = {"time": time, "state": state, "files": set(self.root.rglob("*.parquet"))}
            return
        time, state = self.saved["time"], self.saved["state"]
        if self.chance.random() < 0.7:
            for file in list(self.timeline.iterdir()):
                if file.is_file() and file.name[0].isdigit() and file.name.split("_")[0].split(".")[0] > time:
                    file.unlink()
            for path in self.root.rglob("*.parquet"):
                if path.stem.split("_")[2] > time:
                    path.unlink()
            self.groups, self.instants, self.schema = pickle.loads(state)
            restore = self.tick()
            self.planned(restore, "restore")
            self.completed(restore, "restore")
        for file in self.timeline.glob(f"{time}*.savepoint"):
            file.unlink()
        self.saved = None

    # Tables that merge on read: changes wait in log files for a compaction.

    def update_later(self, changed):
        time, written = self.tick(), []
        for (partition, group), rows in list(self.groups.items()):
            now = changed(self.waiting.get((partition, group), rows))
            if now != rows:
                self.waiting[partition, group] = now
                base = max(path.stem.split("_")[2] for path in (self.root / partition).glob(f"{group}_*.parquet"))
                written.append(self.log(time, partition, group, base))
        self.commit(time, "deltacommit", "UPSERT", written)

    def insert_later(self, rows):
        """Into file groups without a base file."""
        time, written = self.tick(), []
        for partition, rows in self.parts(rows).items():
            group = self.group()
            self.waiting[partition, group] = rows
            written.append(self.log(time, partition, group, None))
        self.commit(time, "deltacommit", "UPSERT", written)

    def compact(self):
        time, written = self.tick(), []
        for (partition, group), rows in self.waiting.items():
            self.groups[partition, group] = rows
            written.append(self.base(time, partition, group, rows))
        self.waiting = {}
        self.commit(time, "commit", "COMPACT", written)


def rows_of(table, chance, first, count):
    rows = batch(chance, first, count, extra=True).to_pylist()
    for row in rows:
        row["pieces"] = chance.randrange(100)
        if not table.encode and row["region"]:
            row["region"] = row["region"].replace("/", " ")
        if "channel" not in table.schema.names:
            del row["channel"]
    return rows


def make(lake, chance):
    tables = {}
    for name, about in TABLES.items():
        table = tables[name] = Table(name, **about)
        table.start(lake, chance)
        schema = batch(chance, 0, 1).schema.append(pa.field("pieces", pa.int32()))
        table.create(schema)
        if name != "empty":
            table.insert(rows_of(table, chance, 0, 60), "commit" if table.kind == "COPY_ON_WRITE" else "deltacommit")
    return tables


def evolve(table):
    """Adds a column, and widens another."""
    fields = [pa.field("pieces", pa.int64()) if field.name == "pieces" else field for field in table.schema]
    if "channel" not in table.schema.names:
        fields.append(pa.field("channel", pa.string()))
    table.schema = pa.schema(fields)


def step(tables, chance, number):
    for table in tables.values():
        first = 1000 * number
        not_doomed = lambda rows: [row for row in rows if not row["secret"].startswith("doomed")]
        fifth = chance.randrange(5)
        updated = lambda rows: [{**row, "name": "updated"} if row["id"] % 5 == fifth else row for row in rows]
        if table.name == "empty":
            continue
        if table.kind == "MERGE_ON_READ":
            match chance.choice(["insert", "update", "delete", "later", "compact", "compact", "fail"]):
                case "insert":
                    table.insert(rows_of(table, chance, first, 20), "deltacommit") if not table.waiting else table.compact()
                case "update":
                    table.update_later(updated)
                case "delete":
                    table.update_later(not_doomed)
                case "later":
                    table.insert_later(rows_of(table, chance, first, 10))
                case "compact":
                    table.compact()
                case "fail":
                    table.fail(rows_of(table, chance, first, 5), chance.random() < 0.5)
            continue
        some = chance.choice([partition for partition, _ in table.groups] or [""])
        within = [at for at in table.groups if at[0] == some]
        match chance.choice(["insert", "upsert", "delete", "overwrite", "overwrite_table", "delete_partition", "cluster", "fail", "clean", "archive", "save", "save", "evolve"]):
            case "insert":
                table.insert(rows_of(table, chance, first, 30))
            case "upsert":
                table.change(updated, "UPSERT")
            case "delete":
                table.change(not_doomed, "DELETE", schema=chance.random() < 0.5)
            case "overwrite":
                rows = [row for row in rows_of(table, chance, first, 40) if table.partition(row) == some or not table.fields]
                table.replace(within, rows, "INSERT_OVERWRITE")
            case "overwrite_table":
                table.replace(list(table.groups), rows_of(table, chance, first, 40), "INSERT_OVERWRITE_TABLE")
            case "delete_partition":
                table.replace(within, [], "DELETE_PARTITION", schema=False)
            case "cluster":
                table.replace(within, [row for at in within for row in table.groups[at]], "CLUSTER")
            case "fail":
                table.fail(rows_of(table, chance, first, 5), chance.random() < 0.5)
            case "clean":
                table.clean()
            case "archive":
                table.archive()
            case "save":
                table.save()
            case "evolve":
                evolve(table)
                table.insert(rows_of(table, chance, first, 10))


def described(tables):
    said = {}
    for name, table in tables.items():
        rows = [row for rows in table.groups.values() for row in rows]
        rows = pa.Table.from_pylist([{field.name: row.get(field.name) for field in table.schema} for row in rows], table.schema)
        live = set(rows["secret"].to_pylist())
        every = {f"doomed{i:06}" for i in range(3, 60, 7)}
        said[name] = {
            "rows": len(rows),
            "columns": {name: checksum(rows[name]) for name in rows.column_names},
            "deleted": ["ghost000000", *sorted(every - live)] if len(rows) else [],
        }
    return said


def main():
    tables = {}

    def taken(lake, chance, number):
        if number == 0:
            tables.update(make(lake, chance))
        else:
            for table in tables.values():
                table.start(lake, chance)
            step(tables, chance, number)
        return described(tables)
    take_steps(taken)


if __name__ == "__main__":
    main()
