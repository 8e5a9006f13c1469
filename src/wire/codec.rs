//! Primitive fields: little-endian integers, length-prefixed bytes. Decoding never panics and never over-allocates.

/// Why bytes are not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// A field runs past the end of its message.
    #[error("message ends inside a field")]
    Short,
    /// Bytes are left after the last field.
    #[error("message has bytes after its last field")]
    Long,
    /// A frame or message is larger than the protocol allows.
    #[error("message of {0} bytes is larger than allowed")]
    TooLarge(usize),
    /// No message has this number.
    #[error("unknown message kind {0}")]
    Kind(u8),
    /// A field holds a value that the protocol does not define.
    #[error("field {0} holds an undefined value")]
    Value(&'static str),
    /// A text field is not UTF-8.
    #[error("field is not UTF-8")]
    Text,
}

/// Appends fields to a buffer.
#[derive(Debug, Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    pub(super) fn u8(&mut self, value: u8) {
        self.0.push(value);
    }
    pub(super) fn bool(&mut self, value: bool) {
        self.u8(u8::from(value));
    }
    pub(super) fn u16(&mut self, value: u16) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }
    pub(super) fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }
    pub(super) fn i32(&mut self, value: i32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }
    pub(super) fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }
    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
    /// Length and bytes. Longer than 4 GiB cannot pass the message limit, so the length saturates.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        self.raw(bytes);
    }
    pub(super) fn list<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.u32(u32::try_from(items.len()).unwrap_or(u32::MAX));
        for item in items {
            each(self, item);
        }
    }
}

/// Takes fields from a slice.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], WireError> {
        let (head, tail) = self.0.split_at_checked(count).ok_or(WireError::Short)?;
        self.0 = tail;
        Ok(head)
    }
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        self.take(N)?.try_into().map_err(|_| WireError::Short)
    }
    pub(super) fn u8(&mut self) -> Result<u8, WireError> {
        Ok(u8::from_le_bytes(self.array()?))
    }
    pub(super) fn bool(&mut self, field: &'static str) -> Result<bool, WireError> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(WireError::Value(field)),
        }
    }
    pub(super) fn u16(&mut self) -> Result<u16, WireError> {
        Ok(u16::from_le_bytes(self.array()?))
    }
    pub(super) fn u32(&mut self) -> Result<u32, WireError> {
        Ok(u32::from_le_bytes(self.array()?))
    }
    pub(super) fn i32(&mut self) -> Result<i32, WireError> {
        Ok(i32::from_le_bytes(self.array()?))
    }
    pub(super) fn u64(&mut self) -> Result<u64, WireError> {
        Ok(u64::from_le_bytes(self.array()?))
    }
    pub(super) fn id(&mut self) -> Result<super::CommandId, WireError> {
        Ok(super::CommandId(self.array()?))
    }
    pub(super) fn bytes(&mut self) -> Result<&'a [u8], WireError> {
        let count = self.u32()?;
        self.take(usize::try_from(count).map_err(|_| WireError::Short)?)
    }
    pub(super) fn text(&mut self) -> Result<String, WireError> {
        std::str::from_utf8(self.bytes()?).map(str::to_owned).map_err(|_| WireError::Text)
    }
    /// A counted list. Every item takes at least one byte, so the count cannot make it allocate more than it got.
    pub(super) fn list<T>(
        &mut self,
        mut each: impl FnMut(&mut Self) -> Result<T, WireError>,
    ) -> Result<Vec<T>, WireError> {
        let count = usize::try_from(self.u32()?).map_err(|_| WireError::Short)?;
        if count > self.0.len() {
            return Err(WireError::Short);
        }
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(each(self)?);
        }
        Ok(items)
    }
    /// What is left.
    pub(super) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
    pub(super) fn end(self) -> Result<(), WireError> {
        if self.0.is_empty() { Ok(()) } else { Err(WireError::Long) }
    }
}
