//! What those who make a data set are asked about it, after "Datasheets for Datasets" (Gebru et
//! al., CACM 2021), in our own words: what no row of a table tells.

/// The questions, each with a short name, which stands in files of questions: never changed.
pub(crate) const DATASHEET: [(&str, &str); 21] = [
    ("purpose", "For what purpose was this table made?"),
    ("gap", "Which need was not met before this table was made?"),
    ("makers", "Who made this table, and on whose behalf?"),
    ("instances", "What does one row of this table stand for?"),
    (
        "coverage",
        "Which cases does this table cover, and which are left out?",
    ),
    (
        "errors",
        "Which errors or doubtful entries is this table known to have?",
    ),
    ("collection", "How were the data of this table collected?"),
    (
        "collectors",
        "Who collected the data of this table, and how were they paid?",
    ),
    (
        "sampling",
        "If this table is a sample of something larger, how was it drawn?",
    ),
    (
        "period",
        "Over which period were the data of this table collected?",
    ),
    (
        "consent",
        "How were the people whom this table concerns told of it and asked?",
    ),
    (
        "cleaning",
        "How were the data of this table cleaned, labelled or derived?",
    ),
    ("raw", "Where are the raw data behind this table kept?"),
    ("uses", "For which tasks has this table been used already?"),
    (
        "further_uses",
        "For which other tasks could this table be used?",
    ),
    (
        "misuse",
        "For which tasks should this table not be used, and why?",
    ),
    (
        "distribution",
        "To whom is this table handed on, and in which way?",
    ),
    (
        "licence",
        "Under which licence or terms may this table be used?",
    ),
    (
        "maintenance",
        "Who maintains this table, and how can they be reached?",
    ),
    ("updates", "How often is this table updated, and by whom?"),
    (
        "retention",
        "How long are the data of this table kept, and what becomes of older versions?",
    ),
];
