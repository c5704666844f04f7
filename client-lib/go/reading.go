package seqd

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

// The reader is usually the goroutine of connections. When nothing is in flight it leaves that to
// the next caller, who reads the own reply without waking another goroutine. A caller reads no
// longer than its patience, since its context cannot end that. When it has its reply, or lost
// patience, the goroutine reads again, if there is something to wait for; and it does when the
// connection has been idle for a while, so that its end is seen.

// callerPatience is in steps, for one change of the socket's deadline in many calls.
const (
	callerPatience = time.Millisecond
	patienceStep   = 5 * time.Millisecond
)

// An inbox is the bytes of a link that are not a whole message yet. It belongs to the reader.
type inbox struct {
	input    []byte
	have     int
	scan     scanner
	finished []*call // used again and again
	until    int64   // the deadline of the socket; 0: none that a caller has set
}

// read reads the replies until the connection ends, and returns why. The goroutine of connections.
func (s *session) read(l *link) error {
	l.inbox.input = make([]byte, readBytes)
	for {
		goesOn, why := s.readOnce(l, nil)
		if why != nil {
			return why
		}
		for !goesOn {
			select {
			case <-l.resume:
				goesOn = s.mayRead(l)
			case <-s.stop.Done():
				return errClosed()
			}
		}
	}
}

// mayRead makes the goroutine of connections the reader, if that is wanted.
func (s *session) mayRead(l *link) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.reader != readsNone || !l.wanted {
		return false
	}
	l.reader, l.wanted = readsOwn, false
	if l.inbox.until != 0 {
		l.inbox.until = 0
		l.conn.SetReadDeadline(l.lastRead)
	}
	return true
}

// wantReader makes the goroutine of connections read, as soon as no caller does.
func (l *link) wantReader() {
	if l.reader == readsOwn {
		return
	}
	l.wanted = true
	select {
	case l.resume <- struct{}{}:
	default:
	}
}

// mayReadItself makes the caller of the only request in flight the reader.
func (l *link) mayReadItself(c *call) bool {
	if l.reader != readsNone || l.wanted || l.inFlight != 1 || c.state != stateSent {
		return false
	}
	l.reader = readsCaller
	return true
}

// readItself reads for the caller of c, to the reply or the end of its patience.
func (s *session) readItself(l *link, c *call, now int64) {
	if until := now + int64(callerPatience); l.inbox.until < until {
		l.inbox.until = until + int64(patienceStep)
		l.conn.SetReadDeadline(s.began.Add(time.Duration(l.inbox.until)))
	}
	for {
		if goesOn, _ := s.readOnce(l, c); !goesOn {
			return
		}
	}
}

// readOnce reads what is there, waiting for it, and deals with it. c is the call of the caller that
// reads; nil: the goroutine of connections reads. It reports whether the same reader continues, and
// why the connection has ended.
func (s *session) readOnce(l *link, c *call) (goesOn bool, why error) {
	in := &l.inbox
	n, err := l.conn.Read(in.input[in.have:])
	if err != nil {
		err = readingError(err, c != nil)
	}
	s.mu.Lock()
	s.finished = in.finished
	used, end := 0, (*ending)(nil)
	in.have += n
	if s.link != l {
		err = errClosed()
	} else if l.why != nil {
		err = l.why
	} else if used, end = s.receive(l, in.input[:in.have], &in.scan); end != nil {
		err = end.why
		if end.broken != nil {
			s.failAll(end.broken)
		}
	}
	in.have = copy(in.input, in.input[used:in.have])
	in.input = resized(in.input, in.have)
	lead := false
	if err != nil {
		l.end(err)
	} else {
		if s.queue.first != nil || s.table.to != s.table.next {
			s.fill(l, s.now())
		}
		lead = l.wantsWriter()
	}
	goesOn = s.readsOn(l, c, n, err)
	s.signal(in, goesOn)
	if lead {
		s.flush(l, nil)
	}
	return goesOn, err
}

// readingError: nil, if only the patience of the caller is over.
func readingError(err error, caller bool) error {
	if caller && errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	if err == io.EOF {
		return errors.New("the daemon closed the connection")
	}
	return err
}

// readsOn reports whether the same reader continues after n bytes; otherwise it sets the next one.
func (s *session) readsOn(l *link, c *call, n int, err error) bool {
	idle := err == nil && l.ready && l.inFlight == 0 && s.queue.first == nil
	if c == nil {
		if !idle || len(s.finished) != 1 { // several: a crowd, whose next requests come at once
			return true
		}
	} else if err == nil && n > 0 && c.state != stateDone {
		return true
	}
	l.reader = readsNone
	if !idle || l.wanted {
		l.wantReader()
	}
	return false
}

// signal unlocks, and notifies the callers whose calls are finished. Their slice belongs to the
// inbox, which has another owner when the reader does not continue.
func (s *session) signal(in *inbox, readsOn bool) {
	finished := s.finished
	s.finished, in.finished = nil, nil
	const few = 4
	early := !readsOn && len(finished) <= few
	if early {
		notify(finished)
		in.finished = finished[:0]
	}
	s.mu.Unlock()
	if early {
		return
	}
	notify(finished)
	if readsOn && cap(finished) <= keptBytes/8 {
		in.finished = finished[:0]
	}
}

func notify(finished []*call) {
	for i, c := range finished {
		finished[i] = nil
		c.done <- struct{}{}
	}
}

// hasEnded reports whether a connection has ended, or has something to read, which its reader has not dealt with.
func (l *link) hasEnded() (ended bool) {
	if l.reader == readsCaller {
		return false
	}
	one := make([]byte, 1)
	err := l.raw.Control(func(fd uintptr) {
		_, _, err := syscall.Recvfrom(int(fd), one, syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		ended = err != syscall.EAGAIN
	})
	return ended || err != nil
}

// resized returns a buffer with the first bytes of input and room for more.
func resized(input []byte, have int) []byte {
	size := len(input)
	switch {
	case have == size:
		size *= 2
	case size > keptBytes && have < readBytes:
		size = readBytes
	default:
		return input
	}
	other := make([]byte, size)
	copy(other, input[:have])
	return other
}
