"""The kubectl programs of this machine, and one of them at a terminal."""

import fcntl
import glob
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import time

from waiting import Failure, check

LIMIT = 60
ROWS, COLUMNS = 41, 133


def kubectls():
    """Paths by minor version: kubectl itself, its neighbours kubectl.1.NN, and Debian's if another test has it."""
    folders = os.environ["PATH"].split(":")
    own = shutil.which("kubectl")
    if own:
        folders.append(os.path.dirname(os.path.realpath(own)))
    candidates = [own] if own else []
    for folder in folders:
        candidates += sorted(glob.glob(os.path.join(folder, "kubectl.1.*")))
    candidates += glob.glob("kubectl/root/usr/bin/kubectl")
    found = {}
    for path in candidates:
        text = subprocess.run([path, "version", "--client", "-o", "json"], capture_output=True, text=True,
                              check=False).stdout
        version = re.search(r'"gitVersion": "v(1\.\d+)', text)
        if version:
            found.setdefault(version.group(1), path)
    return found


class Client:
    """One kubectl with one of the two protocols."""

    def __init__(self, path, kubeconfig, websocket=True):
        self.base = [path, "--kubeconfig", kubeconfig]
        choice = "true" if websocket else "false"
        self.environment = dict(os.environ, KUBECTL_REMOTE_COMMAND_WEBSOCKETS=choice,
                                KUBECTL_PORT_FORWARD_WEBSOCKETS=choice)

    def run(self, *arguments, stdin=b"", expected=0):
        done = subprocess.run([*self.base, *arguments], input=stdin, capture_output=True, timeout=LIMIT,
                              env=self.environment, check=False)
        check(expected in (None, done.returncode),
              f"kubectl {' '.join(arguments)} ended with {done.returncode}, not {expected}: "
              f"{done.stderr!r} {done.stdout[:2000]!r}")
        return done

    def start(self, *arguments, **options):
        return subprocess.Popen([*self.base, *arguments], env=self.environment, **options)


class Terminal:
    """A kubectl whose standard streams are a terminal."""

    def __init__(self, client, *arguments):
        self.arguments = arguments
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.process = client.start(*arguments, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)
        self.text = ""
        self.all = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)

    def read(self):
        """Returns False at the end."""
        if not select.select([self.master], [], [], 0.2)[0]:
            return self.process.poll() is None
        try:
            piece = os.read(self.master, 4096).decode(errors="replace")
        except OSError:
            return False
        self.text += piece
        self.all += piece
        return piece != ""

    def expect(self, words):
        """Reads until the words come, which are gone then."""
        until = time.monotonic() + LIMIT
        while words not in self.text:
            if not self.read() or time.monotonic() > until:
                raise Failure(f"kubectl {' '.join(self.arguments)} did not print {words!r}: {self.all!r}")
        self.text = self.text[self.text.index(words) + len(words):]

    def type(self, text):
        os.write(self.master, text.encode())

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process.send_signal(signal.SIGWINCH)  # the terminal is not the one of kubectl's session

    def ends(self, expected=0):
        until = time.monotonic() + LIMIT
        while self.read() and time.monotonic() < until:
            pass
        status = self.process.wait(timeout=LIMIT)
        check(status == expected,
              f"kubectl {' '.join(self.arguments)} ended with {status}, not {expected}: {self.all!r}")
