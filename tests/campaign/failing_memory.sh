#!/usr/bin/env bash
# failing_memory.sh TOOL MAKE_SMALL_DATA FAILING_TOOL [EVERY] - one allocation after another fails
# (each EVERY-th: 67, or 1 with LONG=1 in the environment), in every command. The tool must
# report it in one line with exit code 1, free everything, and leave no partial files; a run then
# ends with the weights that it would have had.
set -euo pipefail
tool=$1 make_data=$2 every=${4:-$([ -n "${LONG:-}" ] && echo 1 || echo 67)}
tests=$(cd "$(dirname "$0")/.." && pwd)
model=$tests/golden-models/05_vit_ssm2d_attn
failing=("$3")
. "$tests/campaign/campaign.sh"

# A command that lists all models builds every one of them: thousands of similar allocations.
# A bench measures times, so that its output differs.
fail_many() {
    local step=$1 k
    shift
    for ((k = first;; k += every * step)); do
        attempt $k "$@"
        [ -e mark ] || break
    done
}

make_runs
# Prefetching data that are not needed later may fail.
fail_train
fail_resume
fail_printed eval whole --json --threads 1
fail_printed eval whole --image-size 12 --threads 1
fail_file d.png data show data -o results/d.png --count 4 --threads 1
each=$every every=$((every > 1 ? 7 * every : 1)) # thousands of them are for settings
fail_file r.html report whole longer -o results/r.html --no-measure --threads 1
every=$each
may_cope=0
fail_printed data check data --threads 1
fail_file d.png data augment picture.png -o results/d.png --op rotate --value 20 --threads 1
fail_file d.png data augment picture.png -o results/d.png --op resize --value 9x7 --threads 1
fail_printed predict whole picture.png --threads 1
fail_printed predict whole picture.png --json --threads 1
fail_file k.svg kernels whole -o results/k.svg --threads 1
fail_file k.png kernels -o results/k.png --threads 1
fail_file k.png kernels --figure2 --draws 2 -o results/k.png --threads 1
fail_file c.png curves whole -o results/c.png --threads 1
fail_file f.png filter picture.png -o results/f.png --threads 1
fail_file f.png filter picture.png -o results/f.png --in-memory --threads 1
fail_file f.jpg filter picture.png -o results/f.jpg --run whole --threads 1
fail_file f.pdf filter picture.png -o results/f.pdf --threads 1
fail_export --features 1 --image-size 12 --threads 1
fail_printed train --recipe small --print-settings --threads 1
run=(run --config "$model/config.json" --weights "$model/weights.safetensors"
    --input "$model/x.npy" --threads 1)
fail_folder "${run[@]}" -o results/y.npy
fail_folder "${run[@]}" --labels "$model/labels.npy" -o results/y.npy --grads results/g.safetensors
for algorithm in direct fft scan; do
    fail_folder layer "$tests/golden/28_polar_8x8_d2" -o results --algo $algorithm --threads 1
done
fail_many 50 models
fail_printed models --keys
fail_printed reproduce
fail_printed reproduce table5 --scale tiny --seeds 1 --out planned --dry-run
fail_many 1 bench layer --quick --rows 4 --cols 4 --channels 4 --threads 1
small=(--quick --model vit-mini --batch 2 --set dim=16 --set depth=1 --set heads=2 --threads 1)
fail_many 3 bench train "${small[@]}"
fail_many 3 bench infer "${small[@]}"
for words in help "help train" version "train --help"; do # these allocate nothing
    attempt 1 $words
    [ $code = 0 ] && [ ! -e mark ] || give_up "$where: exit code $code"
done
finish
