"""Extenders that judge by names, so that they say the same of the same pod and node to whoever asks."""

import http.server
import json
import threading
import zlib


def judge(*names):
    return zlib.crc32("/".join(names).encode())


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        extender, verb = self.path.strip("/").split("/")
        answer = getattr(self, verb)(extender, question)
        text = json.dumps(answer).encode()
        self.send_response(500 if answer is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass

    @staticmethod
    def of(extender, question):
        """The pod's name, the names of nodes, and the nodes where they were sent."""
        pod = question["Pod"]["metadata"]["name"]
        if question.get("NodeNames") is not None:
            return pod, question["NodeNames"], None
        nodes = {node["metadata"]["name"]: node for node in question["Nodes"]["items"] or []}
        return pod, list(nodes), nodes

    def filter(self, extender, question):
        pod, names, nodes = self.of(extender, question)
        if judge(extender, pod) % 10 == 0:
            return {"Error": "not today"}
        verdicts = {name: judge(extender, pod, name) % 8 for name in names}
        passed = [name for name in names if verdicts[name] > 1]
        answer = {"FailedNodes": {name: "no room" for name in names if verdicts[name] == 0},
                  "FailedAndUnresolvableNodes": {name: "never" for name in names if verdicts[name] == 1}}
        return {**answer, **({"NodeNames": passed} if nodes is None else {"Nodes": {"items": [nodes[name] for name in passed]}})}

    def prioritize(self, extender, question):
        pod, names, _ = self.of(extender, question)
        if judge(extender, pod, "scores") % 10 == 0:
            return None
        return [{"Host": name, "Score": judge(extender, pod, name, "score") % 11} for name in names]

    def preempt(self, extender, question):
        """Keeps the candidates whose name it likes, with all their victims."""
        pod = question["Pod"]["metadata"]["name"]
        victims = question.get("NodeNameToMetaVictims")
        if victims is None:
            victims = {node: {"Pods": [{"UID": p["metadata"]["uid"]} for p in v["Pods"]], "NumPDBViolations": v.get("NumPDBViolations", 0)}
                       for node, v in question["NodeNameToVictims"].items()}
        return {"NodeNameToMetaVictims": {node: v for node, v in victims.items() if judge(extender, pod, node, "preempt") % 4}}


def serve(port):
    """Answers on the port from now on; the extenders for a scheduler's configuration."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/"
    return [{"urlPrefix": url + "names", "filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 2, "nodeCacheCapable": True,
             "preemptVerb": "preempt"},
            # Without a filter: of nodes that come back as objects kube-scheduler forgets the pods, and scores them as empty.
            {"urlPrefix": url + "nodes", "prioritizeVerb": "prioritize", "weight": 1, "ignorable": True,
             "preemptVerb": "preempt"},
            {"urlPrefix": url + "gpus", "filterVerb": "filter", "nodeCacheCapable": True,
             "managedResources": [{"name": "example.com/gpu", "ignoredByScheduler": True}]}]
