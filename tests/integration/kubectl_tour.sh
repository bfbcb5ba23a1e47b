#!/bin/sh
# What people do with kubectl, against the embedded API server alone:
#   kubectl_tour.sh PATH-TO-apiserver_standalone
# KUBECTL names the kubectl to use. Prints each step that fails and ends with their number.

set -u
server=${1:?usage: kubectl_tour.sh apiserver_standalone}
kubectl=${KUBECTL:-kubectl}
command -v "$kubectl" >/dev/null || { echo "skipped: there is no $kubectl"; exit 77; }

here=$(cd "$(dirname "$0")" && pwd)
. "$here/server.sh"
serve "$server"
export HOME="$dir"
failed=0

# step "what" 'command' 'extended regular expression its output must match'
step() {
  out=$(eval "$2" 2>&1)
  if ! printf '%s\n' "$out" | grep -Eq -e "$3"; then
    failed=$((failed + 1))
    printf 'FAILED: %s\n  $ %s\n  expected: %s\n%s\n' "$1" "$2" "$3" "$out"
  fi
}
k() { "$kubectl" "$@"; }

# since MINOR "what" ...: a step that this kubectl is new enough for.
minor=$(k version --client -o json | sed -n 's/.*"minor": "\([0-9]*\).*/\1/p')
since() {
  needed=$1
  shift
  [ "${minor:-0}" -lt "$needed" ] || step "$@"
}

cat >"$dir/deploy.yaml" <<'YAML'
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: main, image: "busybox:1", ports: [{containerPort: 80}]}
      - {name: side, image: "busybox:1"}
YAML
sed -e 's/busybox:1", ports/busybox:2", ports/' -e '/name: side/d' "$dir/deploy.yaml" >"$dir/deploy2.yaml"
cat >"$dir/pod.yaml" <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: one, labels: {tier: a}}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: busybox}]
YAML
cat >"$dir/node.yaml" <<'YAML'
apiVersion: v1
kind: Node
metadata: {name: n1}
status:
  allocatable: {cpu: "4", memory: 8Gi, pods: "110", kubernetes.io/batch-cpu: "2000"}
  capacity: {cpu: "4", memory: 8Gi, pods: "110"}
  conditions: [{type: Ready, status: "True"}]
YAML
cat >"$dir/crd.yaml" <<'YAML'
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gizmos.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gizmos, kind: Gizmo, shortNames: [gz]}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer, minimum: 1}}}
YAML
cat >"$dir/gizmo.yaml" <<'YAML'
apiVersion: example.com/v1
kind: Gizmo
metadata: {name: g}
spec: {size: 3}
YAML

cat >"$dir/sts.yaml" <<'YAML'
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: main, image: "db:2"}, {name: side, image: "side:2"}]
YAML
cat >"$dir/nodemetric.yaml" <<'YAML'
apiVersion: slo.koordinator.sh/v1alpha1
kind: NodeMetric
metadata: {name: n1}
spec: {}
status:
  updateTime: "2026-01-31T08:00:00Z"
  nodeMetric: {nodeUsage: {resources: {cpu: 1500m, memory: 2Gi}}}
  podsMetric:
  - {name: busy, namespace: default, podUsage: {resources: {cpu: 250m, memory: 64Mi}}}
YAML
crds=$here/../../deploy/crds
manifests=$here/../../deploy/manifests

