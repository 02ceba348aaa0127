#!/bin/bash
# mpi.sh TOOL MAKE_SMALL_DATA MPI [CASE..] - the tool under mpirun, with 1, 2 and 4 processes on
# this machine. MPI is openmpi or mpich; exit code 77: its launcher, or our module for it, is not
# installed. Without CASE all cases are run; each is a function below.
set -eu
tool=$1 make_data=$2 mpi=$3
shift 3

module=$(dirname "$tool")/ssm2d_mpi_$mpi.so
case $mpi in
openmpi) launcher=mpirun.openmpi ;;
mpich) launcher=mpiexec.hydra ;;
esac
if ! command -v $launcher > /dev/null || ! [ -e "$module" ]; then
    echo "mpi.sh: SKIPPED: $launcher or $(basename "$module") is not installed"
    exit 77
fi

work=$(mktemp -d)
# Ends the processes that a failing test has started, and no others.
clean_up() {
    local p
    [ -z "${job:-}" ] || kill $job 2> /dev/null || true
    for p in $(pgrep -f "^[^ ]*$tool" || true); do
        case $(readlink /proc/$p/cwd) in "$work"/*) kill -9 $p 2> /dev/null || true ;; esac
    done
    cd /
    rm -rf "$work"
}
trap clean_up EXIT
cd "$work"
export XDG_CACHE_HOME=$PWD/cache # where good image files are remembered
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
[ $mpi = mpich ] || launcher="$launcher --oversubscribe --bind-to none"

give_up() {
    echo "mpi.sh: $case: $*"
    for f in out err; do [ ! -e $f ] || tail -n 20 $f | sed "s/^/$f: /"; done
    exit 1
}

# A small model with everything that is random: mixed and cropped images, stochastic depth; and with
# what needs the whole gradient, clipping, and an average of weights.
settings=(--data data --batch 16 --epochs 2 --log-every 1 --set dim=16 --set depth=2 --set heads=2
    --set mixer.d_state=3 --set drop_path=0.2 --set flip=true --set crop_padding=2
    --set mixup=0.8 --set cutmix=1 --clip 0.5 --ema 0.9 --threads 1)

# together N WORD..: the tool with these words in N processes; sets code, and leaves out and err
together() {
    local n=$1
    shift
    code=0
    timeout 120 $launcher -np "$n" "$tool" "$@" > out 2> err || code=$?
    [ $code != 124 ] || give_up "hangs: $*"
}

# by_rank COMMAND.. : COMMAND..: makes a script that runs the first command in rank 0, the second
# one in rank 1 and so on, and the last one in all others. `mpirun A : B` would do the same, but
# ends with a segmentation fault in Open MPI 5.0.7 (Debian 13).
by_rank() {
    local rank=0 word
    {
        printf '#!/bin/bash\ncase ${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-}} in\n%d) exec' $rank
        for word; do
            if [ "$word" = : ]; then
                rank=$((rank + 1))
                printf ' ;;\n%d) exec' $rank
            else
                printf ' %q' "$word"
            fi
        done
        printf ' ;;\nesac\n'
    } > by_rank
    sed -i "s/^$rank)/*)/" by_rank
    chmod +x by_rank
}

# pair COMMAND.. : COMMAND..: two processes by by_rank; sets code, and leaves out and err
pair() {
    by_rank "$@"
    code=0
    timeout 120 $launcher -np 2 ./by_rank > out 2> err || code=$?
    [ $code != 124 ] || give_up "hangs: $*"
}

# must_work N WORD..
must_work() {
    together "$@"
    [ $code = 0 ] || give_up "exit code $code: $*"
}

# alone WORD..: the tool in a single process
alone() { "$tool" "$@" > out 2> err || give_up "exit code $?: $*"; }

# says LINE: the tool has printed one line, which contains LINE
says() {
    [ $code != 0 ] || give_up "succeeded, and should have said: $1"
    [ "$(grep -c '^ssm2d ' err)" = 1 ] || give_up "not one line, where it should have said: $1"
    grep '^ssm2d ' err | grep -qF -- "$1" || give_up "should have said: $1"
}

# same RUN RUN: the weights, and all metrics except times, are equal
same() {
    local f
    for f in model best; do
        cmp -s "$1/$f.safetensors" "$2/$f.safetensors" || give_up "$1 and $2: other weights"
    done
    for f in "$1" "$2"; do
        sed 's/"\(images_per_s\|wait\|seconds\)":[^,}]*//g' "$f/metrics.jsonl" > "$f.m"
    done
    cmp -s "$1.m" "$2.m" || give_up "$1 and $2: other metrics"
}

