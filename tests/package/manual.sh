#!/usr/bin/env bash
# manual.sh SSM2D - the man pages and completions that the tool writes: groff accepts the pages,
# and shells complete with the scripts. Programs that are not installed (groff, zsh, fish) are left
# out with a message.
set -eu
ssm2d=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

complain() {
    echo "$*"
    bad=1
}

for kind in man bash zsh fish; do
    mkdir "$work/$kind"
    "$ssm2d" --generate $kind "$work/$kind"
done

# One page for every command and part that the tool lists.
list() { "$ssm2d" "$@" --help | sed -n '/^\(commands\|parts\):$/,/^$/s/^  \([a-z0-9]*\) .*/\1/p'; }
pages="ssm2d $(list | sed 's/^/ssm2d-/')"
for command in bench data; do
    pages="$pages $(list $command | sed "s/^/ssm2d-$command-/")"
done
[ "$(echo $pages | wc -w)" = "$(ls "$work/man" | wc -l)" ] \
    || complain "pages: $(ls "$work/man") instead of $pages"
for page in $pages; do
    [ -s "$work/man/$page.1" ] || complain "$page.1 is missing"
done
if command -v groff > /dev/null; then
    for page in "$work"/man/*.1; do
        warnings=$(groff -man -ww -Tutf8 "$page" 2>&1 > "$work/page")
        [ -z "$warnings" ] || complain "$warnings"
    done
    groff -man -Tascii -rLL=100n "$work/man/ssm2d-train.1" 2> /dev/null \
        | sed 's/\x1b\[[0-9;]*m//g; s/.\x08//g' > "$work/page"
    for words in 'ssm2d train \[options\]' 'o, --out RUN' '  crop_padding' 'default: false' \
        'AUGMENTATIONS, FOR --SET AND --CONFIG'; do
        grep -q -- "$words" "$work/page" || complain "ssm2d-train.1 does not show: $words"
    done
else
    echo "groff is not installed: pages were not formatted"
fi

# reply WORD..: what bash offers for the last word
reply() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _ssm2d
    echo "${COMPREPLY[*]-}"
}
# offers SHELL EXPECTED GOT
offers() { [ "$2" = "$3" ] || complain "$1 offers '$3' instead of '$2'"; }

. "$work/bash/ssm2d"
complete -p ssm2d | grep -q -- '-F _ssm2d ssm2d' || complain "bash: nothing completes ssm2d"
offers bash "predict" "$(reply ssm2d pre)"
offers bash "--help --version" "$(reply ssm2d --)"
offers bash "layer conv linear train infer data scale guard" "$(reply ssm2d bench '')"
offers bash "get check show augment" "$(reply ssm2d data '')"
offers bash "--algo" "$(reply ssm2d layer --alg)"
offers bash "--algo" "$(reply ssm2d bench layer --alg)"
offers bash "cosine constant" "$(reply ssm2d train --schedule co)"
offers bash "float" "$(reply ssm2d bench layer --precision = f)"
offers bash "float double" "$(reply ssm2d bench layer --precision =)"
offers bash "vit-mini" "$(reply ssm2d train --model vit-m)"
offers bash "train" "$(reply ssm2d help tr)"
offers bash "infer" "$(reply ssm2d help bench i)"
offers bash "" "$(reply ssm2d train --config x)"
offers bash "" "$(reply ssm2d predict run im)"

if command -v fish > /dev/null; then
    # ask LINE: what fish offers, without the descriptions
    ask() {
        HOME=$work fish --no-config -c "source $work/fish/ssm2d.fish; complete -C '$1'" \
            | cut -f 1 | tr '\n' ' ' | sed 's/ $//'
    }
    offers fish "predict" "$(ask 'ssm2d pre')"
    offers fish "--algo" "$(ask 'ssm2d layer --alg')"
    offers fish "double float" "$(ask 'ssm2d bench layer --precision ')"
    offers fish "data guard infer layer linear scale train" \
        "$(echo $(ask 'ssm2d bench ' | tr ' ' '\n' | sort))"
    offers fish "vit-mini" "$(ask 'ssm2d train --model vit-m')"
    offers fish "infer" "$(ask 'ssm2d help bench i')"
else
    echo "fish is not installed: its completion was not tried"
fi

if command -v zsh > /dev/null; then
    zsh -n "$work/zsh/_ssm2d" || complain "zsh cannot read its completion"
    # ask LINE: what the script tells zsh's own functions
    ask() {
        zsh -f -c '
            _arguments() { print -r -- ${(F)@}; }
            _describe() { print -r -- ${(PF)5-${(P)4}}; }
            compdef() { :; }
            source $1; words=(${(z)2}); CURRENT=$#words; _ssm2d' zsh "$work/zsh/_ssm2d" "$1"
    }
    for pair in "ssm2d pre|predict:predict the labels of images with a trained model" \
        "ssm2d layer --al|--algo=[algorithm]:algo:(auto" \
        "ssm2d bench layer --al|--precision=[type of the numbers" \
        "ssm2d help bench i|infer:inference of a model" \
        "ssm2d filter -|(-o --output)-o[picture to write" "ssm2d predict x|*:IMAGE:_files"; do
        ask "${pair%%|*}" > "$work/zsh.out"
        grep -qF -- "${pair#*|}" "$work/zsh.out" || {
            cat "$work/zsh.out"
            complain "zsh: no ${pair#*|} for '${pair%%|*}'"
        }
    done
else
    echo "zsh is not installed: its completion was not tried"
fi

# Wrong usage.
for words in "--generate" "--generate man" "--generate html $work" "--generate man $work/none"; do
    if line=$("$ssm2d" $words 2>&1); then complain "ssm2d $words was accepted"; fi
    [ "$(echo "$line" | wc -l)" = 1 ] || complain "ssm2d $words: $line"
done
exit $bad
