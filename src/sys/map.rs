//! Anonymous memory that goes back to the kernel when dropped.
#![expect(
    unsafe_code,
    reason = "mmap has no safe form; a Vec of this size may stay on the heap after it is freed"
)]

use std::num::NonZeroUsize;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use nix::sys::mman::{MapFlags, MmapAdvise, ProtFlags, madvise, mmap_anonymous, munmap};

/// A private, zeroed, lazily filled block of memory. A forked child does not get it: it would hold on to pages that
/// it never reads, and its parent would copy each of them at the next write.
#[derive(Debug)]
pub struct AnonMap {
    start: NonNull<u8>,
    len: usize,
}

impl AnonMap {
    /// Maps `len` bytes (at least one).
    pub fn new(len: usize) -> nix::Result<Self> {
        let size = NonZeroUsize::new(len.max(1)).ok_or(nix::errno::Errno::EINVAL)?;
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice aliases nothing.
        let start = unsafe {
            mmap_anonymous(None, size, ProtFlags::PROT_READ | ProtFlags::PROT_WRITE, MapFlags::MAP_PRIVATE)?
        };
        // SAFETY: the range is the mapping just made. A child that still touched it would fault, not misbehave.
        let _ = unsafe { madvise(start.cast(), size.get(), MmapAdvise::MADV_DONTFORK) };
        Ok(Self { start: start.cast(), len: size.get() })
    }

    /// Gives the pages back to the kernel; the next read sees zeroes.
    pub fn discard(&mut self) {
        // SAFETY: the whole range belongs to this private anonymous mapping, and `&mut self` excludes readers.
        let _ = unsafe { madvise(self.start.cast(), self.len, MmapAdvise::MADV_DONTNEED) };
    }
}

impl Deref for AnonMap {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: `start` is valid and initialised (zeroed by the kernel) for `len` bytes until drop.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for AnonMap {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for AnonMap {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what `new` mapped; no slice can outlive `self`.
        let _ = unsafe { munmap(self.start.cast(), self.len) };
    }
}

// SAFETY: the mapping is owned memory like a Box<[u8]>; nothing about it is tied to a thread.
unsafe impl Send for AnonMap {}

/// Gives what is free on the heap back to the kernel, where the C library can.
pub fn trim_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it touches nothing but the allocator's own free memory.
    unsafe {
        nix::libc::malloc_trim(0);
    }
}
