//! Sessions and their ends as rows.

use rusqlite::Transaction;

use super::events::{NewEvent, insert as insert_event, signed, unsigned};
use super::{Store, StoreError};
use crate::process::record::{Begin, End, Phase, SessionId};
use crate::wire::CommandId;

/// A session as it was left behind.
#[derive(Debug)]
pub(in crate::process) struct Row {
    pub(in crate::process) id: SessionId,
    pub(in crate::process) command: CommandId,
    pub(in crate::process) begin: Begin,
    pub(in crate::process) phase: Phase,
    pub(in crate::process) backgrounded: bool,
    /// Its init has said that it knows the command.
    pub(in crate::process) confirmed: bool,
    pub(in crate::process) started_ms: u64,
    pub(in crate::process) requested: bool,
    pub(in crate::process) hidden: bool,
    pub(in crate::process) input_closed: bool,
    /// Output before this position was polled.
    pub(in crate::process) drained: u64,
    /// The pending cap dropped something, some time.
    pub(in crate::process) overflowed: bool,
    pub(in crate::process) end: Option<EndRow>,
}

/// The end of a session as it is kept.
#[derive(Debug, Clone)]
pub(in crate::process) struct EndRow {
    pub(in crate::process) end: End,
    /// Characters that it printed.
    pub(in crate::process) chars: u64,
    pub(in crate::process) lost_output: bool,
    pub(in crate::process) pid: Option<i32>,
    /// Its init knows that the result is safe here.
    pub(in crate::process) settled: bool,
}

fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Starting => "starting",
        Phase::Foreground => "foreground",
        Phase::Background => "background",
        Phase::Finished => "finished",
    }
}

fn phase_of(name: &str) -> Phase {
    match name {
        "starting" => Phase::Starting,
        "background" => Phase::Background,
        "finished" => Phase::Finished,
        _ => Phase::Foreground,
    }
}

