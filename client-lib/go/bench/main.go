// Bench measures this client with seqd beside go-redis with Redis, in turns, in one run, on real
// servers over Unix sockets. It prints one row for each load: the median of the rounds.
//
//	SEQD_BUILD=../../../build go run .
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	seqd "seqd/client-lib/go"
)

var (
	rounds = flag.Int("rounds", 5, "rounds of each load")
	length = flag.Duration("length", time.Second, "time of a round")
)

// A side takes one ID, or `each` IDs with each>1, of the worker's own turn.
type side struct {
	name string
	each int
	take func(ctx context.Context) error
}

func main() {
	flag.Parse()
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	folder, err := os.MkdirTemp("/dev/shm", "seqd-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	stopSeqd, socket, err := startSeqd(folder)
	if err != nil {
		return err
	}
	defer stopSeqd()
	stopRedis, redisSocket, err := startRedis(folder)
	if err != nil {
		return err
	}
	defer stopRedis()

	client, err := seqd.Open(&seqd.Options{Socket: socket})
	if err != nil {
		return err
	}
	defer client.Close()
	redisOptions := func(pool int) *redis.Options {
		return &redis.Options{Network: "unix", Addr: redisSocket, PoolSize: pool}
	}
	ordinary := redis.NewClient(redisOptions(0))
	defer ordinary.Close()
	wide := redis.NewClient(redisOptions(100))
	defer wide.Close()
	ctx := context.Background()
	if err := await(func() error { return client.Ping(ctx) }); err != nil {
		return err
	}
	if err := await(func() error { return ordinary.Ping(ctx).Err() }); err != nil {
		return err
	}

	ours := side{"seqd", 1, func(ctx context.Context) error { _, err := client.Next(ctx, "orders"); return err }}
	theirs := side{"go-redis", 1, func(ctx context.Context) error { return ordinary.Incr(ctx, "orders").Err() }}
	pooled := side{"go-redis, pool of 100", 1, func(ctx context.Context) error { return wide.Incr(ctx, "orders").Err() }}
	byHand := side{"go-redis, Pipeline of 100 by hand", 100, func(ctx context.Context) error {
		pipe := ordinary.Pipeline()
		for i := 0; i < 100; i++ {
			pipe.Incr(ctx, "orders")
		}
		_, err := pipe.Exec(ctx)
		return err
	}}
	many := side{"seqd, NextMany of 100", 100, func(ctx context.Context) error { _, err := client.NextMany(ctx, "orders", 100); return err }}

	fmt.Printf("%-34s %8s %10s %9s %9s\n", "", "at once", "IDs/s", "p50 µs", "p99 µs")
	for _, load := range []struct {
		name    string
		workers int
		sides   []side
	}{
		{"unpipelined", 1, []side{ours, theirs}},
		{"100 at once", 100, []side{ours, theirs, pooled}},
		{"100 by one caller", 1, []side{many, byHand}},
	} {
		if err := measure(load.workers, load.sides); err != nil {
			return fmt.Errorf("%s: %w", load.name, err)
		}
	}
	return nil
}

type figures struct{ rate, p50, p99 float64 }

// measure prints a row for each side, the median of rounds in turns.
func measure(workers int, sides []side) error {
	all := make([][]figures, len(sides))
	for round := 0; round <= *rounds; round++ {
		for i, one := range sides {
			got, err := drive(workers, one)
			if err != nil {
				return fmt.Errorf("%s: %w", one.name, err)
			}
			if round > 0 { // the first one is to get warm
				all[i] = append(all[i], got)
			}
		}
	}
	for i, one := range sides {
		sort.Slice(all[i], func(a, b int) bool { return all[i][a].rate < all[i][b].rate })
		f := all[i][len(all[i])/2]
		fmt.Printf("%-34s %8d %10.0f %9.1f %9.1f\n", one.name, workers, f.rate, f.p50, f.p99)
	}
	return nil
}

func drive(workers int, one side) (figures, error) {
	ctx := context.Background()
	times := make([][]time.Duration, workers)
	errs := make([]error, workers)
	var done sync.WaitGroup
	begin := time.Now()
	for worker := 0; worker < workers; worker++ {
		done.Add(1)
		go func(worker int) {
			defer done.Done()
			for at := time.Now(); at.Sub(begin) < *length; {
				if errs[worker] = one.take(ctx); errs[worker] != nil {
					return
				}
				now := time.Now()
				times[worker] = append(times[worker], now.Sub(at))
				at = now
			}
		}(worker)
	}
	done.Wait()
	elapsed := time.Since(begin)
	var flat []time.Duration
	for worker := range times {
		if errs[worker] != nil {
			return figures{}, errs[worker]
		}
		flat = append(flat, times[worker]...)
	}
	sort.Slice(flat, func(a, b int) bool { return flat[a] < flat[b] })
	micros := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
	return figures{float64(len(flat)*one.each) / elapsed.Seconds(), micros(flat[len(flat)/2]), micros(flat[len(flat)*99/100])}, nil
}

func startSeqd(folder string) (stop func(), socket string, err error) {
	build := os.Getenv("SEQD_BUILD")
	if build == "" {
		build = "../../../build"
	}
	socket = filepath.Join(folder, "seqd.sock")
	state, err := os.MkdirTemp("", "seqd-bench-") // on a disk, as it is used
	if err != nil {
		return nil, "", err
	}
	config := filepath.Join(folder, "seqd.toml")
	text := fmt.Sprintf("[daemon]\nsocket = %s\nstate_dir = %s\nwitness_dir = %s\n[store.default]\ntype = \"sqlite\"\n",
		strconv.Quote(socket), strconv.Quote(state), strconv.Quote(folder))
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return nil, "", err
	}
	end, err := start(filepath.Join(build, "seqd"), "--config", config)
	return func() { end(); os.RemoveAll(state) }, socket, err
}

func startRedis(folder string) (stop func(), socket string, err error) {
	socket = filepath.Join(folder, "redis.sock")
	stop, err = start("redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", folder)
	return stop, socket, err
}

func start(program string, arguments ...string) (func(), error) {
	command := exec.Command(program, arguments...)
	command.Stdout, command.Stderr = io.Discard, os.Stderr
	if err := command.Start(); err != nil {
		return nil, err
	}
	return func() {
		command.Process.Signal(syscall.SIGTERM)
		command.Wait()
	}, nil
}

func await(ready func() error) (err error) {
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if err = ready(); err == nil {
			return nil
		}
	}
	return err
}
