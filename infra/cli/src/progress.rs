//! Progress bars, on a terminal only.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use limn_pipeline::Progress;

use crate::text::{plural, seconds};

const REFRESH: Duration = Duration::from_millis(120);

/// Narrations after which the rate tells how long the rest takes: a model that is asked for many at
/// once answers them late, then fast…
const RATE_FROM: u64 = 64;
/// …and those after which it does on a slow machine, once so much time has gone by.
const SLOW_RATE_FROM: u64 = 8;
const SLOW: Duration = Duration::from_secs(60);
/// A shorter rest is not worth a line.
const WORTH_TELLING: Duration = Duration::from_secs(60);

/// Bars that follow a running index job: files read, tables described, columns narrated, blocks
/// embedded. Where standard error is no terminal, there is only a line about the narrating.
pub struct IndexBars {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl IndexBars {
    /// Starts following. `narrator` is the language model that may be asked.
    pub fn start(progress: Arc<Progress>, narrator: Option<String>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let is_terminal = std::io::stderr().is_terminal();
        let thread = (is_terminal || narrator.is_some()).then(|| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || follow(&progress, narrator, is_terminal, &stop))
        });
        Self { stop, thread }
    }

    /// Removes the bars.
    pub fn finish(self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread {
            // A bar that panicked has nothing to say that matters to the run.
            let _ = thread.join();
        }
    }
}

fn bar(bars: &MultiProgress, name: &'static str) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{prefix:>9} {wide_bar} {human_pos}/{human_len} {eta:>5}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
    bars.add(ProgressBar::new(0).with_style(style).with_prefix(name))
}

fn follow(progress: &Progress, narrator: Option<String>, is_terminal: bool, stop: &AtomicBool) {
    let bars = MultiProgress::new();
    if !is_terminal {
        bars.set_draw_target(ProgressDrawTarget::hidden());
    }
    let listed = bars.add(ProgressBar::new_spinner().with_prefix("objects"));
    listed.set_style(
        ProgressStyle::with_template("{prefix:>9} {human_pos} listed")
            .unwrap_or_else(|_| ProgressStyle::default_spinner()),
    );
    let files = bar(&bars, "files");
    let tables = bars.add(ProgressBar::new_spinner().with_prefix("tables"));
    tables.set_style(
        ProgressStyle::with_template("{prefix:>9} {human_pos} described")
            .unwrap_or_else(|_| ProgressStyle::default_spinner()),
    );
    let blocks = bar(&bars, "blocks");
    let mut columns = None;
    let mut told = narrator.map(Told::new);
    let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    loop {
        let stopping = stop.load(Ordering::Acquire);
        listed.set_position(load(&progress.objects_listed));
        files.set_length(load(&progress.files_wanted));
        files.set_position(load(&progress.files_read));
        tables.set_position(load(&progress.tables_described));
        blocks.set_length(load(&progress.blocks_wanted));
        blocks.set_position(load(&progress.blocks_embedded));
        let (wanted, narrated) = (
            load(&progress.columns_wanted),
            load(&progress.columns_narrated),
        );
        if wanted > 0 {
            let bar = columns.get_or_insert_with(|| bar(&bars, "columns"));
            bar.set_length(wanted);
            bar.set_position(narrated);
            if let Some(line) = told.as_mut().and_then(|told| told.next(wanted, narrated)) {
                bars.suspend(|| {
                    // With standard error gone, nobody is told.
                    let _ = std::io::stderr().write_all(line.as_bytes());
                });
            }
        }
        if stopping {
            break;
        }
        std::thread::sleep(REFRESH);
    }
    // The clear can fail only when the terminal is gone.
    let _ = bars.clear();
}

/// What is told of the narrating: how many columns, and how long it takes once that is known.
struct Told {
    model: String,
    since: Option<Instant>,
    estimated: bool,
}

