#![allow(clippy::all, clippy::pedantic, clippy::unwrap_used, clippy::disallowed_methods, clippy::print_stdout, missing_docs, clippy::indexing_slicing, clippy::cast_possible_truncation, clippy::allow_attributes, clippy::allow_attributes_without_reason)]
use creel::approvals::{Command, Permit};
use creel::runner::*;
use std::time::*;
#[tokio::main(flavor = "current_thread")]
async fn main() {
    let args: Vec<String> = std::env::args().collect();
    let dir = std::path::PathBuf::from(&args[1]);
    let pid: i32 = args[2].parse().unwrap();
    let n: usize = args[3].parse().unwrap();
    let cmd = args[4].clone();
    let t = Instant::now();
    let link = Link::meet(&dir, pid, Duration::from_secs(3)).await.unwrap();
    println!("meet {:?}", t.elapsed());
    let setting = Setting { workdir: "/".into(), image_env: vec![("PATH".into(), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".into())], ..Default::default() };
    let road = Road::Init(link.clone());
    // control
    let ctl = Permit::sandbox("s", Command::Argv(["/.creel/init","control","spawn","--","/bin/sh","-lc","true"].map(String::from).to_vec()), None, vec![]);
    let mut control = start(&ctl, &setting, &Options{stdin:true,..Default::default()}, &road).await.unwrap();
    let mut a = vec![]; let mut b = vec![];
    let permit = Permit::sandbox("s", Command::Shell(cmd), None, vec![]);
    for i in 0..n {
        let t = Instant::now();
        let mut r = start(&permit, &setting, &Options::default(), &road).await.unwrap();
        let mut bytes = 0usize;
        loop { match r.next().await.unwrap() {
            Progress::Output(_, d) => { bytes += d.len(); if n < 5 && bytes < 10000 { println!("{:?}", d) } }
            Progress::Done(o) => { if n < 5 || o.code != Some(0) { println!("{i} {o:?} {bytes}"); } break }
            p => { if n < 5 { println!("{p:?}") } }
        } }
        a.push(t.elapsed().as_micros());
        if n >= 5 {
        control.write(b"\n".to_vec()).await.unwrap();
        let mut line = String::new();
        while !line.ends_with('\n') { if let Progress::Output(_, d) = control.next().await.unwrap() { line.push_str(std::str::from_utf8(&d).unwrap()); } }
        b.push(line.trim().parse::<u128>().unwrap()/1000);
        }
    }
    a.sort(); b.sort();
    println!("init p50 {} p99 {}", a[n/2], a[n*99/100]);
    if n >= 5 { println!("ctl  p50 {} p99 {}", b[n/2], b[n*99/100]); }
}
