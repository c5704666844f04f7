package seqd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestGarbage: what is no reply ends the call with PROTOCOL, and the next one connects again.
func TestGarbage(t *testing.T) {
	huge := append([]byte{0x94, 1, 1, 0xc0, 0xdb}, 0x7f, 0xff, 0xff, 0xff)
	for name, bytes := range map[string][]byte{
		"not MessagePack":        {0xc1},
		"another msgid":          {0x94, 1, 99, 0xc0, 5},
		"msgid 0":                {0x94, 1, 0, 0xc0, 5},
		"a request":              {0x94, 0, 1, 0xa1, 'x', 0x90},
		"an integer":             {5},
		"three parts":            {0x93, 1, 1, 0xc0},
		"a text for an ID":       {0x94, 1, 1, 0xc0, 0xa1, 'x'},
		"a float for an ID":      {0x94, 1, 1, 0xc0, 0xca, 0, 0, 0, 0},
		"nil for an ID":          {0x94, 1, 1, 0xc0, 0xc0},
		"an ID above 2^63":       {0x94, 1, 1, 0xc0, 0xcf, 0xff, 0, 0, 0, 0, 0, 0, 0},
		"an error that is none":  {0x94, 1, 1, 0xa1, 'x', 0xc0},
		"fault 2":                {0x94, 1, 1, 0x92, 2, 0xa1, 'x', 0xc0},
		"an error with a result": {0x94, 1, 1, 0x92, 1, 0xa1, 'x', 5},
		"a text of 2 GiB":        huge,
		"an array of 4 billion":  {0x94, 1, 1, 0xc0, 0xdd, 0xff, 0xff, 0xff, 0xff},
		"40 levels":              append([]byte{0x94, 1, 1, 0xc0}, []byte(strings.Repeat("\x91", 40))...),
		"HTTP":                   []byte("HTTP/1.1 400 Bad Request\r\n\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			path := fake(t, func(number int, conn *fakeConn) {
				if number > 1 {
					conn.serveWell()
					return
				}
				conn.hello()
				conn.request()
				conn.Write(bytes)
				conn.silence()
			})
			c := openClient(t, Options{Socket: path, Timeout: patience})
			if _, err := c.Next(context.Background(), "orders"); !errors.Is(err, ErrProtocol) {
				t.Errorf("%v", err)
			}
			if _, err := c.Next(context.Background(), "orders"); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// TestHalfReplies: a reply that ends with its connection is asked for again under its number.
func TestHalfReplies(t *testing.T) {
	whole := []byte{0x94, 1, 1, 0xc0, 0xcd, 0x10, 0x01}
	path := fake(t, func(number int, conn *fakeConn) {
		conn.hello()
		r, ok := conn.request()
		if !ok || r.method != "next" || r.msgid != int64(1) {
			t.Errorf("connection %d begins with %+v", number, r)
		}
		if number <= len(whole) {
			conn.Write(whole[:number-1])
			return
		}
		for _, one := range whole { // byte by byte
			conn.Write([]byte{one})
		}
		conn.silence()
	})
	c := openClient(t, Options{Socket: path, Timeout: patience})
	id, err := c.Next(context.Background(), "orders")
	must(t, err)
	same(t, id, int64(0x1001))
}

// TestSilence: a server that says nothing costs no more than the caller's time.
func TestSilence(t *testing.T) {
	for name, test := range map[string]struct {
		code  Code
		serve func(conn *fakeConn)
	}{
		"no hello": {ErrConnect, func(conn *fakeConn) { conn.silence() }},
		"no reply": {ErrTimeout, func(conn *fakeConn) { conn.hello(); conn.replyOnce(); conn.silence() }},
		"the end":  {ErrConnect, func(conn *fakeConn) {}},
	} {
		t.Run(name, func(t *testing.T) {
			path := fake(t, func(_ int, conn *fakeConn) { test.serve(conn) })
			c := openClient(t, Options{Socket: path, Timeout: 30 * time.Millisecond})
			if name == "no reply" { // how long it takes to connect is not what is tested
				must(t, c.Ping(fully(t)))
			}
			if _, err := c.Next(context.Background(), "orders"); !errors.Is(err, test.code) {
				t.Errorf("%v", err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
			defer cancel()
			if _, err := c.Next(ctx, "orders"); !errors.Is(err, test.code) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
			if _, err := c.Insert(context.Background(), "people", map[string]int{"a": 1}); name == "no reply" && !errors.Is(err, ErrOutcomeUnknown) {
				t.Errorf("%v", err)
			}
			must(t, c.Close())
		})
	}
}

// TestTheSocketTakesNothing: a caller whose request the socket does not take leaves at its time.
func TestTheSocketTakesNothing(t *testing.T) {
	leave := make(chan struct{})
	path := fake(t, func(_ int, conn *fakeConn) {
		conn.hello()
		conn.replyOnce()
		<-leave
	})
	c := openClient(t, Options{Socket: path, Timeout: 200 * time.Millisecond})
	must(t, c.Ping(fully(t)))
	errs := make(chan error)
	const calls = 3000
	for i := 0; i < calls; i++ {
		go func() {
			_, err := c.Next(context.Background(), strings.Repeat("n", 1000))
			errs <- err
		}()
	}
	for i := 0; i < calls; i++ {
		if err := <-errs; !errors.Is(err, ErrTimeout) {
			t.Fatalf("%v", err)
		}
	}
	must(t, c.Close())
	close(leave)
}

// TestNothingIsReplied: a connection on which all callers have left is left, too, when one of the
// daemon's limits is reached.
func TestNothingIsReplied(t *testing.T) {
	for _, limit := range []string{"pipeline", "unacknowledged"} {
		t.Run(limit, func(t *testing.T) {
			path := fake(t, func(number int, conn *fakeConn) {
				if number > 1 {
					conn.serveWell()
					return
				}
				conn.request()
				conn.reply(0, nil, map[string]interface{}{"protocol": 1, "limits": map[string]int{limit: 2}})
				conn.replyOnce()
				conn.silence()
			})
			c := openClient(t, Options{Socket: path, Timeout: 30 * time.Millisecond})
			must(t, c.Ping(fully(t)))
			for i := 0; i < 2; i++ {
				if _, err := c.Next(context.Background(), "orders"); !errors.Is(err, ErrTimeout) {
					t.Errorf("%v", err)
				}
			}
			id, err := c.Next(fully(t), "orders")
			must(t, err)
			same(t, id, int64(3)) // a number is used once
		})
	}
}

// TestLateReply: the reply to a call whose caller has left does not disturb others, and is acknowledged.
func TestLateReply(t *testing.T) {
	left := make(chan struct{})
	var acked atomic.Value
	path := fake(t, func(_ int, conn *fakeConn) {
		conn.hello()
		conn.request()
		<-left
		conn.reply(1, nil, 111)
		for {
			r, ok := conn.request()
			if !ok {
				return
			}
			if r.method == "ack" {
				acked.Store(r.params[0])
				continue
			}
			conn.reply(r.msgid, nil, r.msgid)
		}
	})
	c := openClient(t, Options{Socket: path, Timeout: patience})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		until(t, "it is sent", func() bool { c.s.mu.Lock(); defer c.s.mu.Unlock(); return c.s.table.next == 2 })
		cancel()
	}()
	if _, err := c.Next(ctx, "orders"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	close(left)
	for want := int64(2); want <= 20; want++ {
		id, err := c.Next(context.Background(), "orders")
		must(t, err)
		same(t, id, want)
	}
	must(t, c.Close())
	until(t, "everything is acknowledged", func() bool { return acked.Load() == int64(21) })
}

// TestRepeat: the next connection begins with hello, the ack of what was received, and the repeat.
func TestRepeat(t *testing.T) {
	path := fake(t, func(number int, conn *fakeConn) {
		conn.hello()
		var order []string
		for {
			r, ok := conn.request()
			if !ok {
				return
			}
			order = append(order, fmt.Sprint(r.method, " ", r.msgid, " ", r.params[0]))
			if number == 1 && len(order) == 4 {
				return
			}
			if len(order) == 2 && number == 2 {
				same(t, order, []string{"ack <nil> 4", "next 4 orders"})
			}
			if r.method != "ack" {
				conn.reply(r.msgid, nil, r.msgid)
			}
		}
	})
	c := openClient(t, Options{Socket: path, Timeout: patience})
	for want := int64(1); want <= 5; want++ {
		id, err := c.Next(context.Background(), "orders")
		must(t, err)
		same(t, id, want)
	}
}

// TestStopping: STOPPING is not seen; the request goes to the next daemon under its number.
func TestStopping(t *testing.T) {
	path := fake(t, func(number int, conn *fakeConn) {
		if number == 1 {
			conn.request()
			conn.reply(0, []interface{}{0, "STOPPING: x"}, nil)
			return
		}
		conn.hello()
		for i := 0; i < 3; i++ {
			r, _ := conn.request()
			if number == 2 {
				conn.reply(r.msgid, []interface{}{0, "STOPPING: x"}, nil)
			} else {
				conn.reply(r.msgid, nil, 7)
			}
		}
		conn.silence()
	})
	c := openClient(t, Options{Socket: path, Timeout: patience})
	errs := make(chan error)
	go func() { _, err := c.Next(context.Background(), "orders"); errs <- err }()
	go func() { _, err := c.Insert(context.Background(), "people", map[string]int{"a": 1}); errs <- err }()
	go func() { errs <- c.Ping(context.Background()) }()
	for i := 0; i < 3; i++ {
		must(t, <-errs)
	}
	same(t, c.s.table.next, uint32(2))
}

// TestInsertIsNotRepeated: after a lost connection only one with a unique field is sent again.
func TestInsertIsNotRepeated(t *testing.T) {
	var sent atomic.Int32
	path := fake(t, func(number int, conn *fakeConn) {
		conn.hello()
		for {
			r, ok := conn.request()
			if !ok {
				return
			}
			if r.method == "insert" {
				sent.Add(1)
				options := r.params[2].(map[string]interface{})
				if (options["unique"] == nil) == (options["connection"] == nil) {
					t.Errorf("the options are %v", options)
				}
				if number < 3 {
					return
				}
				conn.reply(r.msgid, []interface{}{0, "UNAVAILABLE: x"}, nil)
			}
		}
	})
	c := openClient(t, Options{Socket: path, Timeout: patience})
	document := map[string]interface{}{"name": "Ada", "at": time.Now()}
	if _, err := c.Insert(context.Background(), "people", document); !errors.Is(err, ErrOutcomeUnknown) {
		t.Errorf("%v", err)
	}
	same(t, sent.Load(), int32(1))
	// The last attempt says nothing of the one before.
	_, err := c.InsertUnique(context.Background(), "people", document, "name")
	onlyUnknown(t, err)
	same(t, sent.Load(), int32(3))
	if _, err := c.Insert(context.Background(), "people", document); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrOutcomeUnknown) {
		t.Errorf("%v", err)
	}
}

// TestInsertAfterAnIdleEnd: a connection that ended while nothing was in flight costs no insert.
func TestInsertAfterAnIdleEnd(t *testing.T) {
	const lives = 20
	leave, left := make(chan struct{}), make(chan struct{})
	path := fake(t, func(number int, conn *fakeConn) {
		conn.hello()
		for calls := 0; ; calls++ {
			r, ok := conn.request()
			if !ok {
				return
			}
			conn.reply(r.msgid, nil, 7)
			if calls == 2 && number <= lives {
				<-leave
				conn.Close()
				left <- struct{}{}
				return
			}
		}
	})
	c := openClient(t, Options{Socket: path, Timeout: patience})
	for i := 0; i < lives; i++ {
		_, err := c.Insert(context.Background(), "people", map[string]int{"a": 1})
		must(t, err)
		for j := 0; j < 2; j++ {
			must(t, c.Ping(context.Background()))
		}
		if i%4 == 0 {
			time.Sleep(300 * time.Millisecond) // the goroutine of connections reads then
		}
		leave <- struct{}{}
		<-left
	}
}

// TestAnIdleEndIsSeen: without a call, too.
func TestAnIdleEndIsSeen(t *testing.T) {
	d := newDaemon(t, "")
	c := d.open(Options{})
	for i := 0; i < 3; i++ {
		must(t, c.Ping(fully(t)))
	}
	d.terminate()
	until(t, "the end is seen", func() bool {
		c.s.mu.Lock()
		defer c.s.mu.Unlock()
		return c.s.link == nil
	})
}

// TestNewIdentity: before the request numbers end, a new identity begins with 1.
func TestNewIdentity(t *testing.T) {
	d := newDaemon(t, "")
	c := d.open(Options{})
	c.s.last = 10
	before := c.s.identity
	var ids []int64
	for i := 0; i < 25; i++ {
		id, err := c.Next(fully(t), "orders")
		must(t, err)
		ids = append(ids, id)
	}
	checkAll(t, ids, 1)
	if bytes.Equal(before[:], c.s.identity[:]) || c.s.table.next >= 10 {
		t.Error("the identity is the first one")
	}
}

// TestNewIdentityWhileWriting: the call that needs a new identity does not wait for another one when
// the reply to the last number is faster than the return of its writer.
func TestNewIdentityWhileWriting(t *testing.T) {
	d := newDaemon(t, "")
	c := d.open(Options{})
	_, err := c.Next(fully(t), "orders")
	must(t, err)
	c.s.mu.Lock()
	l := c.s.link
	c.s.last = c.s.table.next
	l.writing = true // as between the write and the next look of the writer
	c.s.mu.Unlock()
	errs := make(chan error)
	go func() { _, err := c.Next(fully(t), "orders"); errs <- err }()
	until(t, "the call waits", func() bool { c.s.mu.Lock(); defer c.s.mu.Unlock(); return c.s.queue.first != nil })
	c.s.mu.Lock()
	if output := c.s.moreOutput(l); output != nil || l.writing {
		t.Errorf("the writer has %d bytes to write, writing: %t", len(output), l.writing)
	}
	c.s.last = 100
	c.s.unlock()
	must(t, <-errs)
	same(t, c.s.table.next, uint32(2))
}

// TestASmallerWindow: a daemon that came back with a lower limit gets the repeats in parts, each
// after an ack that makes room for it.
func TestASmallerWindow(t *testing.T) {
	const calls, window = 40, 4
	path := fake(t, func(number int, conn *fakeConn) {
		hello := map[string]interface{}{"protocol": 1, "limits": map[string]int{"unacknowledged": calls}}
		if number > 1 {
			hello["limits"] = map[string]int{"unacknowledged": window}
		}
		conn.request()
		conn.reply(0, nil, hello)
		acked, requests := int64(1), 0
		for {
			r, ok := conn.request()
			if !ok {
				return
			}
			if r.method == "ack" {
				acked = r.params[0].(int64)
				continue
			}
			if requests++; number == 1 {
				if requests == calls {
					return
				}
				continue
			}
			if r.msgid.(int64)-acked >= window {
				conn.reply(r.msgid, []interface{}{0, "BUSY: x"}, nil)
				continue
			}
			conn.reply(r.msgid, nil, r.msgid)
		}
	})
	c := openClient(t, Options{Socket: path, Timeout: patience})
	errs := make(chan error)
	for i := 0; i < calls; i++ {
		go func() { _, err := c.Next(context.Background(), "orders"); errs <- err }()
	}
	for i := 0; i < calls; i++ {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// TestLongReply: up to 16 MiB is taken, in any pieces.
func TestLongReply(t *testing.T) {
	text := strings.Repeat("x", 16<<20-64)
	path := fake(t, func(_ int, conn *fakeConn) {
		conn.hello()
		r, _ := conn.request()
		conn.reply(r.msgid, nil, []interface{}{text, 1, 2, 3})
		r, _ = conn.request()
		conn.reply(r.msgid, nil, text+strings.Repeat("x", 128))
		conn.silence()
	})
	c := openClient(t, Options{Socket: path, Timeout: patience})
	value, err := c.Call(context.Background(), "list")
	must(t, err)
	same(t, len(value.([]interface{})[0].(string)), len(text))
	if _, err := c.Call(context.Background(), "list"); !errors.Is(err, ErrProtocol) {
		t.Errorf("%v", err)
	}
}
