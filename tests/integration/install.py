#!/usr/bin/env python3
"""Installs what deploy/ holds into an API server of its own, with kubectl as an operator would.

    install.py --server PATH-TO-apiserver_standalone --source REPOSITORY

Checks that kustomize knows every file, that a second apply changes nothing, that workloads use accounts, ports
and keys that exist, and that the chart is made of the same files. Where helm is on PATH, the chart is rendered,
compared with the manifests, and applied, too. Needs kubectl; ends with 77 without it.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

# What upstream's chart has, too, and Helm can neither change in place nor may take away: what bindings give, and what
# others have written into.
UPSTREAM_ROLES = {
    "koord-manager-rolebinding": "koord-manager-role", "koord-leader-election-rolebinding": "koord-leader-election-role",
    "koord-scheduler-rolebinding": "system:kube-scheduler", "koord-scheduler-rolebinding-custom": "koord-scheduler-role",
    "koord-scheduler-rolebinding-volume": "system:volume-scheduler",
    "koord-descheduler-rolebinding": "koord-descheduler-role", "koordlet-rolebinding": "koordlet-role"}
UPSTREAM_DATA = {("Secret", "koordinator-webhook-certs"), ("ConfigMap", "slo-controller-config"),
                 ("ConfigMap", "koord-scheduler-config"), ("ConfigMap", "koord-descheduler-config"),
                 ("ConfigMap", "gpu-shared-resource-templates")}
FAILED = []


def check(holds, what):
    if not holds:
        FAILED.append(what)
        print("FAILED:", what)


def run(*command, stdin=None, env=None):
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, env=env)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


class Server:
    """An API server that ends with the block."""

    def __init__(self, program):
        self.program = program

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="koord-install-")
        self.kubeconfig = os.path.join(self.folder, "kubeconfig")
        ready = os.path.join(self.folder, "ready")
        with open(ready, "w") as out, open(os.path.join(self.folder, "log"), "w") as log:
            self.process = subprocess.Popen([self.program, "--kubeconfig", self.kubeconfig],
                                            stdout=out, stderr=log)
        for _ in range(200):
            if os.path.getsize(ready) > 0:
                return self
            time.sleep(0.05)
        self.__exit__()
        raise SystemExit("the API server does not start")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder)

    def kubectl(self, *arguments, stdin=None):
        env = dict(os.environ, KUBECONFIG=self.kubeconfig, HOME=self.folder)
        return run("kubectl", *arguments, stdin=stdin, env=env)

    def documents(self, text):
        """The documents of YAML text, read by kubectl."""
        listed = self.kubectl("create", "--dry-run=client", "--validate=false", "-o", "json", "-f", "-", stdin=text)
        decoder, documents, at = json.JSONDecoder(), [], 0
        while at < len(listed):
            document, end = decoder.raw_decode(listed, at)
            documents += document["items"] if document["kind"] == "List" else [document]
            while end < len(listed) and listed[end].isspace():
                end += 1
            at = end
        return documents

    def apply(self, text, *flags):
        return self.kubectl("apply", "--server-side", "--force-conflicts", *flags, "-f", "-", stdin=text)

    def apply_all(self, text):
        """Definitions and the namespace first, as kinds and places have to be there for the others."""
        documents = self.documents(text)
        first = [d for d in documents if d["kind"] in ("CustomResourceDefinition", "Namespace")]
        rest = [d for d in documents if d not in first]
        # Webhooks last: nobody answers for them here.
        rest.sort(key=lambda d: "Webhook" in d["kind"])
        for part in (first, rest):
            self.apply(json.dumps({"apiVersion": "v1", "kind": "List", "items": part}))
        return documents


def key_of(document):
    meta = document["metadata"]
    return document["kind"], meta.get("namespace", ""), meta["name"]


def check_files(source):
    deploy = os.path.join(source, "deploy")
    with open(os.path.join(deploy, "kustomization.yaml")) as file:
        listed = {line[2:].strip() for line in file if line.startswith("- ")}
    there = {f"{folder}/{name}" for folder in ("crds", "manifests")
             for name in os.listdir(os.path.join(deploy, folder)) if name.endswith(".yaml")}
    check(listed == there, f"deploy/kustomization.yaml lists the files: {sorted(listed ^ there)}")
    chart = os.path.join(deploy, "helm", "koordinator")
    for link, folder in (("manifests", "manifests"), ("recommended", "recommended"), ("shipped-crds", "crds"),
                         ("grafana", "grafana"), ("console", "console")):
        check(os.path.realpath(os.path.join(chart, link)) == os.path.realpath(os.path.join(deploy, folder)),
              f"the chart's {link} is deploy/{folder}")
    text = "".join(open(os.path.join(chart, "templates", name)).read()
                   for name in os.listdir(os.path.join(chart, "templates")))
    for name in sorted(os.listdir(os.path.join(deploy, "manifests"))):
        check(f'"{name}"' in text, f"a template of the chart uses deploy/manifests/{name}")
    with open(os.path.join(deploy, "grafana", "koordinator.json")) as file:
        check(len(json.load(file)["panels"]) > 5, "the dashboard has panels")


def check_references(documents):
    """What workloads and budgets name is there."""
    keys = {key_of(d) for d in documents}
    by_kind = lambda kind: [d for d in documents if d["kind"] == kind]
    labels = [d["spec"]["template"]["metadata"]["labels"] for d in documents
              if d["kind"] in ("Deployment", "DaemonSet")]
    selected = lambda wanted: any(wanted.items() <= have.items() for have in labels)
    for document in by_kind("Deployment") + by_kind("DaemonSet"):
        name, ns = document["metadata"]["name"], document["metadata"]["namespace"]
        pod = document["spec"]["template"]["spec"]
        check(("ServiceAccount", ns, pod["serviceAccountName"]) in keys, f"{name}: its account is there")
        volumes = {v["name"]: v for v in pod.get("volumes", [])}
        for volume in volumes.values():
            if "configMap" in volume:
                check(("ConfigMap", ns, volume["configMap"]["name"]) in keys, f"{name}: {volume['name']}")
        for container in pod["containers"]:
            mounts = {m["name"] for m in container.get("volumeMounts", [])}
            check(mounts == set(volumes), f"{name}: mounts and volumes agree: {sorted(mounts ^ set(volumes))}")
            ports = {p["containerPort"] for p in container.get("ports", [])}
            for probe in ("readinessProbe", "livenessProbe"):
                if probe in container:
                    check(container[probe]["httpGet"]["port"] in ports, f"{name}: {probe} asks an open port")
    for document in by_kind("PodDisruptionBudget"):
        check(selected(document["spec"]["selector"]["matchLabels"]), f"{key_of(document)} selects pods")
    for document in by_kind("NetworkPolicy"):
        check(selected(document["spec"]["podSelector"]["matchLabels"]), f"{key_of(document)} selects pods")
    services = {(d["metadata"]["namespace"], d["metadata"]["name"]) for d in by_kind("Service")}
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        for document in by_kind(kind):
            for hook in document["webhooks"]:
                service = hook["clientConfig"]["service"]
                check((service["namespace"], service["name"]) in services, f"{hook['name']}: its service is there")
    for document in by_kind("ClusterRoleBinding") + by_kind("RoleBinding"):
        for subject in document["subjects"]:
            if subject["kind"] == "ServiceAccount":
                check(("ServiceAccount", subject["namespace"], subject["name"]) in keys, f"{key_of(document)}")


def check_upgrade(documents):
    """An installation of upstream can be changed to this one in place."""
    given = {d["metadata"]["name"]: d["roleRef"]["name"] for d in documents if d["kind"].endswith("RoleBinding")}
    for name, role in UPSTREAM_ROLES.items():
        check(given.get(name) == role, f"{name} gives {role}, as upstream's does, and not {given.get(name)}")
    there = {(d["kind"], d["metadata"]["name"]) for d in documents}
    check(UPSTREAM_DATA <= there, f"what others have written into stays: {UPSTREAM_DATA - there}")
    for document in documents:
        if document["kind"] in ("Deployment", "DaemonSet"):
            name = document["metadata"]["name"]
            check(document["spec"]["selector"] == {"matchLabels": {"koord-app": name}}, f"{name}: upstream's selector")


def with_component(source, name):
    """The manifests with a component of deploy, as a kustomization of one's own has them."""
    with tempfile.TemporaryDirectory() as folder:
        deploy = os.path.relpath(os.path.join(source, "deploy"), os.path.realpath(folder))
        with open(os.path.join(folder, "kustomization.yaml"), "w") as file:
            file.write(f"resources: [{deploy}]\ncomponents: [{deploy}/{name}]\n")
        return run("kubectl", "kustomize", folder)


