//! Progress bars, on a terminal only.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use limn_pipeline::Progress;

const REFRESH: Duration = Duration::from_millis(120);

/// Bars that follow a running index job: files read, tables described, blocks embedded.
pub struct IndexBars {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl IndexBars {
    /// Starts following; does nothing where standard error is no terminal.
    pub fn start(progress: Arc<Progress>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let thread = std::io::stderr().is_terminal().then(|| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || follow(&progress, &stop))
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

fn follow(progress: &Progress, stop: &AtomicBool) {
    let bars = MultiProgress::new();
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
    let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    while !stop.load(Ordering::Acquire) {
        listed.set_position(load(&progress.objects_listed));
        files.set_length(load(&progress.files_wanted));
        files.set_position(load(&progress.files_read));
        tables.set_position(load(&progress.tables_described));
        blocks.set_length(load(&progress.blocks_wanted));
        blocks.set_position(load(&progress.blocks_embedded));
        std::thread::sleep(REFRESH);
    }
    // The clear can fail only when the terminal is gone.
    let _ = bars.clear();
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
