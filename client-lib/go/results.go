package seqd

import (
	"bytes"
	"context"

	"github.com/vmihailenco/msgpack/v5"
)

// Parsed is what a text of a sequence means.
type Parsed struct {
	Number int64  `msgpack:"number"`
	Period string `msgpack:"period"` // "2026-11-21", as precise as the text is; "" if it has no date
	Date   Date   `msgpack:"date"`
	Check  string `msgpack:"check"` // the kind of the check digits, which are valid: "luhn"; "" if there are none
}

// Date is the parts of a date that a text has; the others are 0, as an hour can be, too.
type Date struct {
	Year      int `msgpack:"year"`
	Month     int `msgpack:"month"`
	Day       int `msgpack:"day"`
	DayOfYear int `msgpack:"day_of_year"`
	WeekYear  int `msgpack:"week_year"`
	Week      int `msgpack:"week"`
	Weekday   int `msgpack:"weekday"` // Monday is 1
	Hour      int `msgpack:"hour"`
	Minute    int `msgpack:"minute"`
	Second    int `msgpack:"second"`
}

// Peeked is the result of Peek. An ID can be 0 or negative, so nil means that there is none.
type Peeked struct {
	Next      *int64 `msgpack:"next"`      // the ID that would be issued next
	Available int64  `msgpack:"available"` // IDs that the daemon can issue without a lease
	Last      *int64 `msgpack:"last"`      // the last ID that this daemon issued
}

// Status is the status of the daemon. PROTOCOL.md has the meaning of each key.
type Status struct {
	Version     string   `msgpack:"version"`
	PID         int      `msgpack:"pid"`
	Instance    string   `msgpack:"instance"`
	UptimeMS    int64    `msgpack:"uptime_ms"`
	StateHow    string   `msgpack:"state_how"`
	Connections int64    `msgpack:"connections"`
	Requests    int64    `msgpack:"requests"`
	Issued      int64    `msgpack:"issued"`
	Out         int64    `msgpack:"out"` // IDs in blocks of programs
	Sequences   int64    `msgpack:"sequences"`
	Waiting     int64    `msgpack:"waiting"`
	Ending      []Ending `msgpack:"ending"`
	Stores      []Store  `msgpack:"stores"`
	Log         Log      `msgpack:"log"`

	// The sequence whose available IDs end first, at its present rate; nil and "": none is known.
	RunwayMS       *int64 `msgpack:"runway_ms"`
	RunwaySequence string `msgpack:"runway_sequence"`
	// Since the daemon started: ranges leased, IDs that became a gap, replies that were an error.
	Leases int64 `msgpack:"leases"`
	Gaps   int64 `msgpack:"gaps"`
	Errors int64 `msgpack:"errors"`
}

// Ending is a sequence that will have no IDs soon.
type Ending struct {
	Name     string   `msgpack:"name"`
	Left     *int64   `msgpack:"left"`
	DaysLeft *float64 `msgpack:"days_left"`
}

// Store is a store of the daemon.
type Store struct {
	Name      string `msgpack:"name"`
	Type      string `msgpack:"type"`
	State     string `msgpack:"state"`
	Error     string `msgpack:"error"`      // "": none
	LeaseMode string `msgpack:"lease_mode"` // "": not known yet
}

// Log is the daemon's log.
type Log struct {
	Position  int64 `msgpack:"position"`
	Syncs     int64 `msgpack:"syncs"`
	Rotations int64 `msgpack:"rotations"`
}

// Parse decodes a text of the sequence. It issues nothing, and does not say whether the ID was ever
// issued. ErrBadText: it is no text of this sequence.
func (c *Client) Parse(ctx context.Context, sequence, text string) (Parsed, error) {
	var parsed Parsed
	err := c.CallInto(ctx, &parsed, "parse", sequence, text)
	return parsed, err
}

