#!/usr/bin/env python3
"""Makes the example lake: examples/lake/ and examples/contexts.jsonl.

Every value is invented here; nothing is taken from any data set. The same program with the same pyarrow makes the
same bytes, so that a change of the lake shows in a diff:

    python3 -m venv /tmp/lake-venv
    /tmp/lake-venv/bin/pip install pyarrow==26.0.1
    /tmp/lake-venv/bin/python examples/make_lake.py

Tables that speak of the same things share keys: orders name customers, products and so do stock counts; loans name
books; water levels name gauging stations; trip delays name stops; leave requests name employees. `check()` at the end
proves it. questions.jsonl is written by hand: where it quotes a cell, `check()` makes sure that the cell is there.
"""

import csv
import io
import json
import math
import shutil
from datetime import date, datetime, timedelta
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).resolve().parent
LAKE = HERE / "lake"
MADE = {}  # table name -> rows, for check()


# ---- writing ----------------------------------------------------------------------------------------------------


def cell(value):
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    return value


def keep(name, rows):
    MADE.setdefault(name, []).extend(rows)


def text_table(name, rows, delimiter=",", extension="csv"):
    keep(name, rows)
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(rows[0].keys())
    writer.writerows([cell(value) for value in row.values()] for row in rows)
    put(f"{name}.{extension}", out.getvalue())


def json_lines(name, rows):
    keep(name, rows)
    plain = lambda value: value.isoformat() if isinstance(value, (date, datetime)) else value  # noqa: E731
    lines = (json.dumps({key: plain(value) for key, value in row.items()}, ensure_ascii=False) for row in rows)
    put(f"{name}.jsonl", "".join(line + "\n" for line in lines))


def parquet(name, rows, file):
    keep(name, rows)
    path = LAKE / file
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {key: [row[key] for row in rows] for key in rows[0]}
    arrays = {}
    for key, values in columns.items():
        kind = pa.timestamp("s") if any(isinstance(value, datetime) for value in values) else None
        arrays[key] = pa.array(values, type=kind)
    pq.write_table(pa.table(arrays), path, compression="zstd")


def put(file, text):
    path = LAKE / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


# ---- people, places ---------------------------------------------------------------------------------------------

FIRST = (
    "Amara Bastien Chiara Dmitri Elif Farid Greta Hana Ivo Jonas Katya Leandro Maeve Nadia Oskar Priya Quentin Rosa "
    "Samir Tove Ursula Viktor Wanda Xenia Yusuf Zofia Anouk Bram Celia Dario"
).split()
LAST = (
    "Abernathy Bergqvist Castellan Dunmore Eklund Farrow Grimaldi Hartnell Ibarra Jansky Kowalik Lindqvist Marchetti "
    "Novotny Okonkwo Pellerin Quillfeather Ravensdale Santoro Thackeray Ulvestad Vandermeer Wetherby Yamashiro Zielinski"
).split()
LAKES = (
    "Lake Veldry|Hollin Tarn|Osterwater|Lake Amberlin|Skarn Pool|Merrowmere|Lake Tindale|Grenloch|Pellan Reservoir|"
    "Lake Sorrel|Duskwater|Nine Elms Mere"
).split("|")


def person(chance):
    return chance.choice(FIRST), chance.choice(LAST)


def day(chance, first, last):
    return first + timedelta(days=chance.randrange((last - first).days + 1))


def some(chance, share, value):
    """The value, or nothing in the given share of cases."""
    return None if chance.random() < share else value


# ---- water ------------------------------------------------------------------------------------------------------


def stations():
    chance = Random("stations")
    rows = []
    for at, lake in enumerate(LAKES):
        north, east = 54.1 + 0.17 * at, 2.4 + chance.random() * 3
        for side in ("inlet", "outlet"):
            rows.append(
                {
                    "station_id": f"GS-{100 + len(rows)}",
                    "station": f"{lake} {side}",
                    "lake": lake,
                    "latitude": round(north + chance.uniform(-0.03, 0.03), 4),
                    "longitude": round(-east + chance.uniform(-0.04, 0.04), 4),
                    "elevation_m": 90 + 23 * at + (4 if side == "inlet" else 0),
                    "installed": day(chance, date(1987, 1, 1), date(2019, 12, 31)),
                    "operator": chance.choice(["Northern Rivers Authority", "Veldry Water", "University of Tindale"]),
                    "telemetry": chance.random() < 0.7,
                }
            )
    text_table("hydrology/stations", rows, "\t", "tsv")