impl Store {
    /// Records a session that is about to start.
    pub(in crate::process) fn begin(
        &self,
        id: &SessionId,
        command: CommandId,
        begin: &Begin,
        started_ms: u64,
    ) -> Result<(), StoreError> {
        let json = serde_json::to_string(begin).unwrap_or_default();
        let (id, call) = (id.0.clone(), begin.call.clone());
        self.run("record a session in", move |tx| {
            tx.prepare_cached(
                "INSERT INTO sessions (id, command, begin_json, phase, started_ms, call) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute((id, command.0, json, phase_name(Phase::Starting), signed(started_ms), call))
            .map(drop)
        })
    }

    /// How far a session has come; `Background` stays known after its end.
    pub(in crate::process) fn set_phase(&self, id: &SessionId, phase: Phase) -> Result<(), StoreError> {
        let id = id.0.clone();
        self.run("update a session in", move |tx| set_phase(tx, &id, phase))
    }

    /// Its init has said that it knows the command: it runs, or has run.
    pub(in crate::process) fn note_confirmed(&self, id: &SessionId) {
        let id = id.0.clone();
        self.note("update a session in", move |tx| {
            tx.prepare_cached("UPDATE sessions SET confirmed = 1 WHERE id = ?1")?.execute([&id])?;
            set_phase(tx, &id, Phase::Foreground)
        });
    }

    /// Somebody asked for its end; with `hidden` it is not shown any more either.
    pub(in crate::process) fn note_requested(&self, id: &SessionId, hidden: bool) {
        let id = id.0.clone();
        self.note("update a session in", move |tx| {
            let sql = "UPDATE sessions SET requested = 1, hidden = max(hidden, ?2) WHERE id = ?1";
            tx.execute(sql, (id, hidden)).map(drop)
        });
    }

    /// Its input takes no more.
    pub(in crate::process) fn note_input_closed(&self, id: &SessionId) {
        let id = id.0.clone();
        self.note("update a session in", move |tx| {
            tx.execute("UPDATE sessions SET input_closed = 1 WHERE id = ?1", [id]).map(drop)
        });
    }

    /// Output before `drained` was polled.
    pub(in crate::process) fn note_drained(&self, id: &SessionId, drained: u64, overflowed: bool) {
        let id = id.0.clone();
        self.note("update a session in", move |tx| {
            let sql = "UPDATE sessions SET drained = ?2, overflowed = max(overflowed, ?3) WHERE id = ?1";
            tx.prepare_cached(sql)?.execute((id, signed(drained), overflowed)).map(drop)
        });
    }

    /// The end of a session and the notice of it, both or none. Said again, it changes nothing.
    pub(in crate::process) async fn end(
        &self,
        id: &SessionId,
        row: EndRow,
        overflowed: bool,
        notice: Option<NewEvent>,
    ) -> Result<(), StoreError> {
        let id = id.0.clone();
        self.done("record the end of a session in", move |tx| {
            let json = serde_json::to_string(&row.end).unwrap_or_default();
            let new = tx.execute(
                "INSERT OR IGNORE INTO ends (id, end_json, chars, lost_output, pid) VALUES (?1, ?2, ?3, ?4, ?5)",
                (&id, json, signed(row.chars), row.lost_output, row.pid),
            )?;
            tx.execute(
                "UPDATE sessions SET phase = ?2, overflowed = max(overflowed, ?3) WHERE id = ?1",
                (&id, phase_name(Phase::Finished), overflowed),
            )?;
            match notice {
                Some(notice) if new > 0 => insert_event(tx, &notice, row.end.at_ms).map(drop),
                _ => Ok(()),
            }
        })
        .await
    }

    /// Its init was told that the result is safe.
    pub(in crate::process) fn note_settled(&self, id: &SessionId) {
        let id = id.0.clone();
        self.note("update a session in", move |tx| {
            tx.execute("UPDATE ends SET settled = 1 WHERE id = ?1", [id]).map(drop)
        });
    }

    /// Forgets sessions.
    pub(in crate::process) fn forget(&self, ids: Vec<SessionId>) -> Result<(), StoreError> {
        self.run("remove a session from", move |tx| {
            let mut remove = tx.prepare_cached("DELETE FROM sessions WHERE id = ?1")?;
            ids.iter().try_for_each(|id| remove.execute([&id.0]).map(drop))
        })
    }

    /// Every session that was left behind. One that this creel cannot read is left alone, for the creel that can.
    pub(in crate::process) fn load(&self) -> Result<Vec<Row>, StoreError> {
        self.run("read the sessions of", |tx| {
            let mut query = tx.prepare(
                "SELECT id, command, begin_json, phase, backgrounded, started_ms, requested, hidden, input_closed, \
                 drained, overflowed, end_json, chars, lost_output, pid, settled, confirmed \
                 FROM sessions LEFT JOIN ends USING (id)",
            )?;
            let rows = query.query_map([], read)?;
            rows.filter_map(|row| match row {
                Err(rusqlite::Error::FromSqlConversionFailure(..)) => {
                    tracing::warn!("a process session of another creel cannot be read; it is left alone");
                    None
                }
                row => Some(row),
            })
            .collect()
        })
    }
}

impl Store {
    /// The commands of all sessions, those included that cannot be read.
    pub(in crate::process) fn commands(&self) -> Result<Vec<CommandId>, StoreError> {
        self.run("read the sessions of", |tx| {
            let mut query = tx.prepare("SELECT command FROM sessions")?;
            query.query_map([], |row| row.get(0).map(CommandId))?.collect()
        })
    }
}

fn set_phase(tx: &Transaction<'_>, id: &str, phase: Phase) -> rusqlite::Result<()> {
    // Never back: an end that was recorded stays one.
    let sql = "UPDATE sessions SET phase = ?2, backgrounded = max(backgrounded, ?3) \
               WHERE id = ?1 AND phase <> 'finished' AND NOT (phase = 'background' AND ?2 = 'foreground')";
    tx.prepare_cached(sql)?.execute((id, phase_name(phase), phase == Phase::Background)).map(drop)
}

fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    fn json<T: serde::de::DeserializeOwned>(index: usize, text: &str) -> rusqlite::Result<T> {
        serde_json::from_str(text).map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(index, rusqlite::types::Type::Text, Box::new(error))
        })
    }
    let end = match row.get::<_, Option<String>>(11)? {
        Some(text) => Some(EndRow {
            end: json(11, &text)?,
            chars: unsigned(row.get(12)?),
            lost_output: row.get(13)?,
            pid: row.get(14)?,
            settled: row.get(15)?,
        }),
        None => None,
    };
    let phase: String = row.get(3)?;
    Ok(Row {
        id: SessionId(row.get(0)?),
        command: CommandId(row.get(1)?),
        begin: json(2, &row.get::<_, String>(2)?)?,
        phase: if end.is_some() { Phase::Finished } else { phase_of(&phase) },
        backgrounded: row.get(4)?,
        confirmed: row.get(16)?,
        started_ms: unsigned(row.get(5)?),
        requested: row.get(6)?,
        hidden: row.get(7)?,
        input_closed: row.get(8)?,
        drained: unsigned(row.get(9)?),
        overflowed: row.get(10)?,
        end,
    })
}
