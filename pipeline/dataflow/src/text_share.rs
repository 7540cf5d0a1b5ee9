//! The part of all texts whose vectors a process knows, by the hashes of the texts. Every process
//! knows which one has the vector of a text, if any has it.

use limn_segment::TextHash;

/// The texts whose vectors a process knows.
#[derive(Clone, Copy, Debug)]
pub struct TextShare {
    process: u64,
    processes: u64,
}

impl TextShare {
    /// That of a process, by its number among so many.
    pub fn of(process: usize, processes: usize) -> Self {
        Self {
            process: process as u64,
            processes: processes.max(1) as u64,
        }
    }

    /// The process that knows the vector of a text, if any does.
    pub fn holder(&self, text: TextHash) -> u64 {
        text.0 as u64 % self.processes
    }

    /// Whether this process does.
    pub fn has(&self, text: TextHash) -> bool {
        self.holder(text) == self.process
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_has_one_process_and_each_process_about_as_many() {
        let texts: Vec<TextHash> = (0..3000)
            .map(|text| TextHash::of(&text.to_string()))
            .collect();
        for processes in 1..6 {
            let shares: Vec<TextShare> = (0..processes)
                .map(|process| TextShare::of(process, processes))
                .collect();
            let mut had = vec![0; processes];
            for text in &texts {
                let holders = (0..processes).filter(|process| shares[*process].has(*text));
                let holders: Vec<usize> = holders.collect();
                assert_eq!(holders.len(), 1, "{text:?} of {processes}");
                let is_agreed = |share: &TextShare| share.holder(*text) == holders[0] as u64;
                assert!(shares.iter().all(is_agreed), "{text:?} of {processes}");
                had[holders[0]] += 1;
            }
            let even = texts.len() / processes;
            let is_even = |had: &usize| had.abs_diff(even) < even / 4;
            assert!(had.iter().all(is_even), "{had:?} of {processes}");
        }
    }
}