impl Told {
    fn new(model: String) -> Self {
        Self {
            model,
            since: None,
            estimated: false,
        }
    }

    fn next(&mut self, wanted: u64, narrated: u64) -> Option<String> {
        let Some(since) = self.since else {
            self.since = Some(Instant::now());
            return Some(format!(
                "narrating {} with {}; all tables are searchable by names meanwhile (--narrate names goes without)\n",
                plural(wanted, "column"),
                self.model,
            ));
        };
        let is_slow = since.elapsed() >= SLOW && narrated >= SLOW_RATE_FROM;
        if self.estimated || (narrated < RATE_FROM && !is_slow) {
            return None;
        }
        self.estimated = true;
        let a_column = since.elapsed().as_secs_f64() / narrated as f64;
        let left = a_column * wanted.saturating_sub(narrated) as f64;
        (left >= WORTH_TELLING.as_secs_f64()).then(|| {
            format!(
                "narrating {} takes about {} more\n",
                plural(wanted, "column"),
                seconds(left)
            )
        })
    }
}

/// A bar that follows questions being judged; on a terminal only.
pub struct QuestionBar {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl QuestionBar {
    /// Starts following a counter of questions that goes up to `of`.
    pub fn start(done: Arc<AtomicUsize>, of: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let thread = std::io::stderr().is_terminal().then(|| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || {
                let bars = MultiProgress::new();
                let bar = bar(&bars, "questions");
                bar.set_length(of as u64);
                while !stop.load(Ordering::Acquire) {
                    bar.set_position(done.load(Ordering::Relaxed) as u64);
                    std::thread::sleep(REFRESH);
                }
                // The clear can fail only when the terminal is gone.
                let _ = bars.clear();
            })
        });
        Self { stop, thread }
    }

    /// Removes the bar.
    pub fn finish(self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread {
            // A bar that panicked has nothing to say that matters to the run.
            let _ = thread.join();
        }
    }
}

/// A bar for fetching a model.
pub struct ModelBar {
    bar: ProgressBar,
}

/// A bar that shows itself only when something is fetched, and only on a terminal.
pub fn model_progress() -> ModelBar {
    let bar = ProgressBar::hidden();
    bar.set_style(
        ProgressStyle::with_template("{prefix} {wide_bar} {bytes}/{total_bytes} {eta:>5}")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    ModelBar { bar }
}

impl ModelBar {
    /// Shows an event.
    pub fn on(&self, event: &limn_models::Progress) {
        match event {
            limn_models::Progress::Fetching {
                file, done, total, ..
            } => {
                if self.bar.is_hidden() && std::io::stderr().is_terminal() {
                    self.bar
                        .set_draw_target(indicatif::ProgressDrawTarget::stderr());
                }
                self.bar.set_prefix(*file);
                self.bar.set_length(*total);
                self.bar.set_position(*done);
            }
            limn_models::Progress::Failed { source, reason } => {
                tracing::info!(%source, %reason, "model source failed, trying the next");
            }
            limn_models::Progress::Waiting => {
                // A bar shows itself only once there is something to count.
                let line = b"waiting for another limn that fetches the same model\n";
                let _ = std::io::stderr().write_all(line);
            }
            limn_models::Progress::Done => self.bar.finish_and_clear(),
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn the_number_is_told_at_once_and_the_time_when_it_is_known() {
        let mut told = Told::new("a-model@1".into());
        let line = told.next(1_200, 0).unwrap();
        assert!(line.contains("1,200 columns with a-model@1"), "{line}");
        assert!(line.contains("--narrate names") && line.lines().count() == 1);
        assert_eq!(told.next(1_200, 63), None);
        told.since = Instant::now().checked_sub(Duration::from_secs(100));
        assert_eq!(told.next(1_200, 7), None);
        let line = told.next(1_200, 100).unwrap();
        assert!(line.contains("18 minutes"), "{line}");
        assert_eq!(told.next(1_200, 101), None);
    }
}