def lake_levels():
    chance = Random("lake_levels")
    rows = []
    for station in MADE["hydrology/stations"][1:13:2]:  # the outlets of six lakes
        base = station["elevation_m"]
        for week in range(52):
            on = date(2023, 1, 2) + timedelta(weeks=week)
            season = math.cos((on.timetuple().tm_yday - 75) / 365 * 2 * math.pi)  # high in March, low in September
            inflow = max(0.2, 6 + 4.5 * season + chance.gauss(0, 1.2))
            rows.append(
                {
                    "station_id": station["station_id"],
                    "measured_on": on,
                    "level_m": round(base + 0.6 * season + chance.gauss(0, 0.05), 3),
                    "inflow_m3s": some(chance, 0.05, round(inflow, 2)),
                    "ice_cover": on.month in (1, 2, 12) and base > 140,
                    "quality": "suspect" if chance.random() < 0.06 else "ok",
                }
            )
    parquet("hydrology/lake_levels", rows, "hydrology/lake_levels.parquet")


def secchi():
    chance = Random("secchi")
    rows = []
    remarks = ["calm", "light chop", "pollen on the surface", "blue-green scum near shore", "after heavy rain"]
    for _ in range(180):
        lake = chance.choice(LAKES)
        on = day(chance, date(2021, 4, 10), date(2023, 10, 20))
        while not 4 <= on.month <= 10:
            on = day(chance, date(2021, 4, 10), date(2023, 10, 20))
        murk = 3 + LAKES.index(lake) * 1.6
        chlorophyll = max(0.8, chance.lognormvariate(math.log(murk), 0.4) * (1.5 if on.month in (7, 8) else 1))
        warm = 11 + 8 * math.sin((on.timetuple().tm_yday - 105) / 365 * 2 * math.pi)
        rows.append(
            {
                "lake": lake,
                "sampled_on": on,
                "observer": " ".join(person(chance)),
                "disc_m": round(max(0.3, 9.5 / chlorophyll**0.62 + chance.gauss(0, 0.15)), 1),
                "chl_a": some(chance, 0.1, round(chlorophyll, 1)),
                "surface_c": round(warm + chance.gauss(0, 1.1), 1),
                "remarks": some(chance, 0.5, chance.choice(remarks)),
            }
        )
    rows.sort(key=lambda row: (row["sampled_on"], row["lake"]))
    text_table("hydrology/secchi", rows)
    put(
        "hydrology/secchi.md",
        "# Volunteer clarity survey\n\n"
        "Volunteers lower a white disc on a rope until it can no longer be seen: the depth, in metres, tells how clear\n"
        "the water is. The same bottle sample gives chlorophyll a in micrograms a litre, which stands for algae. Small\n"
        "depths together with much chlorophyll are the sign of an algal bloom. April to October only, by boat, at the\n"
        "deepest point of each lake.\n",
    )


# ---- shop -------------------------------------------------------------------------------------------------------

GOODS = {
    "Kitchen": ["Copper Kettle", "Bread Knife", "Cast Iron Pan", "Pepper Mill", "Glass Teapot", "Mortar and Pestle"],
    "Garden": ["Watering Can", "Pruning Shears", "Seed Tray", "Compost Bin", "Garden Fork", "Bird Feeder"],
    "Camping": ["Two Person Tent", "Head Lamp", "Folding Stove", "Sleeping Mat", "Dry Bag", "Water Filter"],
    "Office": ["Desk Lamp", "Filing Tray", "Fountain Pen", "Standing Mat", "Paper Guillotine", "Cork Board"],
    "Toys": ["Wooden Train", "Marble Run", "Kite", "Puppet Theatre", "Spinning Top", "Building Blocks"],
}
MAKERS = ["Osland", "Ferro", "Tilia", "Brightwater", "Kestrel", "Moor and Son"]


def products():
    chance = Random("products")
    blurbs = [
        "Made to last, with a {} guarantee.\nSpare parts on request.",
        'Our best seller, "the one you keep", with {} guarantee',
        "Light, foldable, washable; {} guarantee",
        "Ships flat, needs no tools.\nComes with {} guarantee, care leaflet, and a linen bag.",
    ]
    rows = []
    for category, names in GOODS.items():
        for name in names:
            for maker in chance.sample(MAKERS, 2):
                price = round(chance.uniform(6, 140)) - 0.05
                rows.append(
                    {
                        "sku": f"{category[:2].upper()}-{1001 + len(rows)}",
                        "product": f"{maker} {name}",
                        "category": category,
                        "description": some(
                            chance, 0.1, chance.choice(blurbs).format(chance.choice(["two-year", "five-year", "lifetime"]))
                        ),
                        "list_price": round(price, 2),
                        "weight_kg": some(chance, 0.08, round(chance.uniform(0.1, 9), 2)),
                        "discontinued": chance.random() < 0.12,
                    }
                )
    text_table("retail/products", rows)


