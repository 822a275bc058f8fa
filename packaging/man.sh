#!/usr/bin/env bash
# packaging/man.sh PROGRAMS OUT: manual pages of the programs in a folder, from their own help, into
# OUT. A page for each verb of plimsoll, and one for each program.
set -euo pipefail
programs=$(realpath "$1") out=$2
export PATH="$programs:$PATH" LC_ALL=C.UTF-8 COLUMNS=80
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$programs" log -1 --format=%ct 2> /dev/null || date +%s)}
export SOURCE_DATE_EPOCH
version=$(plimsoll --version | sed -n 1p | cut -d ' ' -f 1-2)
mkdir -p "$out"
verbs=$(plimsoll completion words -- "")

# see_also PAGE: the other pages.
see_also() {
  local page list=
  for page in plimsoll plimsoll-calibrate plimsoll-monitor ${verbs//$'\n'/ }; do
    case $page in plimsoll*) ;; *) page=plimsoll-$page ;; esac
    [ "$page" = "$1" ] || list+=$'.BR '"${page//-/\\-}"$' (1),\n'
  done
  printf '[see also]\n%s\n' "${list%,*}"
}

# The first sentence of a verb's help, which stands after its examples.
about() {
  plimsoll "$1" --help | sed -n '/^[^ ]/,/^$/p' | sed '/^$/q' | tr '\n' ' ' | sed -E 's/\. .*//;s/[. ]*$//'
}

# commands PAGE: of plimsoll's own, the verbs, in place of the list that its help has.
commands() {
  [ "$1" = plimsoll ] || return 0
  echo '[commands]'
  local verb
  for verb in $verbs; do printf '.TP\n.BR plimsoll\\-%s (1)\n%s.\n' "${verb//-/\\-}" "$(about "$verb")"; done
  echo
}

# page NAME ABOUT SYNOPSIS HELP-FLAG COMMAND
page() {
  { printf '[synopsis]\n%s\n\n' "$3"; commands "$1"; see_also "$1"; } > "$out/include"
  # Examples, which help indents, stay lines of their own; the page is called what it is about.
  help2man --no-info --include="$out/include" --name="$2" --version-string="$version" --help-option="$4" "$5" |
    sed -E -e '/^\.IP$/,/^\.(PP|SH|SS|TP)/{s/^\.IP$/.IP\n.nf/;s/^\.(PP|SH|SS|TP)/.fi\n&/}' \
      -e '/\.SS "Commands:"$/,/^\.PP/{s/\n?\.SS "Commands:"$//;/^\.(fi|PP)/!d}' \
      -e "s/^\\.TH PLIMSOLL[A-Z-]* /.TH $(tr '[:lower:]' '[:upper:]' <<< "$1") /" \
      -e "/^\\.SH NAME/{n;s/^[^ ]+ /${1//-/\\\\-} /}" > "$out/$1.1"
  rm "$out/include"
}

page plimsoll "memory and time of a training step on a GPU, predicted" ".B plimsoll
.I COMMAND
\\&[...]" --help plimsoll
for verb in $verbs; do
  page "plimsoll-$verb" "$(about "$verb")" ".B plimsoll $verb
\\&[...]" --help-all "plimsoll $verb"
done
page plimsoll-calibrate "measure kernels, query cuDNN, fit machine files" ".B plimsoll\\-calibrate
.I COMMAND
\\&[...]" --help plimsoll-calibrate
page plimsoll-monitor "watch a training run and compare it with its prediction" ".B plimsoll\\-monitor
.RI [ OPTIONS ]
.IR PID \" | \" \\-\\- \" \" COMMAND..." --help-all plimsoll-monitor
gzip -9nf "$out"/*.1
