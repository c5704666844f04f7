package seqd

import "errors"

// What a client accepts of a daemon: PROTOCOL.md section 2.
const (
	maxReplyBytes = 16 << 20
	maxDepth      = 32
)

var (
	errNotMessagePack = errors.New("not MessagePack")
	errTooLong        = errors.New("a message above 16 MiB")
	errTooDeep        = errors.New("a message of more than 32 levels")
)

// A scanner finds the end of the MessagePack value at the front of a buffer that grows. It goes on
// where it stopped, so that a long message is read once. The zero value begins with a new message.
type scanner struct {
	at      int              // bytes looked at
	depth   int              // open arrays and maps
	deepest int              // the highest depth so far
	left    [maxDepth]uint64 // values that each of them still lacks
}

// scan returns the size of the message, or 0 when more bytes are needed.
func (s *scanner) scan(b []byte, limit int) (int, error) {
	for {
		if s.at >= limit {
			return 0, errTooLong
		}
		if s.at >= len(b) {
			return 0, nil
		}
		header, payload, items, container, err := shapeOf(b[s.at:])
		if err != nil || header == 0 {
			return 0, err
		}
		// No value has less than a byte: what is announced is refused before it arrives.
		room := uint64(limit - s.at)
		if uint64(header)+payload > room || items > room-uint64(header) {
			return 0, errTooLong
		}
		if uint64(len(b)-s.at) < uint64(header)+payload {
			return 0, nil
		}
		s.at += header + int(payload)
		if s.depth > 0 {
			s.left[s.depth-1]--
		}
		if container {
			if s.depth == maxDepth {
				return 0, errTooDeep
			}
			s.left[s.depth] = items
			s.depth++
			if s.depth > s.deepest {
				s.deepest = s.depth
			}
		}
		for s.depth > 0 && s.left[s.depth-1] == 0 {
			s.depth--
		}
		if s.depth == 0 {
			return s.at, nil
		}
	}
}

// shapeOf describes the value at the front of b, which is not empty: the bytes of its header (0:
// they are not all there yet), the bytes that follow, and the values of an array or a map.
func shapeOf(b []byte) (header int, payload, items uint64, container bool, err error) {
	c := b[0]
	switch {
	case c < 0x80 || c >= 0xe0: // fixint
		return 1, 0, 0, false, nil
	case c < 0x90: // fixmap
		return 1, 0, 2 * uint64(c&0x0f), true, nil
	case c < 0xa0: // fixarray
		return 1, 0, uint64(c & 0x0f), true, nil
	case c < 0xc0: // fixstr
		return 1, uint64(c & 0x1f), 0, false, nil
	}
	switch c {
	case 0xc0, 0xc2, 0xc3: // nil, false, true
		return 1, 0, 0, false, nil
	case 0xcc, 0xd0:
		return 1, 1, 0, false, nil
	case 0xcd, 0xd1:
		return 1, 2, 0, false, nil
	case 0xce, 0xd2, 0xca:
		return 1, 4, 0, false, nil
	case 0xcf, 0xd3, 0xcb:
		return 1, 8, 0, false, nil
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8: // fixext
		return 1, 1 + 1<<(c-0xd4), 0, false, nil
	}
	var width int
	switch c {
	case 0xc4, 0xc7, 0xd9:
		width = 1
	case 0xc5, 0xc8, 0xda, 0xdc, 0xde:
		width = 2
	case 0xc6, 0xc9, 0xdb, 0xdd, 0xdf:
		width = 4
	default:
		return 0, 0, 0, false, errNotMessagePack
	}
	if len(b) < 1+width {
		return 0, 0, 0, false, nil
	}
	n := bigEndian(b[1 : 1+width])
	switch c {
	case 0xc7, 0xc8, 0xc9: // ext: the type is a byte more
		return 1 + width, 1 + n, 0, false, nil
	case 0xdc, 0xdd:
		return 1 + width, 0, n, true, nil
	case 0xde, 0xdf:
		return 1 + width, 0, 2 * n, true, nil
	}
	return 1 + width, n, 0, false, nil
}

func bigEndian(b []byte) uint64 {
	var n uint64
	for _, one := range b {
		n = n<<8 | uint64(one)
	}
	return n
}