// Peek shows a sequence without issuing or leasing anything.
func (c *Client) Peek(ctx context.Context, sequence string) (Peeked, error) {
	var peeked Peeked
	err := c.CallInto(ctx, &peeked, "peek", sequence)
	return peeked, err
}

// Status shows the daemon.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var status Status
	err := c.CallInto(ctx, &status, "status")
	return status, err
}

// Ping checks whether the daemon answers.
func (c *Client) Ping(ctx context.Context) error {
	return c.CallInto(ctx, nil, "ping")
}

// Call carries out any method, also one of a newer daemon. The result is nil, a bool, int64, uint64
// (above the highest int64 only), float64, string, []byte, time.Time, []interface{} or
// map[string]interface{}.
//
// The request is repeated after a lost connection; next, next_text and range then get the same IDs.
// Options such as timeout_ms are up to the caller, as the last param. "hello" and "ack" are the
// Client's own, and "insert" and "cancel" have methods; they are ErrArgument here.
func (c *Client) Call(ctx context.Context, method string, params ...interface{}) (interface{}, error) {
	result, err := c.call(ctx, method, params)
	if err != nil {
		return nil, err
	}
	decoder := msgpack.NewDecoder(bytes.NewReader(result))
	decoder.UseLooseInterfaceDecoding(true)
	value, err := decoder.DecodeInterfaceLoose()
	if err != nil {
		return nil, &Error{Code: ErrProtocol, Text: "the daemon's result cannot be read: " + err.Error(), Err: err}
	}
	return integers(value), nil
}

// integers makes an int64 of each uint64 that is one.
func integers(value interface{}) interface{} {
	switch v := value.(type) {
	case uint64:
		if v <= 1<<63-1 {
			return int64(v)
		}
	case []interface{}:
		for i := range v {
			v[i] = integers(v[i])
		}
	case map[string]interface{}:
		for key := range v {
			v[key] = integers(v[key])
		}
	}
	return value
}

// CallInto is Call with a result that is decoded into the value that `into` points to, by the rules
// of package msgpack; nil: the result is not looked at.
func (c *Client) CallInto(ctx context.Context, into interface{}, method string, params ...interface{}) error {
	result, err := c.call(ctx, method, params)
	if err != nil || into == nil {
		return err
	}
	if err := msgpack.Unmarshal(result, into); err != nil {
		return &Error{Code: ErrProtocol, Text: "the daemon's result cannot be read: " + err.Error(), Err: err}
	}
	return nil
}

func (c *Client) call(ctx context.Context, method string, params []interface{}) ([]byte, error) {
	k := kindOther
	switch method {
	case "next", "next_text", "range":
		k = kindNumbered
	case "hello", "ack", "insert", "cancel":
		return nil, &Error{Code: ErrArgument, Text: method + " is not for Call"}
	}
	if params == nil {
		params = []interface{}{}
	}
	encoded, depth, err := encode(params)
	if err != nil {
		return nil, err
	}
	r := newCall(k, method, "")
	r.params, r.depth = encoded, depth
	err = c.s.do(ctx, r)
	result := r.result
	r.free()
	if err != nil {
		return nil, err
	}
	return result, nil
}

// encode makes one MessagePack value of it, and says how many levels it has. A value whose encoding
// is no whole message would break the connection for all callers.
func encode(value interface{}) (encoded []byte, depth int, err error) {
	var b bytes.Buffer
	encoder := msgpack.NewEncoder(&b)
	encoder.UseCompactInts(true)
	if err := encoder.Encode(value); err != nil {
		return nil, 0, &Error{Code: ErrArgument, Text: "the parameter cannot be encoded: " + err.Error(), Err: err}
	}
	var scan scanner
	size, err := scan.scan(b.Bytes(), maxReplyBytes)
	if err != nil || size != b.Len() {
		return nil, 0, &Error{Code: ErrArgument, Text: "the parameter is not one MessagePack value", Err: err}
	}
	return b.Bytes(), scan.deepest, nil
}
