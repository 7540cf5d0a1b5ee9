#![allow(clippy::unwrap_used)]
use std::sync::mpsc;

use limn_formats::Held;
use limn_segment::TableRecord;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::operators::{Inspect, Probe};
use timely::dataflow::{InputHandle, ProbeHandle};

use super::*;
use crate::values::DraftValues;
use crate::wire::{Wire, WireRow};

type Input<D> = InputHandle<Epoch, CapacityContainerBuilder<Vec<D>>>;

/// What comes to a worker.
#[derive(Clone, Copy)]
enum Comes {
    /// A table, by its number, that awaits so many answers.
    Table(u64, usize),
    /// An answer to a table: the vector of this text, or none.
    Answer(u64, Option<u16>),
    /// Tables and answers, respectively, of no epoch before this one are to come.
    TablesFrom(Epoch),
    AnswersFrom(Epoch),
}

use Comes::{AnswersFrom, Table, TablesFrom};

fn text(number: u16) -> TextHash {
    TextHash(u128::from(number))
}

fn asker(number: u64) -> Asker {
    Asker { worker: 0, number }
}

fn change(number: u64) -> TableChange {
    TableChange {
        row: Some(WireRow(TableRecord {
            name: number.to_string(),
            ..TableRecord::default()
        })),
        blocks: Wire(Vec::new()),
        values: Wire(DraftValues::none()),
        replaces: None,
        known: false,
        failures: Vec::new(),
        published_in: None,
        awaits: None,
        held: Held::default(),
    }
}

/// A table's name, and the texts whose vectors it has.
type Seen = (String, Vec<u16>);

fn seen(answered: &AnsweredTable) -> Seen {
    let name = answered.table.row.as_ref().unwrap().0.name.clone();
    let vectors = answered.vectors.iter();
    let texts = vectors.map(|(text, vector)| {
        let number = text.0 as u16;
        assert_eq!(*vector, [f16::from_bits(number), f16::NEG_ZERO]);
        number
    });
    let mut texts: Vec<u16> = texts.collect();
    texts.sort_unstable();
    (name, texts)
}

/// What is seen after each of these comes, and the first epoch of which more may come out then.
fn run(comes: Vec<Comes>) -> Vec<(Vec<Seen>, Epoch)> {
    timely::execute_directly(move |worker| {
        let mut tables: Input<WaitingTable> = InputHandle::new();
        let mut answers: Input<Answer> = InputHandle::new();
        let probe = ProbeHandle::new();
        let (send, receive) = mpsc::channel();
        worker.dataflow::<Epoch, _, _>(|scope| {
            await_answers(tables.to_stream(scope), answers.to_stream(scope))
                .inspect(move |answered| send.send(seen(answered)).unwrap())
                .probe_with(&probe);
        });
        let mut after = Vec::new();
        for one in comes {
            match one {
                Table(number, questions) => tables.send(WaitingTable {
                    asker: asker(number),
                    questions,
                    table: change(number),
                }),
                Comes::Answer(number, of) => answers.send(Answer {
                    asker: asker(number),
                    found: of
                        .map(|of| (text(of), vec![of, f16::NEG_ZERO.to_bits()]))
                        .into_iter()
                        .collect(),
                }),
                TablesFrom(epoch) => tables.advance_to(epoch),
                AnswersFrom(epoch) => answers.advance_to(epoch),
            }
            tables.flush();
            answers.flush();
            for _ in 0..8 {
                worker.step();
            }
            let open = (0..100).find(|epoch| probe.less_equal(epoch));
            after.push((receive.try_iter().collect(), open.unwrap()));
        }
        after
    })
}

fn table(number: u64, texts: &[u16]) -> Vec<Seen> {
    vec![(number.to_string(), texts.to_vec())]
}

#[test]
fn a_table_waits_for_all_of_its_answers_in_any_order() {
    let after = run(vec![
        Comes::Answer(1, Some(5)),
        Table(1, 3),
        Table(2, 1),
        Comes::Answer(1, None),
        Comes::Answer(2, None),
        Comes::Answer(1, Some(4)),
        Comes::Answer(3, Some(4)),
        Table(3, 1),
    ]);
    let nothing = (Vec::new(), 0);
    let expected = [
        nothing.clone(),
        nothing.clone(),
        nothing.clone(),
        nothing.clone(),
        (table(2, &[]), 0),
        (table(1, &[4, 5]), 0),
        nothing,
        (table(3, &[4]), 0),
    ];
    assert_eq!(after, expected);
}

#[test]
fn a_table_that_asks_nothing_passes_at_once() {
    let after = run(vec![Table(1, 1), Table(2, 0), Comes::Answer(1, None)]);
    let expected = [(vec![], 0), (table(2, &[]), 0), (table(1, &[]), 0)];
    assert_eq!(after, expected);
}

#[test]
fn each_table_keeps_its_own_epoch_open() {
    let after = run(vec![
        Table(1, 1),
        TablesFrom(1),
        Table(2, 1),
        Comes::Answer(1, Some(3)),
        AnswersFrom(1),
        // An answer of the epoch that comes before its table.
        Comes::Answer(3, Some(7)),
        Table(3, 1),
        TablesFrom(2),
        AnswersFrom(2),
        // It should have come in its epoch: the table alone has kept that open.
        Comes::Answer(2, Some(8)),
    ]);
    let expected = [
        (vec![], 0),
        (vec![], 0),
        (vec![], 0),
        (table(1, &[3]), 0),
        (vec![], 1),
        (vec![], 1),
        (table(3, &[7]), 1),
        (vec![], 1),
        (vec![], 1),
        (table(2, &[8]), 2),
    ];
    assert_eq!(after, expected);
}

#[test]
fn each_process_is_asked_once_for_the_texts_that_it_has() {
    let wanted: Vec<u16> = vec![4, 1, 9, 4, 7, 1];
    let asked = |texts: &[u16], processes| {
        let texts = texts.iter().map(|number| text(*number)).collect();
        let share = TextShare::of(0, processes);
        let asked = Asked::by(asker(6), change(6), texts, share);
        let (mut tables, mut questions) = (Vec::new(), Vec::new());
        for one in asked {
            match one {
                Asked::Table(table) => tables.push((table.asker, table.questions)),
                Asked::Question(question) => questions.push(question),
            }
        }
        assert_eq!(tables, [(asker(6), questions.len())]);
        questions
    };
    let question = |process, texts: &[u16]| Question {
        asker: asker(6),
        process,
        texts: texts.iter().map(|number| text(*number)).collect(),
    };
    assert_eq!(asked(&wanted, 1), [question(0, &[1, 4, 7, 9])]);
    let of_three = [question(0, &[9]), question(1, &[1, 4, 7])];
    assert_eq!(asked(&wanted, 3), of_three);
    assert_eq!(asked(&[], 3), []);
}

#[test]
fn a_question_goes_to_the_same_place_in_another_process() {
    for (worker, process, expected) in [(0, 0, 0), (5, 1, 5), (5, 0, 2), (4, 2, 7)] {
        let question = Question {
            asker: Asker { worker, number: 0 },
            process,
            texts: Vec::new(),
        };
        assert_eq!(question.route(3), expected, "{worker} to {process}");
    }
}
