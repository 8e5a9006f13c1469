use pretty_assertions::assert_eq;

use super::*;

fn all(spool: &Spool, from: u64) -> (Option<u64>, Vec<u8>) {
    let (mut first, mut bytes) = (None, Vec::new());
    spool
        .read(from, |piece| {
            first.get_or_insert(piece.seq);
            bytes.extend_from_slice(piece.data);
            ControlFlow::Continue(())
        })
        .unwrap();
    (first, bytes)
}

#[test]
fn what_was_added_is_read_from_anywhere() {
    let dir = tempfile::tempdir().unwrap();
    let budget = Budget::default();
    let mut spool = Spool::fresh(dir.path().join("c"), &budget);
    assert_eq!((all(&spool, 0), spool.first(), spool.end()), ((None, Vec::new()), 0, 0));
    spool.append(Stream::Stdout, 0, b"one ").unwrap();
    spool.append(Stream::Stderr, 4, b"two ").unwrap();
    // What init sends twice is kept once.
    spool.append(Stream::Stderr, 4, b"two ").unwrap();
    spool.append(Stream::Stdout, 8, b"three").unwrap();
    assert_eq!(all(&spool, 0), (Some(0), b"one two three".to_vec()));
    assert_eq!(all(&spool, 6), (Some(6), b"o three".to_vec()));
    assert_eq!(all(&spool, 13), (None, Vec::new()));
    let used = budget.used();
    assert!(used == spool.size() && used > 13);
    drop(spool);
    assert_eq!(budget.used(), 0);
    let mut spool = Spool::reopen(dir.path().join("c"), &budget).unwrap();
    assert_eq!((spool.end(), budget.used()), (13, used));
    spool.append(Stream::Stdout, 13, b"!").unwrap();
    assert_eq!(all(&spool, 8), (Some(8), b"three!".to_vec()));
    spool.remove().unwrap();
    assert_eq!((budget.used(), dir.path().join("c").exists()), (0, false));
}

#[test]
fn a_torn_end_is_cut_wherever_it_was_torn() {
    let dir = tempfile::tempdir().unwrap();
    let budget = Budget::default();
    let path = dir.path().join("c");
    let mut spool = Spool::fresh(path.clone(), &budget);
    spool.append(Stream::Stdout, 0, b"safe").unwrap();
    let safe = spool.size();
    spool.append(Stream::Stdout, 4, b"torn").unwrap();
    let whole = spool.size();
    drop(spool);
    let file = path.join("0000000000000000.seg");
    let bytes = std::fs::read(&file).unwrap();
    for length in safe..=whole {
        std::fs::write(&file, &bytes[..usize::try_from(length).unwrap()]).unwrap();
        let mut spool = Spool::reopen(path.clone(), &budget).unwrap();
        let kept = if length == whole { 8 } else { 4 };
        assert_eq!(spool.end(), kept, "cut at {length}");
        spool.append(Stream::Stdout, kept, b"again").unwrap();
        assert!(all(&spool, 0).1.ends_with(b"again"));
    }
    // A segment that was begun and never written.
    std::fs::write(path.join(format!("{:016x}.seg", 99)), b"").unwrap();
    assert_eq!(Spool::reopen(path, &budget).unwrap().end(), 99);
}

#[test]
fn the_oldest_segment_goes() {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = Spool::fresh(dir.path().join("c"), &Budget::default());
    let piece = vec![b'x'; 64 * 1024];
    let mut seq = 0;
    while seq < KEPT + 4 * SEGMENT {
        spool.append(Stream::Stdout, seq, &piece).unwrap();
        seq += piece.len() as u64;
    }
    assert!(spool.size() <= KEPT && spool.size() > KEPT - 2 * SEGMENT, "{}", spool.size());
    let (first, bytes) = all(&spool, 0);
    assert_eq!((first, bytes.len() as u64), (Some(spool.first()), seq - spool.first()));
    assert!(spool.first() > 0);
    spool.shrink(LEAST).unwrap();
    assert!(spool.size() <= LEAST && spool.end() == seq);
}
