//! The words by which rows and lines below a table are known, in the larger languages: in lower
//! case, without what frames them.

use crate::plain::is_count_of_rows;

/// What remarks begin with, before a colon.
const REMARKS: &[&str] = &[
    "source",
    "sources",
    "data source",
    "note",
    "notes",
    "footnote",
    "footnotes",
    "remark",
    "remarks",
    "legend",
    "disclaimer",
    "records",
    "record count",
    "total records",
    "rows",
    "row count",
    "total rows",
    "quelle",
    "quellen",
    "hinweis",
    "anmerkung",
    "anmerkungen",
    "fuente",
    "nota",
    "notas",
    "fonte",
    "bron",
];

/// What rows of totals are called. English, German, French, Spanish, Portuguese, Italian, Dutch;
/// Danish, Norwegian, Swedish, Finnish; Polish, Czech, Slovak, Hungarian, Romanian, Turkish, Greek;
/// Russian, Ukrainian, Bulgarian; Chinese, Japanese, Korean; Vietnamese, Indonesian, Hebrew,
/// Arabic.
const TOTALS: &[&str] = &[
    "total",
    "totals",
    "grand total",
    "grand totals",
    "overall total",
    "total sum",
    "sum total",
    "sum",
    "overall",
    "σ",
    "summe",
    "summen",
    "gesamt",
    "gesamtsumme",
    "gesamtergebnis",
    "insgesamt",
    "total général",
    "total general",
    "totaux",
    "ensemble",
    "somme",
    "suma",
    "suma total",
    "total geral",
    "soma",
    "somatório",
    "totale",
    "totali",
    "totale generale",
    "totale complessivo",
    "somma",
    "totaal",
    "eindtotaal",
    "algemeen totaal",
    "som",
    "i alt",
    "ialt",
    "total i alt",
    "hovedtotal",
    "totalt",
    "sum totalt",
    "summa",
    "totalsumma",
    "yhteensä",
    "kaikki yhteensä",
    "loppusumma",
    "razem",
    "ogółem",
    "łącznie",
    "suma końcowa",
    "celkem",
    "součet",
    "celkový součet",
    "spolu",
    "súčet",
    "összesen",
    "összeg",
    "végösszeg",
    "mindösszesen",
    "total din care",
    "toplam",
    "genel toplam",
    "σύνολο",
    "γενικό σύνολο",
    "итого",
    "всего",
    "общий итог",
    "сумма",
    "разом",
    "усього",
    "всього",
    "общо",
    "合计",
    "合計",
    "总计",
    "總計",
    "总和",
    "总额",
    "計",
    "総計",
    "総合計",
    "합계",
    "총계",
    "총합계",
    "tổng",
    "tổng cộng",
    "jumlah",
    "סה\"כ",
    "סך הכל",
    "المجموع",
    "الإجمالي",
    "الاجمالي",
];

/// What programs write as a last line.
const ENDS: &[&str] = &[
    "eof",
    "end",
    "end of file",
    "end of data",
    "end of document",
    "end of export",
    "end of extract",
    "end of list",
    "end of listing",
    "end of output",
    "end of record",
    "end of records",
    "end of report",
    "end of table",
    "ende",
    "ende der datei",
    "ende der liste",
    "dateiende",
    "fin de fichier",
    "fin du fichier",
    "fin de archivo",
    "fin del archivo",
    "fim do arquivo",
];

/// A cell without what frames it, and without a unit behind it, in lower case: `** Total (EUR):`.
fn bare(cell: &str) -> String {
    let is_frame = |c: char| c.is_whitespace() || "*=-_#:.<>~+".contains(c);
    let cell = cell.trim_matches(is_frame);
    let named = match cell.rsplit_once('(') {
        Some((name, unit)) if unit.ends_with(')') => name.trim_end_matches(is_frame),
        _ => cell,
    };
    named.to_lowercase()
}

/// Whether a cell names nothing: it is empty, or holds nothing but marks, as SAP puts an asterisk
/// before sums.
pub(super) fn is_nameless(cell: &str) -> bool {
    bare(cell).is_empty()
}

/// The name of totals that a cell is.
pub(super) fn total(cell: &str) -> Option<String> {
    Some(bare(cell)).filter(|name| TOTALS.contains(&name.as_str()))
}

/// Whether a line says that the file ends here, or how many rows it has: `EOF`,
/// `-- end of file --`, `(30 rows affected)`.
pub(super) fn is_end(line: &str) -> bool {
    is_count_of_rows(line) || ENDS.contains(&bare(line).as_str())
}

/// Whether a cell begins as remarks do.
pub(super) fn is_remark(cell: &str) -> bool {
    let before_colon = cell.split_once(':');
    let word = before_colon.map(|(word, _)| word.trim().to_lowercase());
    word.is_some_and(|word| REMARKS.contains(&word.as_str()))
        || cell.starts_with("* ")
        || cell.starts_with('©')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_known_in_any_frame() {
        for cell in [
            "Total",
            "TOTAL:",
            "** Total **",
            "Total (EUR)",
            "I alt",
            "Razem",
            "ИТОГО:",
            "합계",
        ] {
            assert!(total(cell).is_some(), "{cell}");
        }
        for cell in ["Totally", "Total 7", "", "(30)", "*", "Totaler"] {
            assert_eq!(total(cell), None, "{cell}");
        }
        for line in [
            "EOF",
            "-- end of file --",
            "*** END OF REPORT ***",
            "(30 rows)",
            "(1 row affected)",
            "30 rows selected.",
            "(30 row(s) affected)",
        ] {
            assert!(is_end(line), "{line}");
        }
        for line in ["Endive", "", "(30 apples)", "30 rows", "end of the road"] {
            assert!(!is_end(line), "{line}");
        }
    }

    #[test]
    fn words_are_written_as_they_are_compared() {
        for word in TOTALS.iter().chain(ENDS).chain(REMARKS) {
            assert_eq!(*word, bare(word), "{word}");
        }
    }
}
