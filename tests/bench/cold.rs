//! `cold-overhead`: what creel adds to the engine's own create and start.

use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

use bollard::Docker;
use bollard::models::{ContainerCreateBody, HostConfig};
use bollard::query_parameters::{CreateContainerOptions, InspectContainerOptions};
use creel::engine::{ContainerId, Endpoint, Engine};
use creel::image::Recipe;
use creel::sandbox::{MEET_TARGET, Timings};

use crate::Fallible;
use crate::ground::Ground;
use crate::row::Row;
use crate::stats::{Better, Series, ms, number};

/// The row, from pairs of one cold sandbox and one bare container with the same arguments and mounts.
pub(crate) async fn rows(ground: &Ground) -> Fallible<Vec<Row>> {
    let image = ground.image(Recipe::Minimal).await?;
    let options = ground.options(&image);
    let docker = connect(&ground.engine)?;
    let rendezvous = ground.dir().join("bare");
    std::fs::create_dir(&rendezvous)?;
    // The first installs creel-init into the state directory, and shows what the engine was asked for.
    let first = options.open().await?;
    let bare = Bare::like(&docker, first.container(), &rendezvous).await?;
    first.stop().await?;
    let low = || Series::new(Better::Low);
    let (mut beyond, mut whole, mut control) = (low(), low(), low());
    let mut steps: Vec<Timings> = Vec::new();
    for pair in 0..ground.scale.of(20, 5) {
        let before = if pair % 2 == 0 { Some(bare.run(&ground.engine).await?) } else { None };
        let start = Instant::now();
        let sandbox = options.open().await?;
        let ours = ms(start.elapsed());
        steps.push(sandbox.ready().timings);
        sandbox.stop().await?;
        let engine = match before {
            Some(time) => time,
            None => bare.run(&ground.engine).await?,
        };
        beyond.push(ours - engine);
        whole.push(ours);
        control.push(engine);
    }
    tell(&steps);
    let most = (control.p50() * 0.1).max(30.0);
    Ok(vec![Row {
        id: "cold-overhead",
        what: "open beyond bare".to_owned(),
        unit: "ms",
        control: "create+start by the engine, same arguments and mounts".to_owned(),
        control_p50: Some(control.p50()),
        ratio: Some(whole.p50() / control.p50()),
        bound: format!("p50 <= max(10 %, 30 ms) = {most:.0}"),
        ok: beyond.p50() <= most,
        beyond_reach: false,
        series: beyond,
    }])
}

fn tell(steps: &[Timings]) {
    type Step = fn(&Timings) -> u64;
    let names: [(&str, Step); 7] = [
        ("prepare", |t| t.prepare_us),
        ("lock", |t| t.lock_us),
        ("inspect", |t| t.inspect_us),
        ("create", |t| t.create_us),
        ("start", |t| t.start_us),
        ("meet", |t| t.meet_us),
        ("prove", |t| t.prove_us),
    ];
    let mut line = String::new();
    for (name, step) in names {
        let mut series = Series::new(Better::Low);
        for timings in steps {
            series.push(number(step(timings)) / 1e3);
        }
        line = format!("{line}  {name} {:.1}", series.p50());
    }
    eprintln!("cold start, p50 of each step in ms:{line}");
}

fn connect(engine: &Engine) -> Fallible<Docker> {
    let version = bollard::API_DEFAULT_VERSION;
    match &engine.facts().endpoint {
        Endpoint::Unix(path) => {
            let path = path.to_str().ok_or("the engine's socket has a strange name")?;
            Ok(Docker::connect_with_unix(path, 120, version)?)
        }
        Endpoint::Tcp(_) => Err("cold-overhead is measured on a local engine".into()),
    }
}

/// A container like a sandbox, without creel around it.
struct Bare<'a> {
    docker: &'a Docker,
    body: ContainerCreateBody,
}

impl<'a> Bare<'a> {
    /// What the engine knows of a sandbox, as a request; only the rendezvous is another directory.
    async fn like(docker: &'a Docker, id: &ContainerId, rendezvous: &Path) -> Fallible<Self> {
        let facts = docker.inspect_container(&id.0, None::<InspectContainerOptions>).await?;
        let config = facts.config.ok_or("no configuration")?;
        let mut host: HostConfig = facts.host_config.ok_or("no host configuration")?;
        for mount in host.mounts.iter_mut().flatten() {
            if mount.target.as_deref() == Some(MEET_TARGET) {
                mount.source = Some(rendezvous.to_string_lossy().into_owned());
            }
        }
        let labels: Option<HashMap<String, String>> = config.labels;
        let body = ContainerCreateBody {
            image: config.image,
            entrypoint: config.entrypoint,
            cmd: config.cmd,
            env: config.env,
            labels,
            user: config.user,
            working_dir: config.working_dir,
            stop_timeout: config.stop_timeout,
            host_config: Some(host),
            ..Default::default()
        };
        Ok(Self { docker, body })
    }

    /// Milliseconds for create and start.
    async fn run(&self, engine: &Engine) -> Fallible<f64> {
        let name = format!("creel-bench-{}", creel::state::random_hex::<6>()?);
        let options = CreateContainerOptions { name: Some(name), ..Default::default() };
        let start = Instant::now();
        let made = self.docker.create_container(Some(options), self.body.clone()).await?;
        self.docker.start_container(&made.id, None).await?;
        let took = ms(start.elapsed());
        engine.remove(&ContainerId(made.id)).await?;
        Ok(took)
    }
}
