#!/usr/bin/env bash
# report_page.sh TOOL MAKE_SMALL_DATA - a report in headless Chromium: it opens without a message on
# the console, its scripts draw every curve, its values are those of the runs, means and bands are
# those of their setups, the legend switches, names cannot run scripts, nothing is wider than a
# phone, and the colours follow the theme. SKIPPED if Chromium is not installed or cannot be
# started.
#
# KEEP=FOLDER leaves pictures there to look at: wide light and dark, a phone, and paper as PDF.
set -euo pipefail
tool=$1 make_data=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip() {
    echo "SKIPPED: report_page: $*"
    exit 77
}

give_up() {
    echo "report_page.sh: $*"
    exit 1
}

browser=$(command -v chromium || command -v chromium-browser || true)
[ -n "$browser" ] || skip "chromium is not installed (scripts/install-deps.sh release installs it)"

# browse FLAG.. URL: the browser's standard output; the console is in console.txt
browse() {
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
        --hide-scrollbars --allow-file-access-from-files --user-data-dir="$work/profile" \
        --enable-logging=stderr --virtual-time-budget=20000 "$@" 2> "$work/console.txt"
}

cd "$work"
echo '<p id=here>ready</p>' > try.html
browse --dump-dom "file://$work/try.html" > try.txt < /dev/null || skip "chromium cannot be started"
grep -q ready try.txt || skip "chromium shows no pages here"

# Runs: three seeds of one setup, another setup, and one with hostile names.
mkdir data
"$make_data" data 48 24
settings=(--data data --batch 8 --epochs 3 --log-every 2 --set dim=16 --set depth=2 --set heads=2
    --threads 1)
for seed in 0 1 2; do
    "$tool" train "${settings[@]}" --mixer ssm2d --seed $seed --out a-$seed > /dev/null
done
"$tool" train "${settings[@]}" --mixer none --out \
    'a name as long as those of experiments are, which no phone has the width for, seed=0' \
    > /dev/null
"$tool" train "${settings[@]}" --mixer ema --out '<img src=x onerror=hacked=1>' > /dev/null
cat > '<img src=x onerror=hacked=1>/data.json' << 'END'
{"classes": ["</script><script>hacked=1</script>", "\"><svg onload=hacked=1>",
"a_class_whose_name_is_a_single_word_that_is_far_too_long_for_the_width_of_a_telephone",
"'-alert(1)-'"],
"channels": 1, "images": 48, "mean": [0.3, 0.3, 0.3], "std": [0.3, 0.3, 0.3]}
END
"$tool" report a-0 a-1 a-2 'a name'* '<img'* -o report.html --threads 1

# More pages, of the curves alone: a run for each setup; one setup; runs of a setup that do not have
# the same points: one ends after the second epoch, and one has only every second line of steps;
# runs of a setup that share no steps; nine setups of two runs, which are more than there are
# colours; a run without errors and without label smoothing.
part() { "$tool" report "$@" --no-data --no-measure; }
part a-0 'a name'* '<img'* -o single.html
part a-0 a-1 -o one.html
cp -r a-1 short
awk '{ print } /"kind": "epoch"/ && ++epochs == 2 { exit }' a-1/metrics.jsonl > short/metrics.jsonl
cp -r a-2 sparse
awk '/"kind": "epoch"/ || ++steps % 2 == 0' a-2/metrics.jsonl > sparse/metrics.jsonl
part a-0 short sparse 'a name'* -o uneven.html
cp -r a-1 other
awk '/"kind": "epoch"/ || ++steps % 2 == 1' a-1/metrics.jsonl > other/metrics.jsonl
part sparse other -o apart.html
for setup in 1 2 3 4 5 6 7 8 9; do
    for run in 0 1; do
        cp -r a-$run many-$setup-$run
        sed -i "s/\"lr\":.*/\"lr\": 0.00$setup,/" many-$setup-$run/train.json
    done
done
part many-* -o many.html
cp -r a-0 right
sed -i 's/accuracy": [0-9.e+-]*/accuracy": 1/g' right/metrics.jsonl
sed -i 's/"smoothing":.*/"smoothing": 0,/' right/train.json
part right -o right.html

# What the page should show, from the files of the runs.
last() { # RUN KEY: of the last epoch
    grep '"kind": "epoch"' "$1/metrics.jsonl" | tail -n 1 | sed "s/.*\"$2\": \([0-9.e+-]*\).*/\1/"
}
wanted="$(last a-0 test_accuracy) $(last a-0 test_loss) $(last a-0 loss)"
tested=$("$tool" eval a-1 --json --threads 1 | sed 's/.*"accuracy":\([0-9.e+-]*\).*/\1/')

# means KIND KEY RUN..: [epoch, n, mean, deviation (n - 1)] of every epoch that lines have
means() {
    local kind=$1 key=$2
    shift 2
    cat "${@/%//metrics.jsonl}" | grep "\"kind\": \"$kind\"" \
        | sed "s/.*\"epoch\": \([0-9.e+-]*\).*\"$key\": \([0-9.e+-]*\).*/\1 \2/" \
        | awk '{ values[$1] = values[$1] " " $2 }
            END {
                for (x in values) {
                    n = split(values[x], value, " ")
                    sum = squares = 0
                    for (i = 1; i <= n; i++) sum += value[i]
                    for (i = 1; i <= n; i++) squares += (value[i] - sum / n) ^ 2
                    deviation = n > 1 ? sqrt(squares / (n - 1)) : 0
                    printf "%s [%s,%d,%.10g,%.10g],\n", x, x, n, sum / n, deviation
                }
            }' | sort -n | cut -d ' ' -f 2 | tr -d '\n'
}
seeds=(a-0 a-1 a-2)
accuracies=$(means epoch test_accuracy "${seeds[@]}") losses=$(means step loss "${seeds[@]}")
uneven=$(means epoch test_accuracy a-0 short sparse)

# The harness loads each page in a frame of a given width, and inspects it.
sed "s|@WANTED@|$wanted|; s|@TESTED@|$tested|; s|@ACCURACIES@|$accuracies|; s|@LOSSES@|$losses|
    s|@UNEVEN@|$uneven|" "$here/report_page.html" > harness.html
for scheme in 1 0; do # light, dark
    browse --blink-settings=preferredColorScheme=$scheme --window-size=1200,900 --dump-dom \
        "file://$work/harness.html?scheme=$scheme" > dom.txt < /dev/null \
        || give_up "chromium ended with $?"
    grep -q 'id="verdict">good<' dom.txt \
        || give_up "scheme $scheme: $(sed -n '/id="verdict"/,/<script>/p' dom.txt | head -n 40)
$(grep CONSOLE console.txt)"
    ! grep CONSOLE console.txt || give_up "the console is not empty"
done

if [ -n "${KEEP:-}" ]; then
    mkdir -p "$KEEP"
    page=file://$work/report.html
    browse --window-size=1280,5200 --screenshot="$KEEP/light.png" "$page"
    browse --blink-settings=preferredColorScheme=0 --window-size=1280,5200 \
        --screenshot="$KEEP/dark.png" "$page"
    browse --window-size=500,6400 --screenshot="$KEEP/phone.png" "$page"
    browse --print-to-pdf="$KEEP/paper.pdf" --no-pdf-header-footer "$page"
fi
echo "report_page.sh: passed, light and dark"
