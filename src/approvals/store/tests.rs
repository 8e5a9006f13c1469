use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::*;
use crate::approvals::document::{Coverage, Document, Entry, Source, Standing};
use crate::config::exec::Security;
use crate::error::{Diagnose as _, Report};
use crate::state::StateDir;

const DATABASE: &str = "state/openclaw.sqlite";

struct Home {
    dir: tempfile::TempDir,
    state: StateDir,
}

impl Home {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::at(dir.path());
        Self { dir, state }
    }

    fn with(text: &str) -> Self {
        let home = Self::new();
        std::fs::write(home.file(), text).unwrap();
        home
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join(FILE_NAME)
    }

    fn own(&self) -> PathBuf {
        self.dir.path().join("creel").join(FILE_NAME)
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.file()).unwrap()
    }

    fn read(&self) -> Local {
        read(&self.state)
    }

    fn database(&self) -> Connection {
        std::fs::create_dir_all(self.dir.path().join("state")).unwrap();
        let database = Connection::open(self.dir.path().join(DATABASE)).unwrap();
        database
            .execute_batch(
                "CREATE TABLE IF NOT EXISTS exec_approvals_config (config_key TEXT PRIMARY KEY, raw_json TEXT)",
            )
            .unwrap();
        database
    }
}

fn row(database: &Connection, text: &str) {
    let sql = "INSERT OR REPLACE INTO exec_approvals_config VALUES ('current', ?1)";
    database.execute(sql, [text]).unwrap();
}

fn security(local: &Local) -> Option<Security> {
    let hosts = local.hosts(None);
    hosts.iter().filter_map(|host| host.rules.security.as_ref()).map(|set| set.value).min()
}

fn patterns(local: &Local) -> Vec<&str> {
    local.allowlist(None).iter().map(|entry| entry.pattern.as_str()).collect()
}

fn always(pattern: &str, arguments: &str) -> Entry {
    Entry {
        arg_pattern: Some(format!("sha256:cwd-argv:v1:{arguments}")),
        source: Source::AllowAlways,
        ..Entry::of(pattern)
    }
}

#[test]
fn neither_removing_nor_breaking_the_file_opens_what_it_had_closed() {
    let home = Home::new();
    assert_eq!(home.read().held.standing, Standing::Absent);
    std::fs::write(home.file(), "{\"version\": 1, \"defaults\": {\"security\": \"allowlist\"}}").unwrap();
    assert_eq!(home.read().held.standing, Standing::Current);
    for change in [
        |file: &Path| std::fs::write(file, "{").unwrap(),
        |file: &Path| {
            std::fs::remove_file(file).unwrap();
        },
    ] {
        change(&home.file());
        let local = home.read();
        assert!(matches!(local.held.standing, Standing::LastGood(_)), "{:?}", local.held.standing);
        assert_eq!(security(&local), Some(Security::Allowlist));
    }
}

#[test]
fn what_cannot_be_read_or_trusted_closes() {
    for spoil in [
        |file: &Path| std::fs::create_dir(file).unwrap(),
        |file: &Path| std::os::unix::fs::symlink("nowhere", file).unwrap(),
        |file: &Path| {
            let real = file.with_file_name("real.json");
            std::fs::write(&real, "{\"version\": 1}").unwrap();
            std::os::unix::fs::symlink(real, file).unwrap();
        },
        |file: &Path| std::fs::write(file, [0xff, 0xfe]).unwrap(),
        |file: &Path| {
            std::fs::write(file, "{\"version\": 1}").unwrap();
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o666)).unwrap();
        },
        |file: &Path| {
            std::fs::write(file.with_file_name(format!("{FILE_NAME}.doctor-importing")), "{}").unwrap();
        },
    ] {
        let home = Home::new();
        spoil(&home.file());
        let local = home.read();
        assert!(matches!(local.held.standing, Standing::Closed(_)), "{:?}", local.held.standing);
        assert_eq!(security(&local), Some(Security::Deny));
    }
}

