package seqd

import (
	"context"
	"encoding/hex"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5"
)

// A Record is a number of a register.
type Record struct {
	Number    int64       `msgpack:"number"`
	Text      string      `msgpack:"text"`      // as the register's format wrote it when it was first assigned
	Period    string      `msgpack:"period"`    // "2026"; "": the register has none
	State     string      `msgpack:"state"`     // "assigned", "confirmed", "void", or "free": the next key can get it
	Key       string      `msgpack:"key"`       // "" if it is void or free
	Assigned  Stamp       `msgpack:"assigned"`  //
	Confirmed *Stamp      `msgpack:"confirmed"` // nil: it is not
	Former    []FormerKey `msgpack:"former"`    // the keys that it was cancelled for
}

// String is the text of the number.
func (r Record) String() string { return r.Text }

// A FormerKey is a key that a number was cancelled for; without Key it was lost when the store was
// restored.
type FormerKey struct {
	Key       string `msgpack:"key"`
	Assigned  Stamp  `msgpack:"assigned"`
	Cancelled Stamp  `msgpack:"cancelled"`
	Reason    string `msgpack:"reason"`
}

// A Stamp says when something was done, in milliseconds since 1970, and by HOST:USER:PROCESS.
type Stamp struct {
	AtMS int64  `msgpack:"at_ms"`
	By   string `msgpack:"by"`
}

// At is the time, in UTC.
func (s Stamp) At() time.Time { return time.UnixMilli(s.AtMS).UTC() }

// Assign gives the key a number of a register (mode "register"), or finds the one that it has. One key
// has one number, so it is repeated after a lost connection, and can be called again after each error,
// by another program, too. A document is known by its key before it is saved.
//
// register is its name, "invoices", or one of its periods, "invoices@2025". The key is a string of 1 to
// 256 bytes, or an array of 16 bytes (a UUID) or 12 (an ObjectID), of any type that is one of these.
func (c *Client) Assign(ctx context.Context, register string, key interface{}) (Record, error) {
	return c.ofKey(ctx, "assign", register, key, 0)
}

// Confirm says that the document of the key is saved: its number cannot be cancelled any more.
func (c *Client) Confirm(ctx context.Context, register string, key interface{}) (Record, error) {
	return c.ofKey(ctx, "confirm", register, key, 0)
}

// Cancel takes the number from the key, whose document was not saved and will not be, for a reason that
// is kept. It is never repeated, as that could cancel the next number of the key: ErrOutcomeUnknown
// says that there was no reply.
func (c *Client) Cancel(ctx context.Context, register string, key interface{}, reason string) (Record, error) {
	return c.ofKey(ctx, "cancel", register, key, 0, reason)
}

// CancelNumber is Cancel if the key has that number. It is repeated after a lost connection, and can be
// called again after each error.
func (c *Client) CancelNumber(ctx context.Context, register string, key interface{}, number int64, reason string) (Record, error) {
	if number < 1 {
		return Record{}, &Error{Code: ErrArgument, Text: "a number of a register is above 0"}
	}
	return c.ofKey(ctx, "cancel", register, key, number, reason)
}

func (c *Client) ofKey(ctx context.Context, method, register string, key interface{}, number int64, reasons ...string) (Record, error) {
	params, text, err := appendKey(nil, key)
	if err != nil {
		return Record{}, err
	}
	for _, reason := range reasons {
		if !isPlain(reason) {
			return Record{}, &Error{Code: ErrArgument, Text: "a reason has 1 to 256 bytes in UTF-8 without control characters"}
		}
		params = appendString(params, reason)
	}
	r := newCall(kindRegister, method, register)
	r.params, r.count, r.depth = params, number, 2
	err = c.s.do(ctx, r)
	result := r.result
	r.free()
	if err != nil {
		return Record{}, err
	}
	var record Record
	if err := msgpack.Unmarshal(result, &record); err != nil {
		return Record{}, &Error{Code: ErrProtocol, Text: "the daemon's record cannot be read: " + err.Error(), Err: err}
	}
	if record.Number < 1 || record.Text == "" || method != "cancel" && record.Key != text {
		return Record{}, &Error{Code: ErrProtocol, Text: "the daemon's record is not that of the key"}
	}
	return record, nil
}

