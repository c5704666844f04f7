package seqd

import (
	"context"
	"math/rand"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestKills: kill -9 of the daemon under load, KILLS= times (20 if it is not set), and an orderly
// stop now and then. No call fails, no ID comes twice, and none is missing.
func TestKills(t *testing.T) {
	kills := 20
	if text := os.Getenv("KILLS"); text != "" {
		var err error
		kills, err = strconv.Atoi(text)
		must(t, err)
	}
	d := newDaemon(t, "")
	clients := []*Client{d.open(Options{Name: "one"}), d.open(Options{Name: "two"})}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	names := []string{"orders", "items"}
	var mu sync.Mutex
	taken := map[string][]int64{}
	var calls atomic.Int64
	var enough atomic.Bool
	var workers sync.WaitGroup
	for worker := 0; worker < 16; worker++ {
		workers.Add(1)
		go func(worker int) {
			defer workers.Done()
			client, name := clients[worker%2], names[worker/2%2]
			var mine []int64
			for !enough.Load() {
				ids, err := takeSome(ctx, client, name, worker)
				if err != nil {
					t.Errorf("%v", err)
					break
				}
				calls.Add(1)
				mine = append(mine, ids...)
			}
			mu.Lock()
			defer mu.Unlock()
			taken[name] = append(taken[name], mine...)
		}(worker)
	}
	stops := 0
	for i := 0; i < kills && !t.Failed(); i++ {
		// In the middle of the load, at another place of it each time.
		wanted := calls.Load() + rand.Int63n(1000)
		until(t, "calls are carried out", func() bool { return calls.Load() > wanted || t.Failed() })
		time.Sleep(time.Duration(rand.Intn(1000)) * time.Microsecond)
		d.kill()
		d.start()
		if i%10 == 9 {
			d.terminate()
			d.start()
			stops++
		}
	}
	enough.Store(true)
	workers.Wait()
	for _, name := range names {
		checkAll(t, taken[name], 1)
		var audit struct {
			Good   bool  `msgpack:"good"`
			Issued int64 `msgpack:"issued"`
		}
		must(t, clients[0].CallInto(fully(t), &audit, "audit", name))
		if !audit.Good || audit.Issued != int64(len(taken[name])) {
			t.Errorf("%d IDs of %s, and the daemon's books say %+v", len(taken[name]), name, audit)
		}
	}
	t.Logf("%d kills, %d orderly stops, %d calls, %d IDs", kills, stops, calls.Load(), len(taken["orders"])+len(taken["items"]))
}

func takeSome(ctx context.Context, client *Client, name string, worker int) ([]int64, error) {
	switch worker / 4 {
	case 0:
		return client.NextMany(ctx, name, 1+rand.Intn(9))
	case 1:
		text, err := client.NextText(ctx, name)
		if err != nil {
			return nil, err
		}
		id, err := strconv.ParseInt(text, 10, 64)
		return []int64{id}, err
	}
	id, err := client.Next(ctx, name)
	return []int64{id}, err
}

// TestCancellations: callers that leave at any moment cost one ID each at most, and none of another caller.
func TestCancellations(t *testing.T) {
	d := newDaemon(t, "")
	c := d.open(Options{})
	var mu sync.Mutex
	seen := map[int64]bool{}
	var workers sync.WaitGroup
	for worker := 0; worker < 16; worker++ {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for i := 0; i < 500; i++ {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.Intn(200))*time.Microsecond)
				id, err := c.Next(ctx, "orders")
				cancel()
				if err != nil {
					continue
				}
				mu.Lock()
				if seen[id] {
					t.Errorf("%d came twice", id)
				}
				seen[id] = true
				mu.Unlock()
			}
		}()
		if worker%4 == 0 {
			d.kill()
			d.start()
		}
	}
	workers.Wait()
	must(t, c.Ping(fully(t)))
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.s.live != 0 || c.s.queue.first != nil {
		t.Errorf("%d calls are left", c.s.live)
	}
}

// ours is the stacks of goroutines that are in this package's code and not in a test's.
func ours() (stacks []string) {
	all := make([]byte, 1<<20)
	all = all[:runtime.Stack(all, true)]
	for _, stack := range strings.Split(string(all), "\n\n") {
		for _, method := range []string{"(*session).", "(*link)."} {
			if strings.Contains(stack, "seqd/client-lib/go."+method) {
				stacks = append(stacks, stack)
				break
			}
		}
	}
	return stacks
}

// TestNothingIsLeft: Close ends the goroutines and the calls, in whatever state the client is.
func TestNothingIsLeft(t *testing.T) {
	d := newDaemon(t, "[store.central]\ntype = \"mongodb\"\nuri = \"mongodb://127.0.0.1:9\"\ndatabase = \"x\"\n")
	descriptors := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		must(t, err)
		return len(entries)
	}
	before := descriptors()
	for i := 0; i < 50; i++ {
		socket := d.socket
		if i%3 == 2 {
			socket += ".none"
		}
		c := openClient(t, Options{Socket: socket, Timeout: patience})
		if i%2 == 0 && i%3 != 2 {
			must(t, c.Ping(fully(t)))
		}
		errs := make(chan error)
		const calls = 20
		for j := 0; j < calls; j++ {
			go func() { _, err := c.Next(context.Background(), "orders"); errs <- err }()
		}
		if i%5 != 0 {
			until(t, "calls wait", func() bool { c.s.mu.Lock(); defer c.s.mu.Unlock(); return c.s.live == calls })
		}
		must(t, c.Close())
		for j := 0; j < calls; j++ {
			if err := <-errs; err != nil && err.(*Error).Code != ErrClosed {
				t.Errorf("%v", err)
			}
		}
		must(t, c.Close())
		if _, err := c.Next(context.Background(), "orders"); err.(*Error).Code != ErrClosed {
			t.Errorf("%v", err)
		}
		// What has said that it ends may still be on its last instructions.
		until(t, "no goroutine is left", func() bool { return len(ours()) == 0 })
	}
	if after := descriptors(); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

// TestMemoryIsFlat: over a million calls, the heap does not grow, and a call allocates nothing.
func TestMemoryIsFlat(t *testing.T) {
	calls := 1_000_000
	if testing.Short() || raceDetector {
		calls = 100_000
	}
	d := newDaemon(t, "")
	c := d.open(Options{})
	const workers = 50
	some := func(calls int) {
		var done sync.WaitGroup
		for worker := 0; worker < workers; worker++ {
			done.Add(1)
			go func() {
				defer done.Done()
				for i := 0; i < calls/workers; i++ {
					if _, err := c.Next(context.Background(), "orders"); err != nil {
						t.Error(err)
						return
					}
				}
			}()
		}
		done.Wait()
	}
	measure := func() (heap, total uint64) {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc, m.Mallocs
	}
	some(calls / 10)
	before, mallocsBefore := measure()
	some(calls)
	after, mallocsAfter := measure()
	perCall := float64(mallocsAfter-mallocsBefore) / float64(calls)
	t.Logf("heap before %d KiB, after %d KiB; %.4f allocations a call", before>>10, after>>10, perCall)
	if after > before+256<<10 {
		t.Errorf("the heap has grown from %d to %d bytes", before, after)
	}
	alone := testing.AllocsPerRun(5000, func() {
		if _, err := c.Next(context.Background(), "orders"); err != nil {
			t.Error(err)
		}
	})
	if (perCall > 0.1 || alone > 0) && !raceDetector {
		t.Errorf("%.3f allocations a call of many, %.0f of one alone", perCall, alone)
	}
}
