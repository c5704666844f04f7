package seqd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

const registers = `
[sequence."invoices"]
mode = "register"
period = "year"
format = "INV-{date:%Y}-{number:5}"
[sequence."slips"]
mode = "register"
refill = "always"
`

type uuid [16]byte
type objectID [12]byte
type name string

func TestAKeyHasOneNumber(t *testing.T) {
	d := newDaemon(t, registers)
	c, other := d.open(Options{}), d.open(Options{})
	ctx := fully(t)
	key := uuid{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 1, 2, 3, 4, 5, 6, 7, 8}
	first, err := c.Assign(ctx, "invoices", key)
	must(t, err)
	year := fmt.Sprint(time.Now().UTC().Year())
	same(t, first.Number, int64(1))
	same(t, first.String(), "INV-"+year+"-00001")
	same(t, []string{first.Period, first.State, first.Key}, []string{year, "assigned", "01234567-89ab-cdef-0102-030405060708"})
	if age := time.Since(first.Assigned.At()); age < -time.Minute || age > 5*time.Minute || first.Confirmed != nil || strings.Count(first.Assigned.By, ":") != 2 {
		t.Errorf("the record is %+v", first)
	}
	for _, again := range []interface{}{[16]byte(key), first.Key, name(first.Key)} {
		record, err := other.Assign(ctx, "invoices", again)
		must(t, err)
		same(t, record, first)
	}
	record, err := c.Assign(ctx, "invoices", objectID{11: 7})
	must(t, err)
	same(t, record.Key, "000000000000000000000007")
	d.kill()
	asked := make(chan error)
	go func() {
		record, err := c.Assign(ctx, "invoices", key)
		if err == nil && record.Number != first.Number {
			err = fmt.Errorf("the key has %+v", record)
		}
		asked <- err
	}()
	d.start()
	must(t, <-asked)
	record, err = other.Assign(ctx, "invoices", "third")
	must(t, err)
	same(t, record.Number, int64(3))
}

func TestConfirmAndCancel(t *testing.T) {
	d := newDaemon(t, registers)
	c := d.open(Options{})
	ctx := fully(t)
	_, err := c.Assign(ctx, "slips", "a")
	must(t, err)
	confirmed, err := c.Confirm(ctx, "slips", "a")
	must(t, err)
	if confirmed.State != "confirmed" || confirmed.Confirmed == nil || confirmed.Period != "" || confirmed.Text != "1" {
		t.Errorf("the record is %+v", confirmed)
	}
	again, err := c.Confirm(ctx, "slips", "a")
	must(t, err)
	same(t, *again.Confirmed, *confirmed.Confirmed)
	_, err = c.CancelNumber(ctx, "slips", "a", 1, "a mistake")
	isCode(t, err, ErrKeyConfirmed)
	second, err := c.Assign(ctx, "slips", "b")
	must(t, err)
	free, err := c.CancelNumber(ctx, "slips", "b", second.Number, "the customer left")
	must(t, err)
	if free.State != "free" || free.Key != "" || len(free.Former) != 1 || free.Former[0].Key != "b" || free.Former[0].Reason != "the customer left" {
		t.Errorf("the record is %+v", free)
	}
	repeated, err := c.CancelNumber(ctx, "slips", "b", second.Number, "again")
	must(t, err)
	same(t, repeated, free)
	third, err := c.Assign(ctx, "slips", "c")
	must(t, err)
	same(t, third.Number, second.Number)
	_, err = c.Cancel(ctx, "slips", "c", "without its number")
	must(t, err)
	_, err = c.Cancel(ctx, "slips", "c", "without its number")
	isCode(t, err, ErrNoKey)
	_, err = c.Confirm(ctx, "slips", "d")
	isCode(t, err, ErrNoKey)
}

func TestPeriodsOfARegister(t *testing.T) {
	d := newDaemon(t, registers)
	c := d.open(Options{})
	ctx := fully(t)
	last := fmt.Sprintf("invoices@%d", time.Now().UTC().Year()-1)
	old, err := c.Assign(ctx, last, "old")
	must(t, err)
	again, err := c.Assign(ctx, "invoices", "old")
	must(t, err)
	same(t, again, old)
	_, err = c.Call(ctx, "close", last)
	must(t, err)
	_, err = c.Assign(ctx, last, "late")
	isCode(t, err, ErrPeriodClosed)
	_, err = c.Next(ctx, "invoices")
	isCode(t, err, ErrWrongMode)
}

func TestRecordsComeInPages(t *testing.T) {
	d := newDaemon(t, registers)
	c := d.open(Options{})
	ctx := fully(t)
	for i := 1; i <= 230; i++ {
		_, err := c.Assign(ctx, "invoices", fmt.Sprint("key ", i))
		must(t, err)
	}
	_, err := c.CancelNumber(ctx, "invoices", "key 8", 8, "a test")
	must(t, err)
	numbers := func(register string, options *RecordsOptions) (found []int64) {
		records := c.Records(ctx, register, options)
		for records.Next() {
			found = append(found, records.Record().Number)
		}
		must(t, records.Err())
		return found
	}
	all := numbers(fmt.Sprintf("invoices@%d", time.Now().UTC().Year()), nil)
	same(t, len(all), 230)
	checkAll(t, all, 1)
	same(t, numbers("invoices", &RecordsOptions{State: "void"}), []int64{8})
	same(t, len(numbers("slips", nil)), 0)
	wrong := c.Records(ctx, "invoices", &RecordsOptions{State: "lost"})
	same(t, wrong.Next(), false)
	isCode(t, wrong.Err(), ErrBadRequest)
}

