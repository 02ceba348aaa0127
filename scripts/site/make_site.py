#!/usr/bin/env python3
"""make_site.py TOOL SITE - writes the documentation as a static site into the folder SITE.

docs/index.md orders the pages: its sections and links are the menu. To them come the C API
(header_api.py, from include/), the commands (the man pages that TOOL writes) and, when
build/web/index.html is there, the browser page at play/. Pandoc turns Markdown into HTML with
GitHub's rules. The pages need no server and no network: search reads a script, not a request.

A link to a file of the tree that is no page leads to a page with its text below source/. A link to
nothing, and a page of docs/ that index.md does not name, are errors."""
import concurrent.futures
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import header_api

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
PICTURES = {".png", ".svg", ".jpg"}
HEADERS = {"include/ssm2d.h": "api-layer.html", "include/ssm2d_model.h": "api-model.html"}
# What index.md cannot link to, because only the site has it: in which section it is listed.
GENERATED = {"Use it": [("Commands", "commands.html"), ("C API: layers", "api-layer.html"),
                        ("C API: trained models", "api-model.html")]}


def fail(line):
    sys.exit(f"make_site.py: {line}")


def pandoc(text, reader):
    done = subprocess.run(["pandoc", "-f", reader, "-t", "html5", "--wrap=none"], text=True,
                          input=text, capture_output=True)
    if done.returncode:
        fail(f"pandoc: {done.stderr.strip()}")
    return done.stdout


def plain(markup):
    return html.unescape(re.sub(r"<[^>]+>", "", markup)).strip()


class Page:
    """One file of the site: its body is HTML whose links are already those of the site."""

    def __init__(self, path, title, body, searched=True):
        self.path, self.title, self.body, self.searched = path, title, body, searched

    def sections(self):
        """(anchor, heading, text) of every part of the page, for the search."""
        parts = re.split(r'(<h[1-3][^>]*>.*?</h[1-3]>)', self.body, flags=re.S)
        yield "", self.title, plain(parts[0])
        for heading, text in zip(parts[1::2], parts[2::2]):
            anchor = re.search(r'id="([^"]*)"', heading)
            yield anchor.group(1) if anchor else "", plain(heading), plain(text)


