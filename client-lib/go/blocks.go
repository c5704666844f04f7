package seqd

import "context"

// Blocks says whether Next takes IDs inside the process, from blocks, of sequences with
// `blocks = true`: see Options.Blocks.
type Blocks int

const (
	// NoBlocks: each ID is a request, or a part of one.
	NoBlocks Blocks = iota
	// AutoBlocks: from blocks if the program was built with the tag seqd_blocks, and the sequence has
	// them. IDs of other sequences are taken by requests; the daemon is queried again after a minute.
	AutoBlocks
	// OnlyBlocks: Open gives ErrLibrary without the tag, and Next gives ErrWrongMode as soon as the
	// daemon has said that a sequence has no blocks.
	OnlyBlocks
)

// mostBlocks is the number of sequences of a client that have blocks, each with a connection.
const mostBlocks = 64

// nextOfBlock takes an ID of a block. False: none is available, and a request is to be made.
func (c *Client) nextOfBlock(ctx context.Context, sequence string) (int64, bool, error) {
	if ctx.Err() != nil {
		return 0, false, nil
	}
	return c.b.next(sequence)
}
