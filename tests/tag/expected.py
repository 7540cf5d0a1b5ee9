"""Makes the tables of `query/ask/tests/tag.rs` and what TAG-Bench's own pipelines answer over them.

    python expected.py HAND_WRITTEN_PY      (needs pandas)

HAND_WRITTEN_PY is `hand_written.py` of https://github.com/TAG-Research/TAG-Bench. Its 80 pipelines
run over `tables/`, which are made up in the form of BIRD's; the model is a rule that the test has,
too: a sentence is true of a row, and a row comes before another, by a hash of the values that the
instruction names. Writes `tables/DATABASE/TABLE.csv` and `expected.json`.
"""

import csv
import json
import os
import random
import re
import runpy
import sys
import tempfile
import types
from pathlib import Path

import pandas as pd

HERE = Path(__file__).resolve().parent
RANDOM = random.Random(37)
WORDS = """beta model prior wind data curve kernel table plot random forest boosting sample error
    variance test median graph theorem paper thanks great nonsense sadly joke river""".split()

# What the model says where no row holds it: stage of the plan, values.
FACTS = {
    16: {"winner": ["Lionel Messi"]}, 25: {"codes": ["CZ", "CZE"]}, 27: {"capital": ["Vienna"]},
    29: {"czech": ["CZK"], "european": ["EUR"]}, 30: {"reserve": ["EUR"]},
    33: {"seat": ["Lakeport"]}, 35: {"war": ["1975"]}, 37: {"jordan": ["198.1"]},
    39: {"cup": ["1990"]}, 40: {"clinton": ["188.5"]}, 41: {"best": ["1600"]},
    42: {"april": ["30"]}, 43: {"american": ["38.5"]}, 44: {"bound": ["203.2"]},
    45: {"bound": ["169.97"]}, 46: {"bound": ["180.34"]}, 47: {"bound": ["1050.5"]},
    49: {"grid": ["10"]},
}
# The column of the plan's answer that has what the pipeline gives, where there are several; of the
# rows that are summed up, where it ends in a text.
COLUMNS = {
    21: "team_long_name", 51: "Title", 56: "Id", 58: "Id", 59: "player_name", 62: "City",
    63: "School", 65: "City", 107: "PostId", 108: "relevant", 109: "term", 111: "verdict",
    1000: "location", 81: "School", 82: "School", 85: "Title", 86: "Name", 87: "Title", 88: "Text",
    89: "Text", 90: "Text", 91: "Text", 92: "name", 93: "name", 94: "name", 95: "surname",
    96: "name", 97: "name", 99: "name", 100: "name", 101: "player_name", 102: "player_name",
    103: "player_name",
}


def rule(values):
    """The number by which the model decides about values."""
    number = 0
    for value in values:
        text = re.sub(r"(\d) (\d\d:)", r"\1t\2", str(value)).lower()
        for letter in text:
            if letter.isascii() and letter.isalnum():
                number = (number * 31 + ord(letter)) % 1_000_003
    return number


# The tables.


def text(count=5):
    return " ".join(RANDOM.choices(WORDS, k=count))


def moment(first, last):
    day = f"{RANDOM.randint(first, last)}-{RANDOM.randint(1, 12):02}-{RANDOM.randint(1, 28):02}"
    return f"{day} {RANDOM.randint(0, 23):02}:{RANDOM.randint(0, 59):02}:07"


def day(first, last):
    return moment(first, last)[:10]


def value(name, column_type, row):
    """Any value of a type. Numbers of a column are all different, so that orders are."""
    if column_type == "integer":
        return 100 + row * 7 + RANDOM.randint(0, 6)
    if column_type == "float":
        return round(100 + row * 7 + RANDOM.random() * 6, 2)
    if column_type == "date":
        return day(1960, 2014)
    return moment(2009, 2014) if column_type == "timestamp" else text(1)


def write(table, columns, rows):
    """Rows of which some columns are given."""
    path = HERE / "tables" / f"{table}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow([name for name, _ in columns])
        for number, row in enumerate(rows):
            unknown = set(row) - {name for name, _ in columns}
            assert not unknown, unknown
            out.writerow([row[name] if name in row else value(name, of, number) for name, of in columns])


