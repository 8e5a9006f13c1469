//! Starts a program the cheap way: the child borrows the parent's memory until it has replaced itself.
#![expect(
    unsafe_code,
    reason = "clone with CLONE_VFORK and the calls between it and execve have no safe form"
)]

use std::ffi::CStr;
use std::os::fd::{AsRawFd as _, BorrowedFd, RawFd};

use nix::errno::Errno;
use nix::libc;
use nix::unistd::Pid;

/// What to start and how its process is set up.
#[derive(Debug)]
pub struct SpawnPlan<'a> {
    /// Paths to try in turn as execvp does; the first that exists wins.
    pub candidates: &'a [&'a CStr],
    /// Arguments, the program's name first.
    pub argv: &'a [&'a CStr],
    /// Environment as `NAME=value`.
    pub env: &'a [&'a CStr],
    /// Working directory, entered before the program is looked up.
    pub cwd: Option<&'a CStr>,
    /// The same, open: entered instead.
    pub cwd_fd: Option<BorrowedFd<'a>>,
    /// The program, open: executed instead of the candidates. Where the kernel needs its name, as for a script's
    /// interpreter, these are tried.
    pub program: Option<BorrowedFd<'a>>,
    /// Standard input, output and error.
    pub stdio: [BorrowedFd<'a>; 3],
    /// Make a new session with standard input as its terminal; otherwise a new process group.
    pub terminal: bool,
    /// The kernel's out-of-memory killer takes it, and what it starts, before anything else.
    pub expendable: bool,
    /// Most bytes of private writable memory of each process; 0 is no limit.
    pub data_bytes: u64,
    /// Files into which it writes itself to join its control groups, before anything else of it runs.
    pub doors: &'a [&'a CStr],
}

/// The step at which a child failed to become the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum SpawnStage {
    /// The process could not be made (pids or memory limit).
    Fork = 1,
    /// Session, terminal or descriptors.
    Setup = 2,
    /// The working directory.
    Chdir = 3,
    /// The program itself.
    Exec = 4,
    /// A directory is another than was decided about.
    PinnedDirectory = 5,
    /// A program is.
    PinnedProgram = 6,
    /// A script is.
    PinnedScript = 7,
}

/// Why no program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpawnFailure {
    /// The step.
    pub stage: SpawnStage,
    /// The operating system's reason.
    pub errno: Errno,
}

/// What the child reads and where it leaves its failure; lives on the parent's stack during the call.
struct Shared<'a> {
    candidates: &'a [*const libc::c_char],
    argv: *const *const libc::c_char,
    envp: *const *const libc::c_char,
    cwd: *const libc::c_char,
    /// -1 for none.
    cwd_fd: RawFd,
    /// -1 for none.
    program: RawFd,
    stdio: [RawFd; 3],
    terminal: bool,
    expendable: bool,
    data_bytes: u64,
    doors: &'a [&'a CStr],
    mask: libc::sigset_t,
    failed_stage: i32,
    failed_errno: i32,
}

/// Stack of the child between clone and execve. It calls a dozen thin libc wrappers, nothing deep.
const CHILD_STACK: usize = 32 * 1024;

