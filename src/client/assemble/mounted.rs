//! What is mounted into a sandbox: the workspace, what creel puts beside it, the configured binds and the caller's.

use std::path::{Path, PathBuf};

use super::{Purpose, Wanted};
use crate::client::SandboxOptions;
use crate::config::mounts::{Kind, Managed};
use crate::config::{ResolvedSandbox, WorkspaceAccess};
use crate::error::{Diagnose as _, Failure, Report};
use crate::paths::deny::DenyList;
use crate::paths::make::make_dir;
use crate::paths::policy::AGENT_TARGET;
use crate::paths::resolve::resolve;
use crate::paths::{BindError, select, validate, workspace};
use crate::sandbox::{self, Bind, Workspace};
use crate::session::{self, SessionKey};
use crate::state::StateDir;

/// A workspace in one of the state directory's own places for them, or one that is judged like any other.
///
/// The state directory may lie in a denied place, as root's home is; `sandboxes/` and `workspace…` in it are made to
/// be mounted. Nothing else in it is, and no link may lead out of it. What is mounted below it is judged as everywhere.
fn place(state: &StateDir, dir: &Path, deny: &DenyList, own: &[PathBuf]) -> Result<PathBuf, Failure> {
    let below = |dir: &Path, root: &Path| {
        let mut parts = dir.strip_prefix(root).ok()?.components().map(|part| part.as_os_str().to_str());
        let first = parts.next()??;
        let made = (first == "sandboxes" && parts.next().is_some()) || first.starts_with("workspace");
        (made && parts.all(|part| part != Some(".."))).then_some(())
    };
    let real = resolve(dir).ok().zip(resolve(state.root()).ok());
    if let (Some(()), Some((real, root))) = (below(dir, state.root()), real)
        && below(&real, &root).is_some()
    {
        workspace::check_below(&real, deny, own)?;
        return Ok(real);
    }
    Ok(workspace::check_place(dir, deny, own)?)
}

/// The directory that commands work in, what creel mounts beside it, and which targets no bind may take.
pub(super) fn workspace_of(
    options: &SandboxOptions,
    wanted: &Wanted,
    purpose: Purpose,
) -> Result<(Workspace, Vec<Bind>, Vec<String>), Failure> {
    let Wanted { sandbox, session, scope, deny, .. } = wanted;
    let judged = |dir: &Path, own: &PathBuf| place(&wanted.state, dir, deny, std::slice::from_ref(own));
    let shared = sandbox.workspace_access == WorkspaceAccess::Rw;
    let dir = if let Some(dir) = &options.workspace {
        workspace::check_workspace(dir, deny, std::slice::from_ref(&sandbox.agent_workspace))?
    } else if shared {
        judged(&sandbox.agent_workspace, &sandbox.agent_workspace)?
    } else {
        judged(&session::sandbox_workspace(&sandbox.workspace_root, scope), &sandbox.workspace_root)?
    };
    if purpose == Purpose::Make && options.workspace.is_none() {
        make_ways(sandbox, session, &dir)?;
    }
    let (Managed { target, writable, .. }, mut beside) = sandbox.managed(session, &dir);
    if options.workspace.is_some() {
        // What belongs to the configured workspace does not come along; what was given to the session does.
        beside.retain(|one| one.kind == Kind::Attachments);
    }
    let workspace = Workspace {
        dir,
        // A directory of the caller's choice is writable, unless others must not see what a guest writes.
        read_only: if options.workspace.is_some() { options.stamp.is_required() } else { !writable },
        owned_by_creel: options.workspace.is_none() && !shared,
        target,
    };
    let guarded = beside.iter().filter(|one| one.kind.stays()).map(|one| one.target.clone()).collect();
    let mut binds = Vec::new();
    for Managed { source, target, kind, writable } in beside {
        if kind != Kind::Agent {
            workspace::check_below(&source, deny, std::slice::from_ref(&sandbox.agent_workspace))?;
            let held = sandbox::Held::open(&source)?;
            binds.push(Bind { source, target, read_only: !writable, held });
            continue;
        }
        let dir = judged(&source, &sandbox.agent_workspace)?;
        if purpose == Purpose::Make || dir.is_dir() {
            binds.push(agent_bind(&dir)?);
        }
    }
    Ok((workspace, binds, guarded))
}

/// Makes the mount points of protected directories: what lies on the way to one is mounted too, and must be there first.
fn make_ways(sandbox: &ResolvedSandbox, session: &SessionKey, dir: &Path) -> Result<(), Failure> {
    let (workspace, beside) = sandbox.managed(session, dir);
    for one in beside.iter().filter(|one| one.kind == Kind::ProtectedSkill) {
        if let Ok(relative) = Path::new(&one.target).strip_prefix(&workspace.target) {
            sandbox::make_mount_point(dir, relative)?;
        }
    }
    Ok(())
}

fn agent_bind(source: &Path) -> Result<Bind, Failure> {
    // The sandbox's user, who is not its owner, reads it.
    make_dir(source, 0o755).map_err(|error| {
        Failure(Report {
            code: "CRL-CLIENT-002",
            message: format!("agent workspace {} cannot be made: {error}", source.display()),
            rule: Some("agents.defaults.workspace".to_owned()),
            fix: format!("mkdir -p {}", source.display()),
        })
    })?;
    let held = sandbox::Held::open(source)?;
    Ok(Bind { source: source.to_owned(), target: AGENT_TARGET.to_owned(), read_only: true, held })
}

/// The configured binds under the configured rules, then the caller's under the operator's.
pub(super) fn binds_of(
    options: &SandboxOptions,
    wanted: &Wanted,
    workspace: &Workspace,
    guarded: &[String],
) -> Result<(Vec<Bind>, Vec<String>), Failure> {
    let Wanted { sandbox, deny, .. } = wanted;
    let roots = [workspace.dir.clone(), sandbox.agent_workspace.clone()];
    let policy = sandbox.bind_policy(deny.clone(), &roots);
    let configured = sandbox.docker.binds.iter().map(|bind| (bind.written.as_str(), bind.key.as_str()));
    let mut valid = all(validate::validate_all(configured, &policy))?;
    let policy = sandbox.bind_policy(deny.clone(), &roots).allow_external(true);
    let given = options.binds.iter().map(|spec| (spec.as_str(), "--bind"));
    valid.extend(all(validate::validate_all(given, &policy))?);
    let selection = select::select(valid, guarded);
    let warnings = selection.dropped.iter().map(ToString::to_string).collect();
    let binds: Result<Vec<Bind>, _> = selection.binds.iter().map(Bind::hold).collect();
    Ok((binds?, warnings))
}

/// Every refused bind at once, in one report; of several each has its rule and fix beside it.
fn all<T>(result: Result<T, Vec<BindError>>) -> Result<T, Failure> {
    result.map_err(|errors| {
        let reports: Vec<Report> = errors.iter().map(BindError::report).collect();
        if let [only] = reports.as_slice() {
            return Failure(only.clone());
        }
        let line = |one: &Report| {
            let rule = one.rule.as_deref().unwrap_or_default();
            format!("\n  {}\n    rule: {rule}\n    fix:  {}", one.message, one.fix)
        };
        let lines: String = reports.iter().map(line).collect();
        let keys: Vec<&str> = errors.iter().map(|error| error.key.as_str()).collect();
        Failure(Report {
            code: reports.first().map_or("CRL-BIND-001", |first| first.code),
            message: format!("{} binds are refused:{lines}", reports.len()),
            rule: Some(keys.join(", ")),
            fix: "correct or remove each of them".to_owned(),
        })
    })
}