def schools():
    counties = ["Alameda", "Lake", "Los Angeles", "Orange", "Riverside", "Santa Clara", "Kern"]
    cities = ["Riverside", "Lakeport", "Fremont", "Irvine", "Gilroy", "Delano", "Burbank", "Perris",
              "Bodie", "Corona", "Davis", "Eureka", "Fresno", "Graton"]
    names = ["Ana"] * 6 + ["Beth"] * 5 + ["Carl"] * 4 + ["Dora"] * 3 + ["Emil"] * 2 + [""] * 10
    every, scores, meals = [], [], []
    for at in range(30):
        code = f"0{1100170100000 + at * 37}"
        every.append({
            "CDSCode": code, "County": counties[at % 7], "City": cities[(at * 3 + at // 8) % 14],
            "School": f"School {at} {text(1)}", "Virtual": "FNP"[at % 3], "Magnet": at % 2,
            "AdmFName1": names[at], "Phone": f"(5{at:02}) 555-01{at:02}",
            "Longitude": round(-124 + ((at * 11) % 30) / 5, 4), "GSoffered": f"K-{at % 12}",
        })
        if at < 26:
            scores.append({
                "cds": code, "rtype": "S", "cname": counties[at % 7], "NumTstTakr": 300 + at * 31,
                "AvgScrRead": "" if at == 3 else 400 + (at * 17) % 26 * 13, "AvgScrMath": 350 if at == 0 else RANDOM.randint(380, 720),
                "AvgScrWrite": RANDOM.randint(300, 480), "NumGE1500": RANDOM.randint(10, 290),
            })
        enrolled = RANDOM.randint(200, 900)
        meals.append({
            "CDSCode": code, "Enrollment (K-12)": enrolled + at / 10,
            "Enrollment (Ages 5-17)": 0.0 if at == 9 else enrolled - RANDOM.randint(0, 60),
            "Free Meal Count (K-12)": round(RANDOM.random() * 180, 1),
            "Free Meal Count (Ages 5-17)": 0.0 if at == 9 else round(RANDOM.random() * 200, 1),
            "Educational Option Type": ["Continuation School", "Traditional"][at % 2],
        })
    for at in range(3):
        scores.append({"cds": every[26 + at]["CDSCode"], "rtype": "D", "cname": ["Placer", "Marin", "Napa"][at],
                       "NumTstTakr": 3000, "AvgScrMath": 500 + at * 100, "AvgScrRead": 300 + at * 600, "AvgScrWrite": 800})
        every[26 + at].update({"City": ["Riverside", "Lakeport", "Lakeport"][at], "Virtual": "F"})
        meals[26 + at].update({"Free Meal Count (K-12)": 500.5})
    return {"schools": every, "satscores": scores, "frpm": meals}


def community():
    known = ["csgillespie", "Vebjorn Ljosa", "Yevgeny", "Harvey Motulsky", "A Lion",
             "Neil McGuigan", "whuber", "Glen_b"]
    users = [{"Id": 1450 + at * 5, "DisplayName": known[at] if at < 8 else f"user {at} {text(1)}",
              "Age": "" if at == 11 else 25 + (at * 13) % 24 * 2, "UpVotes": at * 13,
              "CreationDate": f"20{10 + at // 12}-{at % 12 + 1:02}-11 08:30:00", "AboutMe": text(8),
              "Location": "Vienna, Austria" if at % 3 == 0 else "Graz, Austria"} for at in range(24)]
    ids = [user["Id"] for user in users]
    titles = {4: "Analysing wind data with R", 9: "How does gentle boosting differ from AdaBoost?"}
    posts = [{"Id": 9 + at * 3, "OwnerUserId": ids[at % 8] if at % 5 else ids[8 + at % 16],
              "ParentId": 9 if at % 7 in (1, 5) else "", "Title": titles.get(at, f"{text(4)} {at}"),
              "Body": f"{text(9)} {at}", "Score": (at * 19) % 48, "ViewCount": "" if at == 7 else 3000 * ((at * 31) % 48),
              "FavoriteCount": "" if at % 6 == 5 else (at * 23) % 48} for at in range(48)]
    at_once = "2014-09-14 1{}:05:00"
    comments = []
    for at in range(90):
        post = 4 if at < 9 else 9 if at < 14 else RANDOM.choice([2, 3, 5, 6, 7, 8, 16, 17, 24, 31, 32, 33, 40, 41, 43])
        comments.append({
            "Id": 500 + at, "PostId": posts[post]["Id"], "UserId": ids[at % 24 if at < 9 else RANDOM.randint(0, 11)],
            "Score": [17, 5, 0, 2][at % 4], "Text": f"{text(6)} {at}",
            "CreationDate": at_once.format(at % 10) if at % 3 == 0 else moment(2010, 2013),
        })
    for user, owned in [(0, 9), (3, 7)]:  # whose most viewed post has comments; who scored five
        best = max((it for it in posts if it["OwnerUserId"] == ids[user]), key=lambda it: it["ViewCount"] or 0)
        for at in range(owned):
            comments.append({"Id": 700 + user * 10 + at, "PostId": best["Id"] + (3 * at if user else 0),
                             "UserId": ids[3], "Score": 5, "Text": f"{text(6)} of {user} {at}",
                             "CreationDate": moment(2010, 2013)})
    badges = []
    for at, user in enumerate([6] * 201 + [7] * 200 + [20] * 203 + list(range(24)) * 3 + [0] * 5):
        name = "Supporter" if at % 2 == 0 and at >= 604 else f"{WORDS[at % 25].title()} {user % 5}"
        badges.append({"Id": at + 1, "UserId": ids[user], "Name": name, "Date": "2011-05-01 07:00:00"})
    tags = [{"Id": at + 1, "TagName": "bayesian" if at == 2 else f"{WORDS[at]}-{at}", "Count": (at * 7) % 16 * 50 + 9,
             "ExcerptPostId": posts[at]["Id"]} for at in range(16)]
    votes = [{"Id": at + 1, "PostId": posts[(at * 5) % 48]["Id"], "UserId": 1465 if at % 4 == 0 else 1450}
             for at in range(20)]
    return {"users": users, "posts": posts, "comments": comments, "badges": badges, "tags": tags, "votes": votes}


def gas():
    segments = ["SME"] * 9 + ["LAM"] * 8 + ["KAM"] * 7
    customers = [{"CustomerID": at, "Segment": segments[at - 1],
                  "Currency": "EUR" if at in (2, 5) or 10 <= at < 22 else "CZK"} for at in range(1, 25)]
    stations = [{"GasStationID": at, "Country": ["CZE", "SVK", "CZE"][at % 3]} for at in range(1, 9)]
    payments = [{"TransactionID": at, "CustomerID": at % 24 + 1, "GasStationID": at % 8 + 1,
                 "Price": round(RANDOM.random() * 2000, 2), "Time": f"{at % 24:02}:10:00"} for at in range(1, 61)]
    months = [{"CustomerID": at % 24 + 1, "Date": (2011 + at // 7 % 3) * 100 + at % 12 + 1,
               "Consumption": round(RANDOM.random() * 9000 - 200, 2)} for at in range(90)]
    return {"customers": customers, "gasstations": stations, "transactions_1k": payments, "yearmonth": months}


def football():
    names = ["Austria", "Belgium", "France", "Italy", "Scotland", "Switzerland", "Spain"]
    countries = [{"id": 100 + at, "name": name} for at, name in enumerate(names)]
    leagues = [{"id": 100 + at, "country_id": 100 + at, "name": f"{name} League {at}"} for at, name in enumerate(names)]
    teams = [{"id": at, "team_api_id": 900 + at, "team_long_name": f"FC {text(1)} {at}"} for at in range(8)]
    matches = [{"id": at, "country_id": 100 + at % 7, "away_team_api_id": 900 + at % 8,
                "home_team_api_id": 900 + (at + 3) % 8, "away_team_goal": (at % 8) if at < 40 else 0,
                "season": ["2008/2009", "2009/2010", "2008/2009"][at % 3]} for at in range(56)]
    first = ["Lionel Messi", "Adam Ant", "Adam  West", "Adamo Rossi", "Kristof Long"]
    players = [{"id": at, "player_api_id": 3000 + at * 2, "player_name": first[at] if at < 5 else f"{text(1).title()} Player{at}",
                "height": 205.74 if at == 4 else round(165.1 + (at * 7) % 36 * 1.17, 2), "weight": 140 + (at * 17) % 36 * 2,
                "birthday": f"{1970 if at % 6 == 5 else 1985 + at % 9}-{at % 12 + 1:02}-{at % 27 + 1:02} 00:00:00"}
               for at in range(36)]
    of_player = [{"id": at, "player_api_id": 3000 + at % 36 * 2, "date": f"{2007 + at % 10}-02-22 00:00:00",
                  "overall_rating": 95 - (at % 36 * 13) % 40 + at // 36, "volleys": 96 - (at % 36 * 7) % 50, "dribbling": 96 - (at % 36 * 7) % 30,
                  "heading_accuracy": RANDOM.randint(20, 95), "preferred_foot": ["left", "right"][at % 36 % 2]}
                 for at in range(108)]
    return {"Country": countries, "League": leagues, "Team": teams, "Match": matches, "Player": players, "Player_Attributes": of_player}


def formula():
    places = [("Silverstone Circuit", "Silverstone", "UK"), ("Hockenheimring", "Hockenheim", "Germany"),
              ("Hungaroring", "Budapest", "Hungary"), ("Sepang International Circuit", "Kuala Lumpur", "Malaysia"),
              ("Monza", "Monza", "Italy"), ("Imola", "Imola", "Italy"), ("Indianapolis", "Indianapolis", "USA"),
              ("Nürburgring", "Nürburg", "Germany"), ("Valencia Street Circuit", "Valencia", "Spain"),
              ("Estoril", "Lisbon", "Portugal"), ("Sakhir", "Sakhir", "Bahrain"), ("Albert Park", "Melbourne", "Australia"),
              ("Lisbon Speedway", "Lisbon", "USA"), ("Algarve", "Portimão", "Portugal")]
    circuits = [{"circuitId": at + 1, "name": name, "location": location, "country": country}
                for at, (name, location, country) in enumerate(places)]
    races = [{"raceId": 860 + at, "year": 2007 + at % 8, "circuitId": at % 14 + 1, "date": f"{2007 + at % 8}-{at % 12 + 1:02}-{at % 27 + 1:02}",
              "name": "European Grand Prix" if at % 14 in (2, 7, 8, 9) else f"{places[at % 14][1]} Grand Prix", "time": "14:00:00"} for at in range(40)]
    races.append({"raceId": 901, "year": 2009, "circuitId": 12, "date": "2009-03-29", "name": "Australian Grand Prix", "time": "06:00:00"})
    races.append({"raceId": 900, "year": 2008, "circuitId": 12, "date": "2008-03-16", "name": "Australian Grand Prix", "time": "04:30:00"})
    nations = ["British", "Japanese", "Malaysian", "German", "Spanish", "Indian"]
    drivers = [{"driverId": at, "forename": "Alex" if at == 5 else f"Given{at}", "surname": "Yoong" if at == 5 else f"Family{at} {text(1)}",
                "nationality": nations[at % 6], "dob": f"{1966 + at}-05-17"} for at in range(1, 19)]
    makers = [{"constructorId": at, "name": f"Maker {text(1)} {at}", "constructorRef": f"maker{at}",
               "nationality": ["French", "Italian", "British"][at % 3]} for at in range(1, 10)]
    results = []
    for race in [900, 901, 872] + [860 + at for at in range(13, 40)]:
        for place, driver in enumerate(RANDOM.sample(range(1, 19), 12 if race in (900, 901, 872) else 4)):
            maker = RANDOM.randint(1, 9)
            results.append({"resultId": len(results) + 1, "raceId": race, "driverId": driver, "constructorId": maker,
                            "position": place * 3 + 1 if place < 10 else "", "rank": place + 1, "laps": 30 + RANDOM.randint(0, 20 if maker == 3 else 40),
                            "time": "" if place % 4 == 3 else f"+{place}.5{place}" if place else "1:34:50.616"})
    return {"circuits": circuits, "races": races, "drivers": drivers, "constructors": makers, "results": results}


def tables():
    schemas = json.loads((HERE / "schemas.json").read_text())
    databases = {"california_schools": schools, "codebase_community": community,
                 "debit_card_specializing": gas, "european_football_2": football, "formula_1": formula}
    for database, make in databases.items():
        for table, rows in make().items():
            write(f"{database}/{table}", schemas.pop(f"{database}/{table}"), rows)
    assert not schemas, schemas


# The operators, by the rule.


def named(frame, instruction):
    columns = re.findall(r"\{(\w+)\}", instruction)
    return [rule(values) for values in frame[columns].itertuples(index=False)]


def sem_filter(frame, instruction):
    return frame[[number % 2 == 0 for number in named(frame, instruction)]]


def sem_topk(frame, instruction, k):
    numbers = pd.Series(named(frame, instruction), index=range(len(frame)))
    return frame.iloc[numbers.sort_values(ascending=False, kind="stable").index[:k]]


def sem_map(frame, instruction, suffix="_map"):
    said = {
        3: lambda row, number: str(4 * number), 38: lambda row, number: str(1998 + number % 15),
        108: lambda row, number: ["YES", "NO"][number % 2], 111: lambda row, number: ["TRUE", "FALSE"][number % 2],
        109: lambda row, number: row["Title"].split()[0],
        37: lambda row, number: FACTS[37]["jordan"][0],
        29: lambda row, number: FACTS[29]["czech" if "Czech" in row["Area"] else "european"][0],
    }[UNDER_WAY["id"]]
    rows = [row for _, row in frame.iterrows()]
    written = [said(row, number) for row, number in zip(rows, named(frame, instruction))]
    return frame.assign(**{suffix: written})


def sem_agg(frame, instruction, all_cols=False):
    """The rows that would be summed up: their values of one column, in order of the alphabet."""
    column = "name_y" if UNDER_WAY["id"] == 94 else COLUMNS[UNDER_WAY["id"]]
    return pd.DataFrame({"_output": [sorted(frame[column])]})


class Asked:
    """Stands for the client of a language model."""

    def __init__(self):
        self.chat = self.completions = self

    def create(self, model, messages):
        values = next(iter(FACTS[UNDER_WAY["id"]].values()))
        said = str(values) if UNDER_WAY["id"] == 25 else values[0]
        if "boxed" in messages[0]["content"]:
            said = f"\\boxed{{{said}}}"
        message = types.SimpleNamespace(message=types.SimpleNamespace(content=said))
        return types.SimpleNamespace(choices=[message])


UNDER_WAY = {"id": None}


def pipelines(path):
    for name, members in {"lotus": {}, "lotus.models": {"LM": None}, "openai": {"OpenAI": Asked}}.items():
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(members)
    for operator in [sem_filter, sem_topk, sem_map, sem_agg]:
        setattr(pd.DataFrame, operator.__name__, operator)
    found = runpy.run_path(path, run_name="pipelines")
    return {int(name.removeprefix("pipeline_")): it for name, it in found.items() if name.startswith("pipeline_")}


def main():
    path = os.path.abspath(sys.argv[1])
    tables()
    expected = {}
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(HERE / "tables", f"{folder}/pandas_dfs")
        os.mkdir(f"{folder}/here")
        os.chdir(f"{folder}/here")
        for number, pipeline in sorted(pipelines(path).items()):
            UNDER_WAY["id"] = number
            found, _ = pipeline()
            found = found if isinstance(found, list) else [found]
            expected[number] = {"answer": [str(it) for it in found]}
            if number in COLUMNS:
                expected[number]["column"] = COLUMNS[number]
            if number in FACTS:
                expected[number]["facts"] = FACTS[number]
    lines = (f'  "{number}": {json.dumps(it)}' for number, it in expected.items())
    (HERE / "expected.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
