//! A page of links to a folder's content, as servers make them of folders (Apache's, nginx's,
//! Python's) and people write them.
//!
//! A link counts if it leads deeper into the page's own folder on the same server, without a query.
//! So every link makes a longer path: no page leads back, and none leads out.

use std::collections::BTreeSet;

use html5gum::{Token, Tokenizer};
use percent_encoding::percent_decode_str;
use url::Url;

use super::client::is_same_server;

/// What a page links to, below its folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Links {
    /// Paths of folders, decoded, without a slash at the end.
    pub(crate) folders: BTreeSet<String>,
    /// Paths of files, decoded.
    pub(crate) files: BTreeSet<String>,
    /// Links that no path can be, as they are written, with what is wrong.
    pub(crate) odd: BTreeSet<(String, &'static str)>,
}

/// The links of a page that came from `url`.
pub(crate) fn links(html: &[u8], url: &Url) -> Links {
    let mut links = Links::default();
    let mut base = url.clone();
    let mut has_base = false;
    // Reading from memory does not fail.
    for token in Tokenizer::new(html).flatten() {
        let Token::StartTag(tag) = token else {
            continue;
        };
        let is_base = tag.name.as_slice() == b"base";
        if !is_base && tag.name.as_slice() != b"a" {
            continue;
        }
        let href = tag.attributes.get(b"href".as_slice());
        let Some(href) = href.and_then(|href| std::str::from_utf8(href).ok()) else {
            continue;
        };
        let Ok(target) = base.join(href.trim()) else {
            continue;
        };
        if !is_base {
            links.take(&target, url);
        } else if !has_base {
            (base, has_base) = (target, true);
        }
    }
    links
}

impl Links {
    fn take(&mut self, target: &Url, page: &Url) {
        if target.query().is_some() || !is_same_server(page, target) {
            return;
        }
        let Some(below) = below(target, page) else {
            return;
        };
        match decoded(&below) {
            Err(fault) => {
                self.odd.insert((below.join("/"), fault));
            }
            Ok((path, _)) if path.is_empty() => {}
            Ok((path, true)) => {
                self.folders.insert(path);
            }
            Ok((path, false)) => {
                self.files.insert(path);
            }
        }
    }
}

/// The parts of a URL's path after those of the page's folder; none where it leads elsewhere.
fn below<'a>(target: &'a Url, page: &Url) -> Option<Vec<&'a str>> {
    let mut parts = target.path_segments()?;
    let folder: Vec<&str> = page.path_segments()?.collect();
    // What comes after the last slash is the page itself.
    for part in &folder[..folder.len().saturating_sub(1)] {
        // Servers and people do not encode alike.
        let same = percent_decode_str(part).eq(percent_decode_str(parts.next()?));
        if !same {
            return None;
        }
    }
    Some(parts.collect())
}

