package seqd

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is for waits that end only when something is wrong.
const patience = 60 * time.Second

// A daemon is a real seqd, with a configuration, state and socket of its own.
type daemon struct {
	t       testing.TB
	socket  string
	config  string
	command *exec.Cmd
	ended   chan struct{} // closed when the command has ended
	notify  *net.UnixConn
	ready   chan string // notifications with READY=1
	stderr  bytes.Buffer
}

func binary(t testing.TB, name string) string {
	folder := os.Getenv("SEQD_BUILD")
	if folder == "" {
		folder = "../../build"
	}
	path, err := filepath.Abs(filepath.Join(folder, name))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatalf("%v: build it with make, or set SEQD_BUILD", err)
	}
	return path
}

// The kernel kills a daemon when the thread that started it ends: this one does not.
var starts = make(chan func())

func init() {
	go func() {
		runtime.LockOSThread()
		for start := range starts {
			start()
		}
	}()
}

// newDaemon starts a daemon with further lines of configuration.
func newDaemon(t testing.TB, config string) *daemon {
	t.Helper()
	short, err := os.MkdirTemp("/dev/shm", "seqd-go-") // the witness belongs on a tmpfs
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{t: t, socket: filepath.Join(short, "seqd.sock"), config: filepath.Join(short, "seqd.toml")}
	state := t.TempDir()
	d.configure(short, state, config)
	d.notify, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(short, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	d.ready = make(chan string, 16)
	read := make(chan struct{})
	go func() {
		defer close(read)
		d.readNotifications()
	}()
	t.Cleanup(func() {
		d.kill()
		d.notify.Close()
		<-read
		os.RemoveAll(short)
	})
	d.start()
	return d
}

func (d *daemon) configure(short, state, config string) {
	witness := filepath.Join(short, "witness")
	if err := os.MkdirAll(witness, 0o755); err != nil {
		d.t.Fatal(err)
	}
	lines := []string{"[daemon]", "socket = " + strconv.Quote(d.socket), "state_dir = " + strconv.Quote(state),
		"witness_dir = " + strconv.Quote(witness)}
	if !strings.Contains(config, "[store.") {
		config += "\n[store.default]\ntype = \"sqlite\"\n"
	}
	if err := os.WriteFile(d.config, []byte(strings.Join(lines, "\n")+"\n"+config+"\n"), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

// start waits until the daemon is ready.
func (d *daemon) start() {
	d.t.Helper()
	d.spawn()
	d.awaitReady()
}

func (d *daemon) spawn() {
	d.t.Helper()
	d.command = exec.Command(binary(d.t, "seqd"), "--config", d.config)
	d.command.Stderr = &d.stderr
	for _, one := range os.Environ() {
		if !strings.HasPrefix(one, "NOTIFY_SOCKET=") && !strings.HasPrefix(one, "LISTEN_") && !strings.HasPrefix(one, "JOURNAL_STREAM=") {
			d.command.Env = append(d.command.Env, one)
		}
	}
	d.command.Env = append(d.command.Env, "NOTIFY_SOCKET="+d.notify.LocalAddr().String())
	d.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	result := make(chan error)
	starts <- func() { result <- d.command.Start() }
	if err := <-result; err != nil {
		d.t.Fatal(err)
	}
	ended, command := make(chan struct{}), d.command
	d.ended = ended
	go func() {
		command.Wait()
		close(ended)
	}()
}

// readNotifications reads all of them, also those of the running daemon: a queue that is full would
// stop it.
func (d *daemon) readNotifications() {
	message := make([]byte, 4096)
	for {
		n, err := d.notify.Read(message)
		if err != nil {
			return
		}
		if text := string(message[:n]); strings.Contains(text, "READY=1") {
			d.ready <- text
		}
	}
}

func (d *daemon) awaitReady() {
	d.t.Helper()
	end := time.After(patience)
	for {
		select {
		case text := <-d.ready:
			if strings.Contains(text, "MAINPID") == strings.Contains(text, "MAINPID="+strconv.Itoa(d.command.Process.Pid)) {
				return
			}
		case <-d.ended:
			d.t.Fatalf("the daemon ended before it was ready: %v\n%s", d.command.ProcessState, d.stderr.String())
		case <-end:
			d.kill()
			d.t.Fatalf("the daemon did not become ready\n%s", d.stderr.String())
		}
	}
}

func (d *daemon) kill() {
	d.command.Process.Kill()
	<-d.ended
}

func (d *daemon) terminate() {
	d.t.Helper()
	d.command.Process.Signal(syscall.SIGTERM)
	<-d.ended
	if !d.command.ProcessState.Success() {
		d.t.Errorf("the daemon ended with %v after SIGTERM\n%s", d.command.ProcessState, d.stderr.String())
	}
}

// open makes a client of the daemon that the test closes at its end.
func (d *daemon) open(options Options) *Client {
	d.t.Helper()
	options.Socket = d.socket
	if options.Timeout == 0 {
		options.Timeout = patience
	}
	return openClient(d.t, options)
}

func openClient(t testing.TB, options Options) *Client {
	t.Helper()
	client, err := Open(&options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// fully returns the context of a test step that has to succeed.
func fully(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// until waits for a condition.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// checkAll fails the test unless the IDs are first, first+1, ... each once: nothing twice, no hole.
func checkAll(t testing.TB, ids []int64, first int64) {
	t.Helper()
	seen := make(map[int64]bool, len(ids))
	twice, highest := 0, first-1
	for _, id := range ids {
		if seen[id] {
			twice++
		}
		seen[id] = true
		if id > highest {
			highest = id
		}
	}
	holes := int(highest-first+1) - len(seen)
	if twice > 0 || holes > 0 {
		t.Errorf("of %d IDs %d came twice, and there are %d holes", len(ids), twice, holes)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func same(t testing.TB, got, want interface{}) {
	t.Helper()
	if fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
		t.Errorf("got %#v, want %#v", got, want)
	}
}
