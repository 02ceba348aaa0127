#!/bin/sh
# checks.sh [NAME..] - the rules of the source tree, each a test that passes or fails. The last line
# is `checks: N tests, N passed, N failed, N skipped`.
#
#   columns     no line is longer than 100 columns
#   format      the C files are formatted by clang-format (.clang-format)
#   includes    #include follows the diagram in docs/ARCHITECTURE.md
#   names       no two files of src and tools have the same name
#   memory      memory comes from the context: only src/core calls malloc and similar functions
#   silence     the library neither prints nor ends the process
#   opening     only src/io/file_open.c opens files; it does not block on pipes or follow links
#               where it should not
#   clock       durations are measured with clock_seconds(), which does not depend on the date
#   products    no product of two ints is an index or becomes a size, because it may overflow
#
# ROOT=.. checks another tree than the one this script is in.
set -eu
export LC_ALL=C
cd "${ROOT:-$(dirname "$0")/..}"

# files PATTERN..: files of the tree that match, untracked ones included, one per line
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

# code FILE..: FILE:LINE:TEXT without comments and with empty strings, for rules about function
# calls
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

# Continuation bytes of UTF-8 characters are not columns.
check_columns() {
    files '*.c' '*.cpp' '*.h' '*.def' '*.sh' '*.py' '*.cmake' '*.in' '*CMakeLists.txt' '*Makefile' \
        CMakePresets.json .clang-format \
        | xargs awk '{ line = $0; gsub(/[\200-\277]/, "", line) }
            length(line) > 100 { print FILENAME ":" FNR ": has " length(line) " columns" }'
}

# Versions of clang-format differ; this is the one of Debian 12.
formatter() {
    wanted=14
    if ! command -v clang-format > /dev/null; then
        why="clang-format is not installed (scripts/install-deps.sh checks installs it)"
    else
        is=$(clang-format --version | sed 's/.*version \([0-9]*\).*/\1/')
        [ "$is" != $wanted ] || return 0
        why="clang-format is version $is, and the tree is formatted by version $wanted"
    fi
    echo "checks: SKIPPED: format: $why"
    return 1
}

check_format() {
    files '*.c' '*.cpp' '*.h' | xargs clang-format --dry-run -Werror > "$work/format" 2>&1 \
        || grep 'error:' "$work/format" || cat "$work/format"
}

# The diagram: indented lines of ARCHITECTURE.md with arrows, `a <- b, c <- d`: b and c may include
# headers of a, and d those of a, b and c.
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
            print where from " includes " header ", but the diagram has no path from it to " to
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

# These files only open /proc and /sys, never a user's file, and are in folders that may not include
# src/io (see docs/ARCHITECTURE.md).
opens_system_files='src/core/processors.c src/cluster/board.c src/cluster/meeting.c
    src/cluster/watchdog.c'

# The list includes library functions that open a file by its name.
check_opening() {
    words='open|open64|openat|openat2|creat|fopen|fopen64|freopen|freopen64|tmpfile|mkstemp'
    words="$words|mkostemp|posix_spawn_file_actions_addopen|gzopen|gzopen64|TIFFOpenW?(Ext)?"
    words="$words|archive_read_open_filename|archive_read_open_file|spng_set_png_path"
    words="$words|cairo_(svg|pdf|ps)_surface_create|cairo_surface_write_to_png"
    words="$words|cairo_image_surface_create_from_png"
    code $(files 'src/*.c' 'src/*.h' 'tools/*.c' 'tools/*.h') | called "$words" > "$work/opened"
    for owner in src/io/file_open.c $opens_system_files; do
        grep -q "^$owner:" "$work/opened" || echo "$owner: opens nothing: remove it from the list"
        sed -i "\|^$owner:|d" "$work/opened"
    done
    cat "$work/opened"
}

# Only machines.c (when a run began) and run_name.c (the name of a run) use the date.
check_clock() {
    code $(files 'src/*.c' 'src/*.h' 'tools/*.c' 'tools/*.h' \
        | grep -v -e '^src/train/machines.c' -e '^tools/runs/run_name.c') > "$work/code"
    called 'time|gettimeofday|clock|ftime|timespec_get' < "$work/code"
    grep -E 'CLOCK_(REALTIME|TAI)' "$work/code"
}

# Compilers do not warn of counts[row * classes + c] with ints; clang-query finds it. Products with
# a constant are allowed, and folders without sizes from users are not checked.
inquirer() {
    for query in clang-query clang-query-14 clang-query-19; do
        if command -v $query > /dev/null && pkg-config --exists cairo; then return 0; fi
    done
    echo "checks: SKIPPED: products: clang-query or cairo is not installed" \
        "(scripts/install-deps.sh checks installs both)"
    return 1
}

check_products() {
    cat > "$work/query" << 'END'
set output diag
set bind-root false
let whole hasType(hasCanonicalType(anyOf(asString("int"), asString("unsigned int"))))
let size hasType(hasCanonicalType(anyOf(asString("unsigned long"), asString("long"))))
let constant anyOf(integerLiteral(), characterLiteral(), unaryExprOrTypeTraitExpr(),
    declRefExpr(to(enumConstantDecl())))
let product binaryOperator(hasOperatorName("*"), whole,
    unless(hasEitherOperand(ignoringParenImpCasts(expr(constant))))).bind("product")
let sum expr(anyOf(product,
    binaryOperator(hasAnyOperatorName("+", "-"), whole, hasDescendant(product))))
match arraySubscriptExpr(isExpansionInMainFile(), hasIndex(ignoringParenImpCasts(sum)))
match binaryOperator(isExpansionInMainFile(), hasAnyOperatorName("+", "-", "+=", "-="),
    hasType(pointerType()), hasRHS(ignoringParenImpCasts(sum)))
match castExpr(isExpansionInMainFile(), hasCastKind("CK_IntegralCast"), size,
    hasSourceExpression(ignoringParens(sum)))
END
    $query -f "$work/query" $(files 'src/data/*.c' 'src/draw/*.c' 'src/inference/*.c' 'src/io/*.c' \
        'src/mixers/*.c' 'src/models/*.c' 'src/report/*.c' 'src/train/*.c' 'tools/*.c') -- \
        -std=gnu11 -Iinclude -Isrc -I. '-DSSM2D_SHARE=""' $(pkg-config --cflags cairo) \
        > "$work/products" 2>&1
    sed -n "s|^$PWD/||; s|: note: \"product\" binds here|: a product of ints: use row_major()|p" \
        "$work/products" | sort -u
    # files that could not be parsed were not checked
    grep -E 'error:|^[0-9]+:[0-9]+: Error' "$work/products"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0
[ $# != 0 ] || set -- columns format includes names memory silence opening clock products
for name; do
    if { [ "$name" = format ] && ! formatter; } || { [ "$name" = products ] && ! inquirer; }; then
        skipped=$((skipped + 1))
        continue
    fi
    # The function of a rule prints violations; its exit code, which is grep's, has no meaning.
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
