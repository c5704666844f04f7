package seqd

import (
	"errors"
	"math/rand"
	"net"
	"sort"
	"syscall"
	"time"
)

const (
	readBytes = 16 << 10
	// A daemon that starts is slow to answer hello; without an answer in this time, the connection is
	// closed.
	helloTimeout = 10 * time.Second
	// The delay before an attempt to connect doubles from the shortest to the longest one; the first
	// is made at once.
	shortestDelay = time.Millisecond
	longestDelay  = 100 * time.Millisecond
	// Attempts of one goroutine to write for others before a goroutine of its own takes that over.
	mostFlushes = 4
	keptBytes   = 256 << 10 // of a buffer that is used again
)

// A readerKind is the reader of a link. The reader owns the inbox.
type readerKind uint8

const (
	readsOwn    readerKind = iota // the goroutine of connections
	readsCaller                   // the caller of a request
	readsNone                     // nothing is in flight
)

// A link is one connection. The session's mutex guards it, except for what is said otherwise.
type link struct {
	conn     *net.UnixConn
	raw      syscall.RawConn
	ready    bool // hello was answered
	proved   bool // a request was answered
	stopping bool // the daemon said STOPPING: nothing more is sent here
	inFlight int  // sent here and not answered
	why      error
	reader   readerKind
	wanted   bool          // the goroutine of connections is to read next
	resume   chan struct{} // of one place: look at wanted
	lastRead time.Time     // until then it reads; zero: without an end
	inbox    inbox         // of the reader
	out      []byte        // to be sent
	writing  bool          // a goroutine writes: that one owns what follows

	spare   []byte // the buffer that out becomes next
	rest    []byte // a buffer that was written in part
	sent    int    // of rest
	buffer  []byte // of writeOnce
	written int
	errno   error
	once    func(fd uintptr) bool
}

func newLink(conn *net.UnixConn) (*link, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	l := &link{conn: conn, raw: raw, resume: make(chan struct{}, 1)}
	l.once = l.writeOnce
	return l, nil
}

// wantsWriter makes the caller the writer, if there is something to write and no writer.
func (l *link) wantsWriter() bool {
	if l.writing || len(l.out) == 0 {
		return false
	}
	l.writing = true
	return true
}

func (l *link) takeOutput() []byte {
	output := l.out
	l.out = l.spare[:0]
	l.spare = nil
	return output
}

// end makes the reader leave, with that reason.
func (l *link) end(why error) {
	l.ready = false
	l.why = why
	l.conn.Close()
	l.wantReader()
}

func (l *link) writeOnce(fd uintptr) bool {
	for {
		l.written, l.errno = syscall.Write(int(fd), l.buffer)
		if l.errno != syscall.EINTR {
			return true
		}
	}
}

// tryWrite writes what the socket takes at once. The writer only.
func (l *link) tryWrite(b []byte) (int, error) {
	l.buffer, l.written, l.errno = b, 0, nil
	err := l.raw.Write(l.once)
	l.buffer = nil
	if err == nil {
		err = l.errno
	}
	if l.written < 0 {
		l.written = 0
	}
	if err == syscall.EAGAIN {
		err = nil
	}
	return l.written, err
}

// writeFailed: replies that arrived before are read until the end of the connection, for a moment
// at most.
func (s *session) writeFailed(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.lastRead = time.Now().Add(time.Second)
	l.conn.SetReadDeadline(l.lastRead)
	l.wantReader()
}

// flush writes without waiting, as the writer. output was taken already, or is nil.
func (s *session) flush(l *link, output []byte) {
	for flushes := 0; ; flushes++ {
		if output == nil {
			s.mu.Lock()
			if output = s.moreOutput(l); output == nil {
				s.unlock()
				return
			}
			s.unlock()
		}
		n, err := l.tryWrite(output)
		if err != nil {
			s.writeFailed(l)
			return
		}
		if n < len(output) || flushes == mostFlushes {
			l.rest, l.sent = output, n
			s.mu.Lock()
			if !s.closed {
				s.wg.Add(1)
				go s.drain(l)
			}
			s.unlock()
			return
		}
		l.keep(output)
		output = nil
	}
}

// drain writes all there is, waiting for the socket, as the writer.
func (s *session) drain(l *link) {
	defer s.wg.Done()
	output, sent := l.rest, l.sent
	l.rest = nil
	for {
		if _, err := l.conn.Write(output[sent:]); err != nil {
			s.writeFailed(l)
			return
		}
		l.keep(output)
		sent = 0
		s.mu.Lock()
		output = s.moreOutput(l)
		s.unlock()
		if output == nil {
			return
		}
	}
}

