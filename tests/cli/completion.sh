#!/usr/bin/env bash
#
# bash, zsh and fish, given the scripts that the program prints, complete commands, options, files, keys and pointers; zsh
# and fish where they are installed.
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
carom() { "$program" "$@"; }

# expect WORDS... => COMPLETION...: the last word is completed to exactly these, in any order. A blank ends a completion
# after which the next word begins.
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

# contains WORDS... => COMPLETION: the completion and a blank are among those of the last word.
contains() {
  COMP_WORDS=("${@:1:$#-2}")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  COMPREPLY=()
  _carom || true
  local found
  for found in "${COMPREPLY[@]}"; do
    if [[ $found == "${*: -1} " ]]; then return; fi
  done
  printf 'completing "%s": no "%s" in: %s\n' "${COMP_WORDS[*]}" "${*: -1}" "${COMPREPLY[*]}"
  wrong=1
}

# all commands and options in the program's help
while read -r command; do
  contains carom '' '=>' "$command"
  while read -r option; do
    contains carom "$command" - '=>' "$option"
  done < <("$program" "$command" --help | sed -n '/^Options:/,/^Example/p' | grep -oE '^ +(-[a-z],)?--?[a-z]+' | grep -oE -- '--?[a-z]+')
done < <("$program" --help | sed -n '/^Subcommands:/,$p' | sed 1d | grep -oE '^  [a-z]+' | tr -d ' ')

expect carom ru '=>' 'run '
expect carom --v '=>' '--version '
expect carom completion z '=>' 'zsh '
expect carom run --outp '=>' '--output '
expect carom run b '=>' 'ball.json '
expect carom run t '=>' 'two\ words.json '
expect carom run 'two\ w' '=>' 'two\ words.json '
expect carom check '' '=>' 'ball.json ' 'two\ words.json ' models/ results/
expect carom check models/ '=>' 'models/top.json '
expect carom check "$folder/mod" '=>' "$folder/models/"
expect carom run -o '' '=>' models/ results/
expect carom run --output = r '=>' results/
expect carom run ball.json --threads '' '=>' ''
expect carom walk '' '=>' ''

# pointers, level by level, with the typed number
expect carom run ball.json --set /int '=>' /integrator/
expect carom run ball.json --set /integrator/st '=>' /integrator/step= /integrator/start_time= /integrator/strategy=
expect carom run ball.json --set = /integrator/ste '=>' /integrator/step=
expect carom check ball.json --set /bodies/12/mat '=>' /bodies/12/material=
expect carom check ball.json --set /bodies/12 '=>' /bodies/12/
expect carom check ball.json --set /contacts/3/obstacle/motion/rotation/an '=>' /contacts/3/obstacle/motion/rotation/angle=
expect carom check --set /grav '=>' /gravity=
expect carom run ball.json --set /integrator/newton/method = '=>' 'automatic ' 'full ' 'modified '
expect carom run ball.json --set /integrator/newton/method = f '=>' 'full '
expect carom run ball.json --set = /integrator/newton/method = f '=>' 'full '
expect carom run ball.json --set /integrator/newton/method=f '=>' '/integrator/newton/method=full '
expect carom run ball.json --set /output/vtu/enabled = t '=>' 'true '
expect carom run ball.json --set /integrator/step = '' '=>' ''

# methods of a comparison, as bash parts the words
expect carom compare ball.json --integrators mor '=>' 'moreau_jean'
expect carom compare ball.json --integrators nsga_decoupled,mor '=>' 'nsga_decoupled,moreau_jean'
expect carom compare ball.json --integrators b = mor '=>' 'moreau_jean'
expect carom compare ball.json --integrators moreau_jean : the '=>' 'theta='
expect carom compare ball.json --integrators moreau_jean : '=>' 'step=' 'duration=' 'start_time=' 'max_subdivisions=' 'theta=' 'max_iterations=' 'tolerance=' 'constraint_tolerance='
expect carom compare ball.json --integrators nsga_decoupled : force_corrections = t '=>' 'true'
expect carom compare ball.json --integrators a = nsga_decoupled : test = paper,mo '=>' 'paper,moreau_jean'
expect carom compare ball.json --integrators=moreau_jean:the '=>' '--integrators=moreau_jean:theta='
expect carom converge ball.json --vary /integrator/force_c '=>' '/integrator/force_corrections='
expect carom compare ball.json --vary /integrator/force_c '=>' '/integrator/force_corrections='

# keys, as the manual takes them: every one that completion leads to is known there
expect carom schema /sect '=>' /sections/
expect carom schema sect '=>' sections/
expect carom schema bodies/inert '=>' 'bodies/inertia '
expect carom schema --mark '=>' '--markdown '
known=0
open=(/)
while ((${#open[@]} > 0)); do
  COMP_WORDS=(carom schema "${open[-1]}")
  COMP_CWORD=2
  unset 'open[-1]'
  _carom
  for key in "${COMPREPLY[@]}"; do
    case $key in
      */) open+=("$key") ;;
      *) "$program" schema "${key% }" >/dev/null || wrong=1 ;;
    esac
    known=$((known + 1))
  done
done
if ((known < 100)); then
  echo "only $known keys are completed"
  wrong=1
fi

for shell in zsh fish; do
  "$program" completion $shell >$shell
  if command -v $shell >/dev/null; then $shell -n $shell || wrong=1; fi
done
# what a shell completes a line to
complete_in() {
  case $1 in
    zsh) zsh -f zsh_lines "$2" ;;
    fish) HOME=$folder fish --no-config -c "source fish; complete -C '$2'" | cut -f 1 ;;
  esac
}
# compadd as zsh's completion calls it, printing
cat >zsh_lines <<'END'
compdef() { :; }
compadd() { shift ${argv[(i)--]}; print -rl -- "$@"; }
source ./zsh
words=("${(@s: :)1}") CURRENT=${#words} PREFIX=${words[-1]}
_carom
END
PATH=$(dirname "$program"):$PATH
for shell in zsh fish; do
  if ! command -v $shell >/dev/null; then continue; fi
  while read -r line expected; do
    if [[ $(complete_in $shell "${line//_/ }" | grep -v '^$') != "$expected" ]]; then
      printf '%s completing "%s": got\n%s\nexpected\n%s\n' $shell "${line//_/ }" "$(complete_in $shell "${line//_/ }")" "$expected"
      wrong=1
    fi
  done <<'END'
carom_ru run
carom_run_--outp --output
carom_run_bal ball.json
carom_run_ball.json_--set_/bodies/3/rad /bodies/3/radius=
carom_run_ball.json_--set_/integrator/newton/method=f /integrator/newton/method=full
carom_schema_/integrator/ste /integrator/step
END
done
exit $wrong
