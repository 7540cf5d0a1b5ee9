//! What a question's walk over the postings sums up, by the numbers of tables or blocks: sparse
//! sums over dense arrays, which are kept between questions.

/// Lists are kept between questions where they have room for one of so many tables at most.
const KEPT_LIST: usize = 8;

/// Sparse sums over a dense array: 4 bytes a number from the first sum above 0 on, and nothing
/// before.
#[derive(Default)]
pub(crate) struct Sums {
    /// Empty, or as long as a question needed; all 0 but for what was touched.
    values: Vec<f32>,
    touched: Vec<u32>,
    /// How many numbers the question has.
    size: usize,
}

impl Sums {
    /// For a question over `size` numbers, all 0.
    pub(crate) fn reset(&mut self, size: usize) {
        self.clear();
        if self.values.len() < size {
            self.values = Vec::new();
        }
        self.size = size;
    }

    /// Makes all sums 0, and gives back the list of those that were not where it is long.
    pub(crate) fn trim(&mut self) {
        self.clear();
        if self.touched.capacity() > self.values.len() / KEPT_LIST {
            self.touched = Vec::new();
        }
    }

    /// Makes all sums 0.
    pub(crate) fn clear(&mut self) {
        for id in self.touched.drain(..) {
            self.values[id as usize] = 0.0;
        }
    }

    /// Takes the place of a smaller sum.
    pub(crate) fn set(&mut self, id: u32, amount: f32) {
        let before = self.get(id);
        if before == amount {
            return;
        }
        if self.values.is_empty() {
            self.make_room();
        }
        if before == 0.0 {
            self.touched.push(id);
        }
        self.values[id as usize] = amount;
    }

    /// Takes the place of a smaller sum, if it is one.
    pub(crate) fn raise(&mut self, id: u32, amount: f32) {
        if amount > self.get(id) {
            self.set(id, amount);
        }
    }

    pub(crate) fn add(&mut self, id: u32, amount: f32) {
        // Only positive amounts are ever added, so 0 means untouched.
        if amount > 0.0 {
            if self.values.is_empty() {
                self.make_room();
            }
            let value = &mut self.values[id as usize];
            if *value == 0.0 {
                self.touched.push(id);
            }
            *value += amount;
        }
    }

    /// Takes every number with its sum, in no particular order.
    pub(crate) fn drain(&mut self, mut visit: impl FnMut(u32, f32)) {
        for id in self.touched.drain(..) {
            visit(id, std::mem::take(&mut self.values[id as usize]));
        }
    }

    /// A number's sum; 0 where nothing was added.
    pub(crate) fn get(&self, id: u32) -> f32 {
        self.values.get(id as usize).copied().unwrap_or(0.0)
    }

    /// The numbers with a sum above 0, in no particular order.
    pub(crate) fn touched(&self) -> &[u32] {
        &self.touched
    }

    /// How many numbers it has room for.
    pub(crate) fn room(&self) -> usize {
        self.values.len()
    }

    #[cold]
    fn make_room(&mut self) {
        // Memory that comes zeroed from the system is not written before it is used.
        self.values = vec![0.0; self.size];
    }
}

/// What a table has of a question. A term's bit is by its place among the known terms; of more
/// than 64 the first have one.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Matched {
    /// Its number.
    table: u32,
    /// What the question's words that it has are worth.
    pub(crate) worth: f32,
    /// Which terms it has in texts of its own.
    pub(crate) own: u64,
    /// Which terms texts about it have.
    pub(crate) contexts: u64,
    /// Which terms only texts about its folder, or that many tables have, have.
    pub(crate) indirect: u64,
}

/// What each table has of a question: 4 bytes a table, and 32 more of those that have something.
#[derive(Default)]
pub(crate) struct MatchedTables {
    rows: Vec<Matched>,
    /// By table, the place of its row, from 1; 0 where it has none. Empty, or as long as a question
    /// needed.
    row_of: Vec<u32>,
    /// How many tables the question has.
    size: usize,
}

impl MatchedTables {
    /// For a question over `size` tables, all without anything of it.
    pub(crate) fn reset(&mut self, size: usize) {
        for row in self.rows.drain(..) {
            self.row_of[row.table as usize] = 0;
        }
        if self.row_of.len() < size {
            self.row_of = Vec::new();
        }
        self.size = size;
    }

    /// As [`reset`](Self::reset), and gives back the rows where they are many.
    pub(crate) fn trim(&mut self) {
        self.reset(self.size);
        if self.rows.capacity() > self.row_of.len() / KEPT_LIST {
            self.rows = Vec::new();
        }
    }

    /// A table's row, which is made where it has none.
    pub(crate) fn at(&mut self, table: u32) -> &mut Matched {
        if self.row_of.is_empty() {
            self.row_of = vec![0; self.size];
        }
        let place = &mut self.row_of[table as usize];
        if *place == 0 {
            self.rows.push(Matched {
                table,
                ..Matched::default()
            });
            *place = self.rows.len() as u32;
        }
        &mut self.rows[*place as usize - 1]
    }

    /// What a table has.
    pub(crate) fn get(&self, table: u32) -> Matched {
        match self.row_of.get(table as usize) {
            Some(place) if *place > 0 => self.rows[*place as usize - 1],
            _ => Matched::default(),
        }
    }

    /// How many tables it has room for.
    pub(crate) fn room(&self) -> usize {
        self.row_of.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_have_room_for_a_question_once_they_are_used() {
        let mut sums = Sums::default();
        sums.reset(3);
        assert_eq!((sums.room(), sums.get(2)), (0, 0.0));
        sums.set(1, 0.0);
        assert_eq!(sums.room(), 0);
        sums.add(2, 0.5);
        sums.raise(2, 0.25);
        sums.raise(1, 1.0);
        assert_eq!((sums.room(), sums.get(1), sums.get(2)), (3, 1.0, 0.5));
        assert_eq!(sums.touched(), [2, 1]);
        // A question over fewer tables leaves the room; one over more makes its own.
        sums.reset(2);
        assert_eq!((sums.room(), sums.get(1), sums.get(2)), (3, 0.0, 0.0));
        sums.reset(5);
        sums.add(4, 2.0);
        assert_eq!((sums.room(), sums.get(2), sums.get(4)), (5, 0.0, 2.0));
    }

    #[test]
    fn a_table_has_nothing_of_the_next_question() {
        let mut tables = MatchedTables::default();
        tables.reset(4);
        tables.at(3).own |= 1;
        tables.at(1).worth += 0.5;
        tables.at(3).own |= 4;
        assert_eq!((tables.get(3).own, tables.get(1).worth), (5, 0.5));
        assert_eq!(tables.get(0), Matched::default());
        tables.reset(2);
        assert_eq!(tables.get(1), Matched::default());
        tables.reset(8);
        assert_eq!(tables.get(3), Matched::default());
        tables.at(7).indirect |= 2;
        assert_eq!((tables.room(), tables.get(7).indirect), (8, 2));
    }
}
