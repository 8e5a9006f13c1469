//! Lines of bounded length.

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _};

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line without its end.
    Whole(Vec<u8>),
    /// The bound was reached before the line's end. Nothing more can be read.
    TooLong,
    /// The other end closed, perhaps within a line.
    End,
}

/// Reads the next line, at most `max` bytes of it.
pub(super) async fn next(reader: &mut (impl AsyncBufRead + Unpin), max: usize) -> std::io::Result<Line> {
    let mut line = Vec::new();
    let most = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    reader.take(most).read_until(b'\n', &mut line).await?;
    match line.pop() {
        Some(b'\n') => Ok(Line::Whole(line)),
        Some(_) if line.len() >= max => Ok(Line::TooLong),
        // Nothing, or the beginning of a line.
        _ => Ok(Line::End),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_is_bounded() {
        let mut text: &[u8] = b"abc\n\nabcd\nef";
        assert_eq!(next(&mut text, 4).await.unwrap(), Line::Whole(b"abc".to_vec()));
        assert_eq!(next(&mut text, 4).await.unwrap(), Line::Whole(Vec::new()));
        assert_eq!(next(&mut text, 4).await.unwrap(), Line::Whole(b"abcd".to_vec()));
        assert_eq!(next(&mut text, 4).await.unwrap(), Line::End, "cut within a line");
        let mut long: &[u8] = b"abcdefgh\n";
        assert_eq!(next(&mut long, 4).await.unwrap(), Line::TooLong);
    }
}