def check_recommended(server, source, manifests):
    """The same objects; what is different is what the profile is for."""
    documents = server.documents(with_component(source, "recommended"))
    ours = {key_of(d): d for d in manifests}
    theirs = {key_of(d): d for d in documents}
    check(set(ours) == set(theirs), f"the profile has the same objects: {set(ours) ^ set(theirs)}")
    changed = {key[2] for key in set(ours) & set(theirs) if ours[key] != theirs[key]}
    check(changed == {"koord-scheduler-config", "slo-controller-config", "koordlet", "koord-manager"},
          f"what the recommended profile changes: {sorted(changed)}")
    for (kind, _, name), document in theirs.items():
        before = ours[(kind, _, name)]
        if kind == "ConfigMap":
            check(set(before["data"]) <= set(document["data"]), f"{name} keeps its keys")
        if kind in ("DaemonSet", "Deployment"):
            arguments = lambda d: d["spec"]["template"]["spec"]["containers"][0]["args"]
            check(arguments(document)[:len(arguments(before))] == arguments(before), f"{name} keeps its arguments")
    server.apply_all(json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}))
    return documents


def check_chart(server, source, manifests, profile="upstream"):
    chart = os.path.join(source, "deploy", "helm", "koordinator")
    if not shutil.which("helm"):
        print("helm is not there: the chart is not rendered")
        return
    render = lambda *flags: run("helm", "template", "koordinator", chart, "-n", "koordinator-system", *flags)
    documents = server.apply_all(render("--set", f"profile={profile}"))
    ours = {key_of(d): d for d in manifests}
    theirs = {key_of(d): d for d in documents}
    check(set(ours) == set(theirs), f"chart and manifests have the same objects: {set(ours) ^ set(theirs)}")
    gates = lambda d: sorted(a.lstrip("-") for a in d["spec"]["template"]["spec"]["containers"][0].get("args", [])
                             if "feature-gates" in a)
    for key, document in ours.items():
        if key in theirs and key[0] in ("Deployment", "DaemonSet"):
            check(gates(document) == gates(theirs[key]), f"{key}: gates of the chart are the manifests'")
        if key not in theirs or key[0] in ("Deployment", "DaemonSet"):
            continue
        for field in ("rules", "roleRef", "subjects", "value", "spec", "webhooks", "data"):
            check(document.get(field) == theirs[key].get(field), f"{key}: {field} of the chart is the manifests'")
    print(f"the chart has {len(documents)} objects, the same as the manifests")