# processes_of WORDS: the processes of a run, whose command line ends with these words; only in
# folders of this script, as the same test with another MPI may run at the same time
processes_of() {
    local p
    for p in $(pgrep -f "^$tool .*$1\$"); do
        case $(readlink /proc/$p/cwd) in "$PWD" | "$PWD"/*) echo $p ;; esac
    done
}

# process_of RANK WORDS: the one of a rank, as its launcher has told it
process_of() {
    local p
    for p in $(processes_of "$2"); do
        if tr '\0' '\n' < /proc/$p/environ | grep -qx "\(OMPI_COMM_WORLD\|PMI\)_RANK=$1"; then
            echo $p
        fi
    done
}

# none_left WORDS: no process or keeper of a run exists any more; killed ones may take a moment to
# disappear
none_left() {
    local i
    for i in $(seq 50); do
        [ -n "$(processes_of "$1")" ] || return 0
        sleep 0.1
    done
    give_up "processes are left: $(processes_of "$1")"
}

# wait_for FILE: waits until it exists
wait_for() {
    local i
    for i in $(seq 600); do
        [ ! -e "$1" ] || return 0
        sleep 0.1
    done
    give_up "$1 does not come"
}

# wait_step RUN N: waits until the run has made N steps
wait_step() {
    local i
    for i in $(seq 3000); do
        if [ -e "$1/metrics.jsonl" ] && [ "$(wc -l < "$1/metrics.jsonl")" -ge "$2" ]; then
            return 0
        fi
        kill -0 $job 2> /dev/null || break
        sleep 0.02
    done
    give_up "$1 does not come to step $2"
}

# begin N WORD..: as together, in the background; sets job, the launcher's process id
begin() {
    local n=$1
    shift
    $launcher -np "$n" "$tool" "$@" > out 2> err &
    job=$!
}

# end_of_job: waits for it, and sets code
end_of_job() {
    local i
    for i in $(seq 600); do
        kill -0 $job 2> /dev/null || break
        sleep 0.1
    done
    ! kill -0 $job 2> /dev/null || give_up "hangs"
    code=0
    wait $job || code=$?
    job=
}

# ---- cases ---------------------------------------------------------------------------------------

# The number of processes and of threads changes no bit.
bits() {
    alone train "${settings[@]}" --slices 8 --out alone
    alone train "${settings[@]}" --slices 8 --threads 3 --out threads
    same alone threads
    for n in 1 2 4 8; do
        must_work $n train "${settings[@]}" --out together$n
        same alone together$n
    done
    must_work 2 train "${settings[@]}" --threads 2 --out together22
    same alone together22
}

# A number of slices that is not a power of two, and BatchNorm, whose moments are means over slices.
other_slices() {
    local lra=(--data data --batch 12 --epochs 1 --log-every 1 --model mega-lra --set depth=1
        --set dim=8 --set v=8 --set z=8 --set ffn=8 --threads 1 --slices 6)
    alone train "${lra[@]}" --out lra1
    must_work 2 train "${lra[@]}" --out lra2
    same lra1 lra2
    alone train "${settings[@]}" --batch 24 --slices 12 --out twelve1
    must_work 4 train "${settings[@]}" --batch 24 --slices 12 --out twelve4
    same twelve1 twelve4
}

# Without --slices a single process does not divide the batch.
one_slice() {
    alone train "${settings[@]}" --out whole
    alone train "${settings[@]}" --slices 1 --out slice
    same whole slice
    grep -q '"slices":[[:space:]]*1\b' whole/train.json || give_up "train.json has no slices"
    together 2 train --resume whole --epochs 3
    says "slices=1: cannot be shared by 2 processes"
}

# A run of four processes that is told to stop is resumed by any number.
resume() {
    local try signal=TERM
    alone train "${settings[@]}" --epochs 40 --slices 8 --out alone
    # After SIGTERM Open MPI 4 kills processes within a second, and 5 within a quarter of one, whose
    # last lines it does not show. It passes on SIGUSR1 and waits.
    [ $mpi = mpich ] || signal=USR1
    for try in 1 2 3; do
        rm -rf stopped
        begin 4 train "${settings[@]}" --epochs 40 --out stopped
        wait_step stopped 10
        kill -STOP $(processes_of 'out stopped') # so that it is not over before it is told
        kill -$signal $job
        end_of_job
        ! grep -q 'stopped by a signal' err || break
    done
    grep -q 'stopped by a signal' err || give_up "does not stop when it is told to"
    for n in 1 2 8; do
        cp -r stopped resumed$n
        must_work $n train --resume resumed$n --threads 1
        same alone resumed$n
    done
    cp -r stopped resumed
    alone train --resume resumed --threads 1
    same alone resumed
}

# A single process that is told to stop abandons its part of a step, which the others have finished:
# the step has no effect, neither on weights nor on the moments of norms.
told_alone() {
    local norms=(--data data --model mega-lra --batch 16 --epochs 60 --log-every 1 --set depth=2
        --set dim=16 --set v=16 --set z=8 --set ffn=16 --threads 1) try victim
    alone train "${norms[@]}" --slices 8 --out alone
    for try in 1 2; do
        rm -rf told
        begin 2 train "${norms[@]}" --out told
        wait_step told 10
        victim=$(process_of 1 'out told')
        kill -STOP "$victim" # until the other waits for it
        sleep 0.5
        kill -TERM "$victim"
        kill -CONT "$victim"
        end_of_job
        grep -q 'stopped by a signal' err || give_up "does not stop when one is told to"
        must_work 2 train --resume told --threads 1
        same alone told
    done
}

# Any process that is killed ends the job and is named; the checkpoint is complete, and the run
# resumes from it to the same bits.
killed() {
    local victim
    alone train "${settings[@]}" --epochs 150 --save-every 7 --slices 8 --out alone
    begin 4 train "${settings[@]}" --epochs 150 --save-every 7 --out killed
    wait_step killed 20
    victim=$(process_of 2 'out killed')
    kill -9 "$victim"
    end_of_job
    says "rank 2 ($(hostname), process $victim) was killed by signal 9 (Killed): the job ends"
    none_left 'out killed'
    must_work 2 train --resume killed --threads 1
    same alone killed
    begin 4 train "${settings[@]}" --epochs 12000 --out first
    wait_step first 5
    victim=$(process_of 0 'out first')
    kill -9 "$victim"
    end_of_job
    says "rank 0 ($(hostname), process $victim) was killed by signal 9 (Killed): the job ends"
    none_left 'out first'
}

# All processes may be stopped for any time; a single stopped process times out.
silent() {
    local victim steps
    export SSM2D_MPI_TIMEOUT=10 # MPI has to start in this time, too
    begin 4 train "${settings[@]}" --epochs 12000 --out silent
    wait_step silent 20
    kill -STOP $(processes_of 'out silent')
    sleep 11
    steps=$(wc -l < silent/metrics.jsonl)
    kill -CONT $(processes_of 'out silent')
    wait_step silent $((steps + 20))
    victim=$(process_of ${1:-2} 'out silent')
    kill -STOP "$victim"
    end_of_job
    unset SSM2D_MPI_TIMEOUT
    says "rank ${1:-2} ($(hostname), process $victim) has not answered for 10 seconds, as it is"
    none_left 'out silent'
}

# not_started LINE N COMMAND.. : COMMAND..: N processes by by_rank end with this line
not_started() {
    local line=$1 n=$2
    shift 2
    by_rank "$@"
    code=0
    timeout 100 $launcher -np "$n" ./by_rank > out 2> err || code=$?
    [ $code != 124 ] || give_up "hangs: $*"
    says "$line"
    grep '^ssm2d ' err | grep -qF "has not started MPI for $SSM2D_MPI_TIMEOUT seconds" \
        || give_up "the message has no waiting time"
    none_left 'eval run'
}

# A rank that never starts MPI is named, whether it is another program or has ended; a slow one does
# not time out, also if a shell starts it.
never_starts() {
    alone train "${settings[@]}" --epochs 1 --out run
    export SSM2D_MPI_TIMEOUT=5
    not_started "rank 1 ($(hostname), process " 2 "$tool" eval run : sleep 100
    grep -q ', sleep) has not started' err || give_up "does not name the program"
    not_started "rank 0 ($(hostname), process " 3 sleep 100 : "$tool" eval run
    # with a command line that is too short for the words of a keeper
    mv run r
    PATH=$(dirname "$tool"):$PATH not_started "rank 1 ($(hostname), process " \
        2 ssm2d eval r : sleep 100
    mv r run
    not_started "rank 2 of 3 has ended, or is on another machine" \
        3 "$tool" eval run : "$tool" eval run : true
    export SSM2D_MPI_TIMEOUT=30
    code=0
    by_rank "$tool" eval run : sh -c "sleep 6; '$tool' eval run; exit \$?"
    timeout 100 $launcher -np 2 ./by_rank > out 2> err || code=$?
    unset SSM2D_MPI_TIMEOUT
    [ $code = 0 ] || give_up "does not wait for a process that is slow"
}

# An error in one process ends all of them, with one line that names it.
one_process() {
    mkdir -p elsewhere
    printf '#!/bin/sh\ncd %s/elsewhere && exec "$@"\n' "$PWD" > away
    chmod +x away
    pair "$tool" train "${settings[@]}" --out x : ./away "$tool" train "${settings[@]}" --out x
    says "rank 1 ("
    grep -q 'data' err || give_up "does not name the data"
    [ ! -e x ] || give_up "left a folder"
    pair "$tool" train "${settings[@]}" --lr 0.1 --out x : \
        "$tool" train "${settings[@]}" --lr 0.2 --out x
    says 'was started with other options: "0.2" where rank 0 has "0.1"'
    # the number of threads may differ, also between options that are lists
    local few=(--set dim=16 --set depth=1 --set heads=2 --batch 16 --epochs 1 --out threads)
    pair "$tool" train --data data --threads 1 "${few[@]}" : \
        "$tool" train --data data --threads 2 "${few[@]}"
    [ $code = 0 ] || give_up "does not take two numbers of threads"
    pair "$tool" train "${settings[@]}" --out x : "$tool" train "${settings[@]}" --out
    says "rank 1 ("
    # another version: the same program, but for the digits in it
    local version other
    version=$("$tool" version | sed -n '1s/^ssm2d \([0-9][0-9.]*\).*/\1/p')
    other=$(echo "$version" | tr 0-8 1-9)
    LC_ALL=C sed "s/${version//./\\.}/$other/g" "$tool" > other_version
    chmod +x other_version
    pair env SSM2D_MPI="$module" "$tool" train "${settings[@]}" --out x : \
        env SSM2D_MPI="$module" ./other_version train "${settings[@]}" --out x
    says "rank 1 ($(hostname)) is ssm2d $other"
    grep -q "rank 0 ($(hostname)) is ssm2d $version.*: install one version everywhere" err \
        || give_up "does not name both versions"
    pair env SSM2D_CPU=baseline "$tool" train "${settings[@]}" --out y : \
        env SSM2D_CPU=avx2 "$tool" train "${settings[@]}" --out y
    if ! grep -q 'SSM2D_CPU=avx2' err; then says "computes with avx2, and rank 0 with baseline"; fi
}