// There is no daemon.
func TestWhatNoDaemonTakesIsNotSent(t *testing.T) {
	c := openClient(t, Options{Socket: "/nowhere", Timeout: time.Millisecond})
	ctx := context.Background()
	for _, key := range []interface{}{"", "a\nb", strings.Repeat("x", 257), "\xff", 7, nil, []byte("sixteen bytes ..."), [5]byte{}, [16]int{}} {
		_, err := c.Assign(ctx, "invoices", key)
		isCode(t, err, ErrArgument)
	}
	for _, reason := range []string{"", "a\tb", strings.Repeat("x", 257)} {
		_, err := c.Cancel(ctx, "invoices", "a", reason)
		isCode(t, err, ErrArgument)
	}
	_, err := c.CancelNumber(ctx, "invoices", "a", 0, "why")
	isCode(t, err, ErrArgument)
	_, err = c.Call(ctx, "cancel", "invoices", "a", "why")
	isCode(t, err, ErrArgument)
	_, err = c.Assign(ctx, "invoices", "a")
	isCode(t, err, ErrConnect)
}

var assigned = map[string]interface{}{"number": 1, "text": "1", "state": "assigned", "key": "a",
	"assigned": map[string]interface{}{"at_ms": 5, "by": "host:0:1"}}

// TestWhatIsRepeatedOfARegister: the first connection ends with the request.
func TestWhatIsRepeatedOfARegister(t *testing.T) {
	ctx := fully(t)
	for name, ask := range map[string]func(c *Client) (Record, error){
		"assign":  func(c *Client) (Record, error) { return c.Assign(ctx, "slips", "a") },
		"confirm": func(c *Client) (Record, error) { return c.Confirm(ctx, "slips", "a") },
		"cancel":  func(c *Client) (Record, error) { return c.CancelNumber(ctx, "slips", "a", 1, "why") },
	} {
		c := openClient(t, Options{Timeout: patience, Socket: fake(t, func(number int, conn *fakeConn) {
			conn.hello()
			for {
				r, ok := conn.request()
				if !ok || number == 1 && r.method == name {
					return
				}
				options, _ := r.params[len(r.params)-1].(map[string]interface{})
				if r.method == name && options["timeout_ms"] == nil || name == "cancel" && r.method == name && options["number"] != int64(1) {
					t.Errorf("the request is %+v", r)
				}
				if r.method == name {
					conn.reply(r.msgid, nil, assigned)
				}
			}
		})})
		record, err := ask(c)
		must(t, err)
		same(t, record.Number, int64(1))
	}
}

func TestACancelWithoutItsNumberIsSentOnce(t *testing.T) {
	for name, end := range map[string]func(conn *fakeConn, r fakeRequest, cancel func()){
		"the connection is lost": func(*fakeConn, fakeRequest, func()) {},
		"the daemon stops": func(conn *fakeConn, r fakeRequest, _ func()) {
			conn.reply(r.msgid, []interface{}{0, "STOPPING: the daemon stops"}, nil)
			conn.silence()
		},
		"the caller cancels": func(_ *fakeConn, _ fakeRequest, cancel func()) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(fully(t))
			defer cancel()
			sent := make(chan int, 10)
			c := openClient(t, Options{Timeout: patience, Socket: fake(t, func(number int, conn *fakeConn) {
				conn.hello()
				for {
					r, ok := conn.request()
					switch {
					case !ok:
						return
					case r.method == "ping":
						conn.reply(r.msgid, nil, "pong")
					case r.method == "cancel":
						sent <- number
						end(conn, r, cancel)
						if name != "the caller cancels" {
							return
						}
					}
				}
			})})
			_, err := c.Cancel(ctx, "slips", "a", "why")
			onlyUnknown(t, err)
			if !strings.Contains(err.Error(), "may have been cancelled") {
				t.Error(err)
			}
			must(t, c.Ping(fully(t)))
			same(t, len(sent), 1)
		})
	}
}

func TestARecordOfAnotherKeyIsRefused(t *testing.T) {
	c := openClient(t, Options{Timeout: patience, Socket: fake(t, func(_ int, conn *fakeConn) {
		conn.hello()
		for {
			r, ok := conn.request()
			if !ok {
				return
			}
			if r.method != "ack" {
				conn.reply(r.msgid, nil, assigned)
			}
		}
	})})
	_, err := c.Assign(fully(t), "slips", "b")
	isCode(t, err, ErrProtocol)
	_, err = c.Assign(fully(t), "slips", "a")
	must(t, err)
}

func isCode(t *testing.T, err error, code Code) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Errorf("%v instead of %s", err, code)
	}
}