#[test]
fn the_state_directory_may_be_a_link() {
    let home = Home::with("{\"version\": 1, \"defaults\": {\"security\": \"allowlist\"}}");
    let link = tempfile::tempdir().unwrap();
    let link = link.path().join("state");
    std::os::unix::fs::symlink(home.dir.path(), &link).unwrap();
    let state = StateDir::at(&link);
    assert_eq!(security(&read(&state)), Some(Security::Allowlist));
    assert_eq!(add_entries(&state, "*", &[Entry::of("rg")]).unwrap(), 1);
    assert_eq!(patterns(&home.read()), ["rg"]);
}

#[test]
fn a_hand_edit_shows_at_once_and_an_untouched_file_is_not_read_again() {
    let home = Home::new();
    for name in ["aa", "bb", "cc", "dd"] {
        // Same length, within one tick of the clock.
        let text = format!("{{\"version\": 1, \"agents\": {{\"*\": {{\"allowlist\": [\"{name}\"]}}}}}}");
        std::fs::write(home.file(), text).unwrap();
        assert_eq!(patterns(&home.read()), [name]);
    }
    let first = home.read();
    assert_eq!(home.read().revision(), first.revision(), "nothing changed");
    std::fs::write(home.file(), home.text() + " ").unwrap();
    assert_ne!(home.read().revision(), first.revision());
}

#[test]
fn an_edit_keeps_what_it_does_not_know_and_one_that_changes_nothing_writes_nothing() {
    let text = "{\"version\":1,\"later\":{\"a\":[1]},\"agents\":{\"main\":{\"color\":\"red\",\"allowlist\":[\"rg\",{\"pattern\":\"/x\",\"meta\":7}]}}}";
    let home = Home::with(text);
    let before = std::fs::metadata(home.file()).unwrap().modified().unwrap();
    edit(&home.state, |_| Ok::<_, StoreError>(())).unwrap();
    assert_eq!(
        (home.text(), before),
        (text.to_owned(), std::fs::metadata(home.file()).unwrap().modified().unwrap())
    );
    assert_eq!(add_entries(&home.state, "MAIN", &[Entry::of("jq")]).unwrap(), 1);
    let value: serde_json::Value = serde_json::from_str(&home.text()).unwrap();
    assert_eq!(value["later"]["a"][0], 1);
    assert_eq!(value["agents"]["main"]["color"], "red");
    assert_eq!(value["agents"]["main"]["allowlist"][1]["meta"], 7);
    let ids: Vec<&str> = value["agents"]["main"]["allowlist"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["id"].as_str().unwrap())
        .collect();
    assert!(ids.len() == 3 && ids.iter().all(|id| id.len() == 36 && id.as_bytes()[14] == b'4'), "{ids:?}");
    assert_eq!(std::fs::metadata(home.file()).unwrap().permissions().mode() & 0o777, 0o600);
    let now = home.text();
    assert_eq!(add_entries(&home.state, "main", &[Entry::of("jq")]).unwrap(), 0);
    assert_eq!(home.text(), now, "it was there");
}

#[test]
fn an_approval_that_is_given_again_renews_its_entry() {
    let home = Home::new();
    assert_eq!(add_entries(&home.state, "main", &[always("/bin/a", "1"), always("/bin/a", "2")]).unwrap(), 2);
    let id = |at: usize| home.read().held.document.agents[0].allowlist[at].id.clone();
    let (first, second) = (id(0), id(1));
    assert!(first.is_some() && second.is_some() && first != second);
    let renewed = Entry { last_used_at: Some(5.into()), ..always("/bin/a", "1") };
    assert_eq!(add_entries(&home.state, "main", &[renewed]).unwrap(), 0);
    assert_eq!((id(0), id(1)), (first, second));
    // What a person wrote for any arguments stays a person's: as an approval it would match nothing.
    add_entries(&home.state, "main", &[Entry::of("/bin/b")]).unwrap();
    add_entries(&home.state, "main", &[Entry { source: Source::AllowAlways, ..Entry::of("/bin/b") }])
        .unwrap();
    assert_eq!(home.read().held.document.agents[0].allowlist[2].coverage(), Coverage::AnyArgs);
}

