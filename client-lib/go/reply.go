package seqd

import (
	"errors"
	"math"
)

// A Run is IDs with a constant step: First, First+Step, and so on, Count of them.
type Run struct {
	First int64
	Count int64
	Step  int64
}

// fastReply reads the reply to a next at the front of b: [1, msgid, nil, integer]. A size of 0: it
// is another message, or not all there.
func fastReply(b []byte) (msgid uint32, id int64, size int) {
	if len(b) < 5 || b[0] != 0x94 || b[1] != 0x01 {
		return 0, 0, 0
	}
	r := reader{b: b, at: 2}
	number, ok := r.integer()
	if !ok || number < 0 || number > math.MaxUint32 || r.at >= len(b) || b[r.at] != 0xc0 {
		return 0, 0, 0
	}
	r.at++
	if id, ok = r.integer(); !ok {
		return 0, 0, 0
	}
	return uint32(number), id, r.at
}

// A reply of the daemon. result is a part of the frame.
type reply struct {
	msgid  uint32
	err    *Error
	result []byte
}

var errForm = errors.New("the daemon sent a message that is no reply")

// parseReply reads a whole message, which a scanner has found. notification: it is one, and there is
// no reply.
func parseReply(frame []byte) (answer reply, notification bool, err error) {
	r := reader{b: frame}
	parts, ok := r.array()
	if !ok {
		return reply{}, false, errForm
	}
	kind, ok := r.integer()
	if ok && kind == 2 && parts == 3 {
		return reply{}, true, nil
	}
	number, numbered := r.integer()
	if !ok || kind != 1 || parts != 4 || !numbered || number < 0 || number > math.MaxUint32 {
		return reply{}, false, errForm
	}
	answer.msgid = uint32(number)
	if r.null() {
		answer.result = frame[r.at:]
		return answer, false, nil
	}
	parts, ok = r.array()
	fault, isInteger := r.integer()
	said, isText := r.text()
	if !ok || parts != 2 || !isInteger || fault < 0 || fault > 1 || !isText || !r.null() || r.at != len(frame) {
		return reply{}, false, errors.New("the daemon sent an error of another form than [fault, text]")
	}
	answer.err = readError(fault, string(said))
	return answer, false, nil
}

// readInteger reads a result that is one integer.
func readInteger(result []byte) (int64, error) {
	r := reader{b: result}
	id, ok := r.integer()
	if !ok || r.at != len(result) {
		return 0, errors.New("the daemon replied with something else than an integer")
	}
	return id, nil
}

// readText reads a result that is one text, not empty.
func readText(result []byte) (string, error) {
	r := reader{b: result}
	text, ok := r.text()
	if !ok || r.at != len(result) || len(text) == 0 {
		return "", errors.New("the daemon replied with something else than a text")
	}
	return string(text), nil
}

// readRuns reads the result of a range of count IDs.
func readRuns(result []byte, count int64) ([]Run, error) {
	wrong := errors.New("the daemon replied with runs that are not what was asked for")
	r := reader{b: result}
	n, ok := r.array()
	// A run has at least four bytes, so n may be larger than the memory that the runs need.
	if !ok || n == 0 || n > len(result)/4 {
		return nil, wrong
	}
	runs := make([]Run, n)
	sum := int64(0)
	for i := range runs {
		parts, isArray := r.array()
		first, ok1 := r.integer()
		many, ok2 := r.integer()
		step, ok3 := r.integer()
		if !isArray || parts != 3 || !ok1 || !ok2 || !ok3 || many < 1 || many > count-sum || !fits(first, many, step) {
			return nil, wrong
		}
		runs[i] = Run{first, many, step}
		sum += many
	}
	if sum != count || r.at != len(result) {
		return nil, wrong
	}
	return runs, nil
}

// fits reports whether the last ID of the run is an int64. many is above 0.
func fits(first, many, step int64) bool {
	switch {
	case step > 0:
		return uint64(many-1) <= (uint64(math.MaxInt64)-uint64(first))/uint64(step)
	case step < 0:
		return uint64(many-1) <= (uint64(first)-uint64(1)<<63)/(-uint64(step))
	}
	return many == 1
}

// A reader takes values from the front of a message. Where one is of another kind or not all there,
// it says so and its place is of no use any more.
type reader struct {
	b  []byte
	at int
}

func (r *reader) integer() (int64, bool) {
	if r.at >= len(r.b) {
		return 0, false
	}
	c := r.b[r.at]
	if c < 0x80 || c >= 0xe0 {
		r.at++
		return int64(int8(c)), true
	}
	if c < 0xcc || c > 0xd3 {
		return 0, false
	}
	width := 1 << ((c - 0xcc) & 3)
	if len(r.b)-r.at < 1+width {
		return 0, false
	}
	v := bigEndian(r.b[r.at+1 : r.at+1+width])
	r.at += 1 + width
	switch c {
	case 0xcf:
		return int64(v), v <= math.MaxInt64
	case 0xd0:
		return int64(int8(v)), true
	case 0xd1:
		return int64(int16(v)), true
	case 0xd2:
		return int64(int32(v)), true
	}
	return int64(v), true
}

func (r *reader) null() bool {
	if r.at >= len(r.b) || r.b[r.at] != 0xc0 {
		return false
	}
	r.at++
	return true
}

func (r *reader) array() (int, bool) {
	if r.at >= len(r.b) {
		return 0, false
	}
	header, _, items, container, err := shapeOf(r.b[r.at:])
	c := r.b[r.at]
	if err != nil || header == 0 || !container || c&0xf0 == 0x80 || c >= 0xde {
		return 0, false
	}
	r.at += header
	return int(items), true
}

// text reads a str or a bin.
func (r *reader) text() ([]byte, bool) {
	if r.at >= len(r.b) {
		return nil, false
	}
	c := r.b[r.at]
	if !(c >= 0xa0 && c < 0xc0 || c >= 0xc4 && c <= 0xc6 || c >= 0xd9 && c <= 0xdb) {
		return nil, false
	}
	header, payload, _, _, err := shapeOf(r.b[r.at:])
	if err != nil || header == 0 || uint64(len(r.b)-r.at-header) < payload {
		return nil, false
	}
	begin := r.at + header
	r.at = begin + int(payload)
	return r.b[begin:r.at], true
}
