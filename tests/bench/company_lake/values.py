"""The values of the company's tables: a small language of kinds of columns, and the words behind it.

A table's columns are written as `name:kind` with `;` between them, a kind's arguments behind `=` with `,`
between them: `customer_id:CU#; city:city; segment:pick=large,small; price:money=10,900`. `CU#` counts customers
up, `CU@` refers to one of them. Every table draws from a generator that its path seeds, so that a table changes
with nothing but its own line.
"""
import random

FIRST = """Ingrid Lars Mette Søren Freja Anders Kirsten Jonas Birgit Matthias Heike Uwe Sabine Jürgen Claire Julien
Amélie Thierry Lucía Javier Carmen Álvaro Agnieszka Tomasz Zofia Piotr Haruka Kenji Yuki Daichi Olivia Marcus
Priya Arjun Fatima Omar Chidi Ngozi Elena Dmitri""".split()
LAST = """Halvorsen Mikkelsen Thygesen Brandt Lorenzen Vestergaard Scholz Hartmann Neubauer Reinhardt Krüger Moreau
Lefèvre Garnier Chevalier Ibáñez Navarro Castaño Wiśniewska Kowalczyk Zieliński Tanaka Fujimoto Ishikawa Whitfield
Okafor Deshpande Rahman Haddad Petrov Sokolova Lindqvist Aalto Virtanen Byrne Gallagher Costa Ferreira""".split()
CITIES = """Aarhus Odense Esbjerg Kolding Hamburg Bremen Leipzig Nürnberg Lyon Nantes Lille Toulouse Sevilla Bilbao Zaragoza
Málaga Gdańsk Poznań Wrocław Kraków Sapporo Sendai Nagano Oslo Bergen Malmö Göteborg Tampere Cork Leeds""".split()
COUNTRIES = "DK DE FR ES PL JP NO SE FI IE GB".split()
FIRMS = """Boligkontor Wohnbau Energi Klima Installation Varme Haustechnik Thermique Chauffage Climatización Instalaciones Ogrzewanie
Heating Plumbing Housing Estates Hotel Spital Kommune Stadtwerke""".split()
FORMS = "A/S ApS GmbH AG SARL SAS S.L. S.A. Sp.zo.o. K.K. AB Oy Ltd".split()
STREETS = "Havnegade Industrivej Bahnhofstraße Lindenweg Rue-Victor-Hugo Calle-Mayor ulica-Długa Kirkegade Ringvej Gartenweg".split()
MODELS = "Fjord-6 Fjord-9 Fjord-12 Fjord-16 Skagen-S Skagen-L Vinter-200 Vinter-400 Brise-Mini Brise-Duo".split()
PARTS = """compressor evaporator condenser expansion-valve four-way-valve circulation-pump fan-motor control-board inverter
pressure-sensor flow-sensor heat-exchanger buffer-tank drain-pan housing-panel cable-harness filter-drier sight-glass""".split()
LOREM = """unit delivered late checked again by phone with the installer who asked for a new date because the spare part was
missing and the noise at night came back after service while the owner was away so the visit is booked for next week""".split()
CODES = "ABCDEFGHJKLMNPRSTUVWXYZ"

# What refers to what: how an id is written, and how many there are.
KEYS = {
    "CU": ("CU-%05d", 900), "EMP": ("E%04d", 420), "PR": ("NH-%04d", 240), "PA": ("7.%05d.0", 700), "SU": ("S%05d", 160),
    "SO": ("SO%07d", 4000), "PO": ("4500%06d", 1500), "INV": ("F-2024-%05d", 3000), "WO": ("WO%06d", 1200), "DEV": ("dev-%06d", 800),
    "TI": ("T-%06d", 1500), "ST": ("st%02d", 24), "CC": ("K%04d", 60), "PJ": ("P-%03d", 40), "WH": ("WH%02d", 12), "IN": ("INST%04d", 300),
    "CP": ("C24-%03d", 60), "AS": ("A-%05d", 500), "CT": ("V%06d", 400), "BA": ("L%05d", 900), "LE": ("LD%06d", 2000), "MA": ("M%03d", 80),
}


def generator(seed, path):
    """The generator of one table."""
    return random.Random(f"{seed}:{path}")


def columns(text):
    """`name:kind=arguments; …` as (name, kind, arguments)."""
    parsed = []
    for part in text.split(";"):
        name, _, kind = part.strip().partition(":")
        kind, _, arguments = kind.partition("=")
        parsed.append((name, kind, arguments.split(",") if arguments else []))
    return parsed


