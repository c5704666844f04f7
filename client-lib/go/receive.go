package seqd

import (
	"errors"
	"strconv"
	"time"

	"github.com/vmihailenco/msgpack/v5"
)

// An ending is why a connection ends. broken: what is at the other end does not speak the protocol;
// the calls get the error, and are not sent again.
type ending struct {
	why    error
	broken *Error
}

func broken(text string) *ending {
	e := protocolError(text)
	return &ending{e, e}
}

// receive takes the whole messages at the front of b, and returns their size.
func (s *session) receive(l *link, b []byte, scan *scanner) (used int, end *ending) {
	for used < len(b) {
		if l.ready {
			if size := s.receiveID(l, b[used:]); size > 0 {
				used += size
				if scan.at > 0 { // it may have seen a part
					*scan = scanner{}
				}
				continue
			}
		}
		size, err := scan.scan(b[used:], maxReplyBytes)
		if err != nil {
			return used, broken("the daemon's bytes cannot be read: " + err.Error())
		}
		if size == 0 {
			return used, nil
		}
		*scan = scanner{}
		if end := s.receiveFrame(l, b[used:used+size]); end != nil {
			return used, end
		}
		used += size
	}
	if l.stopping && l.inFlight <= 0 {
		// It replies to all that it took; only then there is another one.
		return used, &ending{why: errors.New("the daemon is stopping")}
	}
	return used, nil
}

// receiveID takes the reply to a next, and returns its size; 0: it is something else.
func (s *session) receiveID(l *link, b []byte) int {
	msgid, id, size := fastReply(b)
	if size == 0 {
		return 0
	}
	c := s.table.sent(msgid)
	if c == nil || c == late || c.kind != kindNext {
		return 0
	}
	c.id = id
	s.replied(l, msgid)
	s.end(c, nil)
	return size
}

// replied takes a number out of the table.
func (s *session) replied(l *link, number uint32) {
	l.proved = true
	l.inFlight--
	s.answered++
	s.table.finish(number)
}

func (s *session) receiveFrame(l *link, frame []byte) *ending {
	r, notification, err := parseReply(frame)
	if err != nil {
		return broken(err.Error())
	}
	if notification { // reserved for later versions of the daemon
		return nil
	}
	if !l.ready {
		return s.receiveHello(l, r)
	}
	numbered := r.msgid < firstOther
	var c *call
	if numbered {
		c = s.table.sent(r.msgid)
	} else {
		c = s.other[r.msgid]
	}
	if c == nil {
		if r.err != nil && r.msgid == 0 {
			return broken("the daemon cannot read what this client sends: " + r.err.Error())
		}
		return broken("the daemon sent a reply without a request, number " + strconv.FormatUint(uint64(r.msgid), 10))
	}
	if r.err != nil && r.err.Code == ErrStopping {
		s.receiveStopping(l, c, r)
		return nil
	}
	if c != late {
		if err := c.accept(r); err != nil {
			return broken(err.Error())
		}
	}
	if numbered {
		s.replied(l, r.msgid)
	} else {
		l.proved = true
		l.inFlight--
		delete(s.other, r.msgid)
	}
	if r.err != nil && r.err.Code == ErrBusy {
		s.answered = ackEvery // perhaps too much is kept for the clients of this user
	}
	if c != late {
		s.end(c, c.err)
	}
	return nil
}

// receiveStopping: the request is sent again on the next connection. A cancel without its number may
// have been carried out.
func (s *session) receiveStopping(l *link, c *call, r reply) {
	l.stopping = true
	l.inFlight--
	if r.msgid >= firstOther {
		delete(s.other, r.msgid)
		if c.isCancel() {
			s.end(c, outcomeUnknown(c, r.err))
		} else if c != late {
			s.requeue(c)
		}
	} else if c == late {
		s.table.finish(r.msgid)
	}
}

type helloReply struct {
	Protocol   int64            `msgpack:"protocol"`
	Connection string           `msgpack:"connection"`
	Limits     map[string]int64 `msgpack:"limits"`
}

func (s *session) receiveHello(l *link, r reply) *ending {
	if r.err != nil {
		e := *r.err
		e.Text = "the daemon refuses hello: " + e.Text
		if e.Temporary() {
			return &ending{why: &e}
		}
		return &ending{&e, &e}
	}
	var hello helloReply
	if err := msgpack.Unmarshal(r.result, &hello); err != nil || r.msgid != 0 {
		return broken("the daemon's reply to hello cannot be read")
	}
	if hello.Protocol != 1 {
		return broken("the daemon speaks version " + strconv.FormatInt(hello.Protocol, 10) + " of the protocol, this client version 1")
	}
	limit := func(name string, otherwise int64) int64 {
		value, there := hello.Limits[name]
		if !there {
			return otherwise
		}
		if value < 1 {
			return 1
		}
		if value > firstOther/2 {
			return firstOther / 2
		}
		return value
	}
	s.limits = limits{
		frame:      int(limit("frame", assumedFrame)),
		depth:      int(limit("depth", assumedDepth)),
		pipeline:   int(limit("pipeline", assumedPipeline)),
		window:     uint32(limit("unacknowledged", assumedWindow)),
		connection: hello.Connection,
	}
	l.ready = true
	l.conn.SetReadDeadline(time.Time{})
	// A daemon that does not know the identity would count from 1.
	s.acked = 1
	s.acknowledge(l)
	return nil
}

// accept reads the reply into the call. The error: the reply is not a valid one.
func (c *call) accept(r reply) (err error) {
	if r.err != nil {
		c.err = r.err
		// A refusal now proves nothing about an earlier attempt.
		if c.perhaps && r.err.Code != ErrDocumentRefused {
			c.err = outcomeUnknown(c, r.err)
		}
		return nil
	}
	c.err = nil
	switch c.kind {
	case kindNext, kindInsert:
		c.id, err = readInteger(r.result)
	case kindNextText:
		c.text, err = readText(r.result)
	case kindRange:
		c.runs, err = readRuns(r.result, c.count)
	default:
		c.result = append([]byte(nil), r.result...)
	}
	return err
}
