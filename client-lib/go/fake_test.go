package seqd

import (
	"net"
	"path/filepath"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
)

// A fake is a server that does what no daemon should: `serve` has each connection in turn.
func fake(t *testing.T, serve func(number int, conn *fakeConn)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	must(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for number := 1; ; number++ {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serve(number, &fakeConn{t: t, Conn: conn, decoder: msgpack.NewDecoder(conn)})
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		<-ended
	})
	return path
}

type fakeConn struct {
	net.Conn
	t       *testing.T
	decoder *msgpack.Decoder
}

// A request that a fake has read; an ack has the method "ack".
type fakeRequest struct {
	msgid  interface{}
	method string
	params []interface{}
}

// request reads the next one. false: the client has closed the connection.
func (c *fakeConn) request() (fakeRequest, bool) {
	c.decoder.UseLooseInterfaceDecoding(true)
	value, err := c.decoder.DecodeInterfaceLoose()
	if err != nil {
		return fakeRequest{}, false
	}
	message := integers(value).([]interface{})
	if len(message) == 3 {
		return fakeRequest{nil, message[1].(string), message[2].([]interface{})}, true
	}
	return fakeRequest{message[1], message[2].(string), message[3].([]interface{})}, true
}

func (c *fakeConn) reply(msgid, err, result interface{}) {
	message, _ := msgpack.Marshal([]interface{}{1, msgid, err, result})
	c.Write(message)
}

var goodHello = map[string]interface{}{"server": "seqd", "protocol": 1, "known": true, "connection": "x",
	"limits": map[string]int{"frame": 65536, "depth": 8, "pipeline": 4096, "unacknowledged": 16384}}

func (c *fakeConn) hello() {
	if r, ok := c.request(); ok {
		if r.method != "hello" || r.msgid != int64(0) {
			c.t.Errorf("the first request is %+v", r)
		}
		c.reply(0, nil, goodHello)
	}
}

// replyOnce replies to one request, after which the client is connected.
func (c *fakeConn) replyOnce() {
	for {
		r, ok := c.request()
		if !ok {
			return
		}
		if r.method != "ack" {
			c.reply(r.msgid, nil, nil)
			return
		}
	}
}

// silence reads until the client has closed the connection.
func (c *fakeConn) silence() {
	for {
		if _, ok := c.request(); !ok {
			return
		}
	}
}

// serveWell replies to each next with its request number, and to each insert with 7.
func (c *fakeConn) serveWell() {
	c.hello()
	for {
		r, ok := c.request()
		switch {
		case !ok:
			return
		case r.method == "next":
			c.reply(r.msgid, nil, r.msgid)
		case r.method == "insert":
			c.reply(r.msgid, nil, 7)
		}
	}
}