step "version" 'k version' 'v1.32.0'
step "api-resources" 'k api-resources' '^deployments +deploy +.*true +Deployment'
step "api-versions" 'k api-versions' '^policy/v1$'
step "namespaces" 'k get ns' '^default +Active'
step "apply creates" 'k apply -f $dir/deploy.yaml' 'deployment.apps/web created'
step "apply again changes nothing" 'k apply -f $dir/deploy.yaml' 'unchanged'
step "diff shows a change" 'k diff -f $dir/deploy2.yaml' '\+ .*image: busybox:2'
step "apply merges lists" 'k apply -f $dir/deploy2.yaml && k get deploy web -o jsonpath="{.spec.template.spec.containers[*].image}"' '^busybox:2$'
step "get -o wide" 'k get deploy -o wide' 'web +0/2 +0 +0 .*main +busybox:2 +app=web'
step "get -o yaml" 'k get deploy web -o yaml' 'progressDeadlineSeconds: 600'
step "get -o json by label" 'k get deploy -l app=web -o json' '"kind": "List"'
step "get -o custom-columns" 'k get deploy -o custom-columns=N:.metadata.name' '^web$'
step "get -o name by field" 'k get ns --field-selector metadata.name=default -o name' '^namespace/default$'
step "describe" 'k describe deploy web' 'Replicas: +2 desired'
step "scale" 'k scale deploy web --replicas=4 && k get deploy web -o jsonpath="{.spec.replicas}"' '4$'
step "set image" 'k set image deploy/web main=busybox:3' 'image updated'
step "label" 'k label deploy web a=b && k get deploy -L a' ' b$'
step "annotate" 'k annotate deploy web note=x' 'web annotate'
step "patch: strategic" "k patch deploy web -p '{\"spec\":{\"replicas\":1}}'" 'patched'
step "patch: merge" "k patch deploy web --type=merge -p '{\"spec\":{\"replicas\":2}}'" 'patched'
step "patch: json" "k patch deploy web --type=json -p '[{\"op\":\"replace\",\"path\":\"/spec/replicas\",\"value\":3}]'" 'patched'
step "edit" 'EDITOR="sed -i s/replicas:.3/replicas:\ 5/" k edit deploy web && k get deploy web -o jsonpath="{.spec.replicas}"' '5$'
step "replace" 'k get deploy web -o yaml | sed "s/replicas: 5/replicas: 6/" | k replace -f -' 'replaced'
step "explain" 'k explain deployment.spec.replicas' 'replicas'
step "explain a list" 'k explain pods.spec.containers.image' 'image'
step "create a pod" 'k create -f $dir/pod.yaml' 'pod/one created'
step "get pods" 'k get pods' '^one +0/1 +Pending +0 '
step "get --watch" 'k get pods --watch --request-timeout=1s' '^one '
step "wait" "k patch pod one --type=merge --subresource=status -p '{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}' 2>&1; k get pod one -o name" 'pod/one'
step "run" 'k run two --image=busybox --restart=Never' 'pod/two created'
step "delete" 'k delete pod one two' 'pod "two".* deleted'
step "create a node" 'k create -f $dir/node.yaml' 'node/n1 created'
step "nodes show batch resources" 'k get nodes -o jsonpath="{.items[0].status.allocatable}"' 'kubernetes.io/batch-cpu'
step "get nodes" 'k get nodes' '^n1 +Ready +<none> '
step "taint" 'k taint node n1 a=b:NoSchedule' 'tainted'
step "cordon" 'k cordon n1 && k get nodes' 'Ready,SchedulingDisabled'
step "drain" 'k drain n1 --ignore-daemonsets' 'drained|evicted'
step "uncordon" 'k uncordon n1' 'uncordoned'
step "a custom resource is defined" 'k apply -f $dir/crd.yaml' 'created'
step "and waited for" 'k wait --for condition=established --timeout=10s crd/gizmos.example.com' 'condition met'
step "and used" 'k apply -f $dir/gizmo.yaml && k get gz' '^g +3'
step "and validated" 'sed "s/size: 3/size: 0/" $dir/gizmo.yaml | k apply -f -' 'should be greater than or equal to 1'
step "apply merges custom resources" 'sed "s/size: 3/size: 4/" $dir/gizmo.yaml | k apply -f - && k get gz' '^g +4'
step "events" 'k get events -A' 'No resources found'
step "an unknown field is named" 'sed "s/image: busybox/imagex: busybox/" $dir/pod.yaml | k apply -f -' 'imagex'
step "a wrong type is named" 'sed "s/PeriodSeconds: 0/PeriodSeconds: soon/" $dir/pod.yaml | k apply --validate=false -f -' 'spec.terminationGracePeriodSeconds'
step "an unknown object" 'k get pod none' 'Error from server \(NotFound\): pods "none" not found'
step "auth can-i" 'k auth can-i create pods' '^yes$'
step "create a namespace" 'k create namespace team && k get ns team' '^team +Active'
step "create a config map" 'k create configmap cm --from-literal=a=1 --from-literal=b= && k get cm cm -o jsonpath="{.data}"' '"a":"1","b":""'
step "create a secret" 'k create secret generic s --from-literal=p=word && k get secret s -o jsonpath="{.data.p} {.type}"' '^d29yZA== Opaque'
step "create a quota" 'k create quota q -n team --hard=pods=5,cpu=2 && k get quota q -n team -o jsonpath="{.spec.hard}"' '"cpu":"2"'
step "create a role" 'k create role r --verb=get --resource=pods && k get role r -o jsonpath="{.rules[0]}"' '"resources":\["pods"\]'
step "create a role binding" 'k create rolebinding rb --role=r --user=me && k get rolebinding rb -o jsonpath="{.subjects[0].name}"' '^me'
step "create a service" 'k create service clusterip svc --tcp=80:http && k get svc svc -o jsonpath="{.spec.ports[0].targetPort}"' '^http'
step "create a deployment" 'k create deployment dep --image=busybox --replicas=0 && k get deploy dep -o jsonpath="{.spec.replicas}"' '^0'
step "create a job" 'k create job j --image=busybox -- true && k get job j -o jsonpath="{.spec.template.spec.containers[0].command}"' 'true'
step "create a priority class" 'k create priorityclass pc --value=0 --description=x && k get priorityclass pc -o jsonpath="{.value}"' '^0'
# Before, it speaks policy/v1beta1, which servers gave up with 1.25.
since 21 "create a budget" 'k create pdb b --selector=a=b --min-available=50% && k get pdb b -o jsonpath="{.spec.minAvailable}"' '^50%'
step "create an ingress" 'k create ingress i --rule="a.example/x=svc:80" && k get ingress i -o jsonpath="{.spec.rules[0].http.paths[0].backend.service.port.number}"' '^80'
step "create a service account" 'k create serviceaccount sa && k get sa sa' '^sa '

