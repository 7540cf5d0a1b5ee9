//! The task pages of `docs/tasks`, and a shell that runs their commands as a reader would: block
//! after block in one shell, in a scratch folder, with only the names replaced that a reader
//! replaces.

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use tempfile::TempDir;

use crate::{binary, repository};

/// A fenced block of a page.
#[derive(Debug)]
pub struct Block {
    /// What its fence says that it is: `sh`, `ini`, or nothing.
    pub language: String,
    /// Its lines.
    pub text: String,
}

/// A page's text.
pub fn read(name: &str) -> String {
    let path = repository().join("docs/tasks").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The fenced blocks of a page, in their order.
pub fn blocks(page: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut is_within = false;
    for line in page.lines() {
        match line.strip_prefix("```") {
            Some(_) if is_within => is_within = false,
            Some(language) => {
                is_within = true;
                found.push(Block {
                    language: language.to_owned(),
                    text: String::new(),
                });
            }
            None if is_within => {
                let block = found.last_mut().expect("a block was begun");
                block.text.push_str(line);
                block.text.push('\n');
            }
            None => {}
        }
    }
    assert!(!is_within, "a block is never closed");
    found
}

/// What headings of a page may be linked by, as GitHub makes it of them.
pub fn anchors(page: &str) -> HashSet<String> {
    let headings = page.lines().filter_map(|line| {
        let rest = line.trim_start_matches('#');
        (rest.len() < line.len()).then(|| rest.strip_prefix(' '))?
    });
    let slug = |heading: &str| -> String {
        let kept = heading
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
            .collect::<String>();
        kept.replace(' ', "-")
    };
    headings.map(slug).collect()
}

/// A shell that runs the commands of one page.
pub struct Shell {
    process: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    replaced: Vec<(String, String)>,
    /// Its folder.
    pub folder: TempDir,
}

impl Shell {
    /// A shell with these variables and replacements.
    pub fn start(variables: &[(String, String)], replaced: &[(&str, &str)]) -> Shell {
        let folder = TempDir::new().expect("a scratch folder");
        let limn = binary();
        let programs = limn.parent().expect("it lies in a folder").to_owned();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = [programs].into_iter().chain(std::env::split_paths(&path));
        let inherited = std::env::vars_os().map(|(name, _)| name);
        let mut command = Command::new("timeout");
        // Whatever hangs ends, and what it said is printed.
        command.args(["--kill-after=5", "400", "bash"]);
        for name in inherited.filter(|name| name.to_string_lossy().starts_with("LIMN_")) {
            if name != "LIMN_MODELS" {
                command.env_remove(name);
            }
        }
        let mut process = command
            .current_dir(folder.path())
            .env("PATH", std::env::join_paths(path).expect("paths"))
            .env("LIMN_JUDGE", "off")
            .envs(variables.iter().cloned())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("bash starts");
        let input = process.stdin.take().expect("it was asked for");
        let output = process.stdout.take().expect("it was asked for");
        let owned = |(from, to): &(&str, &str)| ((*from).to_owned(), (*to).to_owned());
        let mut shell = Shell {
            process,
            input,
            output: BufReader::new(output).lines(),
            replaced: replaced.iter().map(owned).collect(),
            folder,
        };
        writeln!(shell.input, "{PRELUDE}").expect("bash listens");
        shell
    }

    /// A path in its folder.
    pub fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Runs commands; what they print. One that keeps running (`limn watch`, `limn serve`) runs on
    /// until the next such one.
    pub fn run(&mut self, commands: &str) -> String {
        let mut commands = commands.to_owned();
        for (from, to) in &self.replaced {
            commands = commands.replace(from, to);
        }
        let keeps_running = ["limn watch", "limn serve"]
            .iter()
            .any(|start| commands.starts_with(start));
        let commands = match keeps_running {
            true => format!("begin {}", commands.trim_start_matches("limn ")),
            false => format!("{{ {commands}\n}} < /dev/null"),
        };
        writeln!(self.input, "{commands}\nprintf '\\n{END}\\n'").expect("bash listens");
        let mut said = String::new();
        for line in self.output.by_ref() {
            let line = line.expect("bash writes text");
            if line == END {
                return said;
            }
            said.push_str(&line);
            said.push('\n');
        }
        let log = fs::read_to_string(self.at("background.log")).unwrap_or_default();
        panic!(
            "a command of the page failed or hung:\n{commands}\n{said}\nin the background: {log}"
        );
    }

    /// Runs a page's commands, and calls `after` with each block and what it printed.
    pub fn run_page(&mut self, page: &str, mut after: impl FnMut(&mut Shell, &str, &str)) {
        let page = blocks(&read(page));
        let commands = page.iter().filter(|block| block.language == "sh");
        for Block { text, .. } in commands {
            let said = self.run(text);
            after(self, text, &said);
        }
        self.run("end");
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // `timeout` hands it on to bash, which ends what runs in the background.
        let _ = Command::new("kill")
            .arg(self.process.id().to_string())
            .status();
        let _ = self.process.wait();
    }
}

/// The line that says that a block is done.
const END: &str = "--- this block is done ---";

/// What takes requests is waited for until it says where.
const PRELUDE: &str = r#"set -euo pipefail
background=
until_true() { until "$@" > /dev/null 2>&1; do sleep 0.1; done; }
end() {
  if [ -n "$background" ]; then
    kill -TERM "$background" 2> /dev/null || true
    wait "$background" || true
    background=
  fi
}
trap end EXIT
trap 'exit 1' TERM
begin() {
  end
  rm -f background.log
  limn "$@" > background.log 2>&1 < /dev/null &
  background=$!
  case "$*" in
    *--listen*) until grep -qs http: background.log; do kill -0 "$background"; sleep 0.05; done ;;
  esac
}
"#;

/// The relative links of a page (path, anchor), those in fenced blocks left out.
pub fn links(page: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut is_within = false;
    for line in page.lines() {
        is_within ^= line.starts_with("```");
        if is_within {
            continue;
        }
        for rest in line.split("](").skip(1) {
            let target = rest.split([')', ' ']).next().unwrap_or_default();
            if !target.contains("://") {
                let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
                found.push((path.to_owned(), anchor.to_owned()));
            }
        }
    }
    found
}

/// Links of a page that lead nowhere.
pub fn dead_links(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).expect("a page");
    let folder = page.parent().expect("a page lies in a folder");
    let is_dead = |(path, anchor): &(String, String)| {
        let target = match path.is_empty() {
            true => page.to_owned(),
            false => folder.join(path),
        };
        let is_page = target.extension().is_some_and(|it| it == "md");
        if anchor.is_empty() || !is_page {
            return !target.exists();
        }
        !fs::read_to_string(&target).is_ok_and(|page| anchors(&page).contains(anchor))
    };
    let dead = links(&text).into_iter().filter(is_dead);
    dead.map(|(path, anchor)| format!("{}: {path}#{anchor}", page.display()))
        .collect()
}
