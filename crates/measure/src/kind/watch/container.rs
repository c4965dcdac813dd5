//! Containers, by the names of their cgroups and by the files in which their managers keep names. No manager is asked.

use std::fs;

use serde_json::Value;

/// A container, and the cgroup that all of it is in.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Container {
    pub id: String,
    pub cgroup: String,
}

/// The one that a cgroup belongs to, if any.
pub(super) fn of(path: &str) -> Option<Container> {
    let mut end = 0;
    for part in path.split('/') {
        end += part.len();
        if let Some(id) = id(part) {
            return Some(Container { id: id.to_owned(), cgroup: path[..end].to_owned() });
        }
        end += 1;
    }
    None
}

/// By the drivers cgroupfs (`/docker/ID`, `/kubepods/burstable/podUID/ID`) and systemd (`docker-ID.scope`,
/// `cri-containerd-ID.scope`, `libpod-ID.scope`, `crio-ID.scope`), by LXC and by systemd-nspawn.
fn id(part: &str) -> Option<&str> {
    if let Some(name) = part.strip_prefix("lxc.payload.") {
        return Some(name);
    }
    let unit = part.strip_suffix(".scope").or_else(|| part.strip_suffix(".service"));
    if let Some(name) = unit.and_then(|unit| unit.strip_prefix("machine-")) {
        return Some(name);
    }
    let id = unit.unwrap_or(part).rsplit('-').next()?;
    (id.len() == 64 && is_hex(id)).then_some(id)
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether somebody who types this means that id: in whole, or a part that is none by chance.
pub(super) fn is_start(typed: &str, id: &str) -> bool {
    const LEAST: usize = 4;
    typed == id || typed.len() >= LEAST && is_hex(typed) && id.starts_with(typed)
}

/// Whether somebody who types this means that container.
pub(super) fn is_named(typed: &str, id: &str) -> bool {
    is_start(typed, id) || names(id).iter().any(|name| name == typed)
}

/// Those that its manager gave it: Docker, Podman, or containerd for Kubernetes and nerdctl.
pub(super) fn names(id: &str) -> Vec<String> {
    let docker = read(&format!("/var/lib/docker/containers/{id}/config.v2.json"));
    let podman = read("/var/lib/containers/storage/overlay-containers/containers.json");
    let tasks = fs::read_dir("/run/containerd/io.containerd.runtime.v2.task").into_iter().flatten().flatten();
    let containerd = tasks.filter_map(|of| read(of.path().join(id).join("config.json").to_str()?));
    let mut names: Vec<String> = docker.iter().filter_map(of_docker).collect();
    names.extend(podman.iter().flat_map(|all| of_podman(all, id)));
    names.extend(containerd.flat_map(|config| of_containerd(&config)));
    names
}

fn read(path: &str) -> Option<Value> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn of_docker(config: &Value) -> Option<String> {
    Some(config.get("Name")?.as_str()?.trim_start_matches('/').to_owned())
}

fn of_podman(all: &Value, id: &str) -> Vec<String> {
    let mut containers = all.as_array().into_iter().flatten();
    let one = containers.find(|one| one.get("id").and_then(Value::as_str) == Some(id));
    let names = one.and_then(|one| one.get("names")?.as_array());
    names.into_iter().flatten().filter_map(|name| Some(name.as_str()?.to_owned())).collect()
}

fn of_containerd(config: &Value) -> Vec<String> {
    let annotations = config.get("annotations");
    let of = |key: &str| Some(annotations?.get(key)?.as_str()?.to_owned());
    let pod = of("io.kubernetes.cri.sandbox-name");
    let in_pod = of("io.kubernetes.cri.container-name");
    let both = pod.zip(in_pod.clone()).map(|(pod, name)| format!("{pod}/{name}"));
    [both, in_pod, of("nerdctl/name")].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_manager_has_its_own_names_of_cgroups() {
        let id = "0123456789abcdef".repeat(4);
        let paths = [
            format!("/docker/{id}"),
            format!("/system.slice/docker-{id}.scope"),
            format!("/machine.slice/libpod-{id}.scope"),
            format!(
                "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice/cri-containerd-{id}.scope"
            ),
            format!("/kubepods/besteffort/pod1-2/{id}"),
        ];
        for cgroup in paths {
            assert_eq!(of(&cgroup), Some(Container { id: id.clone(), cgroup: cgroup.clone() }));
            assert_eq!(of(&format!("{cgroup}/init")), Some(Container { id: id.clone(), cgroup }));
        }
        assert_eq!(of("/lxc.payload.web/system.slice").unwrap().id, "web");
        assert_eq!(of("/machine.slice/machine-web.scope/payload").unwrap().id, "web");
        for none in ["/", "/system.slice/docker.service", "/user.slice/user-0.slice/session-1.scope"] {
            assert_eq!(of(none), None);
        }
    }

    #[test]
    fn a_part_of_an_id_is_its_start_and_not_too_short() {
        assert!(is_start("0123", "0123456789") && is_start("web", "web"));
        assert!(
            !is_start("012", "0123456789") && !is_start("123456", "0123456789") && !is_start("we", "web")
        );
    }

    #[test]
    fn managers_keep_names_in_files() {
        assert_eq!(of_docker(&json!({"Name": "/web"})).unwrap(), "web");
        let all = json!([{"id": "1", "names": ["db"]}, {"id": "2", "names": ["web", "www"]}]);
        assert_eq!(of_podman(&all, "2"), ["web", "www"]);
        let config = json!({"annotations": {
            "io.kubernetes.cri.sandbox-name": "shop-1", "io.kubernetes.cri.container-name": "web"}});
        assert_eq!(of_containerd(&config), ["shop-1/web", "web"]);
    }
}
