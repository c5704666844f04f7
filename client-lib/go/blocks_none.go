//go:build !seqd_blocks || !cgo || !linux

package seqd

// A blockSet is what a program has that was built without libseqd: nothing.
type blockSet struct{}

func openBlocks(o Options) (*blockSet, error) {
	if o.Blocks == OnlyBlocks {
		return nil, &Error{Code: ErrLibrary, Text: "blocks need libseqd: build the program on Linux with cgo and -tags seqd_blocks"}
	}
	return nil, nil
}

func (*blockSet) next(string) (int64, bool, error) { return 0, false, nil }

func (*blockSet) requestFailed(string, error) {}

func (*blockSet) close() {}
