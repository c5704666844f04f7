//go:build seqd_blocks && cgo && linux

package seqd

/*
#cgo LDFLAGS: -lseqd
#include <seqd_blocks.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
	int64_t id;
	int code;
	char *text; // of a refusal
} taken;

// A handle is a number for Go, which would allocate for each pointer to a type without fields, as for
// one to the ID. One call, so that no other thread's error is read.
static taken take(uintptr_t handle) {
	taken result = {0, 0, NULL};
	result.code = seqd_blocks_try_next((seqd_blocks *)handle, &result.id);
	if (result.code == SEQD_E_WRONG_MODE || result.code == SEQD_E_NO_METHOD)
		result.text = strdup(seqd_blocks_last_error());
	return result;
}

static uintptr_t make(const char *socket, const char *name, int64_t timeout_ms, const char *sequence) {
	seqd_options options = SEQD_OPTIONS_INIT;
	options.socket_path = socket;
	options.name = name;
	options.timeout_ms = timeout_ms;
	seqd_blocks *blocks = NULL;
	return seqd_blocks_open(&options, sequence, &blocks) == SEQD_OK ? (uintptr_t)blocks : 0;
}

static void end(uintptr_t handle) {
	seqd_blocks_close((seqd_blocks *)handle);
}
*/
import "C"

import (
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

const (
	mostRefused    = 1024
	mostUsed       = 1024
	longestName    = 128                  // bytes; the daemon refuses longer ones
	refusedAgain   = time.Minute          // it may have been configured
	longestTimeout = 365 * 24 * time.Hour // of libseqd
)

// A held handle is one of libseqd. `gave` is set with the mutex of its blockSet for reading or writing.
type held struct {
	handle C.uintptr_t
	made   uint64      // rises
	gave   atomic.Bool // an ID came of it
}

// A blockSet is the blocks of a client: a handle of libseqd for each sequence. No call of libseqd
// waits here, but for the first one of a process: some milliseconds for membarrier(2). The mutex is
// held for reading during the calls that take, for writing where a handle comes or goes.
type blockSet struct {
	options Options
	only    bool

	mu      sync.RWMutex
	closed  bool
	handles map[string]*held
	made    uint64               // handles, so far
	proved  atomic.Int32         // handles that gave an ID
	refused map[string]time.Time // until when no handle is made
	used    map[string]bool      // names that were used before
	now     func() time.Time     // of the tests
}

func openBlocks(o Options) (*blockSet, error) {
	if o.Blocks == NoBlocks {
		return nil, nil
	}
	return &blockSet{options: o, only: o.Blocks == OnlyBlocks, handles: map[string]*held{},
		refused: map[string]time.Time{}, used: map[string]bool{}, now: time.Now}, nil
}

// next takes an ID of the block of this thread; if none is left, libseqd requests a block.
func (b *blockSet) next(sequence string) (int64, bool, error) {
	b.mu.RLock()
	held := b.handles[sequence]
	if held == nil {
		may := b.mayHave(sequence)
		b.mu.RUnlock()
		if may {
			b.open(sequence)
		}
		return 0, false, nil
	}
	result := C.take(held.handle)
	if result.code == C.SEQD_OK && !held.gave.Load() && !held.gave.Swap(true) {
		b.proved.Add(1)
	}
	b.mu.RUnlock()
	if result.code == C.SEQD_OK {
		return int64(result.id), true, nil
	}
	if result.code != C.SEQD_E_WRONG_MODE && result.code != C.SEQD_E_NO_METHOD {
		return 0, false, nil // the request that follows returns the error
	}
	text := C.GoString(result.text)
	C.free(unsafe.Pointer(result.text))
	if b.only {
		code := ErrWrongMode
		if result.code == C.SEQD_E_NO_METHOD {
			code = ErrNoMethod
		}
		return 0, false, &Error{Code: code, Text: text, CallerFault: true}
	}
	b.refuse(sequence)
	return 0, false, nil
}

// requestFailed reports the error of the request that was sent instead of a block. A name that the
// daemon refuses has no blocks, so its handle is closed: it would occupy one of mostBlocks. Errors
// that are the daemon's own are temporary, and keep the handle.
func (b *blockSet) requestFailed(sequence string, err error) {
	var said *Error
	if !errors.As(err, &said) || !said.CallerFault {
		return
	}
	b.mu.RLock()
	held := b.handles[sequence]
	b.mu.RUnlock()
	if held != nil {
		b.refuse(sequence)
	}
}

// mayHave reports whether a handle can be made. With the mutex.
func (b *blockSet) mayHave(sequence string) bool {
	if b.closed || b.proved.Load() >= mostBlocks || len(sequence) > longestName ||
		strings.IndexByte(sequence, 0) >= 0 {
		return false
	}
	until, refused := b.refused[sequence]
	return !refused || !b.now().Before(until)
}

// open makes the handle of a sequence, which requests its first block with the call after this one.
// Not for the first call: only a later one would receive the error that the sequence has no blocks,
// so a name that is used once would occupy a handle for good.
func (b *blockSet) open(sequence string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.handles[sequence] != nil || !b.mayHave(sequence) {
		return
	}
	if !b.used[sequence] {
		if len(b.used) >= mostUsed {
			b.used = map[string]bool{}
		}
		b.used[sequence] = true
		return
	}
	b.makeRoom()
	delete(b.refused, sequence)
	timeout := b.options.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	if timeout < time.Millisecond {
		timeout = time.Millisecond
	}
	if timeout > longestTimeout {
		timeout = longestTimeout
	}
	socket, name, text := C.CString(b.options.Socket), C.CString(b.options.Name), C.CString(sequence)
	if handle := C.make(socket, name, C.int64_t(timeout.Milliseconds()), text); handle != 0 {
		b.made++
		b.handles[sequence] = &held{handle: handle, made: b.made}
	} else {
		b.remember(sequence)
	}
	for _, one := range []*C.char{socket, name, text} {
		C.free(unsafe.Pointer(one))
	}
}

// makeRoom: the oldest handle that gave no ID ends, as that of a sequence without blocks that is used
// seldom. There is one: see mayHave. Its name waits like one that was refused, or more names in turn
// than there are handles would push each other out. With the mutex, for writing.
func (b *blockSet) makeRoom() {
	if len(b.handles) < mostBlocks {
		return
	}
	oldest, made := "", uint64(math.MaxUint64)
	for sequence, held := range b.handles {
		if !held.gave.Load() && held.made < made {
			oldest, made = sequence, held.made
		}
	}
	b.end(oldest)
	b.remember(oldest)
}

// end closes the handle of a sequence, if it has one. With the mutex, for writing.
func (b *blockSet) end(sequence string) {
	held := b.handles[sequence]
	if held == nil {
		return
	}
	delete(b.handles, sequence)
	if held.gave.Load() {
		b.proved.Add(-1)
	}
	C.end(held.handle)
}

func (b *blockSet) refuse(sequence string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end(sequence)
	b.remember(sequence)
}

// remember: no handle is made for a while. With the mutex, for writing.
func (b *blockSet) remember(sequence string) {
	if len(b.refused) >= mostRefused {
		b.refused = map[string]time.Time{}
	}
	b.refused[sequence] = b.now().Add(refusedAgain)
}

func (b *blockSet) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for sequence := range b.handles {
		b.end(sequence)
	}
}