cat >"$dir/ssa.yaml" <<'YAML'
apiVersion: apps/v1
kind: Deployment
metadata: {name: ssa, labels: {app: ssa}}
spec:
  replicas: 2
  selector: {matchLabels: {app: ssa}}
  template:
    metadata: {labels: {app: ssa}}
    spec:
      containers:
      - {name: main, image: "busybox:1", ports: [{containerPort: 80}]}
YAML
step "apply on the server" 'k apply --server-side -f $dir/ssa.yaml' 'serverside-applied'
step "and again" 'k apply --server-side -f $dir/ssa.yaml && k get deploy ssa -o jsonpath="{.metadata.generation}"' '^1$'
since 21 "owners are shown" 'k get deploy ssa -o yaml --show-managed-fields' 'manager: kubectl'
step "the server finds no difference" 'k diff --server-side -f $dir/ssa.yaml; echo "rc $?"' '^rc 0$'
step "or the one there is" 'sed s/busybox:1/busybox:2/ $dir/ssa.yaml | k diff --server-side -f -' '\+ +- image: busybox:2|\+.*image: busybox:2'
step "another owner" 'k scale deploy ssa --replicas=5 && k get deploy ssa -o jsonpath="{.spec.replicas}"' '5$'
step "is in conflict" 'k apply --server-side -f $dir/ssa.yaml' 'Apply failed with 1 conflict: conflict with "kubectl" with subresource "scale" using apps/v1: .spec.replicas'
step "unless forced" 'k apply --server-side --force-conflicts -f $dir/ssa.yaml && k get deploy ssa -o jsonpath="{.spec.replicas}"' '2$'
step "what is not applied any more goes" 'sed "s/, ports.*]}/}/" $dir/ssa.yaml | k apply --server-side -f - && k get deploy ssa -o jsonpath="[{.spec.template.spec.containers[0].ports}]"' '^\[\]$'
since 26 "from client-side to server-side apply" 'k apply -f $dir/pod.yaml && k apply --server-side -f $dir/pod.yaml && k get pod one -o jsonpath="{.metadata.managedFields[*].manager}"' '^kubectl( kubectl-last-applied)?$'

