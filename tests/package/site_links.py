"""site_links.py SITE - every link and picture of the site's pages is there, with its anchor; pages
load nothing from the network; and the search knows only pages and anchors that exist."""
import html.parser
import json
import os
import pathlib
import sys
import urllib.parse

SITE = pathlib.Path(sys.argv[1])


class Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.anchors, self.links, self.loads = set(), [], []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if values.get("id"):
            self.anchors.add(values["id"])
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif values.get("src") or (tag == "link" and values.get("href")):
            self.loads.append(values.get("src") or values["href"])


pages = {}
for path in sorted(SITE.rglob("*.html")):
    if "play" not in path.relative_to(SITE).parts:  # the browser page has tests of its own
        reader = Reader()
        reader.feed(path.read_text())
        pages[str(path.relative_to(SITE))] = reader

bad, count = [], 0


def check(page, link):
    address, anchor = urllib.parse.urldefrag(link)
    place = os.path.normpath(os.path.join(os.path.dirname(page), address)) if address else page
    if not (SITE / place).is_file():
        bad.append(f"{page}: there is no {link}")
    elif anchor and place in pages and urllib.parse.unquote(anchor) not in pages[place].anchors:
        bad.append(f"{page}: {place} has no anchor {anchor}")


for page, reader in pages.items():
    for link in reader.links + reader.loads:
        count += 1
        if ":" not in urllib.parse.urldefrag(link).url:
            check(page, link)
        elif link in reader.loads:
            bad.append(f"{page}: loads {link} from elsewhere")

index = (SITE / "search-index.js").read_text()
for link, *_ in json.loads(index[index.index("["):index.rindex("]") + 1]):
    count += 1
    check("index.html", link)

print("\n".join(bad))
print(f"site: {len(pages)} pages, {count} links, {len(bad)} bad")
sys.exit(1 if bad or count < 1000 else 0)
