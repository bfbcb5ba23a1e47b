"""Every event that the programs write, for docs/reference/events.md, and its comparison with the sources.

A call that writes an event has its type, "Normal" or "Warning", as a literal and the reason after it: a literal, a
constant, a choice of two literals, or a variable. VARIABLES names what the variables can be.
"""

import re
from typing import NamedTuple

PROGRAMS = {"koord-scheduler": "src/scheduler/", "koord-manager": "src/manager/", "koord-descheduler": "src/descheduler/",
            "koordlet": "src/koordlet/", "koordctl": "src/cluster/"}


class Event(NamedTuple):
    program: str
    reason: str
    type: str
    object: str
    when: str
    action: str


N, W = "Normal", "Warning"
TABLE = {
    "koord-scheduler": [
        ("Scheduled", N, "Pod, Reservation", "It was bound to a node.", "Nothing."),
        ("FailedScheduling", W, "Pod, Reservation", "An attempt found no node, or failed. The message counts the reasons of nodes.",
         "Read the reasons; `koordctl explain pod` shows them for each node."),
        ("FailedScheduling-Reservation", W, "Pod",
         "A pod that needs a reservation (annotation reservation-affinity) found none that fits. The message counts reasons.",
         "Compare owners, name, labels and free amounts of the Reservations with the pod."),
        ("BindingConditionsPending", N, "Pod", "The devices of the pod's claims must be prepared for its node before it is bound. The message names the node.",
         "Nothing. If it takes long, read `status.devices` of the claim and the log of the device's driver."),
        ("Preempted", N, "Pod, Reservation", "The pod is evicted for a pod of higher priority, which the message names.",
         "Nothing, if that is intended; else look at priorities and preemption policies."),
        ("FailedPreemption", W, "Pod, Reservation", "The API server refused to evict a victim. The scheduler tries again after a pause.",
         "Read the scheduler's log for the refusal: permissions, or an admission webhook."),
        ("LeaderElection", N, "Lease", "The process became leader, or lost the lease.",
         "Nothing; if it repeats, look at the API server's latency and at the node of the pod."),
        ("InvalidAnnotation", W, "Pod, Reservation, Node", "A part of an annotation cannot be read or has no known value. That part is ignored.",
         "Correct the annotation; [names](names.md) has the formats."),
        ("InvalidNodeMetric", W, "NodeMetric", "The reported usage cannot be read. The scheduler treats the node as not measured.",
         "Check the koordlet of the node; both programs should have the same version."),
        ("InvalidCPUTopology", W, "Node", "A part of a label, of an annotation or of the NodeResourceTopology of the node is wrong and is ignored.",
         "Correct what the message names, or check the koordlet of the node."),
        ("InvalidDevice", W, "Device", "A device, its topology or its partitions are invalid.",
         "Check the koordlet of the node, and other programs that write the Device."),
        ("InvalidTemplates", W, "ConfigMap", "data.yaml of the templates of shared GPUs cannot be read. The previous templates stay in force.",
         "Correct the ConfigMap."),
        ("InvalidTopology", W, "ClusterNetworkTopology", "The layers do not form a tree. Gangs are placed without it.", "Correct the object."),
        ("InvalidGang", W, "PodGroup, Pod", "A field, label or annotation of the gang is wrong. The message names it.",
         "Correct what the message names."),
        ("GangIncomplete", W, "PodGroup, Pod", "The gang has waited for a while for members, objects or other gangs.",
         "Create what the message names, or correct the gang's minimum."),
        ("InvalidReservation", W, "Reservation, Pod", "A field, label or annotation of the reservation is wrong, or has no effect.",
         "Correct what the message names."),
        ("InvalidElasticQuota", W, "ElasticQuota", "A part of the quota is wrong. The message names it, and often what counts instead.",
         "Correct the quota; koord-manager's webhook refuses most mistakes."),
        ("QuotaDeletedInUse", W, "ElasticQuota", "The quota was deleted while pods belonged to it. They count in the default quota now.",
         "Create the quota again, or move the pods."),
    ],
    "koord-manager": [
        ("ColocationCfgUnmarshalFailed", W, "ConfigMap", "colocation-config of slo-controller-config has a field that cannot be used.",
         "Correct it; [slo-controller-config](slo-controller-config.md) has the fields. The last usable value stays in force."),
        ("CPUNormalizationCfgUnmarshalFailed", W, "ConfigMap", "cpu-normalization-config has a field that cannot be used.",
         "Correct it. The last usable value stays in force."),
        ("ResourceAmplificationCfgUnmarshalFailed", W, "ConfigMap", "resource-amplification-config has a field that cannot be used.",
         "Correct it. The last usable value stays in force."),
        ("SLOCfgUnmarshalFailed", W, "ConfigMap",
         "A key of the NodeSLO, such as resource-threshold-config or host-application-config, has a field that cannot be used.",
         "Correct it. The last usable value of the key stays in force."),
        ("ConfigMapDeleted", W, "ConfigMap", "slo-controller-config was deleted. After 30 s the defaults are in force, and co-location is off.",
         "Create it again."),
        ("InvalidNetworkBandwidth", W, "Node", "The annotation network-bandwidth is not a quantity. The configured bandwidth is used.",
         "Correct the annotation."),
        ("AdmittedWithoutProfile", W, "Pod", "The pod matches a ClusterColocationProfile and has none of its settings: the webhook did not answer when the pod was created.",
         "Recreate the pod; `koordctl doctor` checks the webhook."),
        ("UnreadableSelector", W, "ClusterColocationProfile", "A selector cannot be read. The profile applies to no pod.", "Correct the selector."),
        ("CreateQuotaFailed", W, "ElasticQuotaProfile", "The quota of the profile could not be created. It is tried again.",
         "Read the message: often the quota's webhook refuses it."),
        ("UpdateQuotaFailed", W, "ElasticQuotaProfile", "The quota of the profile could not be updated. It is tried again.",
         "Read the message: often the quota's webhook refuses it."),
    ],
    "koord-descheduler": [
        ("LeaderElection", N, "Lease", "The process became leader, or lost the lease.",
         "Nothing; if it repeats, look at the API server's latency and at the node of the pod."),
        ("Descheduled", N, "Pod", "The descheduler evicted the pod. The message has the reason.", "Nothing."),
        ("ReservationCreated", N, "PodMigrationJob", "The job created the Reservation for the pod that will replace the evicted one.", "Nothing."),
        ("ReservationScheduled", N, "PodMigrationJob", "The Reservation has a node.", "Nothing."),
        ("Evicting", N, "PodMigrationJob", "The job asked for the eviction of the pod.", "Nothing."),
        ("Evicting", W, "PodMigrationJob", "The eviction was refused. It is tried again until the job's time is over.",
         "Look at PodDisruptionBudgets of the pod, and at permissions."),
        ("EvictComplete", N, "PodMigrationJob", "The evicted pod is deleted.", "Nothing."),
        ("WaitForPodBindReservation", N, "PodMigrationJob", "The job waits for the new pod to use the Reservation.",
         "If it lasts: the new pod does not match the owners, or is bound elsewhere."),
        ("PodBoundReservation", N, "PodMigrationJob", "The new pod uses the Reservation.", "Nothing."),
        ("WaitForBoundPodReady", N, "PodMigrationJob", "The new pod runs and is not ready yet.", "If it lasts: look at the pod."),
        ("BoundPodReady", N, "PodMigrationJob", "The new pod is ready.", "Nothing."),
        ("Complete", N, "PodMigrationJob", "The migration succeeded.", "Nothing."),
        ("FailedCreateReservation", W, "PodMigrationJob", "The Reservation could not be created.", "Read the message; correct permissions or the template."),
        ("Unschedulable", W, "PodMigrationJob", "No node has the resources for the Reservation. The pod stays where it is.",
         "Nothing, or free resources on other nodes."),
        ("Timeout", W, "PodMigrationJob", "The job's ttl is over.", "Read in the message what it waited for; raise the ttl if that is normal."),
        ("ForbiddenMigratePod", W, "PodMigrationJob", "A rule forbids the migration, or another pod took the Reservation.",
         "Read the rule in the message: MigrationController's arguments, or the pod's owner."),
        ("MissingPod", W, "PodMigrationJob", "The pod of the job does not exist.", "Nothing."),
        ("MissingReservation", W, "PodMigrationJob", "The Reservation of the job was deleted.", "Find the user or controller that deletes Reservations."),
        ("GangCannotMove", W, "PodMigrationJob", "Other pods of its gang may not move, so the gang does not move.", "Read the rule in the message."),
        ("InvalidPodRef", W, "PodMigrationJob", "spec.podRef does not name a pod.", "Correct the job."),
        ("InvalidSpec", W, "PodMigrationJob", "Another field of the job is wrong.", "Correct the job."),
    ],
    "koordlet": [
        ("evictPodSuccess", W, "Pod", "koordlet killed or evicted the pod. The message names the feature, such as BEMemoryEvict.",
         "Nothing, if it is rare. Else lower what is offered as batch resources, or raise the threshold."),
        ("evictPodFail", W, "Pod", "The pod could neither be killed nor evicted.", "Read the message: PodDisruptionBudget, permissions, container runtime."),
    ],
    "koordctl": [
        ("SuccessfulCreate", N, "ReplicaSet, StatefulSet, DaemonSet, Job, CronJob", "The controller created a pod or a Job.", "Nothing."),
        ("SuccessfulDelete", N, "ReplicaSet, StatefulSet, DaemonSet, Job, CronJob", "The controller deleted a pod or a Job.", "Nothing."),
        ("FailedCreate", W, "ReplicaSet, StatefulSet, DaemonSet, Job, CronJob", "The API server refused a pod or a Job.", "Read the message."),
        ("ScalingReplicaSet", N, "Deployment", "The number of replicas of a ReplicaSet changed.", "Nothing."),
        ("ReplicaSetCreateError", W, "Deployment", "The API server refused the new ReplicaSet.", "Read the message."),
        ("FailedResourceClaimCreation", W, "Pod", "A ResourceClaim of the pod could not be created from its template.",
         "Read the message: it names the template, or why the API server refused the claim."),
        ("DeviceTaintManagerEviction", N, "Pod", "The pod uses a device with a NoExecute taint that its claim does not tolerate, and is deleted.",
         "Look at the taint in the ResourceSlice or DeviceTaintRule."),
        ("Pulling", N, "Pod", "The host node asks containerd to pull the image of a container.", "Nothing."),
        ("Pulled", N, "Pod", "The image of a container was pulled, or is already on the node. The message has the case.", "Nothing."),
        ("ErrImageNeverPull", W, "Pod", "The image is absent, and the container has `imagePullPolicy: Never`.",
         "Load the image: `koordctl image load`."),
        ("ImageNotPulled", N, "Pod", "The process runtime runs the container's command on the files of the host, without its image.",
         "Nothing. For images: `koordctl up --runtime=containerd`."),
        ("FailedToRetrieveImagePullSecret", W, "Pod", "A Secret of `imagePullSecrets` is absent or has no `.dockerconfigjson`.",
         "Create the Secret that the message names, of type `kubernetes.io/dockerconfigjson`."),
        ("PortConflict", W, "Pod", "Another pod of the host node has a container with the same port. Pods of this node share its network.",
         "Give the containers different ports, or run one of the pods at a time."),
        ("EnsuredLoadBalancer", N, "Service", "A Service of type LoadBalancer has its loopback address.", "Nothing."),
        ("FailedDaemonPod", W, "DaemonSet", "A pod failed and is replaced.", "Look at the pod's logs."),
        ("SucceededDaemonPod", N, "DaemonSet", "A pod ended and is replaced.", "Nothing."),
        ("Completed", N, "Job", "The Job is complete.", "Nothing."),
        ("Suspended", N, "Job", "The Job was suspended.", "Nothing."),
        ("Resumed", N, "Job", "The Job was resumed.", "Nothing."),
        ("BackoffLimitExceeded", W, "Job", "Too many pods failed.", "Look at the logs of the pods."),
        ("DeadlineExceeded", W, "Job", "The Job ran longer than activeDeadlineSeconds.", "Raise the deadline, or look at the pods."),
        ("PodFailurePolicy", W, "Job", "A rule of the pod failure policy failed the Job.", "Read the rule in the message."),
        ("FailedIndexes", W, "Job", "Indexes failed finally.", "Look at the pods of these indexes."),
        ("MaxFailedIndexesExceeded", W, "Job", "More indexes failed than maxFailedIndexes.", "Look at the pods of these indexes."),
        ("SawCompletedJob", N, "CronJob", "A Job of the CronJob ended.", "Nothing."),
        ("JobAlreadyActive", N, "CronJob", "No Job was started: the last one runs, and concurrencyPolicy is Forbid.", "Nothing."),
        ("TooManyMissedTimes", W, "CronJob", "More than 100 start times were missed.", "Set startingDeadlineSeconds."),
        ("UnknownTimeZone", W, "CronJob", "spec.timeZone is not known.", "Correct it."),
        ("UnparseableSchedule", W, "CronJob", "spec.schedule cannot be read.", "Correct it."),
        ("CalculateExpectedPodCountFailed", W, "PodDisruptionBudget", "The number of expected pods cannot be computed from the owners of the pods. No eviction is allowed.",
         "Read the message; use minAvailable as a number."),
        ("UnmanagedPods", W, "PodDisruptionBudget", "Some pods of the budget have no controller.", "Use minAvailable as a number."),
        ("NodeNotReady", N, "Node", "The node's kubelet stopped reporting.", "Look at the node."),
        ("TaintManagerEviction", N, "Pod", "The pod does not tolerate a NoExecute taint of its node and is deleted.", "Nothing."),
        ("WaitForFirstConsumer", N, "PersistentVolumeClaim", "The claim waits for a pod that uses it.", "Nothing."),
        ("FailedBinding", N, "PersistentVolumeClaim", "No volume fits, and the claim has no storage class.", "Create a volume, or set a class."),
        ("FailedBinding", W, "PersistentVolumeClaim, Pod", "The volume or claim that is named belongs to another object.", "Rename the claim."),
        ("VolumeMismatch", W, "PersistentVolumeClaim", "The volume that the claim names does not fit it.", "Read the message."),
        ("ClaimLost", W, "PersistentVolumeClaim", "The volume of the claim does not exist, or is bound to another claim.", "Create the claim again."),
        ("ClaimMisbound", W, "PersistentVolumeClaim", "The claim and its volume name different objects.", "Create the claim again."),
        ("ExternalProvisioning", N, "PersistentVolumeClaim", "The claim waits for the provisioner of its class.", "If it lasts: see that the provisioner runs."),
        ("Provisioning", N, "PersistentVolumeClaim", "The provisioner creates a volume.", "Nothing."),
        ("ProvisioningSucceeded", N, "PersistentVolumeClaim", "The provisioner created the volume.", "Nothing."),
        ("ProvisioningFailed", W, "PersistentVolumeClaim", "The provisioner cannot create a volume: the class does not exist, or the message has the reason.", "Read the message."),
        ("VolumeFailedDelete", W, "PersistentVolume", "The volume could not be deleted.", "Read the message."),
        ("VolumeFailedRecycle", W, "PersistentVolume", "The reclaim policy Recycle is not supported.", "Use Delete or Retain."),
        ("Started", N, "Pod", "A container was started.", "Nothing."),
        ("Killing", N, "Pod", "A container is being stopped.", "Nothing; after a failed probe look at the container."),
        ("Failed", W, "Pod", "A container could not be started.", "Read the message: image, command, runtime."),
        ("FailedMount", W, "Pod", "A volume of the pod is not available.", "Create the ConfigMap, Secret or claim that the message names."),
        ("FailedCreatePodSandBox", W, "Pod", "The host node cannot satisfy the pod, for example because its host port is in use.", "Read the message."),
        ("FailedPostStartHook", W, "Pod", "The postStart hook failed. The container is stopped.", "Read the message."),
        ("FailedPreStopHook", W, "Pod", "The preStop hook failed. The container is stopped anyway.", "Read the message."),
        ("PodOSNotSupported", W, "Pod", "The pod is for another operating system.", "Correct spec.os."),
        ("SysctlForbidden", W, "Pod", "The pod sets a kernel parameter that is not allowed.", "Remove it."),
        ("Unhealthy", W, "Pod", "A probe failed.", "Look at the container."),
        ("ProbeWarning", W, "Pod", "The response to a probe is neither success nor failure, such as a redirect to another host.", "Correct the probe's path."),
    ],
}
EVENTS = [Event(program, *row) for program, rows in TABLE.items() for row in rows]