step "describe a pod" 'k apply -f $dir/pod.yaml >/dev/null; k describe pod one' '^Labels: +tier=a$'
step "describe a node" 'k describe node n1' 'kubernetes.io/batch-cpu: +2'
step "describe what was defined" 'k apply -f $dir/gizmo.yaml && k describe gizmo g' 'Size: +4|Size: +3'
step "explain what was defined" 'k explain gizmo.spec.size' 'integer'
step "explain everything below" 'k explain deployment --recursive' 'terminationGracePeriodSeconds'
step "get -o go-template" 'k get node n1 -o go-template="{{.metadata.name}}"' '^n1$'
step "get sorted" 'k get cm -A --sort-by=.metadata.creationTimestamp' '^default +cm '
step "get several kinds" 'k get deploy,svc -o name' '^service/svc$'
step "get all" 'k get all' 'deployment.apps/web'
step "api-resources by verb" 'k api-resources --verbs=patch --namespaced=false -o name' '^nodes$'
step "a dry run on the server" 'k create configmap dry --from-literal=a=1 --dry-run=server && k get cm dry' 'configmaps "dry" not found'
step "a dry run of the client" 'k run dry --image=busybox --dry-run=client -o yaml' '^kind: Pod$'
step "a label is not overwritten by accident" 'k label cm cm a=1 && k label cm cm a=2' 'already has a value \(1\)'
step "but on purpose" 'k label --overwrite cm cm a=2 && k get cm cm -L a' ' 2$'
step "and removed" 'k label cm cm a- && k get cm cm --show-labels' '<none>$'
step "an annotation is removed" 'k annotate cm cm n=1 && k annotate cm cm n- && k get cm cm -o jsonpath="[{.metadata.annotations}]"' '\[({})?\]$'
step "a taint is removed" 'k taint node n1 a=b:NoSchedule- && k get node n1 -o jsonpath="[{.spec.taints}]"' '\[(\[\])?\]$'
since 24 "patch the status" "k patch deploy dep --subresource=status --type=merge -p '{\"status\":{\"observedGeneration\":9,\"conditions\":[{\"type\":\"Available\",\"status\":\"True\"}]}}'" 'patched'
since 24 "rollout status" 'k rollout status deploy dep --timeout=5s' 'successfully rolled out'
since 24 "wait for a condition" 'k wait --for=condition=available --timeout=5s deploy/dep' 'condition met'
since 23 "wait for a value" 'k wait --for=jsonpath="{.spec.replicas}"=0 --timeout=5s deploy/dep' 'condition met'
step "rollout history" 'k rollout history deploy dep' 'No rollout history found'
step "rollout pause" 'k rollout pause deploy dep && k get deploy dep -o jsonpath="{.spec.paused}"' 'true$'
step "rollout resume and restart" 'k rollout resume deploy dep && k rollout restart deploy dep && k get deploy dep -o yaml' 'kubectl.kubernetes.io/restartedAt'
step "set resources" 'k set resources deploy dep --requests=cpu=100m && k get deploy dep -o jsonpath="{.spec.template.spec.containers[0].resources.requests.cpu}"' '100m$'
step "set env" 'k set env deploy dep A=b && k get deploy dep -o yaml' 'name: A$'
step "replace by force" 'k replace --force -f $dir/pod.yaml' 'pod/one replaced'
step "a wrong token is refused" 'k --kubeconfig=/dev/null --server=$(k config view --minify -o jsonpath="{.clusters[0].cluster.server}") --insecure-skip-tls-verify --token=wrong get pods' 'You must be logged in to the server|Unauthorized'
since 24 "a token of a service account" 'k create token default' '^ey[A-Za-z0-9_-]+[.][A-Za-z0-9_-]+[.][A-Za-z0-9_-]+$'
step "who may do what" 'k auth can-i create pods; k auth can-i create pods --as=nobody' '^no'
step "who may not is told so" 'k get secrets --as=nobody' 'User "nobody" cannot list resource "secrets" in API group "" in the namespace "default"'
step "nothing is done for strangers" 'k get --raw /metrics --as=system:anonymous' 'User "system:anonymous" cannot get path "/metrics"'
step "an unknown kind" 'k get nothings' 'the server doesn.t have a resource type "nothings"'
step "a bad name" 'k create configmap Not_Good' 'a lowercase RFC 1123 subdomain'
step "a pod that is not on a node has no logs" 'k logs one' 'Error from server|error'
step "get -o jsonpath of a range" "k get ns -o jsonpath='{range .items[*]}{.metadata.name}{\"\\n\"}{end}'" '^kube-system$'
step "get -o jsonpath with a filter" "k get nodes -o jsonpath='{.items[*].status.conditions[?(@.type==\"Ready\")].status}'" '^True$'
step "get -o go-template of a range" "k get ns -o go-template='{{range .items}}{{.metadata.name}} {{end}}'" 'default .*kube-system'
step "get -o custom-columns of several" 'k get node n1 -o custom-columns=NAME:.metadata.name,CPU:.status.capacity.cpu --no-headers' '^n1 +4$'
step "get -o wide of nodes" 'k get nodes -o wide' '^NAME +STATUS +ROLES +AGE +VERSION +INTERNAL-IP .*CONTAINER-RUNTIME'
step "get -o wide of pods" 'k get pods -o wide' '^NAME +READY +STATUS +RESTARTS +AGE +IP +NODE +NOMINATED NODE +READINESS GATES$'
step "get by selector of sets" "k get cm -A -l 'a in (1,2),!b' -o name; echo rc \$?" '^rc 0$'
step "get --chunk-size" 'k get ns --chunk-size=1 -o name' '^namespace/kube-system$'
step "get --output-watch-events" 'k get ns default --watch --output-watch-events --request-timeout=1s' '^ADDED +default'