#[test]
fn usage_never_brings_back_what_was_revoked() {
    let home = Home::with(
        "{\"version\": 1, \"agents\": {\"main\": {\"allowlist\": [{\"id\": \"k\", \"pattern\": \"/bin/a\"}, \"rg\"]}}}",
    );
    let local = home.read();
    let uses: Vec<Use> = local.held.document.agents[0]
        .allowlist
        .iter()
        .map(|entry| Use::of(entry, 1_000_000, Some("a b"), Some(Path::new("/bin/a"))))
        .collect();
    touch(&home.state, "main", &uses).unwrap();
    let marked = home.read();
    let [first, second] = &marked.held.document.agents[0].allowlist[..] else { panic!() };
    assert_eq!(first.last_used_command.as_deref(), Some("a b"));
    assert_eq!(second.last_resolved_path.as_deref(), Some("/bin/a"));
    let text = home.text();
    let soon: Vec<Use> = uses.iter().map(|one| Use { at_ms: 1_030_000, ..one.clone() }).collect();
    touch(&home.state, "main", &soon).unwrap();
    assert_eq!(home.text(), text, "the same use within a minute");
    // Revoked while the command runs.
    edit(&home.state, |document| {
        document.agents[0].allowlist.clear();
        Ok::<_, StoreError>(())
    })
    .unwrap();
    let late: Vec<Use> = uses.iter().map(|one| Use { at_ms: 9_000_000, ..one.clone() }).collect();
    touch(&home.state, "main", &late).unwrap();
    assert!(home.read().allowlist(None).is_empty());
    assert!(home.read().held.document.agents[0].allowlist.is_empty());
}

#[test]
fn the_command_of_a_generated_entry_is_not_written() {
    let home = Home::new();
    add_entries(&home.state, "*", &[always("/bin/a", "1")]).unwrap();
    let local = home.read();
    let one = Use::of(local.allowlist(None)[0], 7, Some("a --password x"), Some(Path::new("/bin/a")));
    touch(&home.state, "main", &[one]).unwrap();
    assert!(
        home.text().contains("\"lastUsedAt\": 7") && !home.text().contains("password"),
        "{}",
        home.text()
    );
}

#[test]
fn a_broken_file_is_never_written_over_by_an_edit() {
    let broken = "{\n  \"version\": 1,\n  oops\n}";
    let home = Home::with("{\"version\": 1, \"defaults\": {\"security\": \"allowlist\"}}");
    home.read();
    std::fs::write(home.file(), broken).unwrap();
    let report = add_entries(&home.state, "*", &[Entry::of("rg")]).unwrap_err().report();
    assert!(report.message.contains(":3:3") && report.code == "CRL-APPROVALS-004", "{report:?}");
    assert_eq!(home.text(), broken);
    assert_eq!(security(&home.read()), Some(Security::Allowlist));
    std::fs::remove_file(home.file()).unwrap();
    let report = add_entries(&home.state, "*", &[Entry::of("rg")]).unwrap_err().report();
    assert_eq!(report.code, "CRL-APPROVALS-001");
    assert!(!home.file().exists());
}

