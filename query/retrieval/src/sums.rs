//! What a question's walk over the postings sums up, by the numbers of tables or blocks: sparse
//! sums over dense arrays, which are kept between questions.

/// Terms of a question of which a table has a bit: the first that are known.
pub(crate) const TERM_BITS: usize = u64::BITS as usize;

/// Sparse sums over a dense array that is kept between questions.
#[derive(Default)]
pub(crate) struct Sums {
    values: Vec<f32>,
    touched: Vec<u32>,
}

impl Sums {
    /// Makes room for `size` numbers, all 0.
    pub(crate) fn reset(&mut self, size: usize) {
        for id in self.touched.drain(..) {
            self.values[id as usize] = 0.0;
        }
        if self.values.len() < size {
            self.values.resize(size, 0.0);
        }
    }

    /// Takes the place of a smaller sum.
    pub(crate) fn set(&mut self, id: u32, amount: f32) {
        if amount > 0.0 && self.values[id as usize] == 0.0 {
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
}

/// Which of a question's words each table has; kept between questions, as [`Sums`] are.
#[derive(Default)]
pub(crate) struct TermBits {
    words: Vec<u64>,
    touched: Vec<u32>,
}

impl TermBits {
    /// Makes room for `size` numbers, all without words.
    pub(crate) fn reset(&mut self, size: usize) {
        for id in self.touched.drain(..) {
            self.words[id as usize] = 0;
        }
        if self.words.len() < size {
            self.words.resize(size, 0);
        }
    }

    /// Adds the words of these bits.
    pub(crate) fn add(&mut self, id: u32, word: u64) {
        // The 65th word and those after it have no bit.
        if word == 0 {
            return;
        }
        let words = &mut self.words[id as usize];
        if *words == 0 {
            self.touched.push(id);
        }
        *words |= word;
    }

    /// The bits of a number's words.
    pub(crate) fn get(&self, id: u32) -> u64 {
        self.words.get(id as usize).copied().unwrap_or(0)
    }
}

/// What is summed up of a term.
pub(crate) struct TermSums<'a> {
    /// How much of it each table has.
    pub(crate) sums: &'a mut Sums,
    /// What of it texts about folders have.
    pub(crate) folder: &'a mut Sums,
    /// What texts count for it that many tables have, which are not among the others.
    pub(crate) shared: &'a mut Sums,
    /// Its bit, where texts about the table have it.
    pub(crate) contexts: &'a mut TermBits,
}

/// What a question's walk needs; kept in a pool between questions.
#[derive(Default)]
pub(crate) struct Scratch {
    /// What each has of the term that is looked up.
    pub(crate) term: Sums,
    /// What all terms so far are worth.
    pub(crate) scores: Sums,
    /// Of `term` what texts about folders have.
    pub(crate) folder: Sums,
    /// What texts that many tables have count for the term.
    pub(crate) shared: Sums,
    /// As `term` and `folder`, of a form of the term.
    pub(crate) form: Sums,
    pub(crate) form_folder: Sums,
    /// What the question's words that it has are worth, by table.
    pub(crate) covered: Sums,
    /// Which words these are, by their places among the known terms; of more than 64 the first.
    pub(crate) held: TermBits,
    /// Which of them texts about the table have.
    pub(crate) contexts: TermBits,
    /// Which of them only texts about its folder, or that many tables have, have.
    pub(crate) indirect: TermBits,
}

impl Scratch {
    /// Makes room for a question's sums over so many tables, all 0.
    pub(crate) fn reset(&mut self, tables: usize) {
        for sums in [
            &mut self.term,
            &mut self.scores,
            &mut self.folder,
            &mut self.shared,
            &mut self.form,
            &mut self.form_folder,
            &mut self.covered,
        ] {
            sums.reset(tables);
        }
        self.held.reset(tables);
        self.contexts.reset(tables);
        self.indirect.reset(tables);
    }

    /// How many tables have the term that is looked up only in texts that many tables have.
    pub(crate) fn only_shared(&self) -> usize {
        let shared = self.shared.touched().iter();
        shared.filter(|table| self.term.get(**table) <= 0.0).count()
    }

    /// Which of the known terms texts about a table have, by their places.
    pub(crate) fn of_contexts(&self, table: u32) -> u64 {
        self.contexts.get(table)
    }
}