event() {
  cat <<YAML
apiVersion: v1
kind: Event
metadata: {name: one.1}
involvedObject: {apiVersion: v1, kind: Pod, name: one, namespace: default, uid: $(k get pod one -o 'jsonpath={.metadata.uid}')}
type: Warning
reason: BackOff
message: Back-off restarting failed container
source: {component: kubelet}
count: 3
YAML
}
step "an event is made and read" 'event | k create -f - && k get events' 'Warning +BackOff +pod/one +Back-off restarting'
since 26 "events of an object" 'k events --for pod/one' 'Warning +BackOff +Pod/one +Back-off'
step "describe shows them" 'k describe pod one' 'Warning +BackOff +.*Back-off restarting'

step "a stateful set is applied" 'k apply -f $dir/sts.yaml' 'statefulset.apps/db created'
revisions() {
  for number in 1 2; do
    cat <<YAML
---
apiVersion: apps/v1
kind: ControllerRevision
metadata:
  name: db-$number
  labels: {app: db}
  annotations: {kubernetes.io/change-cause: $([ $number = 1 ] && echo first || echo second)}
  ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, controller: true, uid: $(k get sts db -o 'jsonpath={.metadata.uid}')}]
revision: $number
data: {spec: {template: {\$patch: replace, metadata: {labels: {app: db}}, spec: {containers: [{name: main, image: "db:$number"}]}}}}
YAML
  done
}
step "its revisions are told by a controller" 'revisions | k create -f -' 'controllerrevision.apps/db-2 created'
step "get controllerrevisions" 'k get controllerrevisions' '^db-1 +statefulset.apps/db +1 '
step "rollout history" 'k rollout history sts db' '^2 +second$'
step "rollout history of one revision" 'k rollout history sts db --revision=1' 'Image:[[:space:]]+db:1'
step "rollout undo" 'k rollout undo sts db --to-revision=1 && k get sts db -o jsonpath="{.spec.template.spec.containers[*].image}"' 'rolled back|^db:1$'
step "and what it says is done" 'k get sts db -o jsonpath="{.spec.template.spec.containers[*].image}|{.spec.template.metadata.labels}"' '^db:1[|].*"app":"db"'
step "rollout restart" 'k rollout restart sts db && k get sts db -o yaml' 'kubectl.kubernetes.io/restartedAt'
step "autoscale is a kind of its own" 'k autoscale deploy dep --max=3 --dry-run=client -o name' 'horizontalpodautoscaler.autoscaling/dep'

