package seqd

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"
)

// TestAnUnknownOutcomeIsNothingElse: what a program retries on does not match an insert that may have
// been carried out, whatever has kept its reply away.
func TestAnUnknownOutcomeIsNothingElse(t *testing.T) {
	document := map[string]int{"a": 1}
	for name, end := range map[string]func(t *testing.T, conn *fakeConn, c *Client, cancel func()){
		"the connection is lost":   func(_ *testing.T, conn *fakeConn, _ *Client, _ func()) { conn.Close() },
		"not MessagePack":          func(_ *testing.T, conn *fakeConn, _ *Client, _ func()) { conn.Write([]byte{0xc1}) },
		"the caller cancels":       func(_ *testing.T, _ *fakeConn, _ *Client, cancel func()) { cancel() },
		"the client is closed":     func(_ *testing.T, _ *fakeConn, c *Client, _ func()) { go c.Close() },
		"the time is over":         func(*testing.T, *fakeConn, *Client, func()) {},
		"the context's time is up": func(*testing.T, *fakeConn, *Client, func()) {},
	} {
		t.Run(name, func(t *testing.T) {
			var c *Client
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			path := fake(t, func(number int, conn *fakeConn) {
				conn.hello()
				conn.replyOnce()
				for number == 1 {
					if r, ok := conn.request(); !ok || r.method == "insert" {
						break
					}
				}
				end(t, conn, c, cancel)
				conn.silence()
			})
			options := Options{Socket: path, Timeout: patience}
			if name == "the time is over" {
				options.Timeout = 30 * time.Millisecond
			}
			c = openClient(t, options)
			must(t, c.Ping(fully(t)))
			if name == "the context's time is up" {
				ctx, cancel = context.WithTimeout(ctx, 30*time.Millisecond)
				defer cancel()
			}
			_, err := c.Insert(ctx, "people", document)
			onlyUnknown(t, err)
		})
	}
}

// TestARepeatThatIsRefusedHere: what the next daemon's limits refuse was sent to the one before.
func TestARepeatThatIsRefusedHere(t *testing.T) {
	path := fake(t, func(number int, conn *fakeConn) {
		if number == 1 {
			conn.hello()
			conn.request()
			return
		}
		conn.request()
		conn.reply(0, nil, map[string]interface{}{"protocol": 1, "limits": map[string]int{"frame": 20}})
		conn.silence()
	})
	c := openClient(t, Options{Socket: path, Timeout: patience})
	_, err := c.InsertUnique(context.Background(), "people", map[string]string{"name": "Ada Lovelace"}, "name")
	onlyUnknown(t, err)
}

// onlyUnknown: the error is an ErrOutcomeUnknown, and nothing that a program takes for another.
func onlyUnknown(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, ErrOutcomeUnknown) {
		t.Fatalf("%v", err)
	}
	others := []error{context.Canceled, context.DeadlineExceeded, io.EOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE,
		ErrConnect, ErrTimeout, ErrCanceled, ErrProtocol, ErrArgument, ErrClosed, ErrLibrary}
	for code := range daemonCodes {
		if Code(code) != ErrOutcomeUnknown {
			others = append(others, Code(code))
		}
	}
	for _, other := range others {
		if errors.Is(err, other) {
			t.Errorf("%v also matches %v", err, other)
		}
	}
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		t.Errorf("%v is a timeout", err)
	}
	var temporary interface{ Temporary() bool }
	if errors.As(err, &temporary) && temporary.Temporary() {
		t.Errorf("%v is temporary", err)
	}
}
