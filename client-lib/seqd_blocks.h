/* libseqd: IDs taken inside this process, from blocks that the daemon grants: no request and no
 * system call for most of them, and none is lost. For sequences with `blocks = true`.
 *
 * A handle has a connection of its own. Each of up to 31 threads of a handle has a block of its
 * own; further threads share one and are slower. A thread's IDs increase, with exceptions: IDs that
 * a thread or process leaves in its block are issued to others later. This happens when the handle
 * is closed, when the process ends, and when the daemon ends the block. A kill -9 of the process,
 * or a block that the daemon ends, may cost one ID of each thread, which counts as issued.
 *
 * Threads: any number of them may use a handle at once; a signal handler may not. A child after
 * fork() may only close its parent's handles, and should: until it does, their blocks stay out if
 * the parent ends without closing them. A process that writes into its page (a segment of shared
 * memory) can repeat its own IDs.
 */
#ifndef SEQD_BLOCKS_H
#define SEQD_BLOCKS_H

#include "seqd.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct seqd_blocks seqd_blocks;

/* Blocks of the sequence `name`; `options` may be NULL. Does not connect yet. After an error
 * *blocks is NULL. SEQD_E_ARGUMENT also for SEQD_ANONYMOUS: a block has an owner. */
SEQD_API int seqd_blocks_open(const seqd_options* options, const char* name, seqd_blocks** blocks);

/* One ID. Waits only if the thread has no block, and at most for the time-out of the options. If
 * the daemon cannot grant a block, or its page cannot be attached (another IPC namespace), the ID
 * comes by an ordinary request, and seqd_blocks_last_error() returns the reason. SEQD_E_WRONG_MODE:
 * the sequence does not allow blocks. SEQD_E_NO_METHOD: the daemon is older than blocks.
 * SEQD_E_FORKED: the handle belongs to the parent process. */
SEQD_CHECKED int seqd_blocks_next(seqd_blocks* blocks, int64_t* id);

/* The same for a thread that must not wait, such as that of an event loop: SEQD_E_UNAVAILABLE if it
 * has no ID at hand. A block is then requested, from which later calls of this kind take, unless
 * the daemon has just refused one (seqd_blocks_last_error() returns the reason for that long);
 * meanwhile the caller takes IDs with a handle of its own kind (seqd_submit_next). A few
 * microseconds at most. */
SEQD_CHECKED int seqd_blocks_try_next(seqd_blocks* blocks, int64_t* id);

/* Closes and frees; the IDs of its blocks that were not taken are available again. Does not wait.
 * No other thread may be in a call with the handle. A child after fork() closes the connection that
 * it shares with its parent, whatever the parent's threads do, and frees nothing. NULL is allowed.
 */
SEQD_API void seqd_blocks_close(seqd_blocks* blocks);

/* The last error that this thread received from a function of this header, or why an ID came by a
 * request, as text; "" if there was none. Valid until the next error of the thread. */
SEQD_API const char* seqd_blocks_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
