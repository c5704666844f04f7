package seqd

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
)

type vectors struct {
	Requests   []struct{ Name, Hex string }
	Incomplete []struct{ Name, Hex string }
	Replies    []struct {
		Name, Hex string
		Expect    struct {
			Msgid  uint32
			Result interface{}
			Runs   bool
			Error  *struct {
				Fault int
				Code  string
				Text  string
			}
		}
	}
	Encode []struct {
		Name, Hex string
		Write     struct {
			Kind, Name, Client, Method string
			ClientName                 string `json:"client_name"`
			Msgid, Below               uint32
			Count                      int64
			TimeoutMS                  *int64 `json:"timeout_ms"`
		}
	}
	Texts []struct {
		Format   string
		TimeZone string `json:"time_zone"`
		Key      string
		Sequence string
		Number   interface{}
		Text     string
	}
}

func readVectors(t testing.TB) vectors {
	t.Helper()
	text, err := os.ReadFile("../../protocol/vectors.json")
	must(t, err)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var v vectors
	must(t, decoder.Decode(&v))
	if len(v.Requests) == 0 || len(v.Incomplete) == 0 || len(v.Replies) == 0 || len(v.Encode) == 0 || len(v.Texts) == 0 {
		t.Fatal("a part of the vectors is missing")
	}
	return v
}

func unhex(t testing.TB, digits string) []byte {
	t.Helper()
	b, err := hex.DecodeString(digits)
	must(t, err)
	return b
}

// plain makes one form of the values of the vectors and of msgpack.
func plain(value interface{}) interface{} {
	switch v := value.(type) {
	case map[string]interface{}:
		if digits, ok := v["integer"]; ok && len(v) == 1 {
			return fmt.Sprint(digits)
		}
		for key := range v {
			v[key] = plain(v[key])
		}
		return v
	case []interface{}:
		for i := range v {
			v[i] = plain(v[i])
		}
		return v
	case Run:
		return []interface{}{fmt.Sprint(v.First), fmt.Sprint(v.Count), fmt.Sprint(v.Step)}
	}
	return fmt.Sprint(value)
}

func TestVectorsReplies(t *testing.T) {
	for _, one := range readVectors(t).Replies {
		frame := unhex(t, one.Hex)
		for cut := 0; cut < len(frame); cut++ {
			var scan scanner
			if size, err := scan.scan(frame[:cut], maxReplyBytes); size != 0 || err != nil {
				t.Fatalf("%s: %d bytes of it are a message of %d bytes, %v", one.Name, cut, size, err)
			}
			if _, _, size := fastReply(frame[:cut]); size != 0 {
				t.Fatalf("%s: %d bytes of it are a reply", one.Name, cut)
			}
			if size, err := scan.scan(frame, maxReplyBytes); size != len(frame) || err != nil {
				t.Fatalf("%s: read on from %d bytes it has %d, %v", one.Name, cut, size, err)
			}
		}
		r, notification, err := parseReply(frame)
		if err != nil || notification || r.msgid != one.Expect.Msgid {
			t.Errorf("%s: %+v, %v, %v", one.Name, r, notification, err)
			continue
		}
		if want := one.Expect.Error; want != nil {
			if r.err == nil || string(r.err.Code) != want.Code || r.err.Text != want.Text || r.err.CallerFault != (want.Fault == 1) {
				t.Errorf("%s: %+v", one.Name, r.err)
			}
			continue
		}
		var got interface{}
		want := one.Expect.Result
		switch want.(type) {
		case string:
			got, err = readText(r.result)
		case []interface{}:
			sum := int64(0)
			for _, run := range want.([]interface{}) {
				n, _ := run.([]interface{})[1].(json.Number).Int64()
				sum += n
			}
			var runs []Run
			runs, err = readRuns(r.result, sum)
			list := []interface{}{}
			for _, run := range runs {
				list = append(list, run)
			}
			got = list
			if _, wrong := readRuns(r.result, sum+1); wrong == nil {
				t.Errorf("%s: it has too few IDs", one.Name)
			}
		default:
			if got, err = readInteger(r.result); err != nil {
				got = nil
				err = msgpack.Unmarshal(r.result, &got)
			} else if msgid, id, size := fastReply(frame); msgid != r.msgid || id != got || size != len(frame) {
				t.Errorf("%s: the fast reader has %d, %d, %d", one.Name, msgid, id, size)
			}
		}
		if err != nil {
			t.Errorf("%s: %v", one.Name, err)
		}
		same(t, plain(got), plain(want))
	}
}

func TestVectorsEncode(t *testing.T) {
	for _, one := range readVectors(t).Encode {
		w := one.Write
		wait := int64(-1)
		if w.TimeoutMS != nil {
			wait = *w.TimeoutMS
		}
		var got []byte
		switch w.Kind {
		case "next", "next_text":
			got = appendNext(nil, w.Msgid, w.Kind, w.Name, wait)
		case "range":
			got = appendRange(nil, w.Msgid, w.Name, w.Count, wait)
		case "hello":
			got = appendHello(nil, w.Msgid, unhex(t, w.Client), w.ClientName)
		case "ack":
			got = appendAck(nil, w.Below)
		case "peek", "call":
			params := []interface{}{}
			method := w.Method
			if w.Kind == "peek" {
				method, params = "peek", []interface{}{w.Name}
			}
			encoded, _, err := encode(params)
			must(t, err)
			got = appendCall(nil, w.Msgid, method, encoded)
		default:
			t.Errorf("%s: a kind that this test does not know: %s", one.Name, w.Kind)
		}
		same(t, hex.EncodeToString(got), one.Hex)
	}
}

func TestVectorsScan(t *testing.T) {
	v := readVectors(t)
	for _, one := range v.Incomplete {
		var scan scanner
		if size, err := scan.scan(unhex(t, one.Hex), maxReplyBytes); size != 0 || err != nil {
			t.Errorf("%s: %d, %v", one.Name, size, err)
		}
	}
	for _, one := range v.Requests {
		var scan scanner
		frame := unhex(t, one.Hex)
		if size, err := scan.scan(append(frame, 0xc1), maxReplyBytes); size != len(frame) || err != nil {
			t.Errorf("%s: %d, %v", one.Name, size, err)
		}
	}
}

// TestVectorsTexts: the daemon reads the texts of the vectors for this client.
func TestVectorsTexts(t *testing.T) {
	for i, one := range readVectors(t).Texts {
		if one.Key != "" {
			continue // needs a file with the key; of no interest to a client
		}
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			d := newDaemon(t, "[sequence_defaults]\nmax_value = 9223372036854775806\nformat = "+strconv.Quote(one.Format)+"\ntime_zone = "+strconv.Quote(one.TimeZone)+"\n")
			c := d.open(Options{})
			parsed, err := c.Parse(fully(t), one.Sequence, one.Text)
			must(t, err)
			same(t, plain(parsed.Number), plain(one.Number))
			if strings.Contains(one.Format, "date:%y") && parsed.Date.Year != 2026 {
				t.Errorf("%+v", parsed)
			}
			if _, err := c.Parse(fully(t), one.Sequence, one.Text+"#"); err == nil {
				t.Error("a longer text was read too")
			}
		})
	}
}
