"""A terminal that a test drives: a pane of a tmux server of its own."""

import os
import shutil
import subprocess
import tempfile

from waiting import Failure, check, wait_until


def available():
    return shutil.which("tmux") is not None


class Pane:
    """A shell in a terminal of the given size. The shell's prompt is `ready> `."""

    def __init__(self, rows, columns, environment=None):
        self.folder = tempfile.mkdtemp(prefix="tmux-")
        self.rows, self.columns = rows, columns
        # The words in which a locale says UTF-8 must not matter.
        environment = {**os.environ, **(environment or {}), "LC_ALL": "C"}
        environment.pop("TMUX", None)
        self.environment = environment
        self.tmux("-u", "-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows),
                  "exec env 'PS1=ready> ' bash --norc --noprofile -i")
        self.tmux("set-option", "-g", "status", "off")
        self.tmux("set-option", "-g", "remain-on-exit", "off")
        self.resize(rows, columns)

    def __enter__(self):
        try:
            self.until("the prompt", lambda text: "ready>" in text)
        except Failure:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def tmux(self, *arguments, expected=0):
        done = subprocess.run(["tmux", "-S", os.path.join(self.folder, "socket"), *arguments], env=self.environment,
                              capture_output=True, text=True, timeout=30, check=False)
        check(expected in (None, done.returncode), f"tmux {arguments}: {done.stderr}")
        return done.stdout

    def close(self):
        """Ends the terminal, as closing its window does."""
        self.tmux("kill-server", expected=None)

    def run(self, command):
        self.tmux("send-keys", "-l", command)
        self.press("Enter")

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def press(self, *keys):
        """Keys by tmux's names: Enter, Escape, Down, C-c."""
        self.tmux("send-keys", *keys)

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def text(self):
        return self.tmux("capture-pane", "-p")

    def shows(self, what):
        return self.tmux("display-message", "-p", "#{" + what + "}").strip()

    def until(self, what, condition, limit=30.0):
        """Waits until condition(text of the screen) is true, and returns the text."""
        last = ""

        def look():
            nonlocal last
            last = self.text()
            return condition(last)

        try:
            wait_until(what, look, limit)
        except Exception as error:
            raise type(error)(f"{error}\n{last}") from error
        return last

    def expect(self, *words, limit=30.0):
        return self.until(f"the screen shows {words}", lambda text: all(word in text for word in words), limit)

    def check_restored(self):
        """The terminal is as before: a prompt on the normal screen, with echo, cursor and whole lines."""
        self.until("the prompt is back", lambda text: text.rstrip().endswith("ready>"))
        check(self.shows("alternate_on") == "0", "the alternate screen is still there")
        check(self.shows("cursor_flag") == "1", "the cursor is still hidden")
        self.run("stty -a | tr ' ;' '\\n\\n' | grep -xE -- '-?(icanon|echo|icrnl|opost)' | tr '\\n' '.'; stty | grep -c susp")
        self.expect("icrnl.opost.icanon.echo.")
