#!/usr/bin/env python3
"""Builds the site of the documentation with MkDocs.

    make-docs.py [--out build/docs] [--check]

README.md, CONTRIBUTING.md and all pages of docs/, src/ and examples/ are copied into a folder beside the output, with
every file that they link to, at the same relative path, so links are the same in the repository and in the site. A
folder that is linked to becomes a page with its files. Dead links, dead anchors and names of sources that do not exist
(`kube/api.h`) are errors; --check stops after this.
Mermaid draws its blocks in the browser; its script comes from npm, once, into the build folder.
"""

import argparse
import hashlib
import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
import tarfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MERMAID = "mermaid-10.9.3.tgz"
MERMAID_SHA256 = "d9458cd3744b9f30ebafd6afb07e075fe1def8a4d1dba486c9a4c518143692b3"
START = """
document.addEventListener("DOMContentLoaded", function () {
  document.querySelectorAll("code.language-mermaid, pre.mermaid > code").forEach(function (code) {
    var picture = document.createElement("pre");
    picture.className = "mermaid";
    picture.textContent = code.textContent;
    code.parentNode.replaceWith(picture);
  });
  mermaid.initialize({ startOnLoad: false, theme: "neutral" });
  mermaid.run();
});
"""
STYLE = """
.wy-nav-content { max-width: 1400px; }
.rst-content table { margin-bottom: 24px; }
.rst-content table td, .rst-content table th { padding: 4px 10px; vertical-align: top; white-space: normal;
  font-size: 90%; }
.rst-content td code { white-space: normal; overflow-wrap: anywhere; }
.rst-content td:first-child code { white-space: nowrap; }
.rst-content td:last-child:not(:first-child) { min-width: 200px; }
pre.mermaid { background: none; border: none; text-align: center; }
"""
# Pages of docs/ that come first, in this order; the others follow by name.
FIRST = ["concepts.md", "install.md", "one-machine.md", "host-node.md", "scheduler-configuration.md", "observability.md", "upgrade.md",
         "performance.md"]
FOLDERS = ["docs", "src", "examples"]  # whose pages are in the site even if no page links to them
SECTIONS = [("Features", "docs/features"), ("Operation", "docs/operate"), ("Reference", "docs/reference"),
            ("Extension", "docs/extend")]

LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^\s*```")
# A source in backticks, with at least one folder: `kube/api.h`, `tests/docs/page.py`.
SOURCE = re.compile(r"`((?:[\w-]+/)+[\w-]+\.(?:h|cc|py))`")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def outside_code(text):
    """Yields (line, whether it is prose) for every line of a page."""
    fenced = False
    for line in text.split("\n"):
        if FENCE.match(line):
            fenced = not fenced
            yield line, False
        else:
            yield line, not fenced


def slug(heading):
    """The anchor of a heading, as Python-Markdown and GitHub make it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    text = re.sub(r"[^\w\s-]", "", text).strip().lower()
    return re.sub(r"\s", "-", text)


def anchors_of(text):
    found = {}
    for line, prose in outside_code(text):
        match = HEADING.match(line) if prose else None
        if match:
            name = slug(match.group(1))
            found[name] = found.get(name, -1) + 1
    return {name if i == 0 else f"{name}-{i}" for name, count in found.items() for i in range(count + 1)}


class Site:
    """The pages and files of the site: {path in the repository: text, or None for a file that is copied}."""

    def __init__(self):
        self.files, self.problems = {}, []
        names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
        self.sources = [f"/{name}" for name in names if name.endswith((".h", ".cc", ".py"))]

    def add(self, path):
        if path in self.files:
            return
        if not path.endswith(".md"):
            self.files[path] = None
            return
        self.files[path] = ""  # links may lead back here
        text = read(path)
        self.check_pictures(path, text)
        self.check_sources(path, text)
        lines = []
        for line, prose in outside_code(text):
            lines.append(LINK.sub(lambda match: self.link(path, match), line) if prose else line)
        self.files[path] = "\n".join(lines)

    def check_pictures(self, path, text):
        for block in re.findall(r"```mermaid\nsequenceDiagram\n(.*?)```", text, re.DOTALL):
            for line in block.split("\n"):
                if ";" in line:
                    self.problems.append(f"{path}: Mermaid ends a message at a semicolon: {line.strip()}")

    def check_sources(self, path, text):
        for line, prose in outside_code(text):
            for name in SOURCE.findall(line) if prose else ():
                if not any(source.endswith(f"/{name}") for source in self.sources):
                    self.problems.append(f"{path}: there is no source {name}")

    def link(self, page, match):
        before, target, after = match.groups()
        if re.match(r"[a-z][a-z+.-]*:", target):
            return match.group(0)
        name, _, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), name)) if name else page
        whole = os.path.join(ROOT, path)
        if path.startswith("..") or not os.path.exists(whole):
            self.problems.append(f"{page}: {target} does not exist")
            return match.group(0)
        if os.path.isdir(whole):
            path = self.folder(path)
            name = posixpath.relpath(path, posixpath.dirname(page) or ".")
        else:
            self.add(path)
        if anchor and path.endswith(".md") and anchor not in anchors_of(self.text_of(path)):
            self.problems.append(f"{page}: {target}: there is no heading of that name")
        return f"{before}{name}{'#' + anchor if anchor else ''}{after}"

    def text_of(self, path):
        return self.files.get(path) or read(path)

    def folder(self, path):
        """The page of a folder: its README.md, or one with its files."""
        readme = posixpath.join(path, "README.md")
        if os.path.exists(os.path.join(ROOT, readme)):
            self.add(readme)
            return readme
        page = posixpath.join(path, "index.md")
        names = subprocess.run(["git", "ls-files", "--", path], cwd=ROOT, capture_output=True, text=True, check=True)
        lines = [f"# {path}", ""]
        for name in names.stdout.split():
            language = {"yaml": "yaml", "sh": "sh", "json": "json"}.get(name.rpartition(".")[2], "")
            lines += [f"## {posixpath.relpath(name, path)}", "", f"```{language}", read(name).rstrip("\n"), "```", ""]
        self.files[page] = "\n".join(lines)
        return page

    def write(self, folder):
        shutil.rmtree(folder, ignore_errors=True)
        for path, text in self.files.items():
            target = os.path.join(folder, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if text is None:
                shutil.copyfile(os.path.join(ROOT, path), target)
            else:
                with open(target, "w", encoding="utf-8") as file:
                    file.write(text)


def navigation(site):
    """The menu: the first pages, the sections, and the pages beside the code."""
    pages = sorted(path for path in site.files if path.endswith(".md"))
    top = [path for path in pages if posixpath.dirname(path) == "docs"]
    first = [f"docs/{name}" for name in FIRST]
    menu = [{"Home": "README.md"}, {"Guide": first + [path for path in top if path not in first]}]
    taken = {"README.md", *top}
    for title, folder in SECTIONS:
        inside = [path for path in pages if path.startswith(folder + "/")]
        inside.sort(key=lambda path: (not path.endswith("README.md"), path))
        if inside:
            menu.append({title: inside})
        taken.update(inside)
    for title, folder in (("Subsystems", "src/"), ("Examples", "examples/")):
        inside = [path for path in pages if path.startswith(folder)]
        if inside:
            menu.append({title: inside})
        taken.update(inside)
    menu.append({"Development": [path for path in pages if path not in taken]})
    return menu


def mermaid(folder):
    """The text of mermaid.min.js; npm fetches the package once."""
    archive = os.path.join(folder, MERMAID)
    if not os.path.exists(archive):
        os.makedirs(folder, exist_ok=True)
        name, _, version = MERMAID.removesuffix(".tgz").rpartition("-")
        run = subprocess.run(["npm", "pack", "--silent", f"{name}@{version}"], cwd=folder, capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"npm pack {name}@{version}: {run.stderr.strip()}")
    with open(archive, "rb") as file:
        if hashlib.sha256(file.read()).hexdigest() != MERMAID_SHA256:
            sys.exit(f"{archive}: the checksum is wrong; delete it")
    with tarfile.open(archive) as tar:
        return tar.extractfile("package/dist/mermaid.min.js").read().decode()


def configuration(site, staging, out):
    """mkdocs.yml; JSON is YAML."""
    return json.dumps({
        "site_name": "Koordinator", "docs_dir": staging, "site_dir": out, "use_directory_urls": False, "strict": True,
        # Highlighting would load a script from another server.
        "theme": {"name": "readthedocs", "highlightjs": False, "navigation_depth": 2, "titles_only": True},
        "plugins": ["search"], "nav": navigation(site), "extra_css": ["assets/site.css"],
        "extra_javascript": ["assets/mermaid.min.js", "assets/start.js"],
        "markdown_extensions": ["tables", "fenced_code", {"toc": {"permalink": True}}]}, indent=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=os.path.join(ROOT, "build", "docs"))
    parser.add_argument("--check", action="store_true", help="only look for dead links")
    options = parser.parse_args()
    site = Site()
    for top in FOLDERS:
        for folder, folders, names in os.walk(os.path.join(ROOT, top)):
            folders.sort()
            for name in sorted(names):
                if name.endswith(".md"):
                    site.add(os.path.relpath(os.path.join(folder, name), ROOT))
    for page in ("README.md", "CONTRIBUTING.md"):
        site.add(page)
    site.problems += [f"scripts/make-docs.py: FIRST names {name}, which docs/ does not have" for name in FIRST
                      if f"docs/{name}" not in site.files]
    if site.problems:
        sys.exit("\n".join(site.problems))
    if options.check:
        return
    out = os.path.abspath(options.out)
    work = out + "-work"
    staging = os.path.join(work, "pages")
    site.write(staging)
    assets = os.path.join(staging, "assets")
    os.makedirs(assets, exist_ok=True)
    for name, text in (("mermaid.min.js", mermaid(work)), ("start.js", START), ("site.css", STYLE)):
        with open(os.path.join(assets, name), "w", encoding="utf-8") as file:
            file.write(text)
    with open(os.path.join(work, "mkdocs.yml"), "w", encoding="utf-8") as file:
        file.write(configuration(site, staging, out))
    run = subprocess.run(["mkdocs", "build", "--quiet", "--clean", "--strict", "-f", os.path.join(work, "mkdocs.yml")])
    if run.returncode:
        sys.exit("mkdocs failed")
    print(f"the site is in {os.path.relpath(out, ROOT)}; to look at it: python3 -m http.server -d {os.path.relpath(out, ROOT)}")


if __name__ == "__main__":
    main()
