# fish completion for seqctl(1)

set -l taking next parse insert assign confirm cancel settle register close range peek explain gaps audit advance drain purge watch rights
set -l other list status ping reload wait decommission clients config health stat top latency doctor

# The sequences' names, from the daemon when it answers quickly, at the socket of the command line.
function __seqctl_names
    set -l socket
    set -l words (commandline -opc)
    for place in (seq (count $words))
        switch $words[$place]
            case -s --socket
                test $place -lt (count $words); and set socket --socket $words[(math $place + 1)]
            case '--socket=*'
                set socket $words[$place]
        end
    end
    timeout 1 seqctl --timeout 0.5 $socket list 2>/dev/null | string match -r '^\S+' | tail -n +2
end

# True where a command that takes a sequence was given, and nothing after it.
function __seqctl_wants_name
    set -l words (commandline -opc)
    contains -- $words[-1] $argv
end

complete -c seqctl -f
complete -c seqctl -n "__fish_seen_subcommand_from $taking; and __seqctl_wants_name $taking" -a '(__seqctl_names)' -d sequence

set -l none "not __fish_seen_subcommand_from $taking $other"
complete -c seqctl -n $none -a next -d 'take IDs and print them, one a line'
complete -c seqctl -n $none -a parse -d 'decode the text of an ID'
complete -c seqctl -n $none -a insert -d 'insert a document and print its _id'
complete -c seqctl -n $none -a assign -d 'print the number of a key in a register, or give it one'
complete -c seqctl -n $none -a confirm -d 'say that the document of a key exists'
complete -c seqctl -n $none -a cancel -d 'take the number from a key'
complete -c seqctl -n $none -a settle -d 'confirm and cancel in bulk'
complete -c seqctl -n $none -a register -d 'show the numbers of a register'
complete -c seqctl -n $none -a close -d 'end a period of a register'
complete -c seqctl -n $none -a range -d 'take IDs and print runs'
complete -c seqctl -n $none -a peek -d 'show the next ID'
complete -c seqctl -n $none -a list -d 'show the sequences the daemon knows'
complete -c seqctl -n $none -a status -d 'show the daemon on one screen'
complete -c seqctl -n $none -a clients -d 'show the connections'
complete -c seqctl -n $none -a rights -d 'show what you may do, and why'
complete -c seqctl -n $none -a config -d 'show the configuration of the daemon'
complete -c seqctl -n $none -a ping -d 'check whether the daemon answers'
complete -c seqctl -n $none -a reload -d 'read the configuration again'
complete -c seqctl -n $none -a explain -d 'show who received an ID, or why it is a gap'
complete -c seqctl -n $none -a gaps -d 'show the IDs that will never be issued'
complete -c seqctl -n $none -a audit -d 'verify that every leased ID is accounted for'
complete -c seqctl -n $none -a advance -d 'raise the counter in the store'
complete -c seqctl -n $none -a drain -d 'release the available IDs'
complete -c seqctl -n $none -a decommission -d 'remove this daemon permanently'
complete -c seqctl -n $none -a purge -d 'remove the counters of old periods'
complete -c seqctl -n $none -a wait -d 'wait until the daemon answers'
complete -c seqctl -n $none -a health -d 'answer a probe: one line and an exit code'
complete -c seqctl -n $none -a stat -d 'print rates, gaps and errors, one line per interval'
complete -c seqctl -n $none -a top -d 'show the busiest sequences'
complete -c seqctl -n $none -a watch -d 'print a line for each change of some sequences'
complete -c seqctl -n $none -a latency -d 'measure pings'
complete -c seqctl -n $none -a doctor -d 'check this host, and say what to do'

# Those of watch and rights follow one another; dump takes one.
complete -c seqctl -n '__fish_seen_subcommand_from watch rights; and not __seqctl_wants_name watch rights' -a '(__seqctl_names)' -d sequence
complete -c seqctl -n '__fish_seen_subcommand_from config; and not __fish_seen_subcommand_from dump' -a dump -d 'print the configuration in force'
complete -c seqctl -n '__seqctl_wants_name dump' -a '(__seqctl_names)' -d sequence

complete -c seqctl -s s -l socket -r -F -d "the daemon's socket"
complete -c seqctl -s t -l timeout -x -d 'seconds to wait for an answer'
complete -c seqctl -s o -l output -x -a 'text json' -d 'form of the output'
complete -c seqctl -s h -l help -d 'show the commands and options'
complete -c seqctl -l version -d 'show the version'

complete -c seqctl -n '__fish_seen_subcommand_from next gaps stat top watch latency' -s n -l count -x -d 'how many'
complete -c seqctl -n '__fish_seen_subcommand_from next explain' -l text -d 'IDs as text'
complete -c seqctl -n '__fish_seen_subcommand_from gaps' -l after -x -d 'only behind the gap of this number'
complete -c seqctl -n '__fish_seen_subcommand_from insert' -l unique -x -d 'a field that has a unique index'
complete -c seqctl -n '__fish_seen_subcommand_from insert' -l msgpack -d 'the document is MessagePack'
complete -c seqctl -n '__fish_seen_subcommand_from confirm cancel' -l number -x -d 'only if that is the number of the key'
complete -c seqctl -n '__fish_seen_subcommand_from cancel' -l reason -x -d 'why'
complete -c seqctl -n '__fish_seen_subcommand_from register' -l state -x -a 'assigned confirmed void free' -d 'only those in this state'
complete -c seqctl -n '__fish_seen_subcommand_from register' -l unconfirmed -d 'only unconfirmed numbers'
complete -c seqctl -n '__fish_seen_subcommand_from register' -l csv -d 'comma-separated values, with a head'
complete -c seqctl -n '__fish_seen_subcommand_from advance' -l to -x -d 'the next ID'
complete -c seqctl -n '__fish_seen_subcommand_from advance' -l everywhere -d 'withdraw what hosts have available below it'
complete -c seqctl -n '__fish_seen_subcommand_from advance' -l store -x -d 'the store of --all'
complete -c seqctl -n '__fish_seen_subcommand_from advance' -l resume -d 'let the sequences of a restored store go on'
complete -c seqctl -n '__fish_seen_subcommand_from advance drain' -l all -d 'every sequence'
complete -c seqctl -n '__fish_seen_subcommand_from drain' -l remove -d 'forget the sequence'
complete -c seqctl -n '__fish_seen_subcommand_from advance drain purge decommission close' -l yes -d 'do it'
complete -c seqctl -n '__fish_seen_subcommand_from stat top watch latency' -s i -l interval -x -d 'seconds'
complete -c seqctl -n '__fish_seen_subcommand_from top' -l rows -x -d 'at most so many sequences'
complete -c seqctl -n '__fish_seen_subcommand_from health' -l ready -d 'every sequence can issue IDs'
complete -c seqctl -n '__fish_seen_subcommand_from health' -l live -d 'it answers'
complete -c seqctl -n '__fish_seen_subcommand_from doctor' -l state-dir -r -F -d "the daemon's state directory"
complete -c seqctl -n '__fish_seen_subcommand_from doctor' -l witness-dir -r -F -d 'its witness directory'
complete -c seqctl -n '__fish_seen_subcommand_from decommission' -l keep-history -d 'leave history.db in place'
