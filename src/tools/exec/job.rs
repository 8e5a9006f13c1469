//! What a call starts: the record of its session, the options of its command. Pure.

use std::sync::Arc;
use std::time::Duration;

use super::gather::Gathered;
use super::params::Params;
use crate::approvals::policy::Target;
use crate::process::record::{Begin, Delivery, Place};
use crate::runner::Options;
use crate::runner::host_plan::Surroundings;
use crate::tools::Context;

/// Rows and columns of a terminal (spec `exec.md` §8.2).
pub(super) const TERMINAL: (u16, u16) = (30, 120);
/// A foreground command that nobody waits for any more is ended after this (design §10).
const LEASE: Duration = Duration::from_secs(30);

/// A command that is about to start.
#[derive(Debug, Clone)]
pub(super) struct Job<'a> {
    pub(super) gathered: &'a Arc<Gathered>,
    pub(super) params: &'a Params,
    pub(super) context: &'a Context,
    /// The call's name in the table, where it has one.
    pub(super) call: Option<String>,
    /// Rows and columns, where it gets a terminal.
    pub(super) tty: Option<(u16, u16)>,
    /// It goes on in the background at once.
    pub(super) background: bool,
    /// The approval under which it runs.
    pub(super) approval: Option<String>,
}

impl Job<'_> {
    /// Its options. Input is open where somebody can write to it: in a terminal, and in the background.
    pub(super) fn options(&self) -> Options {
        Options {
            stdin: self.tty.is_some() || self.background,
            tty: self.tty,
            timeout: self.timeout_ms().map(Duration::from_millis),
            silence: self.silence_ms().map(Duration::from_millis),
            lease: Some(LEASE),
            limits: self.params.limits.unwrap_or_default().of_runner(),
            ..Options::default()
        }
    }

    /// Its record.
    pub(super) fn begin(&self, host: Target, place: Place, cwd: String) -> Begin {
        let Self { gathered, params, context, .. } = self;
        let options = self.options();
        Begin {
            agent: gathered.subject.agent.to_string(),
            session_key: Some(gathered.subject.session.as_str().to_owned()),
            call: self.call.clone(),
            command: params.command.clone(),
            title: params.title.clone(),
            cwd,
            host,
            place,
            shell: true,
            tty: self.tty,
            stdin: options.stdin,
            timeout_ms: self.timeout_ms(),
            silence_ms: self.silence_ms(),
            grace_ms: u64::try_from(options.grace.as_millis()).unwrap_or(u64::MAX),
            cleanup_ms: gathered.exec.cleanup_ms,
            notify_on_exit: gathered.exec.notify_on_exit,
            notify_empty_success: gathered.exec.notify_empty_success,
            subagent: context.subagent,
            delivery: Delivery {
                channel: context.channel.clone(),
                to: context.to.clone(),
                account: context.account.clone(),
                thread: context.thread.clone(),
            },
            approval: self.approval.clone(),
            running_notice_ms: gathered.exec.running_notice_ms,
            max_aggregate: gathered.env.aggregate_cap(),
            max_pending: gathered.env.pending_cap(),
        }
    }

    /// What its surroundings add to its environment.
    pub(super) fn surroundings(&self) -> Surroundings {
        let sender = self.context.sender.as_ref();
        Surroundings {
            plugin: self.context.plugin_env.clone(),
            sender: sender.and_then(|sender| sender.id.clone()),
            chat: self.context.chat.clone(),
            subagent: self.context.subagent,
        }
    }

    fn timeout_ms(&self) -> Option<u64> {
        let configured = Some(self.gathered.exec.timeout_s.saturating_mul(1000));
        self.params.timeout_ms().unwrap_or(configured)
    }

    fn silence_ms(&self) -> Option<u64> {
        let seconds = self.params.limits?.silence_seconds?;
        Some(seconds.saturating_mul(1000))
    }
}
