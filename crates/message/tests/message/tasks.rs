//! Tasks of tokio, on one thread and on several connections' own.

use std::{os::unix::net::UnixStream, time::Duration};

use netfathom_message::{Config, Connection, Error, PostEnd, strategy::Choice, tasks::Tasks};
use tokio::{runtime::Builder, time::timeout};

use crate::rig::{Kind, LIMIT, config, pair, small};

fn run<T>(both: (Connection, Connection), body: impl AsyncFnOnce(Tasks, Tasks) -> T) -> T {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (here, there) = (Tasks::new(both.0).unwrap(), Tasks::new(both.1).unwrap());
        timeout(LIMIT, body(here, there)).await.expect("nothing waits for ever")
    })
}

#[test]
fn tasks_send_and_receive_on_channels_of_their_own() {
    const COUNT: u32 = 2000;
    for choice in [Choice::Adaptive, Choice::Inline, Choice::Thread] {
        // A small window, so that the senders wait for credit again and again.
        let mut config = small(4096, 2000);
        config.strategy = choice;
        run(pair(Kind::Tcp, &config), async |here, there| {
            let mut tasks = tokio::task::JoinSet::new();
            let local = tokio::task::LocalSet::new();
            for channel in 0..4 {
                let (here, there) = (here.clone(), there.clone());
                tasks.spawn_local_on(
                    async move {
                        for number in 0..COUNT {
                            here.send(channel, &number.to_le_bytes()).await.unwrap();
                        }
                    },
                    &local,
                );
                tasks.spawn_local_on(
                    async move {
                        for number in 0..COUNT {
                            assert_eq!(there.receive(channel).await.unwrap(), number.to_le_bytes());
                        }
                    },
                    &local,
                );
            }
            local
                .run_until(async {
                    while let Some(done) = tasks.join_next().await {
                        done.unwrap();
                    }
                })
                .await;
        });
    }
}

#[test]
fn posts_are_awaited() {
    run(pair(Kind::Unix, &config(Choice::Adaptive)), async |here, there| {
        there.connection().offer(2, vec![0; 1 << 20]).unwrap();
        let post = here.post(2, vec![9; 1 << 20]);
        let (posted, received) = tokio::join!(post, there.receive_post(2));
        assert_eq!(posted.unwrap(), PostEnd::Written);
        assert_eq!(received.unwrap().bytes(), [9; 1 << 20]);
    });
}

#[test]
fn a_task_that_waits_learns_of_the_end() {
    run(pair(Kind::Tcp, &config(Choice::Adaptive)), async |here, there| {
        let end = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            here.connection().abort(3);
        };
        let (ended, ()) = tokio::join!(there.receive(0), end);
        assert!(matches!(ended, Err(Error::Aborted { code: 3 })), "{ended:?}");
    });
}

#[test]
fn a_wait_that_is_given_up_loses_nothing() {
    run(pair(Kind::Tcp, &config(Choice::Adaptive)), async |here, there| {
        assert!(timeout(Duration::from_millis(5), there.receive(1)).await.is_err());
        here.send(1, b"late").await.unwrap();
        assert_eq!(there.receive(1).await.unwrap(), b"late");
    });
}

/// On one thread: if it blocked on one hello, the other would never be sent.
#[test]
fn both_ends_open_in_tasks_of_one_thread() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (here, there) = UnixStream::pair().unwrap();
        let both = async {
            tokio::try_join!(Tasks::unix(here, Config::default()), Tasks::unix(there, Config::default()))
        };
        let (here, there) = timeout(LIMIT, both).await.unwrap().unwrap();
        here.send(0, b"opened").await.unwrap();
        assert_eq!(there.receive(0).await.unwrap(), b"opened");
    });
}
