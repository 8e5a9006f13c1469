//! What the container shows of denied host paths through mounts that came along with a directory. A mount that was made
//! after the directory was judged is found here.

use std::path::Path;

use super::mounts::{is_asked, is_engines};
use crate::engine::ContainerSpec;
use crate::paths::mounts::{Mount, MountTable};
use crate::paths::{MountHit, Shown};

/// The first mount below a mount of `spec` that shows a denied path. `mountinfo` is the container's; `told` are the
/// targets of mounts that the engine itself lists, its volumes among them; `shown` says what of a mount is denied.
pub fn denied(
    spec: &ContainerSpec,
    mountinfo: &str,
    told: &[&str],
    shown: &dyn Fn(&Mount) -> Option<Shown>,
) -> Option<MountHit> {
    let table = match MountTable::parse(mountinfo.as_bytes()) {
        Ok(table) => table,
        Err(error) => {
            let shown = Shown::Unknown(error);
            return Some(MountHit { point: "/".into(), below: false, shown });
        }
    };
    let came_along = |point: &str| {
        let below = |target: &str| point != target && Path::new(point).starts_with(target);
        spec.mounts.iter().any(|mount| below(&mount.target))
            && !is_asked(spec, point)
            && !is_engines(point)
            && !told.contains(&point)
    };
    let met = table.all().iter().filter(|mount| came_along(&mount.point.to_string_lossy()));
    met.into_iter().find_map(|mount| {
        let shown = shown(mount)?;
        Some(MountHit { point: mount.point.clone(), below: true, shown })
    })
}