def check_console(server, source):
    """The console's overlay, and the same with the chart: what is added, and nothing else."""
    documents = server.apply_all(with_component(source, "console"))
    manager = next(d for d in documents if key_of(d) == ("Deployment", "koordinator-system", "koord-manager"))
    container = manager["spec"]["template"]["spec"]["containers"][0]
    check("--console-addr=:9443" in container["args"], "the console's flag is set")
    role = next(d for d in documents if key_of(d) == ("ClusterRole", "", "koord-manager-console"))
    verbs = {verb for rule in role["rules"] for verb in rule["verbs"] if "reviews" not in rule["resources"][0]}
    check(verbs == {"get", "list", "watch"}, f"the console reads only: {verbs}")
    check(not any("secrets" in rule["resources"] for rule in role["rules"]), "the console does not read secrets")
    if not shutil.which("helm"):
        return
    chart = os.path.join(source, "deploy", "helm", "koordinator")
    rendered = server.documents(run("helm", "template", "koordinator", chart, "-n", "koordinator-system", "--set",
                                    "manager.console.enabled=true"))
    theirs, ours = ({key_of(d) for d in each} for each in (rendered, documents))
    check(ours == theirs, f"chart and overlay have the same objects: {ours ^ theirs}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--source", required=True)
    options = parser.parse_args()
    if not shutil.which("kubectl"):
        print("skipped: there is no kubectl")
        sys.exit(77)
    check_files(options.source)
    with Server(options.server) as server:
        text = run("kubectl", "kustomize", os.path.join(options.source, "deploy"))
        documents = server.apply_all(text)
        check_references(documents)
        check_upgrade(documents)
        before = {key_of(d): server.kubectl("get", d["kind"], d["metadata"]["name"], "-n",
                                            d["metadata"].get("namespace", "default"), "-o",
                                            "jsonpath={.metadata.generation}") for d in documents}
        server.apply_all(text)
        for document in documents:
            again = server.kubectl("get", document["kind"], document["metadata"]["name"], "-n",
                                   document["metadata"].get("namespace", "default"), "-o",
                                   "jsonpath={.metadata.generation}")
            check(before[key_of(document)] == again, f"{key_of(document)} is applied again without a change")
    with Server(options.server) as server:
        check_chart(server, options.source, documents)
    with Server(options.server) as server:
        profiled = check_recommended(server, options.source, documents)
    with Server(options.server) as server:
        check_chart(server, options.source, profiled, "recommended")
    with Server(options.server) as server:
        check_console(server, options.source)
    print(f"{len(documents)} objects installed")
    sys.exit(1 if FAILED else 0)


if __name__ == "__main__":
    main()