# A full disk in the first process, simulated by a limit on the size of its files.
full_disk() {
    begin 2 train "${settings[@]}" --epochs 12000 --out full
    wait_step full 20
    prlimit --pid "$(process_of 0 'out full')" --fsize=20000
    end_of_job
    says "rank 0 ("
    grep -q 'full/.*: File too large' err || give_up "does not name the file"
    must_work 2 eval full --data data
}

# Images that vanish while one process trains.
vanishing() {
    local i class
    alone kernels -o picture.png
    for class in a b; do
        mkdir -p images/train/$class images/test/$class
        for i in $(seq 16); do cp picture.png images/train/$class/$i.png; done
        cp picture.png images/test/$class/0.png
    done
    mkdir -p other
    cp -r images other/images
    printf '#!/bin/sh\ncd %s/other && exec "$@"\n' "$PWD" > away
    chmod +x away
    local few=(--data images --batch 8 --epochs 12000 --log-every 1 --set dim=16 --set depth=1
        --set heads=2 --set image=8 --set mixer.d_state=2 --threads 1 --bad-images stop)
    by_rank "$tool" train "${few[@]}" --out vanish : \
        ./away "$tool" train "${few[@]}" --out vanish
    $launcher -np 2 ./by_rank > out 2> err &
    job=$!
    wait_step vanish 5
    rm -rf other/images/train/b
    end_of_job
    says "rank 1 ("
    grep -q 'train/b/.*png' err || give_up "does not name the image"
}

