//go:build seqd_blocks && cgo && linux

package seqd

import (
	"context"
	"errors"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const withBlocks = `
[sequence."orders"]
blocks = true
wait_timeout = "30s"
[sequence."single"]
`

// settled checks the daemon's books when no block is out: what was issued and did not come to
// anybody is at most `lost`.
func settled(t *testing.T, d *daemon, taken []int64, lost int) {
	t.Helper()
	seen := make(map[int64]bool, len(taken))
	for _, id := range taken {
		if seen[id] {
			t.Fatalf("%d came twice", id)
		}
		seen[id] = true
	}
	var audit struct {
		Good   bool  `msgpack:"good"`
		Issued int64 `msgpack:"issued"`
		Out    int64 `msgpack:"out"`
		Gaps   int64 `msgpack:"gaps"`
	}
	asker := d.open(Options{})
	until(t, "no block is out", func() bool {
		must(t, asker.CallInto(fully(t), &audit, "audit", "orders"))
		return audit.Out == 0
	})
	if !audit.Good || audit.Gaps != 0 || audit.Issued < int64(len(taken)) || audit.Issued > int64(len(taken)+lost) {
		t.Errorf("%d IDs came, and the daemon's books say %+v", len(taken), audit)
	}
}

func requests(t *testing.T, d *daemon) int64 {
	var status struct {
		Requests int64 `msgpack:"requests"`
	}
	must(t, d.open(Options{}).CallInto(fully(t), &status, "status"))
	return status.Requests
}

func TestBlocksNeedFewRequestsAndLoseNothing(t *testing.T) {
	d := newDaemon(t, withBlocks)
	c := d.open(Options{Blocks: OnlyBlocks})
	before := requests(t, d)
	var taken []int64
	for i := 0; i < 50_000; i++ {
		id, err := c.Next(fully(t), "orders")
		must(t, err)
		taken = append(taken, id)
	}
	if more := requests(t, d) - before; more > 5_000 {
		t.Errorf("%d requests", more)
	}
	more, err := c.NextMany(fully(t), "orders", 10)
	must(t, err)
	if allocations := testing.AllocsPerRun(5_000, func() {
		id, err := c.Next(context.Background(), "orders")
		if err != nil {
			t.Error(err)
		}
		taken = append(taken, id)
	}); allocations > 0 {
		t.Errorf("%.0f allocations a call", allocations)
	}
	must(t, c.Close())
	settled(t, d, append(taken, more...), 0)
	if _, err := c.Next(fully(t), "orders"); !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
}

// takeFromBlocks takes with some goroutines until `enough`; their IDs come from the channel.
func takeFromBlocks(t *testing.T, c *Client, goroutines int, enough *atomic.Bool, count *atomic.Int64) <-chan []int64 {
	results := make(chan []int64, goroutines)
	for worker := 0; worker < goroutines; worker++ {
		go func() {
			var mine []int64
			for turn := 0; !enough.Load(); turn++ {
				id, err := c.Next(context.Background(), "orders")
				if errors.Is(err, ErrClosed) {
					break
				}
				if err != nil {
					t.Error(err)
					break
				}
				mine = append(mine, id)
				count.Add(1)
				if turn%16 == 0 {
					time.Sleep(500 * time.Microsecond) // so many IDs are enough
				}
			}
			results <- mine
		}()
	}
	return results
}

// TestBlocksAndKills: kill -9 of the daemon under load, a quarter of KILLS= times.
func TestBlocksAndKills(t *testing.T) {
	kills := 5
	if text := os.Getenv("KILLS"); text != "" {
		var err error
		kills, err = strconv.Atoi(text)
		must(t, err)
		kills = (kills + 3) / 4
	}
	d := newDaemon(t, withBlocks)
	c := d.open(Options{Blocks: OnlyBlocks})
	var enough atomic.Bool
	var count atomic.Int64
	const goroutines = 8
	results := takeFromBlocks(t, c, goroutines, &enough, &count)
	for i := 0; i < kills && !t.Failed(); i++ {
		wanted := count.Load() + rand.Int63n(5_000)
		until(t, "IDs are taken", func() bool { return count.Load() > wanted || t.Failed() })
		d.kill()
		d.start()
	}
	// Until the client has connected again: the daemon waits for it for 10 s.
	wanted := count.Load() + 20_000
	until(t, "IDs are taken", func() bool { return count.Load() > wanted || t.Failed() })
	enough.Store(true)
	var taken []int64
	for i := 0; i < goroutines; i++ {
		taken = append(taken, <-results...)
	}
	must(t, c.Close())
	settled(t, d, taken, 0)
	t.Logf("%d kills, %d IDs", kills, len(taken))
}

// TestBlocksAndClose: Close in the middle of the load returns what is left, and leaves no goroutine.
func TestBlocksAndClose(t *testing.T) {
	d := newDaemon(t, withBlocks)
	var taken []int64
	const rounds, goroutines = 10, 4
	for i := 0; i < rounds; i++ {
		c := d.open(Options{Blocks: AutoBlocks})
		var enough atomic.Bool
		var count atomic.Int64
		results := takeFromBlocks(t, c, goroutines, &enough, &count)
		until(t, "IDs are taken", func() bool { return count.Load() > 1_000 })
		must(t, c.Close())
		for j := 0; j < goroutines; j++ {
			taken = append(taken, <-results...)
		}
		until(t, "no goroutine is left", func() bool { return len(ours()) == 0 })
	}
	// A request that was under way costs its ID, as ever.
	settled(t, d, taken, rounds*goroutines)
}

func TestBlocksAndContexts(t *testing.T) {
	d := newDaemon(t, withBlocks)
	c := d.open(Options{Blocks: OnlyBlocks})
	_, err := c.Next(fully(t), "orders")
	must(t, err)
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.Next(canceled, "orders"); !errors.Is(err, ErrCanceled) {
		t.Errorf("%v", err)
	}
	d.terminate()
	short, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	for err == nil {
		_, err = c.Next(short, "orders")
	}
	if !errors.Is(err, ErrConnect) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestSequencesWithoutBlocks(t *testing.T) {
	d := newDaemon(t, withBlocks)
	only := d.open(Options{Blocks: OnlyBlocks})
	// As soon as the daemon has said so: until then they are requests.
	var err error
	until(t, "it is an error", func() bool { _, err = only.Next(fully(t), "single"); return err != nil })
	if !errors.Is(err, ErrWrongMode) || !strings.Contains(err.Error(), "has no blocks") {
		t.Errorf("%v", err)
	}
	auto := d.open(Options{Blocks: AutoBlocks})
	until(t, "it was refused", func() bool {
		_, err := auto.Next(fully(t), "single")
		must(t, err)
		auto.b.mu.RLock()
		defer auto.b.mu.RUnlock()
		return len(auto.b.refused) == 1 && len(auto.b.handles) == 0
	})
	// A minute later it is asked again.
	auto.b.mu.Lock()
	auto.b.now = func() time.Time { return time.Now().Add(2 * refusedAgain) }
	auto.b.mu.Unlock()
	_, err = auto.Next(fully(t), "single")
	must(t, err)
	if len(auto.b.refused) != 0 || len(auto.b.handles) != 1 {
		t.Errorf("%d are refused, %d have handles", len(auto.b.refused), len(auto.b.handles))
	}
	for _, name := range []string{"", "x y", "a\x00b", strings.Repeat("x", 200)} {
		_, expected := d.open(Options{}).Next(fully(t), name)
		_, err := auto.Next(fully(t), name)
		if err == nil || err.Error() != expected.Error() {
			t.Errorf("%q: %v instead of %v", name, err, expected)
		}
	}
	if auto.b.used[strings.Repeat("x", 200)] {
		t.Error("what is too long for a name is remembered")
	}
}

func TestBlocksAreOfSoManySequences(t *testing.T) {
	d := newDaemon(t, "[sequence_defaults]\nblocks = true\n")
	c := d.open(Options{Blocks: AutoBlocks})
	var workers sync.WaitGroup
	for i := 0; i < mostBlocks+10; i++ {
		workers.Add(1)
		go func(name string) {
			defer workers.Done()
			for j := 0; j < 3; j++ {
				if _, err := c.Next(fully(t), name); err != nil {
					t.Error(err)
				}
			}
		}("tenant" + strconv.Itoa(i))
	}
	workers.Wait()
	if len(c.b.handles) != mostBlocks {
		t.Errorf("%d sequences have blocks", len(c.b.handles))
	}
}

// TestBlocksAndNamesThatAreRefused: each of them once, as those of a service whose names come from
// its users. They keep none of the handles.
func TestBlocksAndNamesThatAreRefused(t *testing.T) {
	d := newDaemon(t, "allow_unlisted = false\n"+withBlocks)
	c := d.open(Options{Blocks: OnlyBlocks})
	for i := 0; i < mostBlocks; i++ {
		if _, err := c.Next(fully(t), "other"+strconv.Itoa(i)); !errors.Is(err, ErrNoSequence) {
			t.Fatalf("%v", err)
		}
	}
	before := requests(t, d)
	for i := 0; i < 1_000; i++ {
		_, err := c.Next(fully(t), "orders")
		must(t, err)
	}
	if more := requests(t, d) - before; more > 300 {
		t.Errorf("%d requests", more)
	}
	if len(c.b.handles) != 1 {
		t.Errorf("%d sequences have handles", len(c.b.handles))
	}
}

// TestSequencesWithoutBlocksThatAreUsedOnce: no further call could tell that they have no blocks.
// They keep none of the handles.
func TestSequencesWithoutBlocksThatAreUsedOnce(t *testing.T) {
	d := newDaemon(t, withBlocks)
	c := d.open(Options{Blocks: AutoBlocks})
	for i := 0; i < mostBlocks; i++ {
		_, err := c.Next(fully(t), "other"+strconv.Itoa(i))
		must(t, err)
	}
	if len(c.b.handles) != 0 {
		t.Errorf("%d sequences have handles", len(c.b.handles))
	}
	before := requests(t, d)
	for i := 0; i < 1_000; i++ {
		_, err := c.Next(fully(t), "orders")
		must(t, err)
	}
	if more := requests(t, d) - before; more > 300 {
		t.Errorf("%d requests", more)
	}
}

// TestSequencesWithoutBlocksThatAreUsedAFewTimes: too seldom for the answer that tells that they have
// none.
func TestSequencesWithoutBlocksThatAreUsedAFewTimes(t *testing.T) {
	d := newDaemon(t, withBlocks)
	for uses := 1; uses <= 5; uses++ {
		c := d.open(Options{Blocks: AutoBlocks})
		useOthers := func(word string) {
			for i := 0; i < (mostBlocks+2)*uses; i++ {
				_, err := c.Next(fully(t), word+strconv.Itoa(i/uses))
				must(t, err)
			}
		}
		useOthers("other")
		before := requests(t, d)
		for i := 0; i < 1_000; i++ {
			_, err := c.Next(fully(t), "orders")
			must(t, err)
		}
		if more := requests(t, d) - before; more > 300 {
			t.Errorf("%d uses: %d requests", uses, more)
		}
		// Nor does it make room for them.
		held := c.b.handles["orders"]
		useOthers("another")
		if c.b.handles["orders"] != held || len(c.b.handles) > mostBlocks {
			t.Errorf("%d uses: another handle, or one of %d", uses, len(c.b.handles))
		}
		must(t, c.Close())
	}
}

// TestBlocksOfMoreSequencesInTurn: they do not push each other out before they have their first block.
func TestBlocksOfMoreSequencesInTurn(t *testing.T) {
	d := newDaemon(t, "[sequence_defaults]\nblocks = true\n")
	c := d.open(Options{Blocks: AutoBlocks})
	until(t, "so many have blocks", func() bool {
		for i := 0; i < mostBlocks+30; i++ {
			_, err := c.Next(fully(t), "tenant"+strconv.Itoa(i))
			must(t, err)
		}
		return c.b.proved.Load() == mostBlocks
	})
}

// TestBlocksAndSequencesWithoutThem: a sequence that is asked by requests does not wait for those
// that take from blocks, nor do these wait for it.
func TestBlocksAndSequencesWithoutThem(t *testing.T) {
	d := newDaemon(t, "[sequence_defaults]\nblocks = true\n[sequence.\"single\"]\nblocks = false\n")
	c := d.open(Options{Blocks: AutoBlocks})
	until(t, "it was refused", func() bool {
		_, err := c.Next(fully(t), "single")
		must(t, err)
		c.b.mu.RLock()
		defer c.b.mu.RUnlock()
		return len(c.b.refused) == 1
	})
	until(t, "so many have blocks", func() bool {
		for i := 0; i < mostBlocks; i++ {
			_, err := c.Next(fully(t), "tenant"+strconv.Itoa(i))
			must(t, err)
		}
		return c.b.proved.Load() == mostBlocks
	})
	c.b.mu.RLock() // as in the middle of a call that takes
	defer c.b.mu.RUnlock()
	for _, name := range []string{"single", "another"} {
		done := make(chan error, 1)
		go func() {
			_, err := c.Next(context.Background(), name)
			done <- err
		}()
		select {
		case err := <-done:
			must(t, err)
		case <-fully(t).Done():
			t.Fatalf("Next of %q waits for the lock", name)
		}
	}
}

// TestBlocksAndLongTimeouts: libseqd knows no time above 365 days.
func TestBlocksAndLongTimeouts(t *testing.T) {
	d := newDaemon(t, withBlocks)
	c := d.open(Options{Blocks: AutoBlocks, Timeout: 1000 * 24 * time.Hour})
	for i := 0; i < 2; i++ {
		_, err := c.Next(context.Background(), "orders")
		must(t, err)
	}
	if len(c.b.handles) != 1 {
		t.Errorf("%d sequences have handles", len(c.b.handles))
	}
}

func BenchmarkBlocks(b *testing.B) {
	d := newDaemon(b, withBlocks)
	c := d.open(Options{Blocks: OnlyBlocks})
	ctx := context.Background()
	b.Run("one goroutine", func(b *testing.B) {
		for i := 0; i < b.N; i++ {
			if _, err := c.Next(ctx, "orders"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("goroutines", func(b *testing.B) {
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				if _, err := c.Next(ctx, "orders"); err != nil {
					b.Error(err)
				}
			}
		})
	})
}