/// Starts the program and returns its process id, or the step that failed.
///
/// All signals are at their default and unblocked in the program; every descriptor but the three is closed.
pub fn spawn(plan: &SpawnPlan<'_>) -> Result<Pid, SpawnFailure> {
    let fork_failed = |errno| SpawnFailure { stage: SpawnStage::Fork, errno };
    let pointers = pointers([plan.candidates, plan.argv, plan.env]);
    let (candidates, rest) = pointers.split_at(plan.candidates.len() + 1);
    let (argv, envp) = rest.split_at(plan.argv.len() + 1);
    let mut stack = super::AnonMap::new(CHILD_STACK).map_err(fork_failed)?;
    // SAFETY: an all-zero sigset_t is a valid value, and sigemptyset then initialises it.
    let mut mask: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `mask` is a live local.
    unsafe { libc::sigemptyset(&raw mut mask) };
    let mut shared = Shared {
        candidates: candidates.split_last().map_or(&[], |(_, paths)| paths),
        argv: argv.as_ptr(),
        envp: envp.as_ptr(),
        cwd: plan.cwd.map_or(std::ptr::null(), CStr::as_ptr),
        cwd_fd: plan.cwd_fd.map_or(-1, |fd| fd.as_raw_fd()),
        program: plan.program.map_or(-1, |fd| fd.as_raw_fd()),
        stdio: plan.stdio.map(|fd| fd.as_raw_fd()),
        terminal: plan.terminal,
        expendable: plan.expendable,
        data_bytes: plan.data_bytes,
        doors: plan.doors,
        mask,
        failed_stage: 0,
        failed_errno: 0,
    };
    // SAFETY: one past the end of the block is the top of a downward growing stack, 16-aligned as pages are.
    let top = unsafe { stack.as_mut_ptr().add(stack.len()) };
    // SAFETY: CLONE_VFORK suspends this thread until the child has called execve or _exit, so `shared`, the
    // pointers in it and `stack` stay alive and unchanged meanwhile; the process has no other thread.
    let pid = unsafe {
        libc::clone(
            child,
            top.cast(),
            libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
            (&raw mut shared).cast(),
        )
    };
    let pid = Errno::result(pid).map_err(fork_failed)?;
    // SAFETY: reads a live local that the child, sharing our memory, may have written.
    let failed = unsafe { std::ptr::read_volatile(&raw const shared.failed_stage) };
    if failed == 0 {
        return Ok(Pid::from_raw(pid));
    }
    let _ = nix::sys::wait::waitpid(Pid::from_raw(pid), None);
    let stage = match failed {
        2 => SpawnStage::Setup,
        3 => SpawnStage::Chdir,
        _ => SpawnStage::Exec,
    };
    Err(SpawnFailure { stage, errno: Errno::from_raw(shared.failed_errno) })
}

/// The lists behind each other, each with a null at its end: one allocation, because each may be another page that
/// a supervisor then has for itself.
fn pointers(lists: [&[&CStr]; 3]) -> Vec<*const libc::c_char> {
    let mut pointers = Vec::with_capacity(lists.iter().map(|list| list.len() + 1).sum());
    for list in lists {
        pointers.extend(list.iter().map(|text| text.as_ptr()));
        pointers.push(std::ptr::null());
    }
    pointers
}