#[test]
fn setting_mends_and_keeps_the_broken_bytes() {
    for missing in [false, true] {
        let home = Home::with("{\"version\": 1, \"defaults\": {\"security\": \"allowlist\"}}");
        home.read();
        std::fs::write(home.file(), "{ broken").unwrap();
        if missing {
            std::fs::remove_file(home.file()).unwrap();
        }
        let document = Document::parse("{\"version\": 1}", Path::new("x")).unwrap();
        let local = set(&home.state, &document, Some(home.read().hash())).unwrap();
        assert_eq!((local.held.standing.clone(), security(&local)), (Standing::Current, None));
        let kept = std::fs::read_dir(home.dir.path()).unwrap().map(|one| one.unwrap().path());
        let kept: Vec<String> = kept
            .filter(|path| path.to_string_lossy().contains("broken-"))
            .map(|path| std::fs::read_to_string(path).unwrap())
            .collect();
        assert_eq!(kept, if missing { vec![] } else { vec!["{ broken".to_owned()] });
    }
}

#[test]
fn setting_compares_and_keeps_the_secret() {
    let home = Home::with("{\"version\": 1, \"socket\": {\"token\": \"t0k\"}}");
    let base = home.read().hash().to_owned();
    add_entries(&home.state, "*", &[Entry::of("rg")]).unwrap();
    let document = Document::default();
    let error = set(&home.state, &document, Some(&base)).unwrap_err();
    assert_eq!(error.to_string(), "Exec approvals changed; reload and retry.");
    assert_eq!(patterns(&home.read()), ["rg"]);
    let local = set(&home.state, &document, Some(home.read().hash())).unwrap();
    assert_eq!(local.held.document.socket.token.as_ref().unwrap().0, "t0k");
    assert!(patterns(&local).is_empty());
    let text = home.text();
    set(&home.state, &document, None).unwrap();
    assert_eq!(home.text(), text, "the same again");
}

#[test]
fn whoever_saves_leaves_a_secret_for_the_socket() {
    let home = Home::new();
    add_entries(&home.state, "*", &[Entry::of("rg")]).unwrap();
    let token = home.read().held.document.socket.token.clone().unwrap();
    assert_eq!(token.0.len(), 32);
    add_entries(&home.state, "*", &[Entry::of("ls")]).unwrap();
    assert_eq!(home.read().held.document.socket.token, Some(token));
}

#[test]
fn a_read_only_file_still_holds_and_says_why_nothing_is_saved() {
    let home = Home::with("{\"version\": 1, \"defaults\": {\"security\": \"allowlist\"}}");
    std::fs::set_permissions(home.file(), std::fs::Permissions::from_mode(0o444)).unwrap();
    assert_eq!(security(&home.read()), Some(Security::Allowlist));
    let report = add_entries(&home.state, "*", &[Entry::of("rg")]).unwrap_err().report();
    assert_eq!(report.code, "CRL-APPROVALS-011");
    assert!(report.message.contains("444") && report.message.contains("still holds"), "{report:?}");
    assert_eq!(security(&home.read()), Some(Security::Allowlist));
}

#[test]
fn whoever_changes_may_say_no() {
    let home = Home::new();
    let no = || Report { code: "X", message: "no".to_owned(), rule: None, fix: String::new() };
    let error = edit(&home.state, |document| {
        document.defaults.security = Some(Security::Full);
        Err::<(), _>(no())
    });
    assert_eq!(error.unwrap_err().report().code, "X");
    assert!(!home.file().exists());
}