// isPlain reports whether the daemon takes it for a key or a reason.
func isPlain(text string) bool {
	isControl := func(r rune) bool { return r < ' ' || r == 0x7f }
	return len(text) >= 1 && len(text) <= 256 && utf8.ValidString(text) && strings.IndexFunc(text, isControl) < 0
}

// appendKey writes the key, and says which text the daemon has for it.
func appendKey(b []byte, key interface{}) ([]byte, string, error) {
	v := reflect.ValueOf(key)
	switch {
	case v.Kind() == reflect.String:
		if text := v.String(); isPlain(text) {
			return appendString(b, text), text, nil
		}
		return nil, "", &Error{Code: ErrArgument, Text: "a key has 1 to 256 bytes in UTF-8 without control characters"}
	case v.Kind() == reflect.Array && v.Type().Elem().Kind() == reflect.Uint8 && (v.Len() == 12 || v.Len() == 16):
		binary := make([]byte, v.Len())
		reflect.Copy(reflect.ValueOf(binary), v)
		text := hex.EncodeToString(binary)
		if len(binary) == 16 {
			text = text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
		}
		b = append(b, 0xc4, byte(len(binary)))
		return append(b, binary...), text, nil
	}
	return nil, "", &Error{Code: ErrArgument, Text: "a key is a string, or an array of 16 bytes (a UUID) or 12 (an ObjectID)"}
}

// RecordsOptions choose records.
type RecordsOptions struct {
	State string // only those in this state; "": all
}

// Records goes through the records of a period of a register, in the order of the numbers:
//
//	records := client.Records(ctx, "invoices@2026", nil)
//	for records.Next() {
//		fmt.Println(records.Record())
//	}
//	err := records.Err()
//
// It asks for them in pages, which the context is for. Administrators see all, others what they
// assigned. options may be nil.
func (c *Client) Records(ctx context.Context, register string, options *RecordsOptions) *Records {
	asked := map[string]interface{}{"after": int64(0)}
	if options != nil && options.State != "" {
		asked["state"] = options.State
	}
	return &Records{client: c, ctx: ctx, register: register, asked: asked, more: true}
}

// Records are made by Client.Records. For one goroutine.
type Records struct {
	client   *Client
	ctx      context.Context
	register string
	asked    map[string]interface{}
	page     []Record
	at       int // behind the present one
	more     bool
	err      error
}

// Next goes to the next record; false: there is none, or Err has an error.
func (r *Records) Next() bool {
	for r.at == len(r.page) && r.more {
		r.load()
	}
	if r.at == len(r.page) {
		return false
	}
	r.at++
	return true
}

// Record is the present one, after Next was true.
func (r *Records) Record() Record { return r.page[r.at-1] }

// Err is the error that Next ended with, or nil.
func (r *Records) Err() error { return r.err }

func (r *Records) load() {
	r.page, r.at, r.more = nil, 0, false
	var page struct {
		Records []Record `msgpack:"records"`
		After   *int64   `msgpack:"after"`
	}
	if r.err = r.client.CallInto(r.ctx, &page, "records", r.register, r.asked); r.err != nil {
		return
	}
	if page.After != nil {
		if *page.After <= r.asked["after"].(int64) {
			r.err = &Error{Code: ErrProtocol, Text: "the daemon's pages of records do not go on"}
			return
		}
		r.asked["after"], r.more = *page.After, true
	}
	r.page = page.Records
	// Another period may begin between two pages.
	if len(r.page) > 0 && r.page[0].Period != "" && !strings.Contains(r.register, "@") {
		r.register += "@" + r.page[0].Period
	}
}
