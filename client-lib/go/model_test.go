package seqd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A script of tests/clients/model.json, which says how to read it.
type script struct {
	Name     string
	Client   [][]interface{}
	Timeouts map[string]int
	Outcomes map[string][]string
	Sent     map[string][]int
	Needs    []string
}

// TestModel: what a caller may see, whatever the daemon does. Go has no fork().
func TestModel(t *testing.T) {
	folder := filepath.Join("..", "..", "tests", "clients")
	text, err := os.ReadFile(filepath.Join(folder, "model.json"))
	must(t, err)
	var model struct{ Scripts []script }
	must(t, json.Unmarshal(text, &model))
	for _, one := range model.Scripts {
		one := one
		if contains(one.Needs, "fork") {
			continue
		}
		t.Run(one.Name, func(t *testing.T) {
			for _, need := range one.Needs {
				same(t, contains([]string{"cancel", "timeouts", "closing"}, need), true)
			}
			socket := filepath.Join(t.TempDir(), "s")
			daemon := newScripted(t, filepath.Join(folder, "scripted_daemon.py"), socket, one.Name)
			daemon.until("listening")
			p := &player{t: t, script: one, client: openClient(t, Options{Socket: socket, Timeout: patience}), calls: map[string]*playedCall{}}
			for _, step := range one.Client {
				p.carryOut(daemon, step)
			}
			must(t, p.client.Close())
			said := daemon.end()
			same(t, len(p.calls), len(one.Outcomes))
			for name, allowed := range one.Outcomes {
				if outcome := p.calls[name].outcome; !contains(allowed, outcome) {
					t.Errorf("%s is %q: %v", name, outcome, said)
				}
			}
			for method, allowed := range one.Sent {
				sent := 0
				for _, line := range said {
					if strings.HasPrefix(line, "taken ") && strings.HasSuffix(line, " "+method) {
						sent++
					}
				}
				if !contains(allowed, sent) {
					t.Errorf("%s was sent %d times: %v", method, sent, said)
				}
			}
		})
	}
}

func contains[T comparable](list []T, one T) bool {
	for _, other := range list {
		if one == other {
			return true
		}
	}
	return false
}

type playedCall struct {
	cancel  context.CancelFunc
	done    chan struct{}
	outcome string
}

// A player carries out the steps of the test.
type player struct {
	t      *testing.T
	script script
	client *Client
	calls  map[string]*playedCall
}

func (p *player) carryOut(daemon *scripted, step []interface{}) {
	name := ""
	if len(step) > 1 {
		name = step[1].(string)
	}
	switch step[0] {
	case "start":
		p.start(name, step[2].(string), step[3:])
	case "await":
		<-p.calls[name].done
	case "cancel":
		p.calls[name].cancel()
	case "until":
		daemon.until(name)
	case "tell":
		fmt.Fprintln(daemon.input, name)
	case "close":
		must(p.t, p.client.Close())
	default:
		p.t.Fatalf("no such step: %v", step)
	}
}

func (p *player) start(name, method string, parameters []interface{}) {
	limit := patience
	if ms, there := p.script.Timeouts[name]; there {
		limit = time.Duration(ms) * time.Millisecond
	}
	timed, end := context.WithTimeout(context.Background(), limit)
	ctx, cancel := context.WithCancel(timed)
	c := &playedCall{cancel: cancel, done: make(chan struct{})}
	p.calls[name] = c
	go func() {
		defer end()
		defer close(c.done)
		c.outcome = p.call(ctx, method, parameters)
	}()
}

func (p *player) call(ctx context.Context, method string, parameters []interface{}) string {
	sequence := parameters[0].(string)
	var id int64
	var err error
	result := func() string { return fmt.Sprint("id ", id) }
	switch method {
	case "next":
		id, err = p.client.Next(ctx, sequence)
	case "next_text":
		var text string
		text, err = p.client.NextText(ctx, sequence)
		result = func() string { return "text " + text }
	case "range":
		var ids []int64
		ids, err = p.client.NextMany(ctx, sequence, int(parameters[1].(float64)))
		result = func() string { return "ids " + strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ","), "[]") }
	case "insert":
		id, err = p.client.Insert(ctx, sequence, filled(parameters[1]))
	case "insert_unique":
		id, err = p.client.InsertUnique(ctx, sequence, filled(parameters[1]), parameters[2].(string))
	}
	if err == nil {
		return result()
	}
	var code Code
	if !errors.As(err, &code) {
		return err.Error()
	}
	switch code {
	case ErrCanceled:
		return "error CANCELLED"
	case ErrOutcomeUnknown:
		onlyUnknown(p.t, err)
	}
	return "error " + string(code)
}

// filled is the parameter that a script stands for.
func filled(value interface{}) interface{} {
	fields, ok := value.(map[string]interface{})
	if !ok {
		return value
	}
	if size, there := fields["$text"]; there {
		return strings.Repeat("x", int(size.(float64)))
	}
	if levels, there := fields["$levels"]; there {
		made := []interface{}{}
		for n := int(levels.(float64)); n > 1; n-- {
			made = []interface{}{made}
		}
		return made
	}
	whole := map[string]interface{}{}
	for key, one := range fields {
		whole[key] = filled(one)
	}
	return whole
}

// A scripted is the daemon that carries out its side of a script, and what it says.
type scripted struct {
	t       *testing.T
	command *exec.Cmd
	input   io.WriteCloser
	ended   chan struct{}

	mu   sync.Mutex
	said []string
}

func newScripted(t *testing.T, program, socket, name string) *scripted {
	d := &scripted{t: t, command: exec.Command("/usr/bin/python3", "-B", program, socket, name), ended: make(chan struct{})}
	d.command.Stderr = os.Stderr
	var err error
	d.input, err = d.command.StdinPipe()
	must(t, err)
	output, err := d.command.StdoutPipe()
	must(t, err)
	must(t, d.command.Start())
	t.Cleanup(func() { d.input.Close() })
	go func() {
		defer close(d.ended)
		for lines := bufio.NewScanner(output); lines.Scan(); {
			d.mu.Lock()
			d.said = append(d.said, lines.Text())
			d.mu.Unlock()
		}
	}()
	return d
}

func (d *scripted) lines() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.said...)
}

func (d *scripted) until(event string) {
	until(d.t, event, func() bool {
		for _, line := range d.lines() {
			if strings.HasPrefix(line, "broken") {
				d.t.Fatalf("waiting for %s: %s", event, line)
			}
			if strings.HasPrefix(line+" ", event+" ") {
				return true
			}
		}
		return false
	})
}

// end returns what it said in all.
func (d *scripted) end() []string {
	d.input.Close()
	<-d.ended
	if err := d.command.Wait(); err != nil {
		d.t.Errorf("%v: %v", err, d.lines())
	}
	return d.lines()
}
