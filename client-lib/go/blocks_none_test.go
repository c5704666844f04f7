//go:build !seqd_blocks || !cgo || !linux

package seqd

import (
	"errors"
	"strings"
	"testing"
)

// TestBlocksWithoutLibseqd: blocks that are wanted are an error that says what to do; else there are
// requests.
func TestBlocksWithoutLibseqd(t *testing.T) {
	d := newDaemon(t, "[sequence.\"orders\"]\nblocks = true\n")
	_, err := Open(&Options{Socket: d.socket, Blocks: OnlyBlocks})
	if !errors.Is(err, ErrLibrary) || !strings.Contains(err.Error(), "-tags seqd_blocks") {
		t.Errorf("%v", err)
	}
	c := d.open(Options{Blocks: AutoBlocks})
	for want := int64(1); want <= 3; want++ {
		id, err := c.Next(fully(t), "orders")
		must(t, err)
		same(t, id, want)
	}
	if _, err := Open(&Options{Blocks: 3}); !errors.Is(err, ErrArgument) {
		t.Errorf("%v", err)
	}
}
