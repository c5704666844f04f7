// Package seqd is a client of the seqd daemon, which issues short, unique, increasing IDs to the
// programs of a host over a Unix socket.
//
//	client, err := seqd.Open(nil)
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//	id, err := client.Next(ctx, "orders")
//
// A Client connects by itself, and again with a growing delay when the daemon restarts. It has an
// identity, repeats what was in flight, and says what it has received, so that a restart or a kill of
// the daemon is not seen and costs no ID. Inserts without a unique field, and cancels without a
// number, are never repeated.
//
// All goroutines of a program use one Client. It has one connection; what they send at the same time
// leaves in one write, and replies arrive in any order.
//
// A call ends at the deadline of its context, or after Options.Timeout if the context has none. Its
// request says how long the daemon may wait for an ID. If the context ends a call that was sent,
// the ID is still issued, and is a gap.
//
// The errors of all calls are an *Error and match a Code, see ErrUnavailable and the others.
package seqd

import (
	"context"
	"os"
	"time"
)

// DefaultSocket is where the packaged daemon listens.
const DefaultSocket = "/run/seqd.sock"

// DefaultTimeout is that of a call whose context has no deadline.
const DefaultTimeout = 5 * time.Second

// Options of a Client. Zero in a field means its default.
type Options struct {
	// Socket is the path of the daemon's socket: by default $SEQD_SOCKET, else DefaultSocket.
	Socket string
	// Name is the program's name in the daemon's lists, at most 64 bytes.
	Name string
	// Timeout is the time of a call whose context has no deadline, reconnects included: by default
	// DefaultTimeout. Below 0: none; the configuration of the sequence then decides how long the
	// daemon waits for an ID. It is measured in steps of 50 ms, or of an eighth of it if that is less.
	Timeout time.Duration
	// ConnectTimeout is how long a call waits while no daemon listens: by default as long as its
	// other time is.
	ConnectTimeout time.Duration
	// Blocks says whether Next takes IDs inside the process; the default is NoBlocks. IDs of several
	// threads, methods and programs then interleave. Each sequence has a connection of its own, 64 at
	// most; further ones have no blocks.
	Blocks Blocks
}

// A Client takes IDs from the daemon of this host. It is safe for any number of goroutines. Close it
// when it is used no more. A child process needs a Client of its own.
type Client struct {
	s *session
	b *blockSet // nil: no blocks
}

// Open makes a Client. options may be nil. It does not connect: the first call does, so that a
// program can start before the daemon.
func Open(options *Options) (*Client, error) {
	var o Options
	if options != nil {
		o = *options
	}
	if len(o.Name) > 64 {
		return nil, &Error{Code: ErrArgument, Text: "the option Name has at most 64 bytes"}
	}
	if o.Socket == "" {
		o.Socket = os.Getenv("SEQD_SOCKET")
	}
	if o.Socket == "" {
		o.Socket = DefaultSocket
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Blocks < NoBlocks || o.Blocks > OnlyBlocks {
		return nil, &Error{Code: ErrArgument, Text: "the option Blocks is NoBlocks, AutoBlocks or OnlyBlocks"}
	}
	b, err := openBlocks(o)
	if err != nil {
		return nil, err
	}
	s, err := newSession(o)
	if err != nil {
		return nil, err
	}
	return &Client{s, b}, nil
}

// Close acknowledges the replies that have arrived, ends the connection, and waits for the
// goroutines of the Client. Calls that are under way, and later ones, get ErrClosed; an insert or Cancel
// that was sent gets ErrOutcomeUnknown. Closing again does nothing. The error is always nil.
func (c *Client) Close() error {
	if c.b != nil {
		c.b.close()
	}
	c.s.close()
	return nil
}

// Next takes one ID of the sequence.
func (c *Client) Next(ctx context.Context, sequence string) (int64, error) {
	if c.b != nil {
		if id, ok, err := c.nextOfBlock(ctx, sequence); ok || err != nil {
			return id, err
		}
	}
	r := newCall(kindNext, "next", sequence)
	err := c.s.do(ctx, r)
	id := r.id
	r.free()
	if err != nil {
		if c.b != nil {
			c.b.requestFailed(sequence, err)
		}
		return 0, err
	}
	return id, nil
}

// NextText takes one ID as the text that the sequence's format describes, as "INV-261121-0000420".
func (c *Client) NextText(ctx context.Context, sequence string) (string, error) {
	r := newCall(kindNextText, "next_text", sequence)
	err := c.s.do(ctx, r)
	text := r.text
	r.free()
	if err != nil {
		return "", err
	}
	return text, nil
}

// Range takes count IDs, or none, by one request. They come as runs in the order of issue, one of
// them usually. The daemon's limit is 100,000 if it is not configured.
func (c *Client) Range(ctx context.Context, sequence string, count int) ([]Run, error) {
	r := newCall(kindRange, "range", sequence)
	r.count = int64(count)
	err := c.s.do(ctx, r)
	runs := r.runs
	r.free()
	if err != nil {
		return nil, err
	}
	return runs, nil
}

// NextMany takes count IDs, or none, by one request, as Range does, one by one.
func (c *Client) NextMany(ctx context.Context, sequence string, count int) ([]int64, error) {
	runs, err := c.Range(ctx, sequence, count)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, 0, count)
	for _, run := range runs {
		for i := int64(0); i < run.Count; i++ {
			ids = append(ids, run.First+i*run.Step)
		}
	}
	return ids, nil
}

// Insert puts a document without _id into the collection of a sequence with mode "insert", and
// returns the _id that it got. The document is a map with string keys, a struct with `msgpack` tags,
// or what else encodes to a MessagePack map; a time.Time becomes a date.
//
// It is never repeated. ErrOutcomeUnknown: the connection, the time or the context ended before the
// reply, and the document may have been inserted; the error matches nothing else, neither
// context.Canceled nor context.DeadlineExceeded. After any other error the document was not inserted.
func (c *Client) Insert(ctx context.Context, sequence string, document interface{}) (int64, error) {
	return c.insert(ctx, sequence, document, "")
}

// InsertUnique is Insert of a document with a field that has a unique index of its own, and holds a
// text, bytes, an integer or a date. If a document with that value is there, the result is its _id.
// So it is repeated after a lost connection, and can be called again after each error.
func (c *Client) InsertUnique(ctx context.Context, sequence string, document interface{}, field string) (int64, error) {
	if field == "" {
		return 0, &Error{Code: ErrArgument, Text: "the unique field has no name"}
	}
	return c.insert(ctx, sequence, document, field)
}

func (c *Client) insert(ctx context.Context, sequence string, document interface{}, unique string) (int64, error) {
	params, depth, err := encode(document)
	if err != nil {
		return 0, err
	}
	r := newCall(kindInsert, "insert", sequence)
	r.params, r.depth, r.unique = params, depth+1, unique
	err = c.s.do(ctx, r)
	id := r.id
	r.free()
	if err != nil {
		return 0, err
	}
	return id, nil
}

func (s *session) close() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.failAll(errClosed())
	s.closed = true
	if l := s.link; l != nil {
		if l.ready && !l.writing {
			s.acknowledge(l)
			l.tryWrite(l.takeOutput())
		}
		l.end(errClosed())
		s.link = nil
	}
	if s.ticking && s.ticker.Stop() {
		s.ticking = false
		s.wg.Done()
	}
	s.cancel()
	s.unlock()
	s.wg.Wait()
}
