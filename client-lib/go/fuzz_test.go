package seqd

import (
	"bytes"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
)

// FuzzReply: any bytes are a message, the beginning of one or none, however they are cut; what the
// decoder accepts, the library of others reads as the same.
func FuzzReply(f *testing.F) {
	v := readVectors(f)
	for _, one := range v.Replies {
		f.Add(unhex(f, one.Hex), uint(3), int64(100))
	}
	for _, one := range v.Requests {
		f.Add(unhex(f, one.Hex), uint(5), int64(1))
	}
	f.Fuzz(func(t *testing.T, b []byte, cut uint, count int64) {
		var whole, pieces scanner
		size, err := whole.scan(b, maxReplyBytes)
		if size > len(b) || size < 0 || size > 0 && err != nil {
			t.Fatalf("%d of %d, %v", size, len(b), err)
		}
		part, partErr := pieces.scan(b[:cut%uint(len(b)+1)], maxReplyBytes)
		if part == 0 && partErr == nil {
			part, partErr = pieces.scan(b, maxReplyBytes)
		}
		if part != size || partErr != err {
			t.Fatalf("in pieces %d, %v; at once %d, %v", part, partErr, size, err)
		}
		msgid, id, fast := fastReply(b)
		if fast > 0 && fast != size {
			t.Fatalf("the fast reader takes %d bytes of %d", fast, size)
		}
		if size == 0 {
			return
		}
		frame := b[:size]
		r, notification, err := parseReply(frame)
		if err != nil || notification {
			if fast > 0 {
				t.Fatalf("the fast reader takes what is none: %v", err)
			}
			return
		}
		runs, err := readRuns(r.result, count)
		if err == nil {
			sum := int64(0)
			for _, run := range runs {
				sum += run.Count
				if last := run.First + (run.Count-1)*run.Step; run.Step > 0 && last < run.First || run.Step < 0 && last > run.First {
					t.Fatalf("%+v does not fit", run)
				}
			}
			if sum != count {
				t.Fatalf("%d IDs for %d", sum, count)
			}
		}
		readText(r.result)
		value, err := readInteger(r.result)
		if fast > 0 && (err != nil || value != id || msgid != r.msgid) {
			t.Fatalf("%d %d, and the fast reader has %d %d", r.msgid, value, msgid, id)
		}
		if err == nil {
			theirs, err := msgpack.NewDecoder(bytes.NewReader(r.result)).DecodeInt64()
			if err != nil || theirs != value {
				t.Fatalf("%d, and msgpack has %d, %v", value, theirs, err)
			}
		}
	})
}