#[test]
fn a_policy_in_the_database_is_a_floor() {
    let home = Home::new();
    let database = home.database();
    assert_eq!(security(&home.read()), None, "no row imposes nothing");
    row(
        &database,
        "{\"version\": 1, \"defaults\": {\"security\": \"allowlist\", \"askFallback\": \"full\"}, \"agents\": {\"*\": {\"allowlist\": [\"rg\"]}}}",
    );
    let local = home.read();
    assert_eq!((security(&local), patterns(&local)), (Some(Security::Allowlist), vec!["rg"]));
    let [host] = &local.hosts(None)[..] else { panic!() };
    assert!(host.locator.ends_with("state/openclaw.sqlite#exec_approvals_config"), "{}", host.locator);
    // creel's own document lies where it does not stop OpenClaw, and both count.
    add_entries(&home.state, "*", &[Entry::of("jq")]).unwrap();
    edit(&home.state, |document| {
        document.defaults.security = Some(Security::Full);
        Ok::<_, StoreError>(())
    })
    .unwrap();
    assert!(home.own().exists() && !home.file().exists());
    let local = home.read();
    assert_eq!((security(&local), patterns(&local)), (Some(Security::Allowlist), vec!["jq", "rg"]));
    // Changed by OpenClaw while it has the database open, so that the change is in its journal only.
    database.pragma_update(None, "journal_mode", "WAL").unwrap();
    row(&database, "{\"version\": 1, \"defaults\": {\"security\": \"deny\"}}");
    assert_eq!(security(&home.read()), Some(Security::Deny));
    database.execute("DELETE FROM exec_approvals_config", []).unwrap();
    assert_eq!(security(&home.read()), Some(Security::Full));
}

#[test]
fn a_policy_that_cannot_be_read_closes() {
    for spoil in [
        |home: &Home| row(&home.database(), "{\"version\": 1,"),
        |home: &Home| {
            row(&home.database(), &format!("{{\"version\": 1, \"x\": \"{}\"}}", "y".repeat(5 << 20)));
        },
        |home: &Home| {
            home.database()
                .execute("INSERT INTO exec_approvals_config VALUES ('current', x'00')", [])
                .map(|_| ())
                .unwrap();
        },
        |home: &Home| {
            home.database();
            std::fs::write(
                home.dir.path().join(DATABASE),
                "no database at all, but long enough to be read as one",
            )
            .unwrap();
        },
        |home: &Home| {
            std::fs::create_dir(home.dir.path().join("state")).unwrap();
            std::fs::create_dir(home.dir.path().join(DATABASE)).unwrap();
        },
    ] {
        let home = Home::new();
        spoil(&home);
        let local = home.read();
        assert_eq!(security(&local), Some(Security::Deny));
        assert_eq!(local.problems().count(), 1);
    }
    let home = Home::new();
    std::fs::create_dir(home.dir.path().join("state")).unwrap();
    Connection::open(home.dir.path().join(DATABASE))
        .unwrap()
        .execute_batch("CREATE TABLE other (a)")
        .unwrap();
    assert_eq!(security(&home.read()), None, "it keeps no policies");
    assert!(!home.read().exists());
}

#[test]
fn reading_the_database_leaves_nothing_beside_it() {
    let home = Home::new();
    row(&home.database(), "{\"version\": 1}");
    home.read();
    let names = std::fs::read_dir(home.dir.path().join("state")).unwrap().map(|one| one.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["openclaw.sqlite"]);
}

#[test]
fn a_document_that_openclaw_has_taken_over_is_not_missed() {
    let home = Home::with(
        "{\"version\": 1, \"defaults\": {\"security\": \"allowlist\", \"x\": 1}, \"agents\": {\"*\": {\"allowlist\": [\"rg\"]}}}",
    );
    home.read();
    let database = home.database();
    let taken = "{\"version\": 1, \"defaults\": {\"security\": \"allowlist\"}, \"agents\": {\"*\": {\"allowlist\": [{\"id\": \"1\", \"pattern\": \"rg\"}]}}}";
    row(&database, &taken.replace("rg", "fd"));
    std::fs::remove_file(home.file()).unwrap();
    assert!(matches!(home.read().held.standing, Standing::LastGood(_)), "it says something else");
    row(&database, taken);
    let local = home.read();
    assert_eq!(
        (local.held.standing.clone(), security(&local)),
        (Standing::Absent, Some(Security::Allowlist))
    );
    add_entries(&home.state, "*", &[Entry::of("jq")]).unwrap();
    assert!(home.own().exists());
    // From now on the row is its owner's.
    row(&database, "{\"version\": 1, \"defaults\": {\"security\": \"full\"}}");
    assert_eq!(security(&home.read()), Some(Security::Full));
}