/// A path's parts as a path, and whether it is a folder's.
fn decoded(parts: &[&str]) -> Result<(String, bool), &'static str> {
    let (parts, is_folder) = match parts {
        [folders @ .., ""] => (folders, true),
        parts => (parts, false),
    };
    let mut path = String::new();
    for part in parts {
        let part = percent_decode_str(part).decode_utf8();
        let part = part.map_err(|_| "its name is not UTF-8")?;
        if part.contains('/') {
            return Err("its name has a '/' in it");
        }
        if matches!(&*part, "" | "." | "..") {
            return Err("its path has empty, '.' or '..' parts");
        }
        if part.chars().any(char::is_control) {
            return Err("its name has control characters");
        }
        if !path.is_empty() {
            path.push('/');
        }
        path.push_str(&part);
    }
    Ok((path, is_folder))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use proptest::prelude::*;

    use super::*;

    fn of(html: &str, url: &str) -> (Vec<String>, Vec<String>) {
        let links = links(html.as_bytes(), &Url::parse(url).unwrap());
        (
            links.folders.into_iter().collect(),
            links.files.into_iter().collect(),
        )
    }

    #[test]
    fn apaches_pages_are_read() {
        let page = r#"<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">
<html><head><title>Index of /lake</title></head><body><h1>Index of /lake</h1>
<table><tr><th><a href="?C=N;O=D">Name</a></th><th><a href="?C=M;O=A">Last modified</a></th></tr>
<tr><td><a href="/">Parent Directory</a></td></tr>
<tr><td><a href="hr/">hr/</a></td><td align="right">2024-03-04 10:00</td></tr>
<tr><td><a href="a%20b%20%26%20c.csv">a b &amp; c.csv</a></td></tr>
<tr><td><a href="r&amp;d.csv">r&amp;d.csv</a></td></tr>
</table><address>Apache/2.4</address></body></html>"#;
        assert_eq!(
            of(page, "http://host/lake/"),
            (
                vec!["hr".to_owned()],
                vec!["a b & c.csv".to_owned(), "r&d.csv".to_owned()]
            )
        );
    }

    #[test]
    fn nginxs_pages_are_read() {
        let page = "<html>\r\n<head><title>Index of /lake/</title></head>\r\n<body>\r\n<h1>Index of /lake/</h1><hr><pre>\
            <a href=\"../\">../</a>\r\n<a href=\"sales/\">sales/</a>                  04-Mar-2024 10:00       -\r\n\
            <a href=\"%C3%BC%20%252F%20%F0%9F%98%80.csv\">ü %2F 😀.csv</a>    04-Mar-2024 10:00    12\r\n</pre><hr></body></html>";
        assert_eq!(
            of(page, "http://host/lake/"),
            (vec!["sales".to_owned()], vec!["ü %2F 😀.csv".to_owned()])
        );
    }

    #[test]
    fn links_that_lead_elsewhere_do_not_count() {
        for elsewhere in [
            "../up.csv",
            "/other/a.csv",
            "/lakeside/a.csv",
            "//evil/lake/a.csv",
            "https://evil/lake/a.csv",
            "http://host:81/lake/a.csv",
            "http://host@evil/lake/a.csv",
            "ftp://host/lake/a.csv",
            "mailto:me@host",
            "javascript:alert(1)",
            "data:text/csv,a",
            "#top",
            "",
            ".",
            "./",
            "a.csv?download=1",
            "..%2f..%2fa.csv/../../up",
            "%2e%2e/a.csv",
            "\\\\evil\\a.csv",
            "http://[bad/a.csv",
        ] {
            let page = format!("<a href=\"{elsewhere}\">x</a>");
            let none: (Vec<String>, Vec<String>) = Default::default();
            assert_eq!(of(&page, "http://host/lake/"), none, "{elsewhere}");
        }
    }

    #[test]
    fn links_may_be_deep_written_by_hand_or_relative_to_another_page() {
        let page = "<BASE HREF='/lake/data/'><base href='http://evil/'><A class=x HREF = 2024/jan.csv >x\
                    <a name=y><a href=http://host/lake/c.csv#top><a href=' d.csv '>";
        assert_eq!(
            of(page, "http://host/lake/index.html"),
            (
                vec![],
                ["c.csv", "data/2024/jan.csv", "data/d.csv"]
                    .map(str::to_owned)
                    .to_vec()
            )
        );
        assert_eq!(
            of("<a href=https://host/lake/c.csv>", "http://host/lake/").1,
            ["c.csv"]
        );
    }

    #[test]
    fn what_no_path_can_be_is_reported() {
        let page = "<a href='a%2Fb.csv'><a href='bad%ff.csv'><a href='a//b.csv'><a href='a%0Ab.csv'><a href='ok.csv'>";
        let links = links(page.as_bytes(), &Url::parse("http://host/").unwrap());
        let odd: Vec<&str> = links.odd.iter().map(|(link, _)| link.as_str()).collect();
        assert_eq!(odd, ["a%0Ab.csv", "a%2Fb.csv", "a//b.csv", "bad%ff.csv"]);
        assert_eq!(links.files.len(), 1);
    }

    proptest! {
        #[test]
        fn any_page_is_survived_and_every_link_leads_deeper(
            page in "(<a href=|<A HREF='|<base href=|\"|'|>|/|\\.\\./|\\.|a|%2e|%2F|%|http://host/x/|\\?|&amp;|\u{0}|ü| ){0,60}"
        ) {
            let links = links(page.as_bytes(), &Url::parse("http://host/x/y/").unwrap());
            for path in links.folders.iter().chain(&links.files) {
                prop_assert!(path.split('/').all(|part| !matches!(part, "" | "." | "..")), "{}", path);
            }
        }

        #[test]
        fn names_come_back(names in prop::collection::btree_set("[^/\\p{Cc}]{1,12}", 0..6)) {
            prop_assume!(names.iter().all(|name| name != "." && name != ".."));
            let url = Url::parse("http://host/x/").unwrap();
            let page: String = names.iter().map(|name| {
                let mut target = url.clone();
                target.path_segments_mut().unwrap().pop().push(name);
                format!("<a href=\"{}\">x</a>\n", target.path().replace('&', "&amp;").replace('"', "&quot;"))
            }).collect();
            prop_assert_eq!(links(page.as_bytes(), &url).files, names);
        }
    }
}
