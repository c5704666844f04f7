// Interruption: SIGINT and SIGTERM end a command at the next place where it has printed everything
// that it has taken; a second signal ends it at once. One in a process, made by main(); a command
// only checks whether one came.
#pragma once

namespace seqd::seqctl {

// From now on; without it is_interrupted() is false.
void watch_interruptions();
bool is_interrupted();
// As if a signal had come, or had not.
void set_interrupted(bool interrupted);

}  // namespace seqd::seqctl
