#!/bin/sh
# checks.sh [NAME..] - the rules of the source tree, each a test that passes or fails. The last line
# is `checks: N tests, N passed, N failed, N skipped`.
#
#   columns     no line is longer than 100 columns
#   format      the C files are as clang-format (.clang-format) lays them out
#   includes    #include points one way: the diagram in docs/ARCHITECTURE.md says which
#   names       no two files of src and tools have the same name
#   memory      memory comes from the context: malloc and its kin are called in src/core alone
#   silence     the library neither prints nor ends the process
#
# ROOT=.. checks another tree than the one this script is in.
set -eu
export LC_ALL=C
cd "${ROOT:-$(dirname "$0")/..}"

# files PATTERN..: those of the tree that match, new ones too, one per line
files() {
    if git rev-parse --is-inside-work-tree > /dev/null 2>&1; then
        git ls-files --cached --others --exclude-standard -- "$@" | while read -r f; do
            if [ -f "$f" ]; then echo "$f"; fi
        done
    else
        for pattern; do
            find . \( -name build -o -name demo -o -name runs \) -prune -o -type f \
                -path "./$pattern" -print | sed 's|^\./||'
        done
    fi | sort -u
}

# code FILE..: FILE:LINE:TEXT without comments and with empty strings, for rules about what is
# called
code() {
    awk '
    FNR == 1 { comment = 0 }
    {
        out = ""; quote = ""
        n = length($0)
        for (i = 1; i <= n; i++) {
            c = substr($0, i, 1); two = substr($0, i, 2)
            if (comment) { if (two == "*/") { comment = 0; i++ } }
            else if (quote != "") { if (c == "\\") i++; else if (c == quote) quote = "" }
            else if (two == "/*") { comment = 1; out = out " "; i++ }
            else if (two == "//") break
            else if (c == "\"" || c == "\047") { quote = c; out = out c c }
            else out = out c
        }
        print FILENAME ":" FNR ":" out
    }' "$@"
}

# Bytes that go on with a character of UTF-8 are not columns.
check_columns() {
    files '*.c' '*.h' '*.def' '*.sh' '*.py' '*.cmake' '*.in' '*CMakeLists.txt' '*Makefile' \
        CMakePresets.json .clang-format \
        | xargs awk '{ line = $0; gsub(/[\200-\277]/, "", line) }
            length(line) > 100 { print FILENAME ":" FNR ": has " length(line) " columns" }'
}

# Versions of clang-format do not agree on every line; this is the one of Debian 12.
formatter() {
    wanted=14
    if ! command -v clang-format > /dev/null; then
        why="clang-format is not installed (scripts/install-deps.sh checks installs it)"
    else
        is=$(clang-format --version | sed 's/.*version \([0-9]*\).*/\1/')
        [ "$is" != $wanted ] || return 0
        why="clang-format is version $is, and the tree is laid out by version $wanted"
    fi
    echo "checks: SKIPPED: format: $why"
    return 1
}

check_format() {
    files '*.c' '*.h' | xargs clang-format --dry-run -Werror > "$work/format" 2>&1 \
        || grep 'error:' "$work/format" || cat "$work/format"
}

# The diagram: lines of ARCHITECTURE.md that are set as code and have arrows, `a <- b, c <- d`: b
# and c may include what is in a, and d what is in a, b and c.
check_includes() {
    {
        sed -n 's/^    \(.*<-.*\)/diagram \1/p' docs/ARCHITECTURE.md
        files 'src/*.c' 'src/*.h' 'src/*.def' 'tools/*.c' 'tools/*.h' \
            | xargs grep -Hn '^[[:space:]]*#[[:space:]]*include[[:space:]]*"'
    } | awk '
    $1 == "diagram" {
        sub(/^diagram /, "")
        steps = split($0, step, /<-/)
        for (s = 1; s <= steps; s++) {
            count = split(step[s], here, ",")
            for (h = 1; h <= count; h++) {
                gsub(/[ \t]/, "", here[h])
                folder[here[h]] = 1
                for (b = 1; s > 1 && b <= before_count; b++) uses[here[h], before[b]] = 1
            }
            before_count = count
            for (h = 1; h <= count; h++) before[h] = here[h]
        }
        next
    }
    !closed {
        closed = 1
        for (k in folder) folders++
        if (!folders) { print "docs/ARCHITECTURE.md: has no diagram a <- b"; exit }
        for (k in folder) for (i in folder) for (j in folder)
            if (((i, k) in uses) && ((k, j) in uses)) uses[i, j] = 1
        for (i in folder) if ((i, i) in uses) print "docs/ARCHITECTURE.md: " i " uses itself"
    }
    # folder_of(PATH): the folder that the diagram has; those in tools are `tools/NAME`
    function folder_of(path) {
        sub(/\/[^\/]*$/, "", path)
        if (path !~ /^tools\//) sub(/\/.*/, "", path)
        return path
    }
    {
        split($0, part, ":")
        from = part[1]
        sub(/^src\//, "", from)
        from = folder_of(from)
        header = $0
        sub(/^[^"]*"/, "", header); sub(/".*/, "", header)
        if (header !~ /\//) next # the public header, or one in the same folder
        to = folder_of(header)
        where = part[1] ":" part[2] ": "
        if (!(from in folder)) print where from " is not in the diagram of docs/ARCHITECTURE.md"
        else if (from != to && !((from, to) in uses))
            print where from " includes " header ", and the diagram has no way from it to " to
    }'
}

check_names() {
    files 'src/*.c' 'src/*.h' 'src/*.def' 'tools/*.c' 'tools/*.h' \
        | awk -F/ '$NF in first { print $0 ": has the name of " first[$NF]; next }
            { first[$NF] = $0 }'
}

# called WORDS: lines of code that call one of them
called() { grep -E "(^|[^A-Za-z0-9_.>])($1)[[:space:]]*\(" | sed 's/[[:space:]][[:space:]]*/ /g'; }

check_memory() {
    words='malloc|calloc|realloc|reallocarray|aligned_alloc|posix_memalign|strdup|strndup|free'
    code $(files 'src/*.c' 'src/*.h' 'tools/*.c' 'tools/*.h' | grep -v '^src/core/') \
        | called "$words"
}

check_silence() {
    code $(files 'src/*.c' 'src/*.h') > "$work/code"
    called 'v?printf|puts|putchar|perror|exit|_exit|_Exit|quick_exit|abort|raise' \
        < "$work/code"
    grep -E '(^|[^A-Za-z0-9_])(stdout|stderr)([^A-Za-z0-9_]|$)' "$work/code"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0
[ $# != 0 ] || set -- columns format includes names memory silence
for name; do
    if [ "$name" = format ] && ! formatter; then
        skipped=$((skipped + 1))
        continue
    fi
    # A rule's function prints what breaks it; its exit code is grep's, and says nothing.
    "check_$name" > "$work/found" || true
    if [ -s "$work/found" ]; then
        failed=$((failed + 1))
        head -n 40 "$work/found"
        echo "checks: $name: FAILED, lines: $(wc -l < "$work/found")"
    else
        passed=$((passed + 1))
        echo "checks: $name: passed"
    fi
done
echo "checks: $((passed + failed + skipped)) tests, $passed passed, $failed failed," \
    "$skipped skipped"
[ $failed = 0 ]
