# bash completion for seqctl(1)                                            -*- shell-script -*-
# shellcheck shell=bash

# The sequences' names, from the daemon when it answers quickly. compgen runs what is in them: the daemon of a container may be hostile.
_seqctl_names() {
  timeout 1 seqctl --timeout 0.5 "$@" list 2>/dev/null | awk 'NR > 1 && $1 ~ /^[A-Za-z0-9._:@-]+$/ { print $1 }'
}

_seqctl() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
  # Readline ends a word at = : and @, which an option and a name may have. (shellcheck does not see that this sets them.)
  if declare -F _get_comp_words_by_ref >/dev/null; then _get_comp_words_by_ref -n =:@ cur prev words cword; fi
  local commands="next parse insert assign confirm cancel settle register close range peek list status ping reload wait explain gaps audit advance drain decommission purge clients rights config health stat top watch latency doctor"
  local options="--socket --timeout --output --help --version"
  local command="" socket=() choices=() i

  for ((i = 1; i < cword; ++i)); do
    case ${words[i]} in
      -s | --socket) socket=(--socket "${words[++i]}") ;;
      --socket=*) socket=("${words[i]}") ;;
      -t | --timeout | -o | --output | -n | --count | --after | --unique | --number | --reason | --state | -i | --interval | --rows | --state-dir | --witness-dir) ((++i)) ;;
      -*) ;;
      *) [ -n "$command" ] || command=${words[i]} ;;
    esac
  done

  # Behind a = readline has a word of its own.
  case $cur in
    --socket=* | --output=* | --state-dir=* | --witness-dir=*)
      prev=${cur%%=*}
      cur=${cur#*=}
      ;;
    --*=*) return ;;
  esac
  case $prev in
    -s | --socket | --state-dir | --witness-dir)
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -f -- "$cur")
      return
      ;;
    -o | --output)
      mapfile -t COMPREPLY < <(compgen -W "text json" -- "$cur")
      return
      ;;
    -t | --timeout | -n | --count | --after | --to | --unique | --number | --reason | -i | --interval | --rows) return ;;
  esac

  case $command in
    "") choices=("$commands" "$options") ;;
    next | parse | insert | assign | confirm | cancel | settle | register | close | range | peek | explain | gaps | audit | advance | drain | purge)
      if [ "$prev" = "$command" ] && [[ $cur != -* ]]; then
        choices=("$(_seqctl_names "${socket[@]}")")
      elif [ "$command" = next ]; then
        choices=("--count --text $options")
      elif [ "$command" = insert ]; then
        choices=("--msgpack --unique $options")
      elif [ "$command" = confirm ]; then
        choices=("--number $options")
      elif [ "$command" = cancel ]; then
        choices=("--reason --number $options")
      elif [ "$prev" = --state ]; then
        choices=("assigned confirmed void free")
      elif [ "$command" = register ]; then
        choices=("--state --unconfirmed --csv $options")
      elif [ "$command" = close ]; then
        choices=("--yes $options")
      elif [ "$command" = advance ]; then
        choices=("--to --everywhere --all --store --resume --yes $options")
      elif [ "$command" = drain ]; then
        choices=("--all --remove --yes $options")
      elif [ "$command" = purge ]; then
        choices=("--yes $options")
      elif [ "$command" = explain ]; then
        choices=("--text $options")
      elif [ "$command" = gaps ]; then
        choices=("--count --after $options")
      else
        choices=("$options")
      fi
      ;;
    decommission) choices=("--yes --keep-history $options") ;;
    health) choices=("--ready --live $options") ;;
    watch)
      case $cur in
        -*) choices=("--interval --count $options") ;;
        *) choices=("$(_seqctl_names "${socket[@]}")") ;;
      esac
      ;;
    rights)
      case $cur in
        -*) choices=("$options") ;;
        *) choices=("$(_seqctl_names "${socket[@]}")") ;;
      esac
      ;;
    config)
      if [ "$prev" = config ]; then
        choices=(dump)
      elif [ "$prev" = dump ] && [[ $cur != -* ]]; then
        choices=("$(_seqctl_names "${socket[@]}")")
      else
        choices=("$options")
      fi
      ;;
    stat | latency) choices=("--interval --count $options") ;;
    top) choices=("--interval --count --rows $options") ;;
    doctor) choices=("--state-dir --witness-dir $options") ;;
    *) choices=("$options") ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "${choices[*]}" -- "$cur")

  # Readline replaces what is behind the last of those at which it ends a word.
  local ends=${COMP_WORDBREAKS//[!:@]/}
  if [[ -n $ends && $cur == *[$ends]* ]]; then
    local stays=${cur%"${cur##*["$ends"]}"}
    COMPREPLY=("${COMPREPLY[@]#"$stays"}")
  fi
}

complete -F _seqctl seqctl
