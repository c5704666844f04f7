package seqd

import (
	"context"
	"crypto/rand"
	"errors"
	"runtime"
	"sync"
	"time"
)

const (
	ackEvery = 8 // replies after which the next request carries an ack
	// A daemon remembers at least so many numbers, where its hello does not say.
	assumedWindow   = 1024
	assumedPipeline = 4096
	assumedFrame    = 64 << 10
	assumedDepth    = 8
	// Enough for one write; more requests follow when this much is gone.
	outputBytes = 64 << 10
	// Request numbers are below, the msgids of other requests are not. A new identity comes before
	// either ends.
	firstOther = 1 << 31
	keptBack   = 1 << 16
)

// A session is the protocol of one client: it numbers the requests, says what was received, and
// repeats on the next connection what has no reply. Its mutex guards everything below it.
//
// Invariants: a number is for one request only; nothing is sent before the hello of the connection
// was answered; an ack is never above a number whose caller waits.
type session struct {
	options Options
	began   time.Time // of the session's clock
	wg      sync.WaitGroup
	stop    context.Context // ends with Close
	cancel  context.CancelFunc
	wake    chan struct{} // for the goroutine of connections: there is work

	mu       sync.Mutex
	identity [16]byte
	closed   bool
	running  bool // the goroutine of connections was started
	link     *link
	limits   limits
	table    table
	queue    callQueue
	other    map[uint32]*call // sent requests that have no number, by msgid
	nextID   uint32           // of them
	last     uint32           // where numbers end; smaller in tests
	live     int              // calls whose callers wait
	acked    uint32
	answered int // replies since the last ack
	finished []*call

	trouble      error // why there is no connection
	connectUntil int64 // a daemon that was there until now has until then to return
	ticking      bool
	ticker       *time.Timer
	submitted    uint64
	lastTick     uint64
}

// limits are those of the daemon.
type limits struct {
	frame, depth, pipeline int
	window                 uint32
	connection             string
}

func newSession(options Options) (*session, error) {
	s := &session{options: options, began: time.Now(), wake: make(chan struct{}, 1), table: newTable(),
		other: map[uint32]*call{}, nextID: firstOther, last: firstOther - keptBack}
	s.stop, s.cancel = context.WithCancel(context.Background())
	if _, err := rand.Read(s.identity[:]); err != nil {
		return nil, &Error{Code: ErrConnect, Text: "the system has no random bytes: " + err.Error(), Err: err}
	}
	return s, nil
}

func (s *session) now() int64 { return int64(time.Since(s.began)) }

// do carries the call out. Afterwards the session knows it no more.
func (s *session) do(ctx context.Context, c *call) error {
	if err := ctx.Err(); err != nil {
		return contextError(err)
	}
	now := s.now()
	s.setTimes(ctx, c, now)
	reads, err := s.submit(c, now)
	if err != nil {
		return err
	}
	if reads != nil {
		s.readItself(reads, c, now)
	}
	cancel := ctx.Done()
	if cancel == nil {
		<-c.done
		return c.err
	}
	select {
	case <-c.done:
		return c.err
	case <-cancel:
	}
	if err := s.leave(c, ctx.Err()); err != nil {
		return err
	}
	<-c.done
	return c.err
}

func (s *session) setTimes(ctx context.Context, c *call, now int64) {
	c.deadline, c.connectBy = never, never
	if s.options.ConnectTimeout > 0 {
		c.connectBy = now + int64(s.options.ConnectTimeout)
	}
	if at, ok := ctx.Deadline(); ok {
		c.deadline = int64(at.Sub(s.began))
	} else if s.options.Timeout > 0 {
		c.deadline = now + int64(s.options.Timeout)
		c.own = true
	}
}

// submit puts the call into the queue and sends what can be sent. The link: the caller has to read
// from it.
func (s *session) submit(c *call, now int64) (reads *link, err error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, errClosed()
	}
	c.state = stateQueued
	s.queue.push(c)
	s.live++
	s.submitted++
	if !s.ticking {
		s.startTicking()
	}
	l := s.link
	if l == nil || !l.ready {
		s.wakeUp()
		s.mu.Unlock()
		return nil, nil
	}
	if c.once() && l.hasEnded() {
		// What is sent into a connection that has ended is lost, and this is not sent twice.
		l.wantReader()
		s.mu.Unlock()
		return nil, nil
	}
	s.fill(l, now)
	if l.mayReadItself(c) {
		reads = l
	}
	var output []byte
	lead := l.wantsWriter()
	crowd := lead && l.inFlight > 1
	if lead && !crowd {
		output = l.takeOutput()
	}
	s.unlock()
	if crowd {
		// Others are about to send, too: let them, for one write.
		runtime.Gosched()
	}
	if lead {
		s.flush(l, output)
	}
	return reads, nil
}

