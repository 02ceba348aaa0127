"""The C API as HTML, from a header of include/.

The headers are written for this: a line `/* ---- name ---- */` begins a section; a comment belongs
to the declarations that follow it up to the next comment or empty line; one that an empty line
follows is text of its section; the first is the introduction."""
import html
import re


class Item:
    """A comment and the declarations that it explains; either may be empty."""

    def __init__(self, comment):
        self.comment, self.code = comment, []

    def names(self):
        """What is declared: functions, types and constants."""
        found = []
        for code in self.code:
            bare = re.sub(r"/\*.*?\*/", "", code, flags=re.S)
            function = re.match(r"[^({]*?\b(ssm2d_\w+)\(", bare)
            if function:
                found.append(function.group(1))
            elif bare.startswith(("typedef", "enum", "struct")):
                typedef = re.search(r"\b(\w+);\s*$", bare)
                found += [typedef.group(1)] if typedef and bare.startswith("typedef") else []
                if re.match(r"(typedef )?enum", bare):
                    found += re.findall(r"\b(SSM2D_\w+)", bare)
        return found


def text_of(comment):
    """The text of a C comment, without its marks."""
    lines = comment.strip()[2:-2].rstrip().split("\n")
    return "\n".join([lines[0].strip()] + [re.sub(r"^\s*\* ?", "", line) for line in lines[1:]])


def parse(path):
    """(introduction, [(section, [Item])]) of a header."""
    source = path.read_text()
    introduction, rest = re.match(r"\s*(/\*.*?\*/)(.*)", source, re.S).groups()
    sections, item = [], None
    lines = iter(rest.split("\n"))
    for line in lines:
        if line.startswith("/* ----"):
            name = re.match(r"/\* -+ (.*?) -+", line).group(1)
            sections.append((name, []))
            item = None
            if not line.endswith("*/"):
                comment = "/*"
                while not line.endswith("*/"):
                    line = next(lines)
                    comment += "\n" + line
                sections[-1][1].append(Item(text_of(comment)))
        elif not sections or line.startswith(("#", '}', 'extern "C"')):
            while line.endswith("\\"):
                line = next(lines)
        elif not line.strip():
            item = None
        elif line.startswith("/*"):
            while not line.rstrip().endswith("*/"):
                line += "\n" + next(lines)
            item = Item(text_of(line))
            sections[-1][1].append(item)
        else:
            code = [line]
            while not complete("\n".join(code)):
                code.append(next(lines))
            if item is None:
                item = Item("")
                sections[-1][1].append(item)
            item.code.append(declaration("\n".join(code)))
    return text_of(introduction), sections


def complete(code):
    bare = re.sub(r"/\*.*?\*/", "", code, flags=re.S)
    if "/*" in bare or bare.count("{") != bare.count("}"):
        return False
    return bare.rstrip().endswith(("}" if bare.startswith("static inline") else ";"))


def declaration(code):
    """Without what only the compiler needs: export marks and bodies of inline functions."""
    if code.startswith("static inline"):
        code = code[len("static inline "):code.index("{")].rstrip() + ";"
    return code.replace("SSM2D_API ", "")


def names(path):
    """The anchor of every name that a header declares."""
    return {name: (item.names() or [""])[0]
            for _, items in parse(path)[1] for item in items for name in item.names()}


def link_names(markup, links):
    return re.sub(r"\b(ssm2d_\w+|SSM2D_\w+)\b",
                  lambda m: f'<a href="{links[m.group(1)]}">{m.group(1)}</a>'
                  if m.group(1) in links else m.group(1), markup)


def prose(text, links):
    """Paragraphs, and indented lines as code."""
    out = []
    for block in re.split(r"\n\s*\n", text):
        for is_code, lines in runs(block.split("\n")):
            body = "\n".join(line[4:] if is_code else line for line in lines)
            body = link_names(html.escape(body, quote=False), links)
            body = body if is_code else re.sub(r"`([^`]+)`", r"<code>\1</code>", body)
            out.append(f"<pre><code>{body}</code></pre>" if is_code else f"<p>{body}</p>")
    return "\n".join(out)


def runs(lines):
    """Neighbouring lines that are code (indented by four or more), and that are not."""
    found = []
    for line in lines:
        is_code = line.startswith("    ")
        if not found or found[-1][0] != is_code:
            found.append((is_code, []))
        found[-1][1].append(line)
    return found


def code_of(item, links):
    own = item.names()
    links = {name: link for name, link in links.items() if name not in own}
    code = link_names(html.escape("\n".join(item.code), quote=False), links)
    code = re.sub(r"/\*.*?\*/", r'<span class="co">\g<0></span>', code, flags=re.S)
    return f'<pre class="declaration"><code>{code}</code></pre>'


def page(path, title, links):
    introduction, sections = parse(path)
    introduction = introduction.partition(" - ")[2]
    out = [f"<h1>{title}</h1>", prose(introduction[:1].upper() + introduction[1:], links)]
    for section, items in sections:
        anchor = re.sub(r"[^a-z]+", "-", section.lower()).strip("-")
        out.append(f'<h2 id="section-{anchor}">{html.escape(section.capitalize())}</h2>')
        for item in items:
            declared = item.names()
            if declared:
                shown = [name for name in declared if name.islower()] or declared[:1]
                marks = "".join(f'<a id="{name}"></a>' for name in declared[1:])
                out.append(f'<h3 id="{declared[0]}">{marks}<code>{", ".join(shown)}</code></h3>')
            if item.code:
                out.append(code_of(item, links))
            if item.comment:
                out.append(prose(item.comment, links))
    return "\n".join(out)
