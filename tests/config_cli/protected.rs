//! Directories with instructions for the agent are read-only in its sandbox.

use pretty_assertions::assert_eq;

use crate::home::Home;

#[test]
fn instructions_cannot_be_changed_from_inside() {
    let home = Home::new("{}");
    let workspace = home.state().parent().unwrap().join("ws");
    std::fs::create_dir_all(workspace.join(".agents/skills")).unwrap();
    let docker = "docker: { image: 'creel-minimal:latest' }";
    let config = format!(
        "{{ agents: {{ defaults: {{ workspace: '{}', sandbox: {{ mode: 'all', workspaceAccess: 'rw', {docker} }} }} }} }}",
        workspace.display()
    );
    std::fs::write(home.file(), config).unwrap();
    let out = home.ok(&["exec", "--", "touch mine; touch .agents/skills/x 2>&1; mkdir skills; ls"]);
    assert!(out.contains("Read-only file system") && out.contains("mine"), "{out}");
    assert!(!workspace.join(".agents/skills/x").exists() && workspace.join("mine").exists());
    // A directory that appears in a running sandbox ends nothing there; explain tells what the next one will have.
    assert_eq!(home.ok(&["exec", "--", "echo still here"]), "still here\n");
    let all = home.json(&["sandbox", "explain", "--json"]);
    let mounts = all["sandbox"]["workspaceMounts"].as_array().unwrap();
    let protected: Vec<&str> = mounts
        .iter()
        .filter(|mount| mount["source"] == "protectedSkill")
        .map(|mount| mount["containerRoot"].as_str().unwrap())
        .collect();
    assert_eq!(protected, ["/workspace/skills", "/workspace/.agents/skills"]);
    home.ok(&["sandbox", "stop", "--all"]);
    let out = home.ok(&["exec", "--", "touch skills/x 2>&1; true"]);
    assert!(out.contains("Read-only file system"), "{out}");
}

/// The way to them neither: whoever could rename a parent would put other instructions in their place.
#[test]
fn instructions_cannot_be_moved_away() {
    let home = Home::new("{}");
    let workspace = home.beside("ws");
    home.beside("ws/.agents/skills");
    std::fs::write(workspace.join(".agents/skills/text"), "the agent's").unwrap();
    let config = format!(
        "{{ agents: {{ defaults: {{ workspace: '{}', sandbox: {{ mode: 'all', workspaceAccess: 'rw', docker: {{ \
         image: 'creel-minimal:latest' }} }} }} }} }}",
        workspace.display()
    );
    std::fs::write(home.file(), config).unwrap();
    let attack = "mv .agents .old 2>&1; rmdir .agents 2>&1; mkdir -p .agents/skills; \
                  echo worse > .agents/skills/text; touch .agents/mine";
    let (out, err, _) = home.run(&["exec", "--", attack]);
    assert!(out.contains("busy") && err.contains("Read-only file system"), "{out}{err}");
    assert_eq!(std::fs::read_to_string(workspace.join(".agents/skills/text")).unwrap(), "the agent's");
    assert!(workspace.join(".agents/mine").exists() && !workspace.join(".old").exists());
}
