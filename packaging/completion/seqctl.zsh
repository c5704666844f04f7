#compdef seqctl
# zsh completion for seqctl(1)

# The sequences' names, from the daemon when it answers quickly, at the socket of the command line.
_seqctl_names() {
  local -a names at
  local given=${opt_args[--socket]:-${opt_args[-s]:-$socket}}
  [[ -n $given ]] && at=(--socket "${(Q)given}")
  names=(${${(f)"$(timeout 1 seqctl --timeout 0.5 $at list 2>/dev/null)"}%% *})
  (( $#names > 1 )) && compadd -- "${names[@]:1}"
}

_seqctl_commands() {
  local -a commands=(
    'next:take IDs and print them, one a line'
    'parse:decode the text of an ID'
    'insert:insert a document and print its _id'
    'assign:print the number of a key in a register, or give it one'
    'confirm:say that the document of a key exists'
    'cancel:take the number from a key'
    'settle:confirm and cancel in bulk'
    'register:show the numbers of a register'
    'close:end a period of a register'
    'range:take IDs and print runs'
    'peek:show the next ID'
    'list:show the sequences the daemon knows'
    'status:show the daemon on one screen'
    'clients:show the connections'
    'rights:show what you may do, and why'
    'config:show the configuration of the daemon'
    'ping:check whether the daemon answers'
    'reload:read the configuration again'
    'explain:show who received an ID, or why it is a gap'
    'gaps:show the IDs that will never be issued'
    'audit:verify that every leased ID is accounted for'
    'advance:raise the counter in the store'
    'drain:release the available IDs'
    'decommission:remove this daemon permanently'
    'purge:remove the counters of old periods'
    'wait:wait until the daemon answers'
    'health:answer a probe\: one line and an exit code'
    'stat:print rates, gaps and errors, one line per interval'
    'top:show the busiest sequences'
    'watch:print a line for each change of some sequences'
    'latency:measure pings'
    'doctor:check this host, and say what to do'
  )
  _describe -t commands command commands
}

_seqctl() {
  local curcontext=$curcontext state line
  local -A opt_args
  # They may stand before and behind the command.
  local -a everywhere=(
    {-s,--socket=}"[the daemon's socket]:socket:_files"
    {-t,--timeout=}'[seconds to wait for an answer]:seconds'
    {-o,--output=}'[form of the output]:form:(text json)'
    '(- *)'{-h,--help}'[show the commands and options]'
  )
  local -a name=('1:sequence:_seqctl_names') yes=('--yes[do it]')
  local -a often=({-i,--interval=}'[seconds]:seconds' {-n,--count=}'[how many]:count')

  _arguments -C $everywhere '(- *)--version[show the version]' '1:command:_seqctl_commands' '*::argument:->command' && return
  [[ $state == command ]] || return
  # Before the command; what is behind it is in opt_args again.
  local socket=${opt_args[--socket]:-${opt_args[-s]}}
  curcontext=${curcontext%:*}-$words[1]:
  case $words[1] in
    next) _arguments $everywhere $name {-n,--count=}'[how many]:count' '--text[IDs as text]' ;;
    parse) _arguments $everywhere $name '2:text' ;;
    insert) _arguments $everywhere $name '2:document' '--unique=[a field that has a unique index]:field' '--msgpack[the document is MessagePack]' ;;
    assign) _arguments $everywhere $name '2:key' ;;
    confirm) _arguments $everywhere $name '2:key' '--number=[only if that is the number of the key]:number' ;;
    cancel) _arguments $everywhere $name '2:key' '--number=[only if that is the number of the key]:number' '--reason=[why]:reason' ;;
    settle) _arguments $everywhere $name '2:file:_files' ;;
    register)
      _arguments $everywhere $name '(--unconfirmed)--state=[only those in this state]:state:(assigned confirmed void free)' \
        '(--state)--unconfirmed[only unconfirmed numbers]' '--csv[comma-separated values, with a head]' ;;
    close) _arguments $everywhere $name $yes ;;
    range) _arguments $everywhere $name '2:count' ;;
    peek | audit) _arguments $everywhere $name ;;
    explain) _arguments $everywhere $name '2:ID' '--text[it is a text, though it is all digits]' ;;
    gaps) _arguments $everywhere $name {-n,--count=}'[at most so many]:count' '--after=[only behind the gap of this number]:number' ;;
    advance)
      _arguments $everywhere $name $yes '--to=[the next ID]:ID' '--everywhere[withdraw what hosts have available below it]' \
        '--all[every sequence of --store]' '--store=[the store of --all]:store' '--resume[let the sequences of a restored store go on]' ;;
    drain) _arguments $everywhere $name $yes '--all[every sequence]' '--remove[forget the sequence]' ;;
    purge) _arguments $everywhere $name $yes ;;
    decommission) _arguments $everywhere $yes '--keep-history[leave history.db in place]' ;;
    health) _arguments $everywhere '(--live)--ready[every sequence can issue IDs]' '(--ready)--live[it answers]' ;;
    watch) _arguments $everywhere $often '*:sequence:_seqctl_names' ;;
    rights) _arguments $everywhere '*:sequence:_seqctl_names' ;;
    config) _arguments $everywhere '1:what:(dump)' '2:sequence:_seqctl_names' ;;
    stat | latency) _arguments $everywhere $often ;;
    top) _arguments $everywhere $often '--rows=[at most so many sequences]:count' ;;
    doctor) _arguments $everywhere '--state-dir=[the state directory of the daemon]:directory:_files -/' '--witness-dir=[its witness directory]:directory:_files -/' ;;
    *) _arguments $everywhere ;;
  esac
}

_seqctl "$@"