# Reasons in variables: {(file, expression): (reasons)}.
VARIABLES = {
    ("src/descheduler/migration/reconciler.cc", "outcome.reason()"): (
        "Timeout", "FailedCreateReservation", "ForbiddenMigratePod", "MissingPod", "MissingReservation", "GangCannotMove",
        "InvalidPodRef", "InvalidSpec"),
    ("src/descheduler/migration/arbitrator.cc", "reason"): ("ForbiddenMigratePod", "GangCannotMove"),
    ("src/scheduler/plugins/elasticquota/controller.cc", "note.reason"): ("QuotaDeletedInUse",),
    ("src/manager/common/config_watcher.cc", "problem.reason"): (
        "ColocationCfgUnmarshalFailed", "SLOCfgUnmarshalFailed", "CPUNormalizationCfgUnmarshalFailed",
        "ResourceAmplificationCfgUnmarshalFailed"),
    ("src/cluster/controllers/job.cc", "condition.reason"): (
        "BackoffLimitExceeded", "DeadlineExceeded", "PodFailurePolicy", "FailedIndexes", "MaxFailedIndexesExceeded"),
    ("src/cluster/controllers/volumes/volume_binder.cc", "reason"): ("ClaimLost", "ClaimMisbound"),
    ("src/cluster/hostnode/host_node.cc", "reason"): ("Unhealthy", "ProbeWarning"),
    ("src/cluster/hostnode/host_node.cc", "refusal.reason"): ("PodOSNotSupported", "SysctlForbidden"),
}
# Functions that pass the type and the reason of their callers on.
WRAPPERS = {
    "src/kube/events.cc", "src/kube/events.h", "src/descheduler/migration/writer.cc", "src/scheduler/core/failure.cc",
    "src/scheduler/plugins/coscheduling/pod_group_controller.cc", "src/cluster/controllers/cron_job.cc",
    "src/cluster/controllers/volumes/volume_binder.cc"}

