//! Several processes, one dataflow.
//!
//! Each process lists and plans its share of the lake ([`crate::share`]), and knows what the index
//! has of it. Process 0 leads: it assigns the folders of the lake, drives, publishes and makes
//! the report. The others follow: they feed what they have of each epoch that it begins. Each that
//! has the language model asks it for its part of the schemas.
//! Reads, texts, vectors and segments are spread over all workers by stable hashes, and so are the
//! vectors that are known of texts over the processes ([`crate::known_vectors`]).
//!
//! Every two processes have two connections ([`connect`]): one carries timely's data ([`link`]),
//! the other what the processes send each other ([`mesh`]). The leader sends its [terms](terms),
//! which a follower checks against its own options; then all learn what was listed, and the leader
//! what was planned ([`crate::planned`]); at the end a follower sends its
//! [totals](totals), and the leader says farewell. Timely does not survive a lost process, so its
//! loss ends the run on all of them: what was published stays, and the same command on all
//! processes goes on from there.
//!
//! Where the processes have a common [key], every connection is mutual TLS ([channel]). Without one
//! they meet on one machine only, unless the options say that nobody else reaches their ports.

mod agreement;
mod build;
pub mod channel;
pub mod connect;
mod frame;
pub mod key;
pub mod link;
pub mod mesh;
pub mod options;
pub mod terms;
pub mod totals;

use std::any::Any;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use timely::communication::allocator::ProcessBuilder;
use timely::communication::allocator::zero_copy::initialize::initialize_networking_from_sockets;
use timely::communication::{AllocatorBuilder, Hooks};
use tokio_util::sync::CancellationToken;

use self::channel::Channel;
use self::connect::{Connections, Unconnected, connect};
use self::link::Link;
use self::mesh::{Inbox, Mesh, Message};
use self::options::ClusterOptions;
use self::terms::Terms;
use self::totals::Totals;
use crate::error::{Fatal, PipelineError};
use crate::planned::{Listed, Planned};

/// This process's place among the others, from their meeting to the end of the run.
#[derive(Debug)]
pub struct Cluster {
    options: ClusterOptions,
    mesh: Arc<Mesh>,
    inbox: tokio::sync::Mutex<Waiting>,
    /// Timely's connections, until its workers start.
    data: Mutex<Vec<Option<Channel>>>,
    fatal: Arc<Fatal>,
}

/// What has come from the others.
#[derive(Debug)]
struct Waiting {
    inbox: Inbox,
    /// What came before anybody waited for it: some are faster than others.
    early: Vec<(usize, Message)>,
}

/// What timely's workers are made with, and what they hold until they have ended.
pub type Allocators = (Vec<AllocatorBuilder>, Box<dyn Any + Send>);

impl Cluster {
    /// Connects to the other processes. From here on each notices the loss of another, so models
    /// may take their time to come. Where another process is asked to stop, the leader's `stop` is
    /// cancelled.
    ///
    /// # Errors
    /// Not all processes came in time, they do not belong together, or nothing protects their
    /// connections.
    pub async fn join(
        options: &ClusterOptions,
        stop: &CancellationToken,
    ) -> Result<Arc<Self>, PipelineError> {
        options.check()?;
        let connecting = tokio::task::spawn_blocking({
            let (options, stop) = (options.clone(), stop.clone());
            move || connect(&options, &stop)
        });
        let connected = connecting
            .await
            .map_err(|_| PipelineError::Dataflow("the processes could not meet".into()))?;
        let (fatal, stop) = (Arc::new(Fatal::default()), stop.clone());
        let start = |control| {
            let started = Mesh::start(options, control, Arc::clone(&fatal), stop);
            started
                .map_err(|error| PipelineError::Dataflow(format!("no thread to listen: {error}")))
        };
        match connected {
            Ok(Connections { control, data }) => {
                let (mesh, inbox) = start(control)?;
                Ok(Arc::new(Self {
                    options: options.clone(),
                    mesh,
                    inbox: tokio::sync::Mutex::new(Waiting {
                        inbox,
                        early: Vec::new(),
                    }),
                    data: Mutex::new(data),
                    fatal,
                }))
            }
            Err(unconnected) => {
                let Unconnected { error, reached } = *unconnected;
                // Those that were reached may have reached all: for them the run has begun.
                if let Ok((mesh, _inbox)) = start(reached) {
                    Mesh::announce_end(&mesh, mesh.farewell(Err(&error))).await;
                }
                Err(error)
            }
        }
    }

    /// Whether this process leads.
    pub fn leads(&self) -> bool {
        self.options.process == 0
    }

    /// What ends the run of this process.
    pub(crate) fn fatal(&self) -> &Arc<Fatal> {
        &self.fatal
    }

    fn followers(&self) -> usize {
        self.options.hosts.len() - 1
    }

    /// Does this process's part, which ends early when another process ends or is lost; then
    /// informs the others how it ended. `stopped` says of a good end whether the run was stopped.
    ///
    /// # Errors
    /// The part's own, or that of the process that ended the run.
    pub async fn run<T>(
        &self,
        part: impl Future<Output = Result<T, PipelineError>>,
        stopped: impl Fn(&T) -> bool,
    ) -> Result<T, PipelineError> {
        let ended = tokio::select! {
            biased;
            ended = part => ended,
            () = self.fatal.raised() => Err(self.fatal.take().unwrap_or_else(given_up)),
        };
        let farewell = self.mesh.farewell(ended.as_ref().map(stopped));
        Mesh::announce_end(&self.mesh, farewell).await;
        ended
    }