class Site:
    def __init__(self, tool, out):
        self.tool, self.out = tool, out
        self.pages, self.sources = {}, set()
        self.menu = [("Try it", [("In your browser", "play/index.html")])] if PLAY else []
        self.targets = dict(HEADERS)  # where the pages of the tree are in the site
        self.read_index()

    def read_index(self):
        listed = {"docs/index.md"}
        section = None
        for line in (ROOT / "docs/index.md").read_text().splitlines():
            if line.startswith("## "):
                section = line[3:]
                self.menu.append((section, []))
            found = re.match(r"- \[([^\]]+)\]\(([^)#]+)\)", line)
            if found and section:
                path = os.path.normpath(f"docs/{found.group(2)}")
                name = pathlib.Path(path).stem.lower()
                self.targets[path] = f"{name}.html"
                self.menu[-1][1].append((found.group(1), self.targets[path]))
                listed.add(path)
            if line == "" and self.menu and self.menu[-1][1]:
                self.menu[-1][1].extend(GENERATED.pop(section, []))
        if GENERATED:
            fail(f"docs/index.md has no section '{next(iter(GENERATED))}'")
        self.targets["docs/index.md"] = "index.html"
        self.listed = listed
        for path in sorted(ROOT.glob("docs/*.md")):
            if f"docs/{path.name}" not in listed:
                fail(f"docs/{path.name} is not in docs/index.md")

    def link(self, target, page, origin):
        """The link of a page of the site for a link in a document, both relative."""
        if re.match(r"[a-z][a-z0-9+.-]*:|#", target):
            return target
        target, mark, anchor = target.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(origin), target))
        if not (ROOT / path).exists():
            fail(f"{origin}: there is no {target}")
        if path in self.targets:
            place = self.targets[path]
        elif pathlib.Path(path).suffix in PICTURES:
            place = f"pictures/{pathlib.Path(path).name}"
            (self.out / "pictures").mkdir(exist_ok=True)
            shutil.copy(ROOT / path, self.out / place)
        else:
            self.sources.add(path)
            place = f"source/{path}.html"
        return os.path.relpath(place, os.path.dirname(page) or ".") + mark + anchor

    def relink(self, body, page, origin):
        return re.sub(r'((?:href|src)=")([^"]*)"',
                      lambda m: f'{m.group(1)}{self.link(m.group(2), page, origin)}"', body)

    def add(self, page):
        if page.path in self.pages:
            fail(f"two pages are named {page.path}")
        self.pages[page.path] = page

    def add_documents(self):
        def convert(path):
            return path, pandoc((ROOT / path).read_text(), "gfm")
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for path, body in pool.map(convert, sorted(self.listed)):
                target = self.targets[path]
                title = re.search(r"<h1[^>]*>(.*?)</h1>", body, re.S)
                if not title:
                    fail(f"{path}: has no title")
                body = self.relink(body, target, path)
                self.add(Page(target, plain(title.group(1)), body))

    def add_api(self):
        known = {path: header_api.names(ROOT / path) for path in HEADERS}
        links = {name: f"{HEADERS[path]}#{anchor}" for path in HEADERS
                 for name, anchor in known[path].items()}
        for path, target in HEADERS.items():
            title = f"C API: {pathlib.Path(path).name}"
            body = header_api.page(ROOT / path, title, links)
            body = re.sub(r"\bdocs/[\w-]+\.md\b", lambda m: '<a href="{}">{}</a>'.format(
                self.link(f"../{m.group()}", target, path), m.group()), body)
            self.add(Page(target, title, body))

    def add_commands(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([self.tool, "--generate", "man", folder], check=True)
            manuals = {path.stem: path.read_text() for path in pathlib.Path(folder).glob("*.1")}
        names = sorted(manuals, key=lambda name: (name.count("-") > 0, name))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            bodies = dict(zip(names, pool.map(lambda name: pandoc(manuals[name], "man"), names)))
        rows = []
        for name in names:
            about = re.search(r"<h1>NAME</h1>\s*<p>[^ ]+\s+-\s+(.*?)</p>", bodies[name], re.S)
            if not about:
                fail(f"the man page {name} has no NAME")
            command = name.replace("-", " ")
            body = re.sub(r"(<pre><code>|\n)  (?=\S)", r"\1", bodies[name][about.end():])
            # Headings of man pages are capitals, one level too high.
            body = re.sub(r"<h1>(.*?)</h1>", lambda m: "<h2 id=\"{}\">{}</h2>".format(
                re.sub(r"[^a-z]+", "-", plain(m.group(1)).lower()),
                m.group(1).capitalize()), body, flags=re.S)
            body = re.sub(r"<strong>(ssm2d(?:-[a-z0-9]+)*)</strong>\(1\)",
                          lambda m: f'<a href="{m.group(1)}.html">'
                                    f'{m.group(1).replace("-", " ")}</a>', body)
            line = plain(about.group(1))
            self.add(Page(f"help/{name}.html", command,
                          f"<h1>{command}</h1>\n<p>{html.escape(line).capitalize()}.</p>\n{body}"))
            rows.append(f'<tr><td><a href="help/{name}.html"><code>{command}</code></a></td>'
                        f"<td>{html.escape(line)}</td></tr>")
        self.add(Page("commands.html", "Commands",
                      "<h1>Commands</h1>\n<p>Every command with its arguments and options, as "
                      "<code>ssm2d help COMMAND</code> and the man pages have them.</p>\n"
                      "<table><thead><tr><th>command</th><th>what it does</th></tr></thead><tbody>"
                      + "\n".join(rows) + "</tbody></table>"))

    def add_sources(self):
        """Pages for the files that documents link to, and for the files of linked folders."""
        todo = sorted(self.sources)
        done = set()
        while todo:
            path = todo.pop()
            if path in done:
                continue
            done.add(path)
            title = f"<h1><code>{html.escape(path)}</code></h1>\n"
            if (ROOT / path).is_dir():
                files = sorted(f for f in (ROOT / path).iterdir() if f.is_file())
                todo.extend(f"{path}/{f.name}" for f in files if f.suffix not in PICTURES)
                items = "".join(f'<li><a href="{pathlib.Path(path).name}/{f.name}.html">'
                                f"{f.name}</a></li>" for f in files if f.suffix not in PICTURES)
                body = f"{title}<ul>{items}</ul>"
            else:
                text = (ROOT / path).read_text()
                kind = {".c": "c", ".h": "c", ".py": "python", ".sh": "bash", ".json": "json"}.get(
                    pathlib.Path(path).suffix, "")
                fence = "`" * 8
                body = title + pandoc(f"{fence}{kind}\n{text}\n{fence}\n", "gfm")
            self.add(Page(f"source/{path}.html", path, body, searched=False))

    def write(self):
        template = (HERE / "page.html").read_text()
        version = re.search(r'SSM2D_VERSION +"(.*?)"', (ROOT / "include/ssm2d.h").read_text())
        order = ["index.html"] + [to for _, items in self.menu for _, to in items]
        index = []
        for page in self.pages.values():
            up = "../" * page.path.count("/")
            file = self.out / page.path
            file.parent.mkdir(parents=True, exist_ok=True)
            values = {"title": html.escape(page.title), "up": up, "body": page.body,
                      "version": version.group(1), "menu": self.menu_of(page, up),
                      "contents": contents_of(page), "turn": self.turn_of(page, order, up)}
            file.write_text(re.sub(r"\$\{(\w+)\}", lambda m: values[m.group(1)], template))
            if page.searched:
                index.extend([page.path + (f"#{anchor}" if anchor else ""), page.title, heading,
                              " ".join(text.split())]
                             for anchor, heading, text in page.sections() if text or anchor)
        (self.out / "search-index.js").write_text(
            "window.searchIndex = " + json.dumps(index, ensure_ascii=False) + ";\n")
        for name in ("site.css", "site.js"):
            shutil.copy(HERE / name, self.out / name)
        if PLAY:
            shutil.copytree(ROOT / "build/web", self.out / "play")

    def menu_of(self, page, up):
        lines = []
        for section, items in self.menu:
            lines.append(f"<h2>{html.escape(section)}</h2>\n<ul>")
            for label, to in items:
                here = ' aria-current="page"' if to == page.path else ""
                here = here or (' class="inside"' if to == "commands.html"
                                and page.path.startswith("help/") else "")
                lines.append(f'<li><a href="{up}{to}"{here}>{html.escape(label)}</a></li>')
            lines.append("</ul>")
        return "\n".join(lines)

    def turn_of(self, page, order, up):
        if page.path not in order:
            return ""
        at = order.index(page.path)
        links = []
        for place, word, to in (("before", "←", at - 1), ("after", "→", at + 1)):
            if 0 <= to < len(order) and order[to] in self.pages:
                other = self.pages[order[to]]
                text = f"{word} {other.title}" if word == "←" else f"{other.title} {word}"
                links.append(f'<a class="{place}" href="{up}{other.path}">{html.escape(text)}</a>')
        return f'<nav class="turn" aria-label="Pages in order">{"".join(links)}</nav>'


def contents_of(page):
    """The list of a page's parts."""
    parts = re.findall(r'<h2[^>]*id="([^"]*)"[^>]*>(.*?)</h2>', page.body, re.S)
    if len(parts) < 2:
        return ""
    items = "".join(f'<li><a href="#{anchor}">{html.escape(plain(text))}</a></li>'
                    for anchor, text in parts)
    return ('<nav class="contents" aria-label="On this page"><h2>On this page</h2>'
            f"<ul>{items}</ul></nav>")


def main():
    tool, out = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    if not tool.is_file():
        fail(f"{tool} is not there: build it first (make build)")
    if out.exists() and any(out.iterdir()):
        if not (out / "search-index.js").exists():
            fail(f"{out} is not empty and holds no site: remove it or name another folder")
    out.parent.mkdir(parents=True, exist_ok=True)
    # The site appears complete or not at all.
    with tempfile.TemporaryDirectory(prefix=out.name, dir=out.parent) as folder:
        site = Site(tool, pathlib.Path(folder, "site"))
        site.out.mkdir()
        site.add_documents()
        site.add_api()
        site.add_commands()
        site.add_sources()
        site.write()
        if out.exists():
            shutil.rmtree(out)
        site.out.rename(out)
    print(f"{len(site.pages)} pages: open {out}/index.html")


PLAY = (ROOT / "build/web/index.html").exists()

if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n")[0])
    main()
