//! `paste`: text as if it were pasted (spec `exec.md` §7.7).

use super::Reply;
use super::deliver::{deliver, sent};
use super::desk::{self, Desk};
use super::params::Params;
use crate::process::keys;
use crate::process::record::SessionId;

pub(super) async fn run(desk: &Desk<'_>, id: &SessionId, params: Params) -> Result<Reply, Reply> {
    let view = desk.writable(id)?;
    let (text, bracketed) = (params.text.unwrap_or_default(), params.bracketed.unwrap_or(true));
    let paste = keys::paste(&text, bracketed).map_err(|error| Reply::failed(error.to_string()))?;
    deliver(desk, &view, paste.bytes, false).await?;
    let told = format!("Pasted {} chars to session {}.", paste.chars, desk::told(id));
    let warning = match paste.neutralised {
        0 => String::new(),
        count => format!("\nWarnings:\n- {count} end marker(s) of a paste in the text were made harmless."),
    };
    Ok(sent(&view, told + &warning))
}
