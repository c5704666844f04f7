/* libseqd: IDs taken inside this process, from blocks that the daemon lets it have: no request and
 * no system call for most of them, and none is lost. For sequences with `blocks = true`.
 *
 * A handle has a connection of its own. Each thread has a block of its own; 31 threads for each
 * handle, further ones share one and are slower. A thread's IDs increase, with exceptions: what one
 * thread or process leaves of its block others get later. When the handle is closed, the process
 * ends, or the daemon wants them back, the IDs that were not taken are issued to others. A kill -9
 * of the process may cost each thread one ID, which counts as issued.
 *
 * Threads: any number of them may use a handle at once; no signal handler may. A child after fork()
 * may only close its parent's handles, and should: their blocks stay out until it has, also when
 * the parent has ended. A process that writes into its page (a segment of shared memory) can repeat
 * its own IDs.
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

/* One ID. Waits only where the thread has no block, and at most for the time-out of the options.
 * Where the daemon has no block to give, or its page cannot be attached (another IPC namespace), it
 * is an ordinary request, and seqd_blocks_last_error() says why. SEQD_E_WRONG_MODE: the sequence
 * does not allow blocks. SEQD_E_NO_METHOD: the daemon is older. SEQD_E_FORKED: the handle belongs
 * to the parent process. */
SEQD_CHECKED int seqd_blocks_next(seqd_blocks* blocks, int64_t* id);

/* The same for a thread that must not wait, as that of an event loop: SEQD_E_UNAVAILABLE when it
 * has no ID at hand. A block is then asked for, which a later call of this kind takes from;
 * meanwhile the caller takes IDs with a handle of its own kind (seqd_submit_next). A few
 * microseconds at most. */
SEQD_CHECKED int seqd_blocks_try_next(seqd_blocks* blocks, int64_t* id);

/* Closes, which makes what was not taken available again, and frees. Does not wait. No other thread
 * may be in a call with the handle. A child after fork() closes the connection that it shares with
 * its parent, whatever the parent's threads do, and frees nothing. NULL is allowed. */
SEQD_API void seqd_blocks_close(seqd_blocks* blocks);

/* The last error that this thread got from a function of this header, or why an ID came by a
 * request, as text; "" when there was none. Until the thread's next one. */
SEQD_API const char* seqd_blocks_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
