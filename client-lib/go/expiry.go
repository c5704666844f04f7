package seqd

import (
	"errors"
	"time"
)

// The longest time between two ticks: how much later than its time a call without a deadline of its
// context ends, and a burst of replies is acknowledged that no request follows.
const longestTick = 50 * time.Millisecond

func (s *session) tickPeriod() time.Duration {
	period := longestTick
	for _, one := range [...]time.Duration{s.options.Timeout, s.options.ConnectTimeout} {
		if one > 0 && one/8 < period {
			period = one / 8
		}
	}
	if period < time.Millisecond {
		period = time.Millisecond
	}
	return period
}

// startTicking runs tick until there are no calls any more.
func (s *session) startTicking() {
	s.ticking = true
	s.wg.Add(1)
	if s.ticker == nil {
		s.ticker = time.AfterFunc(s.tickPeriod(), s.tick)
	} else {
		s.ticker.Reset(s.tickPeriod())
	}
}

func (s *session) tick() {
	s.mu.Lock()
	if s.closed {
		s.ticking = false
		s.mu.Unlock()
		s.wg.Done()
		return
	}
	s.expire(s.now())
	idle := s.submitted == s.lastTick
	s.lastTick = s.submitted
	l := s.link
	lead := false
	if idle && l != nil && l.ready && s.table.floor-s.acked > ackEvery {
		s.acknowledge(l)
		lead = l.wantsWriter()
	}
	if idle && l != nil {
		l.wantReader() // to see when the connection ends
	}
	isFull := l != nil && l.ready && (l.inFlight >= s.limits.pipeline || s.table.next-s.table.floor >= s.limits.window)
	if isFull && !s.anySent() {
		l.end(errors.New("the daemon replies to nothing"))
	}
	last := idle && s.live == 0
	if last {
		s.ticking = false
	} else {
		s.ticker.Reset(s.tickPeriod())
	}
	s.unlock()
	if lead {
		s.flush(l, nil)
	}
	if last {
		s.wg.Done()
	}
}

// anySent reports whether a caller waits for a reply on this connection.
func (s *session) anySent() bool {
	any := false
	s.table.each(func(number uint32, _ *call) { any = any || number < s.table.to })
	for _, c := range s.other {
		any = any || c != late
	}
	return any
}

// expire ends the calls whose time is over and that no context ends.
func (s *session) expire(now int64) {
	over := func(c *call) bool {
		if c.own && c.deadline <= now {
			return true
		}
		return s.link == nil && c.connectBy <= now && s.connectUntil <= now
	}
	end := func(c *call) {
		err := s.overdue(c, nil)
		s.take(c)
		s.finish(c, err)
	}
	for c := s.queue.first; c != nil; {
		after := c.after
		if over(c) {
			end(c)
		}
		c = after
	}
	s.table.each(func(_ uint32, c *call) {
		if over(c) {
			end(c)
		}
	})
	for _, c := range s.other {
		if c != late && over(c) {
			end(c)
		}
	}
}
