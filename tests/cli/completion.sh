#!/usr/bin/env bash
#
# With the script of the program, bash completes commands, options, files, keys and pointers. zsh and fish read their
# scripts if they are installed.
#
# Usage: completion.sh CAROM

set -euo pipefail

program=$(readlink -f "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir results models
touch ball.json 'two words.json' notes.txt models/top.json
wrong=0

"$program" completion bash >bash
# shellcheck disable=SC1091
source ./bash
compopt() { :; } # works inside of a completion only

# expect WORDS... = COMPLETION...: the last word is completed to exactly these, in any order.
expect() {
  COMP_WORDS=()
  while [[ $1 != '=>' ]]; do
    COMP_WORDS+=("$1")
    shift
  done
  shift
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  COMPREPLY=()
  _carom || true
  local got expected
  got=$(printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort)
  expected=$(printf '%s\n' "$@" | LC_ALL=C sort)
  if [[ $got != "$expected" ]]; then
    printf 'completing "%s": got\n%s\nexpected\n%s\n' "${COMP_WORDS[*]}" "$got" "$expected"
    wrong=1
  fi
}

# contains WORDS... => COMPLETION: the completion is among those of the last word.
contains() {
  COMP_WORDS=("${@:1:$#-2}")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  COMPREPLY=()
  _carom || true
  local found
  for found in "${COMPREPLY[@]}"; do
    if [[ $found == "${*: -1}" ]]; then return; fi
  done
  printf 'completing "%s": no "%s" in: %s\n' "${COMP_WORDS[*]}" "${*: -1}" "${COMPREPLY[*]}"
  wrong=1
}

# all commands and options in the program's help
while read -r command; do
  contains carom '' '=>' "$command"
  while read -r option; do
    contains carom "$command" - '=>' "$option"
  done < <("$program" "$command" --help | sed -n '/^Options:/,$p' | grep -oE '^ +(-[a-z],)?--?[a-z]+' | grep -oE -- '--?[a-z]+')
done < <("$program" --help | sed -n '/^Subcommands:/,$p' | sed 1d | grep -oE '^  [a-z]+' | tr -d ' ')

expect carom ru '=>' run
expect carom --v '=>' --version
expect carom completion z '=>' zsh
expect carom run --outp '=>' --output
expect carom run b '=>' ball.json
expect carom run t '=>' 'two words.json'
expect carom check '' '=>' ball.json 'two words.json' models results
expect carom check models/ '=>' models/top.json
expect carom run -o '' '=>' models results
expect carom run ball.json --threads '' '=>' ''

# pointers, level by level, with the typed number
expect carom run ball.json --set /int '=>' /integrator/
expect carom run ball.json --set /integrator/st '=>' /integrator/step= /integrator/start_time=
expect carom run ball.json --set = /integrator/ste '=>' /integrator/step=
expect carom check ball.json --set /bodies/12/mat '=>' /bodies/12/material=
expect carom check ball.json --set /bodies/12 '=>' /bodies/12/
expect carom check ball.json --set /contacts/3/obstacle/motion/rotation/an '=>' /contacts/3/obstacle/motion/rotation/angle=
contains carom check --set '' '=>' /gravity=
expect carom run ball.json --set /integrator/newton/method = '=>' automatic full modified
expect carom run ball.json --set /integrator/newton/method = f '=>' full
expect carom run ball.json --set /output/vtu/enabled = t '=>' true
expect carom run ball.json --set /integrator/step = '' '=>' ''

# keys, in the form of the manual
expect carom schema /sect '=>' /sections/
expect carom schema sect '=>' sections/
expect carom schema bodies/inert '=>' bodies/inertia
expect carom schema --mark '=>' --markdown
for key in "${_carom_keys[@]}"; do
  if ! "$program" schema "$key" >/dev/null; then wrong=1; fi
done

for shell in zsh fish; do
  "$program" completion $shell >$shell
  if command -v $shell >/dev/null; then $shell -n $shell || wrong=1; fi
done
if command -v fish >/dev/null; then
  export HOME=$folder
  got=$(fish --no-config -c 'source fish; complete -C "carom ru"; complete -C "carom run ball.json --set /bodies/3/mas"; complete -C "carom schema /integrator/ste"; complete -C "carom run --outp"' | cut -f 1)
  expected=$'run\n/bodies/3/mass=\n/integrator/step\n--output'
  # fish also offers completions that contain the word
  for word in $expected; do
    if [[ $'\n'$got$'\n' != *$'\n'"$word"$'\n'* ]]; then
      printf 'fish: no "%s" in\n%s\n' "$word" "$got"
      wrong=1
    fi
  done
fi
exit $wrong
