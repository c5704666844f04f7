# bash completion for seqctl(1)                                            -*- shell-script -*-
# shellcheck shell=bash

# The sequences' names, from the daemon when it answers quickly.
_seqctl_names() {
  timeout 1 seqctl --timeout 0.5 "$@" list 2>/dev/null | awk 'NR > 1 { print $1 }'
}

_seqctl() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local commands="next parse insert range peek list status ping reload wait explain gaps audit advance drain decommission purge health stat top latency doctor"
  local options="--socket --timeout --output --help --version"
  local command="" socket=() words=() i

  for ((i = 1; i < COMP_CWORD; ++i)); do
    case ${COMP_WORDS[i]} in
      -s | --socket) socket=(--socket "${COMP_WORDS[++i]}") ;;
      -t | --timeout | -o | --output | -n | --count | --after | --unique | -i | --interval | --rows | --state-dir | --witness-dir) ((++i)) ;;
      -*) ;;
      *) [ -n "$command" ] || command=${COMP_WORDS[i]} ;;
    esac
  done

  case $previous in
    -s | --socket | --state-dir | --witness-dir)
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return
      ;;
    -o | --output)
      mapfile -t COMPREPLY < <(compgen -W "text json" -- "$current")
      return
      ;;
    -t | --timeout | -n | --count | --after | --to | --unique | -i | --interval | --rows) return ;;
  esac

  case $command in
    "") words=("$commands" "$options") ;;
    next | parse | insert | range | peek | explain | gaps | audit | advance | drain | purge)
      if [ "$previous" = "$command" ] && [[ $current != -* ]]; then
        words=("$(_seqctl_names "${socket[@]}")")
      elif [ "$command" = next ]; then
        words=("--count --text $options")
      elif [ "$command" = insert ]; then
        words=("--msgpack --unique $options")
      elif [ "$command" = advance ]; then
        words=("--to --everywhere --all --store --resume --yes $options")
      elif [ "$command" = drain ]; then
        words=("--all --yes $options")
      elif [ "$command" = purge ]; then
        words=("--yes $options")
      elif [ "$command" = explain ]; then
        words=("--text $options")
      elif [ "$command" = gaps ]; then
        words=("--count --after $options")
      else
        words=("$options")
      fi
      ;;
    decommission) words=("--yes --keep-history $options") ;;
    health) words=("--ready --live $options") ;;
    stat | latency) words=("--interval --count $options") ;;
    top) words=("--interval --count --rows $options") ;;
    doctor) words=("--state-dir --witness-dir $options") ;;
    *) words=("$options") ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "${words[*]}" -- "$current")
}

complete -F _seqctl seqctl
