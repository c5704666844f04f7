package seqd

import "context"

// A Sequence is one sequence of a Client, for programs that had a type of their own for that: a
// cached block or a counter with a method Next. It is safe for any number of goroutines.
type Sequence struct {
	client *Client
	name   string
}

// Sequence returns the sequence of that name. It sends no request.
func (c *Client) Sequence(name string) *Sequence { return &Sequence{c, name} }

// Name returns the name of the sequence.
func (s *Sequence) Name() string { return s.name }

// Next is Client.Next.
func (s *Sequence) Next(ctx context.Context) (int64, error) { return s.client.Next(ctx, s.name) }

// NextMany is Client.NextMany.
func (s *Sequence) NextMany(ctx context.Context, count int) ([]int64, error) {
	return s.client.NextMany(ctx, s.name, count)
}

// Range is Client.Range.
func (s *Sequence) Range(ctx context.Context, count int) ([]Run, error) {
	return s.client.Range(ctx, s.name, count)
}

// NextText is Client.NextText.
func (s *Sequence) NextText(ctx context.Context) (string, error) {
	return s.client.NextText(ctx, s.name)
}

// Parse is Client.Parse.
func (s *Sequence) Parse(ctx context.Context, text string) (Parsed, error) {
	return s.client.Parse(ctx, s.name, text)
}

// Peek is Client.Peek.
func (s *Sequence) Peek(ctx context.Context) (Peeked, error) { return s.client.Peek(ctx, s.name) }

// Insert is Client.Insert.
func (s *Sequence) Insert(ctx context.Context, document interface{}) (int64, error) {
	return s.client.Insert(ctx, s.name, document)
}

// InsertUnique is Client.InsertUnique.
func (s *Sequence) InsertUnique(ctx context.Context, document interface{}, field string) (int64, error) {
	return s.client.InsertUnique(ctx, s.name, document, field)
}
