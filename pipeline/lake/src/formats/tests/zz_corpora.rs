
use super::*;
#[test]
#[ignore]
fn corpora() {
    let root = std::env::var("CORPUS").unwrap();
    let rt = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut n = 0; let mut ragged=0; let started = std::time::Instant::now(); let mut bytes = 0;
    for corpus in std::fs::read_dir(&root).unwrap().flatten() {
        let dir = corpus.path().join("tables");
        let Ok(entries) = std::fs::read_dir(&dir) else { continue };
        let store = Store::open(dir.to_str().unwrap()).unwrap();
        for entry in entries.flatten() {
            let name = entry.file_name().into_string().unwrap();
            if Format::of_path(&name).is_none() { continue }
            let size = entry.metadata().unwrap().len() as usize;
            bytes += size;
            n += 1;
            match rt.block_on(summarise_file(&store, &data_file(&name, size), &ReadOptions::default())) {
                Err(e) => println!("ERR {} {e}", dir.display()),
                Ok(s) => {
                    let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
                    let first = text.lines().next().unwrap_or_default();
                    let expect = first.split(',').count();
                    if !s.notes.is_empty() { ragged += 1; println!("NOTE {} {name} {:?} | {}", corpus.file_name().to_string_lossy(), s.notes, &first.chars().take(150).collect::<String>()); }
                    else if s.columns.len() != expect && !first.contains('"') { println!("COLS {} {name} {} != {expect} | {}", corpus.file_name().to_string_lossy(), s.columns.len(), &first.chars().take(100).collect::<String>()); }
                }
            }
        }
    }
    println!("{n} files {bytes} bytes {ragged} notes {:?}", started.elapsed());
}
