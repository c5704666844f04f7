package seqd

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

const texts = `
[sequence."invoices"]
format = "INV-{date:%y%m%d}-{number:6}{check:luhn}"
time_zone = "UTC"
[sequence."down"]
start = 9
increment = -2
min = -5
max = 9
`

func TestMethods(t *testing.T) {
	d := newDaemon(t, texts)
	c := d.open(Options{Name: "methods"})
	ctx := fully(t)

	id, err := c.Next(ctx, "orders")
	must(t, err)
	same(t, id, int64(1))
	runs, err := c.Range(ctx, "orders", 1000)
	must(t, err)
	same(t, runs, []Run{{2, 1000, 1}})
	ids, err := c.NextMany(ctx, "down", 7)
	must(t, err)
	same(t, ids, []int64{9, 7, 5, 3, 1, -1, -3})
	text, err := c.NextText(ctx, "invoices")
	must(t, err)
	parsed, err := c.Parse(ctx, "invoices", text)
	must(t, err)
	if parsed.Number != 1 || parsed.Check != "luhn" || parsed.Date.Year < 2025 || !strings.HasPrefix(parsed.Period, "20") || len(parsed.Period) != 10 {
		t.Errorf("%q means %+v", text, parsed)
	}
	peeked, err := c.Peek(ctx, "orders")
	must(t, err)
	if peeked.Next == nil || *peeked.Next != 1002 || peeked.Last == nil || *peeked.Last != 1001 {
		t.Errorf("peek shows %+v", peeked)
	}
	peeked, err = c.Peek(ctx, "unknown")
	must(t, err)
	same(t, peeked.Last, (*int64)(nil))
	status, err := c.Status(ctx)
	must(t, err)
	if status.PID != d.command.Process.Pid || status.Issued != 1009 || len(status.Stores) != 1 || status.Stores[0].Type != "sqlite" {
		t.Errorf("status shows %+v", status)
	}
	must(t, c.Ping(ctx))
}

// Of what the daemon tells, nothing is missing in Status.
func TestStatus(t *testing.T) {
	d := newDaemon(t, texts)
	c := d.open(Options{})
	ctx := fully(t)
	_, err := c.NextMany(ctx, "orders", 5)
	must(t, err)
	if _, err = c.Parse(ctx, "invoices", "no text of it"); !errors.Is(err, ErrBadText) {
		t.Fatal(err)
	}
	_, err = c.Call(ctx, "drain", "orders")
	must(t, err)
	var status Status
	until(t, "the rate of a sequence is known", func() bool {
		_, err := c.Next(ctx, "orders")
		must(t, err)
		status, err = c.Status(ctx)
		must(t, err)
		return status.RunwayMS != nil
	})
	if status.RunwaySequence != "orders" || *status.RunwayMS < 0 || status.Leases < 2 || status.Gaps < 1 || status.Errors != 1 {
		t.Errorf("status shows %+v", status)
	}
	all, err := c.Call(ctx, "status")
	must(t, err)
	known := map[string]bool{}
	for fields, i := reflect.TypeOf(status), 0; i < fields.NumField(); i++ {
		known[fields.Field(i).Tag.Get("msgpack")] = true
	}
	for key := range all.(map[string]interface{}) {
		if !known[key] {
			t.Errorf("Status has no field for %q", key)
		}
	}
}

func TestSequence(t *testing.T) {
	d := newDaemon(t, texts)
	s := d.open(Options{}).Sequence("invoices")
	ctx := fully(t)
	same(t, s.Name(), "invoices")
	id, err := s.Next(ctx)
	must(t, err)
	same(t, id, int64(1))
	ids, err := s.NextMany(ctx, 2)
	must(t, err)
	same(t, ids, []int64{2, 3})
	runs, err := s.Range(ctx, 2)
	must(t, err)
	same(t, runs, []Run{{4, 2, 1}})
	text, err := s.NextText(ctx)
	must(t, err)
	parsed, err := s.Parse(ctx, text)
	must(t, err)
	same(t, parsed.Number, int64(6))
	peeked, err := s.Peek(ctx)
	must(t, err)
	same(t, *peeked.Last, int64(6))
	if _, err = s.Insert(ctx, map[string]int{}); !errors.Is(err, ErrWrongMode) {
		t.Errorf("%v", err)
	}
	if _, err = s.InsertUnique(ctx, map[string]int{}, "a"); !errors.Is(err, ErrWrongMode) {
		t.Errorf("%v", err)
	}
}