/// Runs in the child on the borrowed memory: no allocation, no lock, no return to Rust code of the parent.
extern "C" fn child(argument: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `argument` is the parent's `Shared`, alive and untouched by the parent until execve or _exit.
    let shared = unsafe { &mut *argument.cast::<Shared<'_>>() };
    // SAFETY: only async-signal-safe calls on valid arguments; see each step.
    let (stage, errno) = unsafe { become_program(shared) };
    shared.failed_errno = errno;
    shared.failed_stage = stage as i32;
    // SAFETY: ends the child without running the parent's exit handlers.
    unsafe { libc::_exit(127) }
}

/// The steps from a copy of the supervisor to the program, in order. Returns only on failure.
unsafe fn become_program(shared: &Shared<'_>) -> (SpawnStage, i32) {
    // SAFETY: plain system calls with values and with pointers that `spawn` keeps alive; in the child of
    // CLONE_VFORK only this thread runs.
    unsafe {
        reset_signals();
        if setup_session(shared.terminal, shared.stdio) < 0 || place_stdio(shared.stdio) < 0 {
            return (SpawnStage::Setup, Errno::last_raw());
        }
        if shared.cwd_fd >= 0 && libc::fchdir(shared.cwd_fd) < 0 {
            return (SpawnStage::Chdir, Errno::last_raw());
        }
        // Everything of creel-init stays behind: its sockets must never reach a command.
        let kept = keep_program(shared.program);
        if kept < 0 {
            return (SpawnStage::Setup, Errno::last_raw());
        }
        libc::syscall(libc::SYS_close_range, kept, u32::MAX, 0_u32);
        if shared.cwd_fd < 0 && !shared.cwd.is_null() && libc::chdir(shared.cwd) < 0 {
            return (SpawnStage::Chdir, Errno::last_raw());
        }
        if shared.expendable {
            go_first();
        }
        if !join_groups(shared.doors) || !limit_data(shared.data_bytes) {
            return (SpawnStage::Setup, Errno::last_raw());
        }
        libc::sigprocmask(libc::SIG_SETMASK, &raw const shared.mask, std::ptr::null_mut());
        (SpawnStage::Exec, try_exec(shared))
    }
}

/// The program's place while everything else is closed.
const PROGRAM: RawFd = 3;

/// Puts an open program at [`PROGRAM`] and returns the first descriptor to close; negative where the kernel refuses.
unsafe fn keep_program(program: RawFd) -> libc::c_int {
    if program < 0 {
        return PROGRAM;
    }
    // SAFETY: both are descriptor numbers; the source is open and has the flag already where it is at its place.
    if program != PROGRAM && unsafe { libc::dup3(program, PROGRAM, libc::O_CLOEXEC) } < 0 {
        return -1;
    }
    PROGRAM + 1
}

/// Executes the open program. Returns only on failure: `ENOENT` where the kernel wants its name.
unsafe fn exec_open(shared: &Shared<'_>) -> i32 {
    // SAFETY: a descriptor that `keep_program` has placed, an empty string, and null-terminated arrays of C strings that
    // `spawn` keeps alive.
    unsafe {
        libc::syscall(
            libc::SYS_execveat,
            PROGRAM,
            c"".as_ptr(),
            shared.argv,
            shared.envp,
            libc::AT_EMPTY_PATH,
        );
    }
    Errno::last_raw()
}

/// execvp's rule: a missing candidate is passed over, any other refusal is remembered and reported.
unsafe fn try_exec(shared: &Shared<'_>) -> i32 {
    if shared.program >= 0 {
        // SAFETY: as the caller promises.
        match unsafe { exec_open(shared) } {
            libc::ENOENT => {}
            errno => return errno,
        }
    }
    let mut refused = libc::ENOENT;
    for path in shared.candidates {
        // SAFETY: the pointers are null-terminated arrays of C strings that `spawn` keeps alive.
        unsafe { libc::execve(*path, shared.argv, shared.envp) };
        match Errno::last_raw() {
            libc::ENOENT | libc::ENOTDIR => {}
            errno @ (libc::EACCES | libc::EPERM) => refused = errno,
            errno => return errno,
        }
    }
    refused
}

/// The Rust runtime ignores SIGPIPE and execve would keep that; creel-init ignores nothing else.
unsafe fn reset_signals() {
    // SAFETY: SIG_DFL for a valid signal number.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

/// A new session on the terminal, or a process group of its own so that `kill 0` stays within the command.
unsafe fn setup_session(terminal: bool, stdio: [RawFd; 3]) -> libc::c_int {
    let [input, ..] = stdio;
    // SAFETY: system calls on our own process and on an open descriptor.
    unsafe {
        if terminal {
            if libc::setsid() < 0 {
                return -1;
            }
            return libc::ioctl(input, libc::TIOCSCTTY, 0);
        }
        libc::setpgid(0, 0)
    }
}

/// Raises this process's own standing with the out-of-memory killer to the highest. The file is root's as long as the
/// memory that is borrowed from the supervisor is not dumpable, so it is for that moment. No reason to refuse a command.
unsafe fn go_first() {
    // SAFETY: system calls with values and with pointers to constants; the parent waits meanwhile.
    unsafe {
        let dumpable = libc::prctl(libc::PR_GET_DUMPABLE);
        libc::prctl(libc::PR_SET_DUMPABLE, 1);
        let fd = libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if fd >= 0 {
            libc::write(fd, c"1000".as_ptr().cast(), 4);
            libc::close(fd);
        }
        libc::prctl(libc::PR_SET_DUMPABLE, dumpable);
    }
}

/// Joins control groups. False when the kernel refuses one.
unsafe fn join_groups(doors: &[&CStr]) -> bool {
    doors.iter().all(|door| {
        // SAFETY: system calls with a C string that `spawn` keeps alive, a pointer to a constant, and a descriptor.
        unsafe {
            let fd = libc::open(door.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
            // Zero stands for whoever writes it.
            let joined = fd >= 0 && libc::write(fd, c"0".as_ptr().cast(), 1) == 1;
            if fd >= 0 && joined {
                libc::close(fd);
            }
            joined
        }
    })
}

/// Limits private writable memory. False when the kernel refuses.
unsafe fn limit_data(bytes: u64) -> bool {
    if bytes == 0 {
        return true;
    }
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: reads a live local.
    unsafe { libc::setrlimit(libc::RLIMIT_DATA, &raw const limit) == 0 }
}

/// Puts the three descriptors at 0, 1 and 2. They are all above 2 (creel-init keeps 0 to 2 on `/dev/null`).
unsafe fn place_stdio(stdio: [RawFd; 3]) -> libc::c_int {
    for (target, source) in (0..).zip(stdio) {
        // SAFETY: both are descriptor numbers; the source is open.
        if unsafe { libc::dup2(source, target) } < 0 {
            return -1;
        }
    }
    0
}
