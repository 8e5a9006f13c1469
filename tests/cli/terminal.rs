use std::io::{Read as _, Write as _};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

use crate::home::Home;

/// `creel` on a terminal of this size: what it shows until its end, and its status.
fn on_terminal(home: &Home, args: &[&str], rows: u16, cols: u16, keys: &[u8]) -> (String, u32) {
    let size = PtySize { rows, cols, pixel_width: 0, pixel_height: 0 };
    let pair = native_pty_system().openpty(size).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_creel"));
    command.args(args);
    command.env("CREEL_STATE_DIR", home.state());
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader().unwrap();
    let mut writer = pair.master.take_writer().unwrap();
    let keys = keys.to_vec();
    let typist = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(1500));
        let _ = writer.write_all(&keys);
        writer
    });
    let mut shown = Vec::new();
    let _ = reader.read_to_end(&mut shown);
    let status = child.wait().unwrap().exit_code();
    drop(typist.join());
    (String::from_utf8_lossy(&shown).into_owned(), status)
}

#[test]
fn the_command_has_a_terminal_of_our_size() {
    let home = Home::new();
    let text = "test -t 0 && test -t 1 && stty size; echo $TERM; exit 5";
    let (shown, status) = on_terminal(&home, &["exec", "--tty", "--", text], 33, 99, b"");
    assert!(shown.contains("33 99") && shown.contains("xterm"), "{shown}");
    assert_eq!(status, 5);
}

#[test]
fn control_c_reaches_the_command_as_a_key() {
    let home = Home::new();
    let text = "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.1; done";
    let (shown, status) = on_terminal(&home, &["exec", "--tty", "--", text], 24, 80, b"\x03");
    assert!(shown.contains("caught"), "{shown}");
    assert_eq!(status, 9);
}

#[test]
fn without_a_terminal_control_c_ends_the_tree() {
    let home = Home::new();
    let (shown, status) = on_terminal(&home, &["exec", "--", "echo ready; sleep 60"], 24, 80, b"\x03");
    assert!(shown.contains("ready"), "{shown}");
    assert_eq!(status, 130);
}