TYPE = re.compile(r'"(Normal|Warning)",\s*')
CONSTANT = re.compile(r'constexpr\s+(?:const char\*|std::string_view)\s+(k\w+)\s*=\s*"(\w+)"')
WRITES = re.compile(r"\bevents?(?:_|\(\))?\s*(?:\.|->)\s*record\(")


def argument_at(text, start):
    """The argument of a call that begins at `start`: up to the comma or parenthesis that ends it."""
    depth, quoted = 0, False
    for end in range(start, len(text)):
        char = text[end]
        if char == '"' and text[end - 1] != "\\":
            quoted = not quoted
        elif quoted:
            continue
        elif char in "([{":
            depth += 1
        elif char in ")]}" or (char == "," and depth == 0):
            if depth == 0:
                return " ".join(text[start:end].split())
            depth -= 1
    return text[start:]


def reasons_of(path, expression, constants):
    """The reasons that an expression can be; None if it is a variable that VARIABLES does not have."""
    literals = re.findall(r'"([\w-]+)"', expression)
    if literals:
        return literals
    if (path, expression) in VARIABLES:
        return list(VARIABLES[path, expression])
    name = expression.split("::")[-1]
    values = constants.get(name, set())
    return sorted(values) if len(values) == 1 else None


def compare(files):
    """Compares EVENTS with the sources [(path, text)]. Returns (problems, {(reason, type): {programs}})."""
    problems, found, constants, words = [], {}, {}, set()
    for path, text in files:
        words.update(re.findall(r'"([\w-]+)"', text))
        if path.startswith(tuple(PROGRAMS.values())):
            for name, value in CONSTANT.findall(text):
                constants.setdefault(name, set()).add(value)
    for path, text in files:
        program = next((name for name, folder in PROGRAMS.items() if path.startswith(folder)), None)
        if program is None:
            continue
        literal_types = 0
        for match in TYPE.finditer(text):
            literal_types += 1
            expression = argument_at(text, match.end())
            reasons = reasons_of(path, expression, constants)
            if reasons is None:
                problems.append(f"{path}: reason `{expression}` of an event is not known; see VARIABLES in scripts/event_help.py")
            for reason in reasons or ():
                found.setdefault((program, reason, match.group(1)), set()).add(path)
        calls = len(WRITES.findall(text))
        if calls > literal_types and path not in WRAPPERS:
            problems.append(f"{path}: {calls} events are written, {literal_types} types are literals; see scripts/event_help.py")
    problems += [f"{path}: VARIABLES in scripts/event_help.py names {reason}, and no source does"
                 for (path, _), reasons in VARIABLES.items() for reason in reasons if reason not in words]
    explained = {(event.program, event.reason, event.type) for event in EVENTS}
    problems += [f"event {reason} ({type_}) of {program} has no entry in scripts/event_help.py; {', '.join(sorted(found[key]))}"
                 for key in sorted(found) if key not in explained for program, reason, type_ in [key]]
    problems += [f"scripts/event_help.py explains the event {reason} ({type_}) of {program}, which no source writes"
                 for program, reason, type_ in sorted(explained - set(found))]
    return problems, found
