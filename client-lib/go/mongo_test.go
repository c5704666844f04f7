package seqd

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// mongo returns the URI of a real MongoDB. `make test-go` starts one.
func mongo(t *testing.T) string {
	t.Helper()
	uri := os.Getenv("SEQD_TEST_MONGO_URI")
	if uri == "" {
		t.Fatal("SEQD_TEST_MONGO_URI is not set: run make test-go")
	}
	return uri
}

// shell runs lines of Python with `db`, a database of MongoDB, and returns what they print.
func shell(t *testing.T, uri, database, lines string) string {
	t.Helper()
	out, err := exec.Command("/usr/bin/python3", "-c",
		"import pymongo, sys\ndb = pymongo.MongoClient(sys.argv[1])[sys.argv[2]]\n"+lines, uri, database).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

func mongoDaemon(t *testing.T, uri, database, sequences string) *daemon {
	t.Helper()
	shell(t, uri, database, "db.client.drop_database(db.name)")
	return newDaemon(t, "[store.central]\ntype = \"mongodb\"\nuri = "+strconv.Quote(uri)+"\ndatabase = "+strconv.Quote(database)+
		"\n[sequence_defaults]\nwait_timeout = \"30s\"\n"+sequences)
}

type person struct {
	Key  string    `msgpack:"key"`
	Name string    `msgpack:"name"`
	Born time.Time `msgpack:"born"`
	Raw  []byte    `msgpack:"raw"`
	Age  int       `msgpack:"age"`
}

func TestInsert(t *testing.T) {
	uri := mongo(t)
	d := mongoDaemon(t, uri, "seqd_go_insert", "[sequence.\"people\"]\nmode = \"insert\"\ncollection = \"people\"\n")
	shell(t, uri, "seqd_go_insert", "db.people.create_index('key', unique=True)")
	c := d.open(Options{})
	ctx := fully(t)
	born := time.UnixMilli(1795304109123).UTC()
	id, err := c.Insert(ctx, "people", person{"a", "Ada", born, []byte{0, 1}, 36})
	must(t, err)
	same(t, id, int64(1))
	same(t, shell(t, uri, "seqd_go_insert", "print(db.people.find_one({'_id': 1}))"),
		"{'_id': 1, 'key': 'a', 'name': 'Ada', 'born': datetime.datetime(2026, 11, 21, 23, 35, 9, 123000), 'raw': b'\\x00\\x01', 'age': 36}")
	id, err = c.InsertUnique(ctx, "people", map[string]interface{}{"key": "a"}, "key")
	must(t, err)
	same(t, id, int64(1))
	if _, err = c.Insert(ctx, "people", map[string]interface{}{"key": "a"}); !errors.Is(err, ErrDocumentRefused) {
		t.Errorf("%v", err)
	}
	if _, err = c.Insert(ctx, "people", 5); !errors.Is(err, ErrDocumentRefused) {
		t.Errorf("%v", err)
	}
	if _, err = c.Insert(ctx, "people", map[string]interface{}{"long": strings.Repeat("x", 70000)}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v", err)
	}
}

// TestInsertAndKills: those with a unique field are there once, whatever happens; of the others
// only one whose outcome is said to be unknown may be there without a reply.
func TestInsertAndKills(t *testing.T) {
	uri := mongo(t)
	d := mongoDaemon(t, uri, "seqd_go_kills", "[sequence.\"people\"]\nmode = \"insert\"\ncollection = \"people\"\n")
	shell(t, uri, "seqd_go_kills", "db.people.create_index('key', unique=True)")
	c := d.open(Options{})
	var done, unknown atomic.Int64
	var mu sync.Mutex
	ids := map[int64]string{}
	var workers sync.WaitGroup
	const each = 400
	for worker := 0; worker < 8; worker++ {
		workers.Add(1)
		go func(worker int) {
			defer workers.Done()
			for i := 0; i < each; i++ {
				key := strconv.Itoa(worker) + "/" + strconv.Itoa(i)
				document := map[string]interface{}{"key": key}
				var id int64
				var err error
				if worker < 4 {
					id, err = c.InsertUnique(fully(t), "people", document, "key")
				} else if id, err = c.Insert(fully(t), "people", document); errors.Is(err, ErrOutcomeUnknown) {
					unknown.Add(1)
					done.Add(1)
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				done.Add(1)
				mu.Lock()
				if ids[id] != "" {
					t.Errorf("%d is that of two documents", id)
				}
				ids[id] = key
				mu.Unlock()
			}
		}(worker)
	}
	for kill := int64(1); kill <= 5; kill++ {
		until(t, "documents are inserted", func() bool { return done.Load() >= kill*400 || t.Failed() })
		d.kill()
		d.start()
	}
	workers.Wait()
	there := shell(t, uri, "seqd_go_kills", "print(' '.join(str(d['_id']) + '=' + d['key'] for d in db.people.find()))")
	found := 0
	for _, one := range strings.Fields(there) {
		id, key, _ := strings.Cut(one, "=")
		n, err := strconv.ParseInt(id, 10, 64)
		must(t, err)
		if ids[n] == key {
			found++
		} else if ids[n] != "" || key[0] < '4' {
			t.Errorf("%s is there, and the reply was %q", one, ids[n])
		}
	}
	if found != len(ids) || len(ids)+int(unknown.Load()) != 8*each {
		t.Errorf("%d replies, %d of them there, %d unknown", len(ids), found, unknown.Load())
	}
	t.Logf("5 kills, %d documents with a reply, %d outcomes unknown", len(ids), unknown.Load())
}

// TestCachedBlock: the old program with its blocks of 25 and one that has moved to the type
// Sequence, on one document: 20,000 IDs each, none twice.
func TestCachedBlock(t *testing.T) {
	uri := mongo(t)
	const ids = 20_000
	d := mongoDaemon(t, uri, "seqd_go_block", "[sequence.\"events\"]\ncollection = \"sequences\"\ncounter_field = \"sequence\"\nmeaning = \"last\"\n")
	shell(t, uri, "seqd_go_block", "db.sequences.insert_one({'_id': 'events', 'sequence': 41})")
	file := filepath.Join(t.TempDir(), "ids")
	old := exec.Command(binary(t, "old_code"), "cached-block", "--uri", uri, "--database", "seqd_go_block", "--name", "events",
		"--log", file, "--callers", "8", "--ids", strconv.Itoa(ids))
	must(t, old.Start())
	var events interface {
		Next(ctx context.Context) (int64, error)
	} = d.open(Options{}).Sequence("events")
	var mu sync.Mutex
	seen := map[int64]bool{}
	take := func(id int64) {
		mu.Lock()
		defer mu.Unlock()
		if seen[id] || id <= 41 {
			t.Errorf("%d came twice, or was used before", id)
		}
		seen[id] = true
	}
	var workers sync.WaitGroup
	for worker := 0; worker < 8; worker++ {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for i := 0; i < ids/8; i++ {
				id, err := events.Next(fully(t))
				if err != nil {
					t.Error(err)
					return
				}
				take(id)
			}
		}()
	}
	workers.Wait()
	must(t, old.Wait())
	log, err := os.ReadFile(file)
	must(t, err)
	for _, line := range strings.Split(string(log), "\n") {
		if digits := strings.TrimPrefix(line, "id "); digits != line {
			id, err := strconv.ParseInt(digits, 10, 64)
			must(t, err)
			take(id)
		}
	}
	if len(seen) < 2*ids { // the old program's callers may each take one more
		t.Errorf("%d IDs", len(seen))
	}
}