func TestAnyMethod(t *testing.T) {
	d := newDaemon(t, "")
	c := d.open(Options{})
	ctx := fully(t)
	for _, want := range []int64{1, 2} {
		id, err := c.Call(ctx, "next", "orders", map[string]int{"timeout_ms": 54_000})
		must(t, err)
		same(t, id, want)
	}
	runs, err := c.Call(ctx, "range", "orders", 3)
	must(t, err)
	same(t, runs, []interface{}{[]interface{}{int64(3), int64(3), int64(1)}})
	explained, err := c.Call(ctx, "explain", "orders", 2)
	must(t, err)
	same(t, explained.(map[string]interface{})["answer"], "issued")
	var audit struct {
		Good bool `msgpack:"good"`
	}
	must(t, c.CallInto(ctx, &audit, "audit", "orders"))
	same(t, audit.Good, true)
	for _, method := range []string{"hello", "ack", "insert"} {
		if _, err := c.Call(ctx, method); !errors.Is(err, ErrArgument) {
			t.Errorf("%s: %v", method, err)
		}
	}
}

func TestErrors(t *testing.T) {
	d := newDaemon(t, texts+"[sequence.\"small\"]\nmax_value = 10\n")
	c := d.open(Options{})
	ctx := fully(t)
	deep := interface{}(1)
	for i := 0; i < 10; i++ {
		deep = []interface{}{deep}
	}
	long := strings.Repeat("n", 129)
	for name, test := range map[string]struct {
		code Code
		call func() error
	}{
		"a name that is none": {ErrBadRequest, func() error { _, err := c.Next(ctx, "not a name"); return err }},
		"a long name":         {ErrTooLarge, func() error { _, err := c.Next(ctx, long); return err }},
		"a name above frame":  {ErrTooLarge, func() error { _, err := c.Next(ctx, strings.Repeat("n", 70000)); return err }},
		"a count of 0":        {ErrBadRequest, func() error { _, err := c.Range(ctx, "orders", 0); return err }},
		"a negative count":    {ErrBadRequest, func() error { _, err := c.NextMany(ctx, "orders", -1); return err }},
		"a count too high":    {ErrTooLarge, func() error { _, err := c.NextMany(ctx, "orders", 1<<40); return err }},
		"no method":           {ErrNoMethod, func() error { _, err := c.Call(ctx, "nothing"); return err }},
		"no format":           {ErrConfig, func() error { _, err := c.NextText(ctx, "down"); return err }},
		"deep":                {ErrBadRequest, func() error { _, err := c.Call(ctx, "list", deep); return err }},
		"exhausted":           {ErrExhausted, func() error { _, err := c.Range(ctx, "small", 11); return err }},
		"a wrong mode":        {ErrWrongMode, func() error { _, err := c.Insert(ctx, "orders", map[string]int{"a": 1}); return err }},
		"a function":          {ErrArgument, func() error { _, err := c.Call(ctx, "list", func() {}); return err }},
	} {
		err := test.call()
		var e *Error
		var code Code
		if !errors.Is(err, test.code) || !errors.As(err, &e) || e.Text == "" || e.Temporary() || !errors.As(err, &code) || code != test.code {
			t.Errorf("%s: %#v", name, err)
		}
	}
	// None of them ended the connection or took an ID.
	id, err := c.Next(ctx, "orders")
	must(t, err)
	same(t, id, int64(1))
}

// TestStoreUnavailable: a waiting request ends by the daemon's reply, with its reason, at a deadline.
func TestStoreUnavailable(t *testing.T) {
	d := newDaemon(t, "[store.central]\ntype = \"mongodb\"\nuri = \"mongodb://127.0.0.1:9\"\ndatabase = \"x\"\n")
	c := d.open(Options{})
	must(t, c.Ping(fully(t)))
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err := c.Next(ctx, "orders")
	var e *Error
	if !errors.As(err, &e) || !e.Temporary() || !(e.Code == ErrUnavailable || e.Code == ErrTimeout) {
		t.Errorf("%v", err)
	}
	// One that was canceled does not stand in the way of others.
	canceled, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { _, err := c.Next(canceled, "orders"); done <- err }()
	until(t, "the request waits", func() bool {
		status, err := c.Status(fully(t))
		return err == nil && status.Waiting == 1
	})
	cancel()
	if err := <-done; !errors.Is(err, ErrCanceled) || !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	must(t, c.Ping(fully(t)))
}

func TestNoDaemon(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.sock")
	c := openClient(t, Options{Socket: path, ConnectTimeout: 500 * time.Millisecond}) // enough for one attempt
	_, err := c.Next(context.Background(), "orders")
	if !errors.Is(err, ErrConnect) || !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
	c = openClient(t, Options{Socket: path, Timeout: 20 * time.Millisecond})
	_, err = c.Next(context.Background(), "orders")
	var e *Error
	if !errors.As(err, &e) || e.Code != ErrConnect || !e.Temporary() {
		t.Errorf("%v", err)
	}
	c = openClient(t, Options{Socket: path})
	for again := true; again; again = errors.Is(err, ErrTimeout) { // over before it began
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		_, err = c.Next(ctx, "orders")
		cancel()
	}
	var timeout net.Error
	if !errors.Is(err, ErrConnect) || !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("%v", err)
	}
	// What cannot become better by waiting ends at once: the Timeout is five seconds, the test's is not.
	c = openClient(t, Options{Socket: t.TempDir() + strings.Repeat("/long", 30), Timeout: -1})
	if _, err = c.Next(context.Background(), "orders"); !errors.Is(err, ErrConnect) {
		t.Errorf("%v", err)
	}
}

