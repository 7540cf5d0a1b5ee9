//! What is found of groups of which nothing is published, without their files and with them.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use limn_formats::{ObjectRecord, ReadOptions};
use limn_lake::layout::layout;
use limn_lake::{Contexts, TableName};
use limn_profile::Redact;
use limn_store::Store;

use super::*;
use crate::changes::MemberId;
use crate::options::RunOptions;
use crate::plan::survey::{Found, Survey, Surveyed};
use crate::progress::Progress;
use crate::published::Published;
use crate::read::Reader;
use crate::share::Share;

/// Families of which one is certainly a table a file, and other groups.
fn files() -> Vec<(String, String)> {
    let mut files = vec![
        ("lone.csv".to_owned(), "a,b\n1,2\n".to_owned()),
        ("t/k=1/x.csv".to_owned(), "a,b\n1,2\n".to_owned()),
        ("README.md".to_owned(), "A lake.".to_owned()),
    ];
    for at in 0..12 {
        let other = format!("first_{at},second_{at},third_{at}\n1,2,3\n");
        files.push((format!("apart/y_{at}.csv"), other));
        let same = "id,name\n1,ada\n2,bob\n".to_owned();
        files.push((format!("same/x_{at}.csv"), same.clone()));
        files.push((format!("few_{}/x_{at}.csv", at % 4), same));
    }
    files
}

fn planner(lake: &Store) -> Planner {
    let published = Arc::new(Published::default());
    let reader = Reader::new(
        lake.clone(),
        Arc::clone(&published),
        ReadOptions::default(),
        1 << 28,
        Arc::new(Progress::default()),
    );
    let (settings, options) = ((MemberId(7), Redact::Off), RunOptions::default());
    let (reader, share) = (Arc::new(reader), Share::default());
    Planner::new("lake", reader, published, settings, true, &options, &share)
}

fn shown(surveyed: &Surveyed) -> (Vec<String>, usize) {
    let to_do = surveyed.to_do.iter().map(|it| match &it.group {
        Found::LaidOut(at) => format!("{at} {}", it.begins),
        Found::Made(group) => format!("{} {}", group.path, it.begins),
    });
    (to_do.collect(), surveyed.files_wanted)
}

#[tokio::test]
async fn what_is_known_of_new_groups_without_their_files_is_enough() {
    let lake = Store::in_memory();
    let mut objects: Vec<ObjectRecord> = Vec::new();
    for (path, text) in files() {
        lake.put(&path, text.into()).await.unwrap();
        objects.push(lake.head(&path).await.unwrap().into());
    }
    let name = TableName::parse("apart").unwrap();
    let registered = Contexts::from([(name, vec!["All of them.".to_owned()])]);
    let layout = layout(objects, &registered, "lake");
    let (planner, part) = (planner(&lake), Part::whole());
    let mut surveys = [(); 2].map(|()| Survey::of(&planner, &part, &[]).unwrap());
    let (mut new, mut apart) = (0, 0);
    for at in 0..layout.len() {
        let group = layout.group(at).unwrap();
        let (found, orphans) = planner.arrange(at, group.clone(), false).await.unwrap();
        match planner.look_at(&layout, at, &part).await.unwrap() {
            Looked::New(place, outline) => {
                new += 1;
                assert_eq!(
                    (place, outline.kind, outline.path),
                    (at, group.kind, &*group.path)
                );
                assert!(
                    found
                        .iter()
                        .all(|it| it.is_as_laid_out && it.group == group)
                );
                assert!(orphans.is_empty() && *outline.name == group.name);
                surveys[0].look_at_new(place, &outline);
            }
            Looked::Arranged(again, again_orphans) => {
                apart += again.len();
                assert_eq!(again_orphans, orphans);
                assert!(
                    again
                        .iter()
                        .map(|it| &it.group)
                        .eq(found.iter().map(|it| &it.group))
                );
                again.into_iter().for_each(|it| surveys[0].look_at(it));
            }
        }
        found.into_iter().for_each(|it| surveys[1].look_at(it));
    }
    assert_eq!((new, apart), (7, 12));
    let [first, second] = surveys.map(|it| it.end().unwrap());
    assert_eq!(shown(&first), shown(&second));
    assert_eq!(first.files_wanted, 38);
}
