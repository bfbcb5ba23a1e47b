"""koord-scheduler as a process, of whichever make, and what its log says of scores."""

import re
import subprocess
import time
import urllib.request

SCORES = re.compile(r"Top\d+ scores for Pod: (\S+),")
ROW = re.compile(r"^\| \d+ \| (\S+) \| (\S+) \| (-?\d+) \|")
BOUND = re.compile(r"bound pod (\S+) to (\S+) \(")
FINAL = re.compile(r'"Calculated node.s final score for pod".* pod="([^"]+)" node="([^"]+)" score=(-?\d+)')
ATTEMPT = re.compile(r'"Attempting to schedule pod".* pod="([^"]+)"')
TABLES = ("--v", "4", "--debug-scores", "20")
FINAL_SCORES = ("--v", "1", "--vmodule", "schedule_one=10")


class Process:
    """One koord-scheduler; both makes take the same flags. says: what it is to log."""

    def __init__(self, binary, config, port, log, says=TABLES):
        self.log = open(log, "wb")
        command = [binary, "--config", config, "--bind-address", "127.0.0.1", "--address", "127.0.0.1", "--port", str(port),
                   "--secure-port", "0", "--authentication-skip-lookup=true", *says]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT)
        end = time.monotonic() + 30
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5).close()
                break
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise SystemExit(f"{binary} does not start; its log: {log}") from None
                time.sleep(0.2)
        time.sleep(3)  # informers

    def check(self):
        """Ends this program if the scheduler has ended by itself: what was seen since then is no decision."""
        if self.process.poll() is not None:
            raise SystemExit(f"{self.process.args[0]} has ended by itself; its log: {self.log.name}")

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


def odd_choices(log):
    """Pods that the candidate put elsewhere than on a node with the highest score of those that it told of, with both."""
    scores, found = {}, []
    with open(log, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if told := SCORES.search(line):
                scores[told[1]] = {}
            elif row := ROW.match(line):
                scores.setdefault(row[1], {})[row[2]] = int(row[3])
            elif bound := BOUND.search(line):
                pod, node = bound.groups()
                if node in scores.get(pod, {}) and scores[pod][node] < max(scores[pod].values()):
                    found.append(f"{pod} is on {node}: {scores[pod]}")
    return found


def own_scores(log):
    """Of each pod's last attempt that came to scores: what this koord-scheduler gave each node that it told of."""
    scores = {}
    with open(log, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if told := SCORES.search(line):
                scores[told[1]] = {}
            elif row := ROW.match(line):
                scores.setdefault(row[1], {})[row[2]] = int(row[3])
    return scores


def reference_scores(log):
    """The same of upstream's, which logs FINAL_SCORES, and the pods of all its attempts in turn. Where one node fits there are no
    scores."""
    scores, attempts = {}, []
    with open(log, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if final := FINAL.search(line):
                scores.setdefault(final[1], {})[final[2]] = int(final[3])
            elif attempt := ATTEMPT.search(line):
                scores.pop(attempt[1], None)
                attempts.append(attempt[1])
    return scores, attempts