# Evaluation is shared, and gives what one process gives.
evaluation() {
    alone train "${settings[@]}" --epochs 1 --slices 8 --out evaluated
    "$tool" eval evaluated --batch 3 --per-class --json > one.json
    for n in 2 4; do
        must_work $n eval evaluated --batch 3 --per-class --json
        cmp -s one.json out || give_up "$n processes evaluate otherwise"
    done
}

# Unordered sums: any number of processes; close to the ordered result, but not equal.
unordered() {
    must_work 3 train "${settings[@]}" --batch 12 --reduce unordered --out unordered
    must_work 2 train --resume unordered --epochs 3 --threads 1
    together 2 train "${settings[@]}" --reduce unordered --slices 4 --out x
    says "slices=4: with reduce=unordered every process has one"
    together 3 train "${settings[@]}" --out x
    says "cannot be shared by 3 processes"
    together 2 train "${settings[@]}" --batch 15 --out x
    says "batch=15"
}

# Commands for a single process refuse several; a missing module is reported. A command whose
# processes share only a folder runs in all of them.
refused() {
    local bytes
    alone reproduce table1 --out x --dry-run
    bytes=$(wc -c < out)
    must_work 2 reproduce table1 --out x --dry-run # what they print is mixed
    [ "$(wc -c < out)" = $((2 * bytes)) ] || give_up "reproduce: not in both processes"
    together 2 predict x y
    says "works in one process"
    export SSM2D_MPI=/nowhere.so
    together 2 train "${settings[@]}" --out x
    unset SSM2D_MPI
    says "MPI cannot be used"
}