// wakeUp signals the goroutine of connections that there is work; starts it at first.
func (s *session) wakeUp() {
	if !s.running {
		s.running = true
		s.wg.Add(1)
		go s.run()
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// leave ends the call for its caller. nil: it was done before, and is or will be signalled.
func (s *session) leave(c *call, cause error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.state == stateDone {
		return nil
	}
	err := s.overdue(c, cause)
	s.take(c)
	return err
}

// take removes a call that is not done. What was sent keeps its number until the reply comes.
func (s *session) take(c *call) {
	switch {
	case c.state == stateQueued:
		s.queue.remove(c)
	case !c.kind.numbered():
		if _, there := s.other[c.msgid]; there {
			s.other[c.msgid] = late
		}
	case s.table.sent(c.msgid) == c:
		*s.table.at(c.msgid) = late
	default: // to be repeated on this connection, and not sent yet: the ID would have no caller
		s.table.finish(c.msgid)
	}
	c.state = stateDone
	s.live--
}

// overdue is the error of a call whose time is over, or whose caller has left.
func (s *session) overdue(c *call, cause error) error {
	var e *Error
	switch {
	case errors.Is(cause, context.Canceled):
		e = &Error{Code: ErrCanceled, Text: "the caller canceled the call"}
	case s.link == nil || !s.link.ready:
		e = s.unreachable()
	default:
		e = &Error{Code: ErrTimeout, Text: "the daemon did not reply in time"}
	}
	if cause != nil {
		e.Err = cause
	}
	return s.perhapsDone(c, e)
}

// perhapsDone: an insert or a cancel that was sent may have been carried out, for any cause of the
// missing reply.
func (s *session) perhapsDone(c *call, e *Error) error {
	if (c.once() || c.kind == kindInsert) && (c.state == stateSent || c.perhaps) {
		return outcomeUnknown(c, e)
	}
	return e
}

func (s *session) unreachable() *Error {
	why := "there was no time to connect"
	if s.link != nil {
		why = "it accepts connections but does not reply"
	} else if s.trouble != nil {
		why = s.trouble.Error()
	}
	return &Error{Code: ErrConnect, Text: "no daemon answers at " + s.options.Socket + ": " + why, Err: s.trouble}
}

// finish ends a call that take or the table has removed; unlock signals it.
func (s *session) finish(c *call, err error) {
	c.err = err
	s.finished = append(s.finished, c)
}

// unlock signals what was finished.
func (s *session) unlock() {
	finished := s.finished
	s.finished = nil
	s.mu.Unlock()
	for _, c := range finished {
		c.done <- struct{}{}
	}
}

// failAll ends all calls.
func (s *session) failAll(e *Error) {
	fail := func(c *call) {
		err := s.perhapsDone(c, e)
		s.take(c)
		s.finish(c, err)
	}
	for s.queue.first != nil {
		fail(s.queue.first)
	}
	s.table.each(func(_ uint32, c *call) { fail(c) })
	for _, c := range s.other {
		if c != late {
			fail(c)
		}
	}
}

// fill writes into the link's output what can be sent now.
func (s *session) fill(l *link, now int64) {
	if !l.ready || l.stopping {
		return
	}
	for len(l.out) < outputBytes && l.inFlight < s.limits.pipeline {
		if s.table.to != s.table.next {
			number := s.table.to
			if number-s.table.floor >= s.limits.window { // it can be smaller than that of the connection before
				return
			}
			s.acknowledgeIfDue(l)
			s.table.to++
			if c := *s.table.at(number); c != nil {
				s.send(l, c, number, now)
			}
			continue
		}
		c := s.queue.first
		if c == nil {
			return
		}
		if s.wantsIdentity() {
			s.renew(l)
			return
		}
		if c.kind.numbered() {
			if s.table.next-s.table.floor >= s.limits.window {
				return
			}
			s.acknowledgeIfDue(l)
			if s.send(l, c, s.table.next, now) {
				s.table.add(c)
			}
			continue
		}
		for s.other[s.nextID] != nil {
			s.nextID++
		}
		if s.send(l, c, s.nextID, now) {
			s.other[s.nextID] = c
			s.nextID++
		}
	}
}

// send writes one request; false: it is too large for the daemon, and has its error.
func (s *session) send(l *link, c *call, msgid uint32, now int64) bool {
	before := len(l.out)
	l.out = c.write(l.out, msgid, now, s.limits.connection)
	if c.state == stateQueued {
		var e *Error
		if size := len(l.out) - before; size > s.limits.frame {
			e = &Error{Code: ErrTooLarge, Text: "the request is longer than the daemon's limit \"frame\"", CallerFault: true}
		} else if c.depth+1 > s.limits.depth {
			e = &Error{Code: ErrBadRequest, Text: "the request has more levels than the daemon's limit \"depth\"", CallerFault: true}
		}
		if e != nil {
			l.out = l.out[:before]
			err := s.perhapsDone(c, e)
			s.take(c)
			s.finish(c, err)
			return false
		}
		s.queue.remove(c)
		c.state = stateSent
		c.msgid = msgid
	}
	l.inFlight++
	return true
}

// acknowledgeIfDue: often enough for the daemon's memory, and before its window closes.
func (s *session) acknowledgeIfDue(l *link) {
	half := s.limits.window / 2
	if half > assumedWindow/2 {
		half = assumedWindow / 2
	}
	if s.answered >= ackEvery || s.table.next-s.acked >= half {
		s.acknowledge(l)
	}
}

// acknowledge says which replies have arrived.
func (s *session) acknowledge(l *link) {
	s.answered = 0
	if s.table.floor != s.acked {
		l.out = appendAck(l.out, s.table.floor)
		s.acked = s.table.floor
	}
}

func errClosed() *Error { return &Error{Code: ErrClosed, Text: "the client was closed"} }

func contextError(cause error) error {
	if errors.Is(cause, context.Canceled) {
		return &Error{Code: ErrCanceled, Text: "the caller canceled the call", Err: cause}
	}
	return &Error{Code: ErrTimeout, Text: "the time of the call was over before it began", Err: cause}
}