def customers():
    chance = Random("customers")
    rows = []
    streets = ["Mill Lane", "Harbour Street", "Orchard Road", "Station Approach", "Chapel Hill", "Quay Side"]
    towns = ["Tindale", "Amberlin", "Port Sorrel", "Grenloch", "Osterby"]
    for at in range(150):
        first, last = person(chance)
        rows.append(
            {
                "cust_id": 70001 + at,
                "fst_nm": first,
                "lst_nm": last,
                "dob": day(chance, date(1939, 1, 1), date(1993, 12, 31)),
                "addr_ln1": f"{chance.randrange(1, 180)} {chance.choice(streets)}",
                "addr_twn": chance.choice(towns),
                "acct_open_dt": day(chance, date(2012, 1, 1), date(2023, 6, 30)),
                "cust_acct_bal_amt": round(chance.gauss(40, 160), 2),
                "cr_lmt_amt": some(chance, 0.2, chance.choice([250, 500, 1000, 2500])),
                "acct_sts_cd": chance.choice("AAAAAASC"),
            }
        )
    text_table("finance/cust_mst", rows)


def orders():
    chance = Random("orders")
    people, goods = MADE["finance/cust_mst"], MADE["retail/products"]
    rows = []
    at = datetime(2023, 7, 1, 8, 0, 0)
    for number in range(320):
        at += timedelta(seconds=chance.randrange(1800, 80000))
        item, status = chance.choice(goods), chance.choice(["shipped"] * 7 + ["returned", "cancelled", "open"])
        rows.append(
            {
                "order_id": 500200 + number,
                "ordered_at": at,
                "customer_id": chance.choice(people)["cust_id"],
                "sku": item["sku"],
                "quantity": chance.choice([1, 1, 1, 2, 2, 3, 6]),
                "unit_price": item["list_price"],
                "discount_pct": some(chance, 0.6, chance.choice([5.0, 10.0, 15.0, 25.0])),
                "channel": chance.choice(["web", "web", "app", "shop", "phone"]),
                "gift_wrap": chance.random() < 0.15,
                "status": status,
                "shipped_on": (at + timedelta(days=chance.randrange(1, 6))).date() if status in ("shipped", "returned") else None,
            }
        )
    parquet("retail/orders", rows[:160], "retail/orders/part-0000.parquet")
    parquet("retail/orders", rows[160:], "retail/orders/part-0001.parquet")


def stock():
    chance = Random("stock")
    rows = []
    for item in MADE["retail/products"]:
        for store in chance.sample(["N1", "S2", "W4", "HUB"], 2):
            reorder = chance.choice([5, 10, 20, 40])
            held = max(0, int(chance.gauss(reorder * 1.6, reorder * 0.8)))
            rows.append(
                {
                    "sku": item["sku"],
                    "whse_cd": store,
                    "qty_oh": held,
                    "qty_oo": reorder * 3 if held < reorder else 0,
                    "rop": reorder,
                    "unit_cst_amt": round(item["list_price"] * chance.uniform(0.45, 0.65), 2),
                    "lst_cnt_dt": some(chance, 0.1, day(chance, date(2024, 1, 8), date(2024, 3, 29))),
                }
            )
    text_table("retail/inv_snap", rows)


# ---- staff ------------------------------------------------------------------------------------------------------


def employees():
    chance = Random("employees")
    jobs = {
        "Logistics": ["Forklift Driver", "Dispatcher", "Customs Clerk"],
        "Finance": ["Payroll Accountant", "Controller", "Auditor"],
        "Engineering": ["Firmware Engineer", "Test Engineer", "Platform Engineer"],
        "Sales": ["Account Manager", "Sales Assistant"],
        "People": ["Recruiter", "Training Coordinator"],
    }
    chief, rows = {}, []
    for at in range(120):
        department = list(jobs)[at] if at < len(jobs) else chance.choice(list(jobs))
        number = f"E{1500 + at}"
        boss = chief.setdefault(department, number)
        title = f"Head of {department}" if boss == number else chance.choice(jobs[department])
        hired = day(chance, date(2009, 2, 1), date(2014, 12, 31)) if boss == number else day(chance, date(2015, 1, 1), date(2023, 9, 15))
        pay = 98000 if boss == number else chance.randrange(29000, 76000, 250)
        rows.append(
            {
                "employee_id": number,
                "full_name": " ".join(person(chance)),
                "department": department,
                "job_title": title,
                "hired_on": hired,
                "salary_eur": pay,
                "works_remotely": department != "Logistics" and chance.random() < 0.4,
                "manager_id": None if boss == number else boss,
                "office": chance.choice(["Gdynia", "Leiden", "Trieste"]),
            }
        )
    text_table("hr/employees", rows, ";")


