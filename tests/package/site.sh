#!/bin/sh
# site.sh TOOL SOURCE_DIR - the site in headless Chromium, from file:// addresses: the search finds
# a function and a command, and nothing for a word that is nowhere; the button changes the theme; no
# page prints to the console or is wider than a small window. SKIPPED without pandoc or Chromium.
set -eu
tool=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip() {
    echo "SKIPPED: package.site: $*"
    exit 77
}
give_up() {
    echo "site.sh: $*"
    exit 1
}

command -v pandoc > /dev/null || skip "pandoc is not installed (scripts/install-deps.sh site)"
browser=$(command -v chromium || command -v chromium-browser || true)
[ -n "$browser" ] || skip "chromium is not installed (scripts/install-deps.sh release installs it)"
browse() {
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
        --user-data-dir="$work/profile" --enable-logging=stderr --virtual-time-budget=20000 \
        --dump-dom "$@" 2> "$work/console.txt" < /dev/null
}
echo '<p>ready</p>' > "$work/try.html"
browse "file://$work/try.html" | grep -q ready || skip "chromium cannot be started"

python3 "$source/scripts/site/make_site.py" "$tool" "$work/site"

# ask PAGE SCRIPT: what the script, run in the page, puts into `out`
ask() {
    page=$work/site/$(dirname "$1")/asked.html
    {
        cat "$work/site/$1"
        echo "<pre id=out></pre><script>const out = document.querySelector('#out');$2</script>"
    } > "$page"
    browse --window-size="${size:-1200,900}" "file://$page" \
        | sed -n 's|.*<pre id="out">\([^<]*\)</pre>.*|\1|p'
    if grep CONSOLE "$work/console.txt"; then touch "$work/noisy"; fi
}
# search WORDS: the address of the first line that the search offers
search() {
    ask help/ssm2d-train.html "addEventListener('load', () => {
        const field = document.querySelector('input[type=search]');
        field.value = '$1';
        field.dispatchEvent(new Event('input'));
        setTimeout(() => { const a = document.querySelector('.search li a');
            out.textContent = a ? a.getAttribute('href') : 'nothing'; }, 1000); });" | tr -d '\n'
}
expect() { [ "$2" = "$3" ] || give_up "$1: '$3' instead of '$2'"; }

expect "search for a function" ../api-layer.html#ssm2d_layer_create "$(search ssm2d_layer_create)"
expect "search for an option" ../help/ssm2d-theory.html "$(search 'ssm2d theory' | sed 's/#.*//')"
expect "search for no word" nothing "$(search 'qqqq')"
expect "theme" "dark light" "$(ask index.html "addEventListener('load', () => {
    document.documentElement.dataset.theme = 'light';
    const seen = [];
    for (let i = 0; i < 2; i++) { document.querySelector('.theme').click();
        seen.push(document.documentElement.dataset.theme); }
    out.textContent = seen.join(' '); });" | tr -d '\n')"
size=500,900
for page in index.html data.html layer.html speed.html api-layer.html help/ssm2d-train.html; do
    expect "width of $page" yes "$(ask "$page" "addEventListener('load', () => {
        out.textContent = document.documentElement.scrollWidth <= innerWidth ? 'yes' : 'no'; });")"
done
[ ! -e "$work/noisy" ] || give_up "a page prints to the console"