def rows(text, count, rng, start=0):
    """`count` rows of the columns that the text names."""
    parsed = columns(text)
    return [[value(kind, arguments, rng, start + row) for _, kind, arguments in parsed] for row in range(count)]


def value(kind, arguments, rng, row):
    """One cell."""
    if kind[-1] in "#@" and kind[:-1] in KEYS:
        form, most = KEYS[kind[:-1]]
        return form % (row + 1 if kind[-1] == "#" else rng.randrange(1, most + 1))
    return KINDS[kind](arguments, rng, row)


def _day(rng, first, last):
    year = rng.randrange(first, last + 1)
    return year, rng.randrange(1, 13), rng.randrange(1, 29)


def _years(arguments):
    return (int(arguments[0]), int(arguments[-1])) if arguments else (2023, 2024)


def _span(arguments, least, most):
    return (float(arguments[0]), float(arguments[1])) if len(arguments) > 1 else (least, most)


def _sentence(arguments, rng, row):
    return " ".join(rng.choice(LOREM) for _ in range(int(arguments[0]) if arguments else 9))


def _pattern(arguments, rng, row):
    """`A` is a letter, `9` a digit, `x` a hexadecimal digit; other characters are themselves."""
    draw = {"A": lambda: rng.choice(CODES), "9": lambda: rng.choice("0123456789"), "x": lambda: rng.choice("0123456789abcdef")}
    return "".join(draw[c]() if c in draw else c for c in arguments[0])


def _mail(arguments, rng, row):
    return f"{rng.choice(FIRST)}.{rng.choice(LAST)}{rng.randrange(90)}@example.org".lower()


def _money(arguments, rng, row):
    return round(rng.uniform(*_span(arguments, 20, 9000)), 2)


def _german(arguments, rng, row):
    return f"{_money(arguments, rng, row):,.2f}".translate(str.maketrans(",.", ".,"))


def _date(arguments, rng, row):
    return "%04d-%02d-%02d" % _day(rng, *_years(arguments))


def _german_date(arguments, rng, row):
    year, month, day = _day(rng, *_years(arguments))
    return f"{day:02d}.{month:02d}.{year}"


def _time(arguments, rng, row):
    return f"{_date(arguments, rng, row)}T{rng.randrange(24):02d}:{rng.randrange(60):02d}:{rng.randrange(60):02d}"


def _measure(arguments, rng, row):
    least, most = _span(arguments, 0, 100)
    return round(rng.uniform(least, most), int(arguments[2]) if len(arguments) > 2 else 1)


def _whole(arguments, rng, row):
    least, most = _span(arguments, 0, 100)
    return rng.randrange(int(least), int(most) + 1)


KINDS = {
    "pick": lambda a, r, n: r.choice(a),
    "each": lambda a, r, n: a[n % len(a)],
    "const": lambda a, r, n: a[0],
    "seq": lambda a, r, n: n + (int(a[0]) if a else 1),
    "int": _whole,
    "float": _measure,
    "money": _money,
    "german": _german,
    "date": _date,
    "gdate": _german_date,
    "time": _time,
    "month": lambda a, r, n: "%04d-%02d" % _day(r, *_years(a))[:2],
    "year": lambda a, r, n: r.randrange(int(a[0]), int(a[1]) + 1),
    "bool": lambda a, r, n: r.choice(["true", "false"]),
    "yn": lambda a, r, n: r.choice(["Y", "N"]),
    "person": lambda a, r, n: f"{r.choice(FIRST)} {r.choice(LAST)}",
    "first": lambda a, r, n: r.choice(FIRST),
    "last": lambda a, r, n: r.choice(LAST),
    "email": _mail,
    "phone": lambda a, r, n: f"+45 {r.randrange(20, 99)} {r.randrange(10, 99)} {r.randrange(10, 99)} {r.randrange(10, 99)}",
    "city": lambda a, r, n: r.choice(CITIES),
    "country": lambda a, r, n: r.choice(COUNTRIES),
    "street": lambda a, r, n: f"{r.choice(STREETS)} {r.randrange(1, 140)}",
    "firm": lambda a, r, n: f"{r.choice(LAST)} {r.choice(FIRMS)} {r.choice(FORMS)}",
    "model": lambda a, r, n: r.choice(MODELS),
    "part": lambda a, r, n: r.choice(PARTS),
    "text": _sentence,
    "pat": _pattern,
    "hex": lambda a, r, n: "%0*x" % (int(a[0]), r.getrandbits(4 * int(a[0]))),
    "maybe": lambda a, r, n: r.choice(a) if r.random() < 0.3 else "",
}
