"""An interactive bash, zsh or fish on a terminal, to test completion as a user sees it."""

import fcntl
import os
import pty
import select
import shutil
import subprocess
import termios
import time

from waiting import Failure

PROMPT = "ready> "
LIMIT_S = 30

# Each shell loads the script of `koordctl completion` as its documentation says.
FILES = {
    "bash": ("bashrc", f"PS1='{PROMPT}'\nbind 'set enable-bracketed-paste off'\nsource <(koordctl completion bash)\n"),
    "zsh": (".zshrc", f"PS1='{PROMPT}'\nunsetopt zle_bracketed_paste 2>/dev/null\nautoload -U compinit\ncompinit -u -D\n"
                      "source <(koordctl completion zsh)\n"),
    "fish": ("fish/config.fish", f"function fish_prompt; echo -n '{PROMPT}'; end\nfunction fish_greeting; end\n"
                                 "koordctl completion fish | source\n"),
}


def wrapper(folder, koordctl):
    """A koordctl in a folder of its own that completes, and prints other command lines instead of running them."""
    folder = os.path.join(folder, "bin")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "koordctl")
    with open(path, "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\ncase "$1" in __complete|completion) exec "' + koordctl + '" "$@";; esac\n'
                   'printf "ran"; for word; do printf " [%s]" "$word"; done; echo\n')
    os.chmod(path, 0o755)
    return folder


class Shell:
    """A shell whose PATH begins with `programs`."""

    def __init__(self, name, folder, programs, environment, user=None):
        self.name = name
        rc, text = FILES[name]
        rc = os.path.join(folder, rc)
        os.makedirs(os.path.dirname(rc), exist_ok=True)
        with open(rc, "w", encoding="utf-8") as file:
            file.write(text)
        for path in (os.path.dirname(rc), rc):
            os.chmod(path, 0o755)
        arguments = {"bash": ["--rcfile", rc, "-i"], "zsh": ["-i"], "fish": ["-i"]}[name]
        environment = {**environment, "PATH": programs + ":" + environment["PATH"], "TERM": "xterm", "ZDOTDIR": folder,
                       "XDG_CONFIG_HOME": folder, "XDG_DATA_HOME": folder + "/share", "COLUMNS": "200"}
        self.seen = ""
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen([shutil.which(name), *arguments], stdin=slave, stdout=slave, stderr=slave,
                                        env=environment, cwd=folder, user=user, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        self.expect(PROMPT)

    def expect(self, text):
        """Reads until the shell prints the text, and returns all from there on."""
        deadline = time.monotonic() + LIMIT_S
        while text not in self.seen:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.master], [], [], left)[0]:
                raise Failure(f"{self.name}: {text!r} did not come within {LIMIT_S} s: {self.seen!r}")
            try:
                self.seen += os.read(self.master, 65536).decode(errors="replace")
            except OSError as error:
                raise Failure(f"{self.name} ended before {text!r}: {self.seen!r}") from error
        _, _, self.seen = self.seen.partition(text)

    def run(self, keys, expected):
        """Types the keys and Enter; the wrapper must print the expected command line."""
        os.write(self.master, (keys + "\r").encode())
        self.expect("ran " + expected)
        self.expect(PROMPT)

    def end(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)