def leave_requests():
    chance = Random("leave")
    rows = []
    for number in range(150):
        kind = chance.choice(["annual"] * 6 + ["parental", "unpaid", "study", "bereavement"])
        begins = day(chance, date(2023, 12, 1), date(2024, 8, 1))
        length = {"parental": 60, "unpaid": 10, "study": 5, "bereavement": 3}.get(kind) or chance.randrange(1, 15)
        asked = begins - timedelta(days=chance.randrange(2, 60))
        rows.append(
            {
                "request_id": 9000 + number,
                "employee_id": chance.choice(MADE["hr/employees"])["employee_id"],
                "kind": kind,
                "asked_on": asked,
                "first_day": begins,
                "last_day": begins + timedelta(days=length - 1),
                "calendar_days": length,
                "approved": chance.choice([True, True, True, False, None]),
                "note": some(chance, 0.7, chance.choice(["half days", "covers school holidays", "exam week", "moved from May"])),
            }
        )
    json_lines("hr/leave_requests", rows)


# ---- trams ------------------------------------------------------------------------------------------------------


def stops():
    chance = Random("stops")
    first = "Foundry Castle Botanic Canal Market Museum Observatory Rope Saint Willow".split()
    second = ["Gate", "Bridge", "Square", "Yard"]
    names = [f"{a} {b}" for b in second for a in first]
    rows = [
        {
            "stop_id": 310 + at,
            "stop_name": name,
            "zone": "ABC"[min(2, at // 14)],
            "latitude": round(51.02 + chance.uniform(-0.06, 0.06), 5),
            "longitude": round(13.71 + chance.uniform(-0.09, 0.09), 5),
            "step_free": chance.random() < 0.6,
            "shelter": some(chance, 0.1, chance.random() < 0.5),
        }
        for at, name in enumerate(names)
    ]
    text_table("transit/stops", rows)


def trip_delays():
    chance = Random("delays")
    lines = {line: chance.sample(range(310, 350), 12) for line in ("3", "7", "11", "N2", "X40")}
    causes = ["signal fault", "door blocked", "parked car on track", "driver change", "overhead wire down", "crowding"]
    rows, at = [], datetime(2024, 2, 5, 5, 10, 0)
    for number in range(400):
        at += timedelta(minutes=chance.randrange(2, 50))
        line = chance.choice(list(lines))
        late = int(max(-40, chance.expovariate(1 / 110) - 30))
        rows.append(
            {
                "trip_id": f"T{number // 4 + 2200}-{number % 4}",
                "line": line,
                "stop_id": chance.choice(lines[line]),
                "scheduled_at": at,
                "delay_s": late,
                "cause": chance.choice(causes) if late > 180 else None,
                "cancelled": chance.random() < 0.02,
            }
        )
    parquet("transit/trip_delays", rows, "transit/trip_delays.parquet")


# ---- hospital ---------------------------------------------------------------------------------------------------


def admissions():
    chance = Random("admissions")
    wards = {"CARD": "Cardiology", "ORTH": "Orthopaedics", "PAED": "Paediatrics", "NEUR": "Neurology", "MAT": "Maternity"}
    groups = {
        "CARD": ["heart failure", "arrhythmia", "angina"],
        "ORTH": ["hip fracture", "knee replacement", "spinal stenosis"],
        "PAED": ["bronchiolitis", "febrile seizure", "appendicitis"],
        "NEUR": ["ischaemic stroke", "epilepsy", "migraine with aura"],
        "MAT": ["normal delivery", "caesarean section"],
    }
    rows, on = [], date(2023, 3, 1)
    for number in range(200):
        on += timedelta(days=chance.choice([0, 1, 1, 2, 3]))
        ward = chance.choice(list(wards))
        stay = int(chance.expovariate(1 / 4.5)) + 1
        age = {"PAED": chance.randrange(0, 16), "MAT": chance.randrange(19, 43)}.get(ward, chance.randrange(28, 95))
        leaves = on + timedelta(days=stay)
        rows.append(
            {
                "pt_id": f"P{chance.randrange(10000, 99999)}",
                "age": age,
                "sex": "F" if ward == "MAT" else chance.choice("FM"),
                "ward": wards[ward],
                "adm_dt": on,
                "dis_dt": some(chance, 0.04, leaves),
                "los_d": stay,
                "dx_grp": chance.choice(groups[ward]),
                "readm_30": chance.random() < 0.11,
            }
        )
    for row in rows:
        if row["dis_dt"] is None:
            row["los_d"] = None
    text_table("hospital/adm", rows)


# ---- wind, weather, air -----------------------------------------------------------------------------------------


def turbine_output():
    chance = Random("turbines")
    rows = []
    for step in range(45):
        at = datetime(2024, 1, 10) + timedelta(hours=6 * step)
        gust = max(0.5, 9 + 5 * math.sin(step / 5) + chance.gauss(0, 1.5))
        for turbine in range(1, 9):
            wind = max(0.0, gust + chance.gauss(0, 0.8))
            state = "maintenance" if turbine == 5 and 20 <= step < 28 else "storm stop" if wind > 15.5 else "idle" if wind < 3 else "running"
            power = 0.0 if state != "running" else min(3000.0, 3000 * ((wind - 3) / 9) ** 3 if wind < 12 else 3000)
            rows.append(
                {
                    "turbine": f"WT{turbine:02}",
                    "measured_at": at,
                    "wind_speed_ms": some(chance, 0.02, round(wind, 1)),
                    "power_kw": round(power, 1),
                    "rotor_rpm": round(0 if power == 0 else 6 + power / 400, 1),
                    "nacelle_temp_c": round(4 + power / 250 + chance.gauss(0, 1), 1),
                    "state": state,
                }
            )
    parquet("energy/turbine_output", rows, "energy/turbine_output.parquet")


def weather():
    chance = Random("weather")
    rows = []
    for site, height in (("BRK", 12), ("HFL", 640)):
        lying = 0
        for number in range(180):
            on = date(2023, 10, 1) + timedelta(days=number)
            mean = 9 - height / 110 - 8 * math.sin((number - 10) / 180 * math.pi) + chance.gauss(0, 2.5)
            spread = chance.uniform(2, 5)
            rain = round(chance.expovariate(1 / 6), 1) if chance.random() < 0.45 else 0.0
            lying = int(max(0, lying + rain)) if mean < 0 else int(lying * 0.5)
            rows.append(
                {
                    "site": site,
                    "dt": on,
                    "tmax": round(mean + spread, 1),
                    "tmin": round(mean - spread, 1),
                    "prcp": some(chance, 0.03, rain),
                    "snwd": lying,
                    "wspd": round(chance.weibullvariate(5.5, 2), 1),
                }
            )
    text_table("weather/wx", rows, ";")
    put(
        "weather/wx.txt",
        "Daily weather at two climate stations, Brackwater airport (BRK, 12 m) and Highfell summit (HFL, 640 m).\n"
        "tmax and tmin: warmest and coldest air temperature of the day, degrees Celsius. prcp: rain and melted snow, mm.\n"
        "snwd: depth of snow lying at 9 o'clock, cm. wspd: mean wind, metres a second. Frost means tmin below zero.\n",
    )


def readings():
    chance = Random("readings")
    for year, month in ((2023, 11), (2023, 12), (2024, 1), (2024, 2), (2024, 3)):
        rows = []
        for number in range(64):
            at = datetime(year, month, 1) + timedelta(hours=11 * (number // 2))
            rush = 1.6 if at.hour in (7, 8, 9, 16, 17, 18) else 1.0
            rows.append(
                {
                    "sensor_id": f"SB-{(number * 7) % 12 + 1:02}",
                    "measured_at": at,
                    "pm25": round(chance.lognormvariate(2.3, 0.35) * rush, 1),
                    "no2": some(chance, 0.06, round(chance.lognormvariate(2.8, 0.3) * rush, 1)),
                    "noise_db": round(52 + 9 * (rush > 1) + chance.gauss(0, 3), 1),
                    "battery_v": round(3.9 - number * 0.004 + chance.gauss(0, 0.01), 2),
                }
            )
        parquet("sensors/readings", rows, f"sensors/readings/year={year}/month={month:02}/data.parquet")


# ---- sky, stage, field, pitch -----------------------------------------------------------------------------------


def variable_stars():
    chance = Random("stars")
    where = {"Cygnus": (308, 42), "Lyra": (284, 36), "Aquila": (296, 4), "Cepheus": (334, 66), "Perseus": (52, 45),
             "Orion": (84, 3), "Leo": (160, 16), "Hercules": (256, 31), "Cassiopeia": (15, 60), "Pegasus": (340, 20)}
    classes = {"Mira": (120, 480, 3.5, "M"), "Cepheid": (3, 45, 0.9, "F"), "RR Lyrae": (0.3, 0.8, 0.7, "A"), "eclipsing binary": (0.6, 30, 0.8, "B")}
    rows = []
    for _ in range(120):
        constellation = chance.choice(list(where))
        ra, dec = where[constellation]
        ra, dec = round(ra + chance.uniform(-4, 4), 3), round(dec + chance.uniform(-4, 4), 3)
        kind = chance.choice(list(classes))
        short, long, swing, letter = classes[kind]
        bright = round(chance.uniform(6.5, 13), 2)
        minutes = round(ra / 15 * 60)
        rows.append(
            {
                "designation": f"LMN J{minutes // 60:02}{minutes % 60:02}{'+' if dec >= 0 else '-'}{int(abs(dec)):02}",
                "constellation": constellation,
                "ra_deg": ra,
                "dec_deg": dec,
                "class": kind,
                "period_d": round(math.exp(chance.uniform(math.log(short), math.log(long))), 3),
                "mag_max": bright,
                "mag_min": round(bright + swing * chance.uniform(0.6, 1.4), 2),
                "spectral_type": some(chance, 0.15, f"{letter}{chance.randrange(0, 10)}"),
                "discovered": chance.randrange(1908, 2022),
            }
        )
    text_table("astronomy/variable_stars", rows)


def concerts():
    chance = Random("concerts")
    bands = ["The Paper Lanterns", "Signe Holm Trio", "Brass Orchard", "Velvet Tramway", "Nils and the Weathervanes", "Korda Quartet"]
    halls = [("Corn Exchange", "Ghent", "Belgium", 900), ("Harbour Hall", "Turku", "Finland", 1500), ("Teatro Sirena", "Bari", "Italy", 2200),
             ("The Old Laundry", "Cork", "Ireland", 350), ("Tempelgarten", "Graz", "Austria", 4000), ("Salle Mistral", "Nantes", "France", 1200)]
    support = ["Little Comet", "Juniper Static", "Half Past Owl", "DJ Fennel"]
    rows, on = [], date(2022, 3, 4)
    for number in range(120):
        on += timedelta(days=chance.randrange(2, 9))
        hall, city, country, seats = chance.choice(halls)
        sold = min(seats, int(seats * chance.uniform(0.45, 1.2)))
        price = chance.choice([18, 24, 32, 45])
        rows.append(
            {
                "show_id": 4100 + number,
                "date": on,
                "artist": chance.choice(bands),
                "venue": hall,
                "city": city,
                "country": country,
                "capacity": seats,
                "tickets_sold": sold,
                "sold_out": sold == seats,
                "ticket_price_eur": price,
                "gross_eur": sold * price,
                "support_act": some(chance, 0.35, chance.choice(support)),
                "encore_songs": chance.choice([0, 1, 2, 2, 3]),
            }
        )
    json_lines("music/concerts", rows)


def yield_trials():
    chance = Random("yield")
    kinds = {"winter wheat": (["Aldermark", "Bristow", "Corvane"], 8.2), "spring barley": (["Dunlin", "Ettrick"], 6.1), "oats": (["Fenwick", "Garrow"], 5.4),
             "faba bean": (["Hollis"], 4.0)}
    rows = []
    for block in range(1, 6):
        for crop, (cultivars, base) in kinds.items():
            for cultivar in cultivars:
                for nitrogen in (0, 60, 120, 180):
                    gain = 0 if crop == "faba bean" else 2.6 * (1 - math.exp(-nitrogen / 80)) - 1.5
                    sown = date(2022, 10, 4) if crop == "winter wheat" else date(2023, 3, 21)
                    rows.append(
                        {
                            "plot": f"B{block}-{len(rows) % 32 + 1:02}",
                            "crop": crop,
                            "cultivar": cultivar,
                            "n_kg_ha": nitrogen,
                            "irrigated": block % 2 == 0,
                            "sown": sown + timedelta(days=block),
                            "harvested": some(chance, 0.03, date(2023, 8, 1) + timedelta(days=chance.randrange(20))),
                            "t_ha": round(max(0.5, base + gain + (0.5 if block % 2 == 0 else 0) + chance.gauss(0, 0.3)), 2),
                            "lodg_pct": some(chance, 0.1, int(max(0, chance.gauss(nitrogen / 9, 5)))),
                        }
                    )
    for row in rows:
        if row["harvested"] is None:
            row["t_ha"] = row["lodg_pct"] = None
    text_table("agriculture/yield_trials", rows)


def batting():
    chance = Random("batting")
    teams = ["Harbor Gulls", "Mill City Oaks", "Red Canyon Miners", "Lakeside Herons", "Prairie Owls"]
    rows, used = [], set()
    while len(rows) < 90:
        name = " ".join(person(chance))
        if name in used:
            continue
        used.add(name)
        games = chance.randrange(30, 140)
        at_bats = int(games * chance.uniform(2.6, 4.1))
        hits = int(at_bats * chance.uniform(0.19, 0.33))
        doubles, triples, homers = int(hits * chance.uniform(0.12, 0.22)), int(hits * chance.uniform(0, 0.04)), int(hits * chance.uniform(0, 0.24))
        walks, strikeouts = int(at_bats * chance.uniform(0.04, 0.15)), int(at_bats * chance.uniform(0.12, 0.3))
        flies = int(at_bats * 0.01)
        total = hits + doubles + 2 * triples + 3 * homers
        rows.append(
            {
                "player": name,
                "team": chance.choice(teams),
                "pos": chance.choice(["C", "1B", "2B", "3B", "SS", "LF", "CF", "RF", "DH"]),
                "G": games,
                "AB": at_bats,
                "H": hits,
                "2B": doubles,
                "3B": triples,
                "HR": homers,
                "BB": walks,
                "SO": strikeouts,
                "SF": flies,
                "AVG": round(hits / at_bats, 3),
                "OBP": round((hits + walks) / (at_bats + walks + flies), 3),
                "SLG": round(total / at_bats, 3),
                "BABIP": round((hits - homers) / (at_bats - strikeouts - homers + flies), 3),
            }
        )
    text_table("sport/batting", rows)


# ---- library ----------------------------------------------------------------------------------------------------


def books():
    chance = Random("books")
    heads = {
        "The Salt Road": "travel", "A Winter in Lyndmoor": "fiction", "Maps for the Drowned": "fiction", "Bees, Bells and Bread": "cookery",
        "The Clockmaker's Niece": "fiction", "On Rivers": "natural history", "Seven Small Engines": "science", "The Glass Orchard": "fiction",
        "Night Ferry": "travel", "A Field Guide to Lichens": "natural history", "The Last Lamplighter": "history",
        "Letters to a Cartographer": "history", "Hedgerow Cooking": "cookery", "The Algebra of Tides": "science",
        "Owls of the Upper Valley": "natural history", "Under the Tin Roof": "fiction",
    }
    tails = ["", ", Volume Two", " (large print)", " (illustrated)", ", revised edition"]
    wrote = {head: (chance.choice(LAST), chance.choice(FIRST)) for head in heads}
    rows = []
    for tail in tails:
        for head, genre in heads.items():
            family, given = wrote[head]
            rows.append(
                {
                    "book_id": 2001 + len(rows),
                    "title": head + tail,
                    "author": f"{family}, {given}",
                    "genre": genre,
                    "published": chance.randrange(1931, 2023),
                    "pages": some(chance, 0.07, chance.randrange(90, 720)),
                    "shelf_note": some(
                        chance,
                        0.6,
                        chance.choice(["Spine repaired,\nhandle with care", 'Signed: "for the reading room"', "Map in the back pocket", "Two copies, one in store"]),
                    ),
                    "reference_only": chance.random() < 0.1,
                }
            )
    text_table("library/books", rows)
    put("library/books.md", "The catalogue of the Amberlin town library: one row for each title on the shelves. Reference copies may not be taken home.\n")


def loans():
    chance = Random("loans")
    lendable = [book["book_id"] for book in MADE["library/books"] if not book["reference_only"]]
    rows, on = [], date(2023, 9, 1)
    for number in range(300):
        on += timedelta(days=chance.choice([0, 0, 1]))
        back = on + timedelta(days=chance.randrange(3, 45))
        due = on + timedelta(days=21)
        late = max(0, (back - due).days)
        out = chance.random() < 0.1
        rows.append(
            {
                "loan_id": 88000 + number,
                "book_id": chance.choice(lendable),
                "reader_card": f"R{chance.randrange(300, 460)}",
                "borrowed": on,
                "due": due,
                "returned": None if out else back,
                "overdue_fine_eur": None if out else round(late * 0.2, 2),
                "renewals": chance.choice([0, 0, 0, 1, 2]),
            }
        )
    text_table("library/loans", rows, "\t", "tsv")


# ---- software ---------------------------------------------------------------------------------------------------


def incidents():
    chance = Random("incidents")
    services = ["checkout-api", "login", "search-frontend", "ledger", "image-resizer", "mail-relay"]
    causes = ["expired certificate", "bad deploy", "disk full", "database lock", "traffic spike", "misconfigured firewall", "memory leak"]
    rows, at = [], datetime(2023, 1, 3, 9, 12, 0)
    for number in range(150):
        at += timedelta(minutes=chance.randrange(300, 7000))
        severity = chance.choice([1, 2, 2, 3, 3, 3])
        open_still = number > 146
        rows.append(
            {
                "incident": f"INC-{2300 + number}",
                "opened_at": at,
                "service": chance.choice(services),
                "severity": severity,
                "minutes_to_detect": chance.randrange(1, 45),
                "minutes_to_restore": None if open_still else chance.randrange(8, 400) // severity + 5,
                "root_cause": None if open_still else chance.choice(causes),
                "customer_visible": severity == 1 or chance.random() < 0.4,
                "on_call": " ".join(person(chance)),
                "postmortem_written": not open_still and severity == 1,
            }
        )
    json_lines("ops/incidents", rows)


# ---- all --------------------------------------------------------------------------------------------------------

CONTEXTS = {
    "hospital/adm": "Inpatient stays at the three sites of Marlow General, one row for each stay from arrival to going home. los_d is "
    "the length of stay in days, dx_grp the main diagnosis, readm_30 says whether the same patient had to come back within thirty "
    "days. Used for bed planning.",
    "agriculture/yield_trials": "Randomised block field experiment of the Osterby research farm: how much grain each variety gives "
    "(t_ha, tonnes a hectare) under four rates of nitrogen fertiliser (n_kg_ha). lodg_pct is the share of stems that the wind had "
    "flattened before harvest.",
    "sensors/readings": "Street-corner boxes of the city's clean air programme, on lamp posts along the ring road: fine dust (pm25, "
    "micrograms a cubic metre), exhaust gas (no2, parts per billion), traffic noise, and the charge of each box's cell.",
    "retail/orders": "Order lines of the Tilia and Ferro web shop and its two stores. Revenue is quantity times unit_price less the "
    "discount; carts that were abandoned before payment are not in here.",
}


def check():
    """What the tables promise each other, and what the questions quote."""
    column = lambda table, name: {row[name] for row in MADE[table]}  # noqa: E731
    for child, parent in (
        (("retail/orders", "customer_id"), ("finance/cust_mst", "cust_id")),
        (("retail/orders", "sku"), ("retail/products", "sku")),
        (("retail/inv_snap", "sku"), ("retail/products", "sku")),
        (("hydrology/lake_levels", "station_id"), ("hydrology/stations", "station_id")),
        (("hydrology/secchi", "lake"), ("hydrology/stations", "lake")),
        (("hr/leave_requests", "employee_id"), ("hr/employees", "employee_id")),
        (("transit/trip_delays", "stop_id"), ("transit/stops", "stop_id")),
        (("library/loans", "book_id"), ("library/books", "book_id")),
    ):
        assert column(*child) <= column(*parent), (child, parent)
    for table, rows in MADE.items():
        assert 20 <= len(rows) <= 400, (table, len(rows))
    for line in (HERE / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        assert set(item["tables"]) <= set(MADE), item
        if "quotes" in item:
            at = [n for n, row in enumerate(MADE[item["tables"][0]]) if item["quotes"] in map(str, row.values())]
            assert at and at[0] >= 5, (item, at[:3])
    total = sum(path.stat().st_size for path in LAKE.rglob("*") if path.is_file())
    print(f"{len(MADE)} tables, {sum(map(len, MADE.values()))} rows, {total} bytes")
    assert total < 600_000


def main():
    shutil.rmtree(LAKE, ignore_errors=True)
    for make in (
        stations, lake_levels, secchi, products, customers, orders, stock, employees, leave_requests, stops, trip_delays,
        admissions, turbine_output, weather, readings, variable_stars, concerts, yield_trials, batting, books, loans, incidents,
    ):
        make()
    lines = (json.dumps({"table": table, "context": text}, ensure_ascii=False) for table, text in CONTEXTS.items())
    (HERE / "contexts.jsonl").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    check()


if __name__ == "__main__":
    main()