since 24 "koordlet reports" 'k apply -f $crds/slo.koordinator.sh_nodemetrics.yaml && k wait --for condition=established --timeout=10s crd/nodemetrics.slo.koordinator.sh && k create -f $dir/nodemetric.yaml && k replace --subresource=status -f $dir/nodemetric.yaml' 'nodemetric.slo.koordinator.sh/n1 replaced'
since 24 "top nodes" 'k top nodes' '^n1 +1500m +37% +2048Mi +25% *$'
since 24 "top pods" 'k run busy --image=busybox --overrides="{\"spec\":{\"nodeName\":\"n1\"}}" && k top pods' '^busy +250m +64Mi *$'
since 24 "top pods of a label, with containers" 'k top pods -l run=busy --containers' '^busy +busy +250m +64Mi *$'
since 24 "top of a pod nobody has reported" 'k top pod one' 'NotFound|not found|not available'
owned() {
  cat <<YAML
apiVersion: v1
kind: ConfigMap
metadata:
  name: $1-owned
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: $1, uid: $(k get cm "$1" -o 'jsonpath={.metadata.uid}')}]
YAML
}
for policy in background orphan foreground; do
  step "delete with $policy" "k create configmap $policy && owned $policy | k apply -f - && k delete cm $policy --cascade=$policy --wait=false && k get cm $policy" "(not found|deletionTimestamp|^$policy )"
done
step "wait for a deletion" 'k delete cm cm --wait=false && k wait --for=delete --timeout=5s cm/cm; k get cm cm' 'configmaps "cm" not found'
step "delete by label" 'k label pod one gone=soon && k delete pod -l gone=soon' 'pod "one".* deleted'
step "delete all of a kind" 'k delete secret --all' 'secret "s".* deleted'
step "delete with foreground" 'k delete deploy web --cascade=foreground --wait=false' 'deleted'
step "delete what was applied" 'k delete -f $dir/crd.yaml' 'deleted'
step "what deploy/ installs is applied in one go" 'k apply -f $crds && k apply -f $manifests && echo all applied' '^all applied$'
step "a kind of its last CRDs" 'k wait --for condition=established --timeout=10s crd/scheduleexplanations.scheduling.koordinator.sh && k get --cache-dir="$dir/fresh" sched-exp,clusternetworktopologies' 'No resources found'
step "raw" 'k get --raw /readyz' '^ok$'

[ $failed -eq 0 ] && echo "all steps passed with $("$kubectl" version --client 2>/dev/null | head -n 1)"
exit $failed
