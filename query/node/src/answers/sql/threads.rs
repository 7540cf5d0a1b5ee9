//! Threads of their own for statements: those that answer everybody stay free, however long a
//! statement computes.

use tokio::runtime::{Builder, Handle, Runtime};
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;

use crate::problem::Problem;

/// The threads; the caller's own, where the system gives no others.
pub(super) struct Threads(Option<Runtime>);

impl std::fmt::Debug for Threads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Threads").finish_non_exhaustive()
    }
}

impl Threads {
    /// One for each core.
    pub(super) fn start() -> Threads {
        let mut builder = Builder::new_multi_thread();
        match builder.enable_all().thread_name("limn-sql").build() {
            Ok(runtime) => Threads(Some(runtime)),
            Err(error) => {
                tracing::warn!(%error, "statements have no threads of their own");
                Threads(None)
            }
        }
    }

    /// Where statements run.
    pub(super) fn home(&self) -> Home {
        let own = self.0.as_ref().map(|runtime| runtime.handle().clone());
        Home(own.unwrap_or_else(Handle::current))
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // A node may be let go where nothing may be waited for.
            runtime.shutdown_background();
        }
    }
}

/// Where statements run.
#[derive(Clone, Debug)]
pub(crate) struct Home(Handle);

impl Home {
    /// Does work there, as long as somebody waits for it.
    ///
    /// # Errors
    /// A mistake in the work, or a node that is ending.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Problem> {
        let task = AbortOnDropHandle::new(self.0.spawn(work.in_current_span()));
        task.await.map_err(|error| {
            tracing::error!(%error, "a statement ended in a panic");
            Problem::internal()
        })
    }

    /// Begins work there, which sees for itself how long it is of use.
    pub(crate) fn begin(&self, work: impl Future<Output = ()> + Send + 'static) {
        drop(self.0.spawn(work.in_current_span()));
    }
}