    /// The leader: informs the followers what the run is.
    pub fn announce(&self, terms: &Terms) {
        self.mesh.send_all(&Message::Terms(Box::new(terms.clone())));
    }

    /// The number of this process, and how many there are.
    pub fn place(&self) -> (usize, usize) {
        (self.options.process, self.options.hosts.len())
    }

    /// The leader: waits until all followers are ready.
    pub async fn agreed(&self) {
        self.gather(|message| match message {
            Message::Agreed => Ok(()),
            other => Err(other),
        })
        .await;
    }

    /// What all processes have listed, this one that. To be called by all of them.
    pub async fn all_listed(&self, own: Listed) -> Listed {
        let listed = |message| match message {
            Message::Listed(listed) => Ok(*listed),
            other => Err(other),
        };
        if !self.leads() {
            self.mesh.send(0, &Message::Listed(Box::new(own)));
            return self.next(0, listed).await;
        }
        let mut all = own;
        self.gather(listed)
            .await
            .into_iter()
            .for_each(|it| all.add(it));
        self.mesh.send_all(&Message::Listed(Box::new(all.clone())));
        all
    }

    /// The leader: what the others have planned.
    pub async fn planned(&self) -> Vec<Planned> {
        self.gather(|message| match message {
            Message::Planned(planned) => Ok(*planned),
            other => Err(other),
        })
        .await
    }

    /// The leader: waits for what all followers did, once the dataflow is complete.
    pub async fn totals(&self) -> Totals {
        let totals = self.gather(|message| match message {
            Message::Totals(totals) => Ok(*totals),
            other => Err(other),
        });
        let mut all = Totals::default();
        totals.await.into_iter().for_each(|it| all.add(it));
        all
    }

    /// Waits for such a message of each follower.
    async fn gather<T>(&self, take: impl Fn(Message) -> Result<T, Message>) -> Vec<T> {
        let mut gathered = Vec::new();
        for process in 1..=self.followers() {
            gathered.push(self.next(process, &take).await);
        }
        gathered
    }

    /// Waits for the next such message of a process.
    async fn next<T>(&self, process: usize, take: impl Fn(Message) -> Result<T, Message>) -> T {
        let mut waiting = self.inbox.lock().await;
        let early = std::mem::take(&mut waiting.early);
        let mut found = None;
        for (from, message) in early {
            match found.is_none() && from == process {
                true => match take(message) {
                    Ok(taken) => found = Some(taken),
                    Err(message) => waiting.early.push((from, message)),
                },
                false => waiting.early.push((from, message)),
            }
        }
        if let Some(found) = found {
            return found;
        }
        loop {
            match waiting.inbox.recv().await {
                Some((from, message)) if from == process => match take(message) {
                    Ok(found) => return found,
                    Err(message) => waiting.early.push((from, message)),
                },
                Some(early) => waiting.early.push(early),
                // The run ends otherwise.
                None => std::future::pending().await,
            }
        }
    }

    /// A follower: waits for the run's terms.
    pub async fn terms(&self) -> Terms {
        self.next(0, |message| match message {
            Message::Terms(terms) => Ok(*terms),
            other => Err(other),
        })
        .await
    }

    /// A follower: it is ready for a run on these terms.
    pub fn agree(&self) {
        self.mesh.send(0, &Message::Agreed);
    }

    /// A follower: what it has planned.
    pub fn send_planned(&self, planned: Planned) {
        self.mesh.send(0, &Message::Planned(Box::new(planned)));
    }

    /// A follower: its part is done. Waits for the leader's; gives whether the run was stopped.
    pub async fn end(&self, totals: Totals) -> bool {
        // From here on no process takes it for lost.
        self.mesh.send_all(&Message::Totals(Box::new(totals)));
        self.next(0, |message| match message {
            Message::Farewell { stopped } => Ok(stopped),
            other => Err(other),
        })
        .await
    }

    /// A follower: the leader stops the run when this process is asked to.
    pub async fn pass_on(&self, stop: &CancellationToken) -> Infallible {
        stop.cancelled().await;
        self.mesh.send(0, &Message::Stop);
        std::future::pending().await
    }

    /// The network of timely's workers, so many in each process. Its connections are given once.
    ///
    /// # Errors
    /// The threads of the network cannot be started.
    pub fn allocators(&self, workers: usize) -> Result<Allocators, PipelineError> {
        let hooks = Hooks::default();
        let inside =
            ProcessBuilder::new_typed_vector(workers, hooks.refill.clone(), hooks.spill.clone());
        let data = {
            let mut data = self.data.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *data)
        };
        let first = self.options.process * workers;
        let own = first as u64..(first + workers) as u64;
        let links = data.into_iter().enumerate().map(|(peer, channel)| {
            channel.map(|channel| Link::new(channel, peer, own.clone(), Arc::clone(&self.mesh)))
        });
        let links = links.collect();
        let network =
            initialize_networking_from_sockets(inside, links, self.options.process, workers, hooks);
        let (builders, guard) = network.map_err(|error| {
            PipelineError::Dataflow(format!("no threads for the network: {error}"))
        })?;
        let builders = builders.into_iter().map(AllocatorBuilder::Tcp);
        Ok((builders.collect(), Box::new(guard)))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Without effect after a run.
        let error = "it could not begin, and says itself why".to_owned();
        let error = PipelineError::Dataflow(error);
        self.mesh.end(&self.mesh.farewell(Err(&error)));
    }
}

/// For an error that somebody else has taken.
fn given_up() -> PipelineError {
    PipelineError::Dataflow("the run was given up".into())
}
