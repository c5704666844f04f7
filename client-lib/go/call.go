package seqd

import (
	"math"
	"sync"
	"time"
)

type kind uint8

const (
	kindNext kind = iota
	kindNextText
	kindRange
	kindNumbered // one of the three by Client.Call, with its own params
	kindInsert
	kindRegister // assign, confirm and cancel
	kindOther
)

// numbered reports whether the msgid is the request number, so that a repeat gets the same IDs.
func (k kind) numbered() bool { return k <= kindNumbered }

type state uint8

const (
	stateQueued state = iota // in the queue
	stateSent                // in the table, or in the map of other requests
	stateDone                // done was or will be signalled, unless the caller has left
)

// never is the deadline of a call without one.
const never = math.MaxInt64

// A call is one request of one caller. Its fields belong to the session's mutex from submit until
// done is signalled, and to the caller before and after.
type call struct {
	done   chan struct{} // of one place
	kind   kind
	state  state
	depth  int // levels of params
	msgid  uint32
	method string
	name   string
	unique string
	params []byte // the document of an insert; the key, and the reason, of kindRegister; the params array of kindNumbered and kindOther
	count  int64  // of kindRegister the number, or 0

	perhaps   bool  // an insert with a unique field was sent on a connection that ended
	deadline  int64 // nanoseconds of the session's clock; never: none
	own       bool  // no context ends the call at the deadline, so the session does
	connectBy int64 // until then it waits for a connection

	id     int64
	text   string
	runs   []Run
	result []byte
	err    error

	before, after *call // in the queue
}

var calls = sync.Pool{New: func() interface{} { return &call{done: make(chan struct{}, 1)} }}

func newCall(k kind, method, name string) *call {
	c := calls.Get().(*call)
	c.kind, c.method, c.name = k, method, name
	return c
}

// free is called by the caller, when the session has dropped the call.
func (c *call) free() {
	done := c.done
	*c = call{done: done}
	calls.Put(c)
}

// once reports whether the call is not sent again when it may have been carried out.
func (c *call) once() bool {
	return c.kind == kindInsert && c.unique == "" || c.isCancel()
}

// isCancel reports whether it is a cancel that does not say which number: a repeat could cancel the
// next one of the key.
func (c *call) isCancel() bool { return c.kind == kindRegister && c.method == "cancel" && c.count == 0 }

// late stands for a call that was sent and whose caller has left.
var late = &call{}

// write appends the request. connection is the name that the daemon gave this connection.
func (c *call) write(b []byte, msgid uint32, now int64, connection string) []byte {
	wait := int64(-1)
	if c.deadline != never {
		wait = waitWithin(c.deadline - now)
	}
	switch c.kind {
	case kindNext, kindNextText:
		return appendNext(b, msgid, c.method, c.name, wait)
	case kindRange:
		return appendRange(b, msgid, c.name, c.count, wait)
	case kindInsert:
		if c.unique != "" {
			connection = "" // it can be repeated on any
		}
		return appendInsert(b, msgid, c.name, c.params, wait, c.unique, connection)
	case kindRegister:
		return appendRegister(b, msgid, c.method, c.name, c.params, c.count, wait)
	}
	return appendCall(b, msgid, c.method, c.params)
}

// waitWithin is how long the daemon may wait when the caller has that many nanoseconds left, in
// milliseconds: somewhat less, so that the caller gets the daemon's reason instead of a time-out and
// no ID is issued that arrives too late.
func waitWithin(left int64) int64 {
	const longest = 3_600_000
	ms := left / int64(time.Millisecond)
	ms -= ms / 10
	if ms < 10 {
		ms--
	}
	if ms < 0 {
		return 0
	}
	if ms > longest {
		return longest
	}
	return ms
}

// A callQueue is the calls that have no number yet, in the order of their arrival.
type callQueue struct{ first, last *call }

func (q *callQueue) push(c *call) {
	c.before, c.after = q.last, nil
	if q.last == nil {
		q.first = c
	} else {
		q.last.after = c
	}
	q.last = c
}

func (q *callQueue) pushFront(c *call) {
	c.before, c.after = nil, q.first
	if q.first == nil {
		q.last = c
	} else {
		q.first.before = c
	}
	q.first = c
}

func (q *callQueue) remove(c *call) {
	if c.before == nil {
		q.first = c.after
	} else {
		c.before.after = c.after
	}
	if c.after == nil {
		q.last = c.before
	} else {
		c.after.before = c.before
	}
	c.before, c.after = nil, nil
}

// A table has the requests with a number that have no reply yet. Numbers rise and are used once.
type table struct {
	slots []*call // of a power of two; that of a number is at its lowest bits
	floor uint32  // the lowest number without a reply, which an ack contains
	next  uint32  // the number of the next request
	to    uint32  // the lowest number not sent on this connection; below next: to be repeated
}

func newTable() table { return table{slots: make([]*call, 64), floor: 1, next: 1, to: 1} }

func (t *table) at(number uint32) **call { return &t.slots[number&uint32(len(t.slots)-1)] }

// sent returns the call of a number that was sent on this connection, or nil.
func (t *table) sent(number uint32) *call {
	if number < t.floor || number >= t.to {
		return nil
	}
	return *t.at(number)
}

// add gives the call the next number, as sent.
func (t *table) add(c *call) {
	if int(t.next-t.floor) == len(t.slots) {
		bigger := make([]*call, 2*len(t.slots))
		for n := t.floor; n != t.next; n++ {
			bigger[n&uint32(len(bigger)-1)] = *t.at(n)
		}
		t.slots = bigger
	}
	*t.at(t.next) = c
	t.next++
	t.to = t.next
}

// finish takes a number out.
func (t *table) finish(number uint32) {
	*t.at(number) = nil
	for t.floor != t.next && *t.at(t.floor) == nil {
		t.floor++
	}
	if t.to < t.floor {
		t.to = t.floor
	}
}

// disconnected makes everything a repeat, except for calls whose callers have left.
func (t *table) disconnected() {
	for n := t.floor; n != t.next; n++ {
		if *t.at(n) == late {
			*t.at(n) = nil
		}
	}
	for t.floor != t.next && *t.at(t.floor) == nil {
		t.floor++
	}
	t.to = t.floor
}

func (t *table) each(do func(number uint32, c *call)) {
	for n := t.floor; n != t.next; n++ {
		if c := *t.at(n); c != nil && c != late {
			do(n, c)
		}
	}
}