func TestOptions(t *testing.T) {
	if _, err := Open(&Options{Name: strings.Repeat("n", 65)}); !errors.Is(err, ErrArgument) {
		t.Errorf("%v", err)
	}
	d := newDaemon(t, "")
	t.Setenv("SEQD_SOCKET", d.socket)
	c, err := Open(nil)
	must(t, err)
	defer c.Close()
	must(t, c.Ping(fully(t)))
	t.Setenv("SEQD_SOCKET", "")
	other, err := Open(nil)
	must(t, err)
	same(t, other.s.options.Socket, DefaultSocket)
	must(t, other.Close())
}

func TestOverBeforeItBegan(t *testing.T) {
	d := newDaemon(t, "")
	c := d.open(Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.Next(ctx, "orders"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	ctx, cancel = context.WithTimeout(context.Background(), -1)
	defer cancel()
	if _, err := c.Next(ctx, "orders"); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrTimeout) {
		t.Errorf("%v", err)
	}
	id, err := c.Next(fully(t), "orders")
	must(t, err)
	same(t, id, int64(1))
}

// TestTheDaemonComesLater: a call made before the daemon is there is carried out by it.
func TestTheDaemonComesLater(t *testing.T) {
	d := newDaemon(t, "")
	d.terminate()
	c := d.open(Options{})
	ids := make(chan int64)
	go func() {
		id, err := c.Next(fully(t), "orders")
		if err != nil {
			t.Error(err)
		}
		ids <- id
	}()
	until(t, "it has failed to connect", func() bool {
		c.s.mu.Lock()
		defer c.s.mu.Unlock()
		return c.s.trouble != nil
	})
	d.start()
	same(t, <-ids, int64(1))
}

func TestManyInFlight(t *testing.T) {
	d := newDaemon(t, "")
	c := d.open(Options{})
	const calls = 10_000
	ids := make([]int64, calls)
	var ready, done sync.WaitGroup
	begin := make(chan struct{})
	ready.Add(calls)
	done.Add(calls)
	for i := 0; i < calls; i++ {
		go func(i int) {
			defer done.Done()
			ready.Done()
			<-begin
			var err error
			if ids[i], err = c.Next(fully(t), "orders"); err != nil {
				t.Error(err)
			}
		}(i)
	}
	ready.Wait()
	close(begin)
	done.Wait()
	checkAll(t, ids, 1)
	// The burst is acknowledged though no request follows.
	until(t, "the replies are acknowledged", func() bool {
		c.s.mu.Lock()
		defer c.s.mu.Unlock()
		return c.s.acked == c.s.table.next && c.s.acked == calls+1
	})
}

func TestSequencesBesideEachOther(t *testing.T) {
	d := newDaemon(t, texts)
	c := d.open(Options{})
	names := []string{"a", "b", "invoices"}
	var done sync.WaitGroup
	taken := make([][]int64, len(names))
	var mu sync.Mutex
	for worker := 0; worker < 12; worker++ {
		done.Add(1)
		go func(worker int) {
			defer done.Done()
			which := worker % len(names)
			for i := 0; i < 300; i++ {
				var ids []int64
				id, err := c.Next(fully(t), names[which])
				ids = append(ids, id)
				if err == nil && i%3 == 0 {
					var more []int64
					more, err = c.NextMany(fully(t), names[which], 1+i%7)
					ids = append(ids, more...)
				}
				if err == nil && i%5 == 0 && names[which] == "invoices" {
					var text string
					var parsed Parsed
					if text, err = c.NextText(fully(t), "invoices"); err == nil {
						parsed, err = c.Parse(fully(t), "invoices", text)
						ids = append(ids, parsed.Number)
					}
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				taken[which] = append(taken[which], ids...)
				mu.Unlock()
			}
		}(worker)
	}
	done.Wait()
	for _, ids := range taken {
		checkAll(t, ids, 1)
	}
}

func TestIntegersOfACall(t *testing.T) {
	got := integers(map[string]interface{}{"a": []interface{}{uint64(1), uint64(1 << 63)}})
	want := map[string]interface{}{"a": []interface{}{int64(1), uint64(1 << 63)}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%#v", got)
	}
}
