//! What a query may take, and the part of DataFusion's runtime that holds it to that.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use datafusion::common::config::SpillCompression;
use datafusion::error::DataFusionError;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::prelude::SessionConfig;

/// Parts that a table is read in at the same time, at most.
const PARTS: usize = 16;
/// Memory for each part: with less, sorts and groups write more small files than they save time.
const MEMORY_A_PART: u64 = 32 << 20;
/// Consumers of memory that DataFusion names in what it says of too little.
const NAMED: NonZeroUsize = NonZeroUsize::MIN;

/// What a query may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Rows that it answers with: there may be more, which the answer says. `None` for all of them.
    pub max_rows: Option<u64>,
    /// How long it may take, from its beginning to the last row.
    pub timeout: Duration,
    /// Bytes of memory for what sorts, groups and joins hold.
    pub memory_bytes: u64,
    /// Bytes of temporary files for what does not fit there.
    pub spill_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_rows: Some(10_000),
            timeout: Duration::from_secs(60),
            memory_bytes: 1 << 30,
            spill_bytes: 10 << 30,
        }
    }
}

impl Limits {
    /// The parts in which tables are read at the same time.
    fn parts(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let roomy = usize::try_from(self.memory_bytes / MEMORY_A_PART).unwrap_or(PARTS);
        cores.min(roomy).clamp(1, PARTS)
    }

    /// DataFusion's settings. Names are as they are written: what is meant by one is decided before
    /// (`scope.rs`).
    pub(crate) fn config(&self, catalog: &str, schema: &str) -> SessionConfig {
        let parts = self.parts();
        let mut config = SessionConfig::new()
            .with_create_default_catalog_and_schema(false)
            .with_default_catalog_and_schema(catalog, schema)
            .with_information_schema(false)
            .with_target_partitions(parts);
        let options = config.options_mut();
        options.sql_parser.enable_ident_normalization = false;
        options.execution.spill_compression = SpillCompression::Lz4Frame;
        // What each sort keeps back for merging what it wrote.
        let kept = usize::try_from(self.memory_bytes).unwrap_or(usize::MAX) / (8 * parts);
        let usual = options.execution.sort_spill_reservation_bytes;
        options.execution.sort_spill_reservation_bytes = usual.min(kept);
        config
    }

    /// Memory and temporary files for one query. What can be put on disk shares the memory evenly
    /// (`FairSpillPool`), so that a sort that came first does not leave nothing to the one after
    /// it. The files are below the system's folder for such, and go with the query.
    pub(crate) fn runtime(&self) -> Result<Arc<RuntimeEnv>, DataFusionError> {
        let memory = usize::try_from(self.memory_bytes).unwrap_or(usize::MAX);
        let pool = TrackConsumersPool::new(FairSpillPool::new(memory), NAMED);
        let disk = DiskManagerBuilder::default()
            .with_mode(DiskManagerMode::OsTmpDirectory)
            .with_max_temp_directory_size(self.spill_bytes);
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(pool))
            .with_disk_manager_builder(disk)
            .build_arc()?;
        // The one store that there is by default: the files of this machine.
        let files = ObjectStoreUrl::local_filesystem();
        runtime.deregister_object_store(files.as_ref())?;
        Ok(runtime)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn little_memory_is_not_cut_in_many_parts() {
        let of = |memory_bytes| Limits {
            memory_bytes,
            ..Limits::default()
        };
        assert_eq!(of(1 << 20).parts(), 1);
        assert!((1..=PARTS).contains(&of(u64::MAX).parts()));
    }

    #[test]
    fn no_store_is_registered() {
        let runtime = Limits::default().runtime().unwrap();
        let files = ObjectStoreUrl::local_filesystem();
        assert!(runtime.object_store(&files).is_err());
    }
}
