//! Progress bars, on a terminal only.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use limn_pipeline::Progress;

use crate::text::{bytes, one_line, plural, seconds};

const REFRESH: Duration = Duration::from_millis(120);

/// Narrations after which the rate predicts how long the rest takes: a model that is asked for many
/// at once answers them late, then fast…
const RATE_FROM: u64 = 64;
/// …and those after which it does on a slow machine, once so much time has passed.
const SLOW_RATE_FROM: u64 = 8;
const SLOW: Duration = Duration::from_secs(60);
/// A shorter rest is not worth a line.
const WORTH_SAYING: Duration = Duration::from_secs(60);

/// Bars that follow a running index job: files read, tables described, columns narrated, blocks
/// embedded. Where standard error is no terminal, there is only a line about the narrating.
pub struct IndexBars {
    bars: MultiProgress,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl IndexBars {
    /// Starts following. `narrator` is the language model that may be asked.
    pub fn start(progress: Arc<Progress>, narrator: Option<String>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let is_terminal = std::io::stderr().is_terminal();
        let bars = MultiProgress::new();
        if !is_terminal {
            bars.set_draw_target(ProgressDrawTarget::hidden());
        }
        let thread = (is_terminal || narrator.is_some()).then(|| {
            let (bars, stop) = (bars.clone(), Arc::clone(&stop));
            std::thread::spawn(move || follow(&progress, narrator, &bars, &stop))
        });
        Self { bars, stop, thread }
    }

    /// Says a line on standard error, above the bars.
    pub fn say(&self) -> impl Fn(&str) + Send + 'static {
        let bars = self.bars.clone();
        move |line| bars.suspend(|| say(line))
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

/// A line on standard error; once that is closed, nothing is written.
pub fn say(line: &str) {
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

fn follow(progress: &Progress, narrator: Option<String>, bars: &MultiProgress, stop: &AtomicBool) {
    let listed = bars.add(ProgressBar::new_spinner().with_prefix("objects"));
    listed.set_style(
        ProgressStyle::with_template("{prefix:>9} {human_pos} listed")
            .unwrap_or_else(|_| ProgressStyle::default_spinner()),
    );
    let files = bar(bars, "files");
    let tables = bars.add(ProgressBar::new_spinner().with_prefix("tables"));
    tables.set_style(
        ProgressStyle::with_template("{prefix:>9} {human_pos} described")
            .unwrap_or_else(|_| ProgressStyle::default_spinner()),
    );
    let blocks = bar(bars, "blocks");
    let mut columns = None;
    let mut lines = narrator.map(Narrating::new);
    let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    loop {
        let stopping = stop.load(Ordering::Acquire);
        listed.set_position(load(&progress.objects_listed));
        files.set_length(load(&progress.files_wanted));
        files.set_position(load(&progress.files_read));
        tables.set_position(load(&progress.tables_described));
        blocks.set_length(load(&progress.blocks_wanted));
        blocks.set_position(load(&progress.blocks_embedded));
        let (wanted, asked, narrated) = (
            load(&progress.columns_wanted),
            load(&progress.columns_asked),
            load(&progress.columns_narrated),
        );
        if wanted > 0 {
            let bar = columns.get_or_insert_with(|| bar(bars, "columns"));
            bar.set_length(wanted);
            bar.set_position(narrated);
            let line = lines
                .as_mut()
                .and_then(|lines| lines.next(wanted, asked, narrated));
            if let Some(line) = line {
                bars.suspend(|| say(&line));
            }
        }
        if stopping {
            break;
        }
        std::thread::sleep(REFRESH);
    }
    // The clear can fail only when the terminal was closed.
    let _ = bars.clear();
}

/// The lines about narrating: how many columns, and how long it takes once that is known.
struct Narrating {
    model: String,
    began: bool,
    /// When the model was asked first: it is loaded then.
    since: Option<Instant>,
    estimated: bool,
}

impl Narrating {
    fn new(model: String) -> Self {
        Self {
            model,
            began: false,
            since: None,
            estimated: false,
        }
    }

    fn next(&mut self, wanted: u64, asked: u64, narrated: u64) -> Option<String> {
        if !self.began {
            self.began = true;
            return Some(format!(
                "narrating {} with {}; all tables are searchable by names meanwhile (--narrate names goes without)",
                plural(wanted, "column"),
                one_line(&self.model),
            ));
        }
        if asked == 0 {
            return None;
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        let under_way = asked.saturating_sub(narrated);
        let is_slow = since.elapsed() >= SLOW && narrated >= SLOW_RATE_FROM;
        // One round of what is asked at once shows the pace.
        if self.estimated || (narrated < RATE_FROM.max(under_way) && !is_slow) {
            return None;
        }
        self.estimated = true;
        // What is under way at once is half done, taken together.
        let done = narrated as f64 + under_way as f64 / 2.0;
        let left = since.elapsed().as_secs_f64() / done * (wanted as f64 - done).max(0.0);
        (left >= WORTH_SAYING.as_secs_f64()).then(|| {
            format!(
                "narrating {} takes about {} more",
                plural(wanted, "column"),
                seconds(left)
            )
        })
    }
}

/// After this time a person wants to know what is being waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Says what is being waited for when it takes longer than a moment: a spinner on a terminal,
/// elsewhere a line.
pub struct Waiting {
    over: mpsc::Sender<()>,
    thread: JoinHandle<()>,
}

impl Waiting {
    /// Starts waiting for `what`: "loading a-model".
    pub fn start(what: String) -> Self {
        let (over, ended) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            if ended.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            if !std::io::stderr().is_terminal() {
                say(&format!("{what}…"));
                return;
            }
            let spinner = ProgressBar::new_spinner().with_message(what);
            while ended.recv_timeout(REFRESH) == Err(RecvTimeoutError::Timeout) {
                spinner.tick();
            }
            spinner.finish_and_clear();
        });
        Self { over, thread }
    }

    /// It is over: the spinner goes.
    pub fn finish(self) {
        drop(self.over);
        // A spinner that panicked has nothing to say that matters.
        let _ = self.thread.join();
    }
}

/// How often a line says how many questions are done, where there is no bar.
const LINE_EVERY: Duration = Duration::from_secs(60);

/// Follows questions being judged or made: a bar on a terminal, elsewhere a line a minute.
pub struct QuestionBar {
    over: mpsc::Sender<()>,
    thread: JoinHandle<()>,
}

impl QuestionBar {
    /// Starts following a counter of questions that goes up to `of`; `what` becomes of them.
    pub fn start(what: &'static str, done: Arc<AtomicUsize>, of: usize) -> Self {
        let (over, ended) = mpsc::channel();
        let is_terminal = std::io::stderr().is_terminal();
        let thread = std::thread::spawn(move || {
            let done = || done.load(Ordering::Relaxed);
            let before = done();
            if !is_terminal {
                let start = Instant::now();
                while ended.recv_timeout(LINE_EVERY) == Err(RecvTimeoutError::Timeout) {
                    let now = done();
                    say(&done_of(what, (now, now - before), of, start.elapsed()));
                }
                return;
            }
            let bars = MultiProgress::new();
            let bar = bar(&bars, "questions");
            bar.set_length(of as u64);
            while ended.recv_timeout(REFRESH) == Err(RecvTimeoutError::Timeout) {
                bar.set_position(done() as u64);
            }
            // The clear can fail only when the terminal was closed.
            let _ = bars.clear();
        });
        Self { over, thread }
    }

    /// Removes the bar.
    pub fn finish(self) {
        drop(self.over);
        // A bar that panicked has nothing to say that matters to the run.
        let _ = self.thread.join();
    }
}

/// `done` is how many in all, and how many in the time that was spent.
fn done_of(what: &str, done: (usize, usize), of: usize, spent: Duration) -> String {
    let (done, lately) = done;
    let mut line = format!("{what} {done} of {}", plural(of as u64, "question"));
    if lately > 0 {
        let left = spent.as_secs_f64() / lately as f64 * of.saturating_sub(done) as f64;
        line += &format!(", about {} more", seconds(left));
    }
    line
}

/// A bar of bytes; on a terminal only.
pub struct ByteBar {
    bar: ProgressBar,
}

impl ByteBar {
    /// Starts a bar that goes up to `of` bytes.
    pub fn start(name: &'static str, of: u64) -> Self {
        let style =
            ProgressStyle::with_template("{prefix} {wide_bar} {bytes}/{total_bytes} {eta:>5}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::new(of).with_style(style).with_prefix(name);
        Self { bar }
    }

    /// So many bytes more are done.
    pub fn add(&self, bytes: u64) {
        self.bar.inc(bytes);
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// A bar for fetching a model.
pub struct ModelBar {
    bar: ProgressBar,
    /// Whether a line has reported the fetching, where there is no bar.
    has_said: AtomicBool,
}

/// A bar that shows itself only when something is fetched; elsewhere than on a terminal a line.
pub fn model_progress() -> ModelBar {
    let bar = ProgressBar::hidden();
    bar.set_style(
        ProgressStyle::with_template("{prefix} {wide_bar} {bytes}/{total_bytes} {eta:>5}")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    ModelBar {
        bar,
        has_said: AtomicBool::new(false),
    }
}

impl ModelBar {
    /// Shows an event.
    pub fn on(&self, event: &limn_models::Progress) {
        match event {
            limn_models::Progress::Fetching {
                file, done, total, ..
            } => {
                if std::io::stderr().is_terminal() {
                    if self.bar.is_hidden() {
                        self.bar
                            .set_draw_target(indicatif::ProgressDrawTarget::stderr());
                    }
                } else if !self.has_said.swap(true, Ordering::Relaxed) {
                    say(&format!("fetching {file} ({})…", bytes(*total)));
                }
                self.bar.set_prefix(*file);
                self.bar.set_length(*total);
                self.bar.set_position(*done);
            }
            limn_models::Progress::Failed { source, reason } => {
                tracing::info!(%source, %reason, "model source failed, trying the next");
            }
            // A bar shows itself only once there is something to count.
            limn_models::Progress::Waiting => {
                say("waiting for another limn that fetches the same model");
            }
            limn_models::Progress::Damaged { reason } => {
                say(&format!("{}: fetching the model anew", one_line(reason)));
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
    fn the_number_is_said_at_once_and_the_time_when_it_is_known() {
        let mut narrating = Narrating::new("a-model@1".into());
        let line = narrating.next(1_200, 0, 0).unwrap();
        assert!(line.contains("1,200 columns with a-model@1"), "{line}");
        assert!(line.contains("--narrate names") && line.lines().count() == 1);
        assert_eq!(narrating.next(1_200, 0, 0), None);
        assert_eq!(narrating.since, None, "the model is being loaded");
        assert_eq!(narrating.next(1_200, 126, 63), None);
        narrating.since = Instant::now().checked_sub(Duration::from_secs(50));
        assert_eq!(narrating.next(1_200, 292, 100), None);
        narrating.since = Instant::now().checked_sub(Duration::from_secs(100));
        assert_eq!(narrating.next(1_200, 192, 7), None);
        // Half of those under way counted, 300 are done in 100 s and 900 are left.
        let line = narrating.next(1_200, 400, 200).unwrap();
        assert!(line.contains("5 minutes"), "{line}");
        assert_eq!(narrating.next(1_200, 400, 201), None);
    }
}
