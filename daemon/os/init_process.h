// The first process of a PID namespace, as in a container, has duties that the daemon cannot have
// beside its own: it inherits the orphans of all others, which stay zombies until it waits for
// them, and a signal that it does not handle yet is dropped by the kernel. Main thread.
#pragma once

namespace seqd {

// Returns at once where this process is not number 1. Else it becomes a small init, and the call
// returns in a child, which is to be the daemon: the init passes on the signals of a service
// manager, waits for orphans, and ends when the child ends, with its exit code (128 and the number
// of the signal that killed it). The variables by which a service manager names number 1 as the one
// that it means name the child. If no child can be created, the process continues without one.
//
// Once, before there are threads, descriptors with locks, or anything else that a fork would lose.
void be_init_for_a_child();

}  // namespace seqd