# The output of benchmarks in several processes; no time is checked.
benches() {
    must_work 2 bench train --quick --json --batch 16 --image 8 --set dim=16 --set depth=1 \
        --set heads=2 --threads 1
    # each sends half of the gradients, half of the sums, and a little more
    local bytes gradients
    bytes=$(sed -n 's/^"ordered".*"bytes_per_step":\([0-9]*\).*/\1/p' out)
    must_work 2 bench scale --quick --json --batch 8 --image 8 --set dim=16 --set depth=1 \
        --set heads=2 --threads 1 --ranks 16
    gradients=$(sed -n 's/.*"gradient_bytes":\([0-9]*\).*/\1/p' out)
    [ "$bytes" -ge "$gradients" ] && [ "$bytes" -le $((gradients + 2000)) ] \
        || give_up "$bytes bytes are sent for $gradients of gradients"
    [ "$(grep -c '^{"ranks":' out)" = 5 ] || give_up "not 1, 2, 4, 8, 16 processes"
    must_work 1 bench scale --quick --batch 8 --image 8 --set dim=16 --set depth=1 --set heads=2 \
        --latency 2us --bandwidth 12.5GB/s --plot scale.svg
    grep -q '</svg>' scale.svg || give_up "no plot"
    together 1 bench scale --quick
    says "start it with mpirun -np 2, or give --latency"
}

mkdir data
"$make_data" data 64 20
[ $# != 0 ] || set -- bits other_slices one_slice resume told_alone killed silent never_starts \
    one_process full_disk vanishing evaluation unordered refused benches

# run_case CASE: in a folder of its own
run_case() {
    local start
    case=$1 start=$(date +%s)
    mkdir "$work/$case"
    cd "$work/$case"
    ln -s ../data data
    $case
    echo "mpi.sh: $case: passed ($(($(date +%s) - start)) s)"
}

# Cases that mostly wait for timeouts run beside the others.
waiting=
for case; do
    case $case in silent | never_starts) ;; *) continue ;; esac
    (
        # not an assertion: ends the mpirun that a failed case leaves behind
        trap '[ -z "${job:-}" ] || kill $job 2> /dev/null || true' EXIT
        run_case $case
    ) &
    waiting+=" $!"
done
for case; do
    case $case in silent | never_starts) ;; *) run_case $case ;; esac
done
for process in $waiting; do wait $process; done