func (l *link) keep(output []byte) {
	if cap(output) <= keptBytes {
		l.spare = output
	}
}

// moreOutput is what the writer has to write next; nil: it is the writer no more.
func (s *session) moreOutput(l *link) []byte {
	if s.link != l {
		return nil
	}
	l.writing = false // nothing is being written: a new identity can be taken
	if s.queue.first != nil || s.table.to != s.table.next {
		s.fill(l, s.now())
	}
	if !l.wantsWriter() {
		return nil
	}
	return l.takeOutput()
}

// run connects whenever there are calls, and reads, until Close.
func (s *session) run() {
	defer s.wg.Done()
	delay := time.Duration(0)
	attempt := time.Now()
	random := rand.New(rand.NewSource(int64(bigEndian(s.identity[:8]))))
	for s.awaitWork() && s.sleepUntil(attempt) {
		l, err := s.connect()
		if err == nil {
			err = s.read(l)
			s.lost(l, err)
			if l.proved {
				delay = 0
			}
		}
		// Between half and the whole of it: the clients of a restarted daemon do not arrive together.
		attempt = time.Now().Add(delay - time.Duration(random.Int63n(int64(delay)/2+1)))
		delay *= 2
		if delay < shortestDelay {
			delay = shortestDelay
		} else if delay > longestDelay {
			delay = longestDelay
		}
	}
}

func (s *session) awaitWork() bool {
	for {
		s.mu.Lock()
		closed, live := s.closed, s.live
		s.mu.Unlock()
		if closed || live > 0 {
			return !closed
		}
		select {
		case <-s.wake:
		case <-s.stop.Done():
		}
	}
}

func (s *session) sleepUntil(at time.Time) bool {
	wait := time.Until(at)
	if wait <= 0 {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.stop.Done():
		return false
	}
}

// connect makes a connection and says hello. An error was dealt with.
func (s *session) connect() (*link, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(s.stop, "unix", s.options.Socket)
	var l *link
	if err == nil {
		l, err = newLink(conn.(*net.UnixConn))
	}
	s.mu.Lock()
	defer s.unlock()
	if err != nil {
		s.trouble = err
		if !isWorthARetry(err) {
			s.failAll(&Error{Code: ErrConnect, Text: "cannot connect to " + s.options.Socket + ": " + err.Error(), Err: err})
		}
		return nil, err
	}
	if s.closed {
		conn.Close()
		return nil, errClosed()
	}
	conn.SetReadDeadline(time.Now().Add(helloTimeout))
	// The only thing in an empty socket buffer: it fits.
	if _, err = l.tryWrite(appendHello(nil, 0, s.identity[:], s.options.Name)); err != nil {
		s.trouble = err
		conn.Close()
		return nil, err
	}
	s.link = l
	return l, nil
}

// isWorthARetry: the daemon comes back from these by itself.
func isWorthARetry(err error) bool {
	for _, one := range [...]syscall.Errno{syscall.ENOENT, syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE,
		syscall.EAGAIN, syscall.EINTR} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

// lost ends a connection: what has no reply is sent again on the next one.
func (s *session) lost(l *link, why error) {
	l.conn.Close()
	s.mu.Lock()
	defer s.unlock()
	if s.closed {
		return
	}
	if l.proved || l.ready {
		s.connectUntil = s.now() + int64(s.options.ConnectTimeout)
	}
	s.link = nil
	s.trouble = why
	s.table.disconnected()
	again := make([]*call, 0, len(s.other))
	for msgid, c := range s.other {
		delete(s.other, msgid)
		switch {
		case c == late:
		case c.once():
			err := s.perhapsDone(c, &Error{Code: ErrConnect, Text: "the connection was lost: " + why.Error(), Err: why})
			s.end(c, err)
		default:
			c.perhaps = c.kind == kindInsert
			again = append(again, c)
		}
	}
	sort.Slice(again, func(i, j int) bool { return again[i].msgid > again[j].msgid })
	for _, c := range again {
		s.requeue(c)
	}
}

// requeue puts a request without a number in front of the queue: it gets another msgid.
func (s *session) requeue(c *call) {
	c.state = stateQueued
	s.queue.pushFront(c)
}

// end finishes a call that is in no list any more.
func (s *session) end(c *call, err error) {
	c.state = stateDone
	s.live--
	s.finish(c, err)
}
