//! The control of a measurement: the same work without creel, by the same binary in the same container.
//!
//! `control spawn -- ARGV…` reads lines; for each it forks, executes ARGV, waits, and prints the nanoseconds it
//! took. `control rate N W -- ARGV…` does that N times with W at a time and prints the nanoseconds for all.
//! `control pipe BYTES` writes that much in 64 KiB writes through a pipe to itself and prints the nanoseconds.
//! `control write BYTES` only writes, to standard output.

use std::ffi::{CStr, CString};
use std::io::{BufRead as _, Read as _, Write as _};
use std::time::Instant;

use nix::errno::Errno;
use nix::sys::wait::waitpid;
use nix::unistd::Pid;

use super::InitError;
use crate::sys::{self, Forked};

const BLOCK: usize = 64 * 1024;

/// Runs one control.
pub(super) fn run(args: &[String]) -> Result<(), InitError> {
    let texts: Vec<&str> = args.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<u64>().map_err(|_| InitError::Usage);
    match texts.as_slice() {
        ["spawn", "--", argv @ ..] => spawn(&prepare(argv)?),
        ["rate", total, width, "--", argv @ ..] => rate(&prepare(argv)?, number(total)?, number(width)?),
        ["pipe", bytes] => pipe(number(bytes)?),
        ["write", bytes] => write(&mut std::io::stdout().lock(), number(bytes)?),
        _ => Err(InitError::Usage),
    }
}

fn system(step: &'static str) -> impl Fn(Errno) -> InitError {
    move |errno| InitError::System(step, errno)
}

fn prepare(argv: &[&str]) -> Result<Vec<CString>, InitError> {
    let argv: Result<Vec<_>, _> = argv.iter().map(|text| CString::new(*text)).collect();
    argv.ok().filter(|argv| !argv.is_empty()).ok_or(InitError::Usage)
}

/// Plain fork and exec with the environment as it is.
fn fork_exec(argv: &[CString]) -> Result<Pid, InitError> {
    match sys::fork().map_err(system("fork"))? {
        Forked::Parent(pid) => Ok(pid),
        Forked::Child => {
            let program = argv.first().map_or(c"", CString::as_c_str);
            let argv: Vec<&CStr> = argv.iter().map(CString::as_c_str).collect();
            let _ = nix::unistd::execvp(program, &argv);
            sys::exit_now(127)
        }
    }
}

fn say(nanos: u128) -> Result<(), InitError> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{nanos}").and_then(|()| out.flush()).map_err(|_| InitError::System("write", Errno::EPIPE))
}

fn spawn(argv: &[CString]) -> Result<(), InitError> {
    for line in std::io::stdin().lock().lines() {
        if line.is_err() {
            break;
        }
        let start = Instant::now();
        waitpid(fork_exec(argv)?, None).map_err(system("wait"))?;
        say(start.elapsed().as_nanos())?;
    }
    Ok(())
}

fn rate(argv: &[CString], total: u64, width: u64) -> Result<(), InitError> {
    let start = Instant::now();
    let (mut begun, mut live) = (0, 0);
    while begun < total || live > 0 {
        while begun < total && live < width.max(1) {
            fork_exec(argv)?;
            begun += 1;
            live += 1;
        }
        nix::sys::wait::wait().map_err(system("wait"))?;
        live -= 1;
    }
    say(start.elapsed().as_nanos())
}

fn write(out: &mut impl std::io::Write, bytes: u64) -> Result<(), InitError> {
    let block = vec![b'x'; BLOCK];
    let mut left = bytes;
    while left > 0 {
        let size = usize::try_from(left).unwrap_or(BLOCK).min(BLOCK);
        out.write_all(block.get(..size).unwrap_or_default())
            .map_err(|_| InitError::System("write", Errno::EPIPE))?;
        left -= u64::try_from(size).unwrap_or(left);
    }
    Ok(())
}

fn pipe(bytes: u64) -> Result<(), InitError> {
    let (reader, writer) = nix::unistd::pipe().map_err(system("pipe"))?;
    let start = Instant::now();
    if sys::fork().map_err(system("fork"))? == Forked::Child {
        drop(reader);
        let done = write(&mut std::fs::File::from(writer), bytes);
        sys::exit_now(i32::from(done.is_err()));
    }
    drop(writer);
    let mut reader = std::fs::File::from(reader);
    let mut block = vec![0; BLOCK];
    let mut seen = 0_u64;
    while let Ok(count @ 1..) = reader.read(&mut block) {
        seen += u64::try_from(count).unwrap_or(0);
    }
    if seen != bytes {
        return Err(InitError::System("pipe", Errno::EIO));
    }
    say(start.elapsed().as_nanos())
}
