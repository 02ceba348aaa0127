# campaign.sh - shared by the scripts that make one call of the tool after another fail. They set
#
#   tool, make_data   the tool, and make_small_data
#   failing           the command that runs the tool with FAIL_AT in effect (fail_at.h)
#   every             every how many calls one is made to fail
#   first             the first call that is made to fail
#   may_cope          whether the tool may work around a failure
#   error             further settings of the environment for a failure, in one word
#
# and work in a temporary folder, which is removed at the end.

settings=(--batch 8 --epochs 1 --save-every 1 --log-every 1 --set dim=16 --set depth=1
    --set heads=2 --set mixer.d_state=3 --threads 1)
files='(train|config|data|machines)\.json|(last|model|best)\.safetensors|metrics\.jsonl|curves\.svg'
failures=0 coped=0 first=1 may_cope=1 error=

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

give_up() {
    echo "$(basename "$0"): $*"
    exit 1
}

# Inputs of other commands: a run of one epoch, the same run with another epoch, and a picture.
make_runs() {
    mkdir data
    "$make_data" data 16 8
    "$tool" train --data data --out whole "${settings[@]}" > whole.txt
    cp -r whole longer
    "$tool" train --resume longer --epochs 2 --threads 1 > /dev/null
    "$tool" kernels whole -o picture.png
}

# attempt K WORD..: runs the tool; the K-th call fails. Sets code and where, and checks what was
# printed.
attempt() {
    local name=$2 k=$1
    shift
    case $name in data | bench) name="$1 $2" ;; esac
    where="$*, call $k${error:+, $error}"
    rm -f mark
    code=0
    env $error FAIL_AT="$k" FAIL_MARK="$work/mark" "${failing[@]}" "$@" > out 2> err || code=$?
    if [ $code != 0 ]; then
        [ $code = 1 ] || give_up "$where: exit code $code: $(cat err)"
        [ "$(wc -l < err)" = 1 ] || give_up "$where: not one line: $(cat err)"
        grep -qE "^ssm2d( $name( [a-z]+)?|: standard output): ." err || give_up "$where: $(cat err)"
        [ -e mark ] || give_up "$where: failed without a reason: $(cat err)"
        failures=$((failures + 1))
    elif [ -e mark ]; then
        coped=$((coped + 1))
        [ $may_cope = 1 ] || give_up "$where: went on as if nothing had been"
    fi
}

# The folder must have only files of a run, and all of them once the run has ended.
check_folder() {
    local found
    found=$(ls -A "$1" | grep -vxE "$files" || true)
    [ -z "$found" ] || give_up "$where: left $found"
}

same() { cmp -s "$1" "$2" || give_up "$where: $1 and $2 differ"; }

# A new run: afterwards it can be resumed or begun again, and ends with the same weights.
fail_train() {
    local k
    for ((k = first;; k += every)); do
        rm -rf run
        attempt $k train --data data --out run "${settings[@]}"
        if [ -d run ]; then check_folder run; fi
        if [ $code != 0 ]; then
            if [ -e run/train.json ]; then
                "$tool" train --resume run --threads 1 > /dev/null \
                    || give_up "$where: cannot resume"
            else
                "$tool" train --data data --out run "${settings[@]}" > /dev/null \
                    || give_up "$where: cannot begin again"
            fi
        fi
        same whole/model.safetensors run/model.safetensors
        check_folder run
        [ -e mark ] || break
    done
}

# A resumed run.
fail_resume() {
    local k
    for ((k = first;; k += every)); do
        rm -rf run
        cp -r whole run
        attempt $k train --resume run --epochs 2 --threads 1
        check_folder run
        ! grep "was changed" out || give_up "$where: nobody changed anything"
        "$tool" train --resume run --epochs 2 --threads 1 > /dev/null \
            || give_up "$where: cannot resume"
        same longer/model.safetensors run/model.safetensors
        same longer/best.safetensors run/best.safetensors
        [ -e mark ] || break
    done
}

# fail_file FILE WORD..: a command that writes results/FILE. An existing file is replaced by the
# whole result or kept; no other file is left.
fail_file() {
    local file=$1 k
    shift
    rm -rf results whole_file
    mkdir results
    "$tool" "$@" > /dev/null
    mv "results/$file" whole_file
    for ((k = first;; k += every)); do
        rm -rf results
        mkdir results
        echo precious > "results/$file"
        attempt $k "$@"
        [ "$(ls -A results)" = "$file" ] || give_up "$where: left $(ls -A results)"
        if [ $code = 0 ] || [ "$(tr -d '\0' < "results/$file")" != precious ]; then
            same whole_file "results/$file" # when it failed, only its folder was not synced
        fi
        [ -e mark ] || break
    done
}

# fail_export WORD..: of a build that can write ONNX; others refuse before they open anything.
fail_export() {
    if "$tool" export whole -o tried.onnx > out 2>&1; then
        rm tried.onnx
        fail_file m.onnx export whole -o results/m.onnx --force "$@"
    else
        grep -q "built without ONNX" out || give_up "export: $(cat out)"
    fi
}

# fail_folder WORD..: a command that writes several files into results/. Each is complete or
# missing.
fail_folder() {
    local k file
    rm -rf results whole_folder
    mkdir results
    "$tool" "$@" > /dev/null
    mv results whole_folder
    for ((k = first;; k += every)); do
        rm -rf results
        mkdir results
        attempt $k "$@"
        if [ $code = 0 ]; then
            diff -rq whole_folder results > /dev/null || give_up "$where: the results differ"
        fi
        for file in $(ls -A results); do
            [ -e "whole_folder/$file" ] || give_up "$where: left $file"
            same "whole_folder/$file" "results/$file"
        done
        [ -e mark ] || break
    done
}

# fail_printed WORD..: a command that prints. Its output before a failure is a prefix of the whole
# output, unless the write itself failed.
fail_printed() {
    local k
    "$tool" "$@" > whole_text
    for ((k = first;; k += every)); do
        attempt $k "$@"
        if [ $code = 0 ]; then
            same whole_text out
        elif [ -z "$error" ]; then
            head -c "$(stat -c %s out)" whole_text | cmp -s - out \
                || give_up "$where: printed $(cat out)"
        fi
        [ -e mark ] || break
    done
}

finish() {
    [ $failures -gt 0 ] || give_up "no call failed"
    echo "$(basename "$0"): $failures failures reported, $coped worked around"
}
