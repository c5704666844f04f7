package seqd

import "math"

// Each append function writes one message in its shortest form. timeoutMS below 0: without it.

func appendRequest(b []byte, msgid uint32, method string) []byte {
	b = append(b, 0x94, 0x00)
	b = appendUint(b, uint64(msgid))
	return appendString(b, method)
}

func appendNext(b []byte, msgid uint32, method, name string, timeoutMS int64) []byte {
	b = appendRequest(b, msgid, method)
	if timeoutMS < 0 {
		b = append(b, 0x91)
		return appendString(b, name)
	}
	b = append(b, 0x92)
	b = appendString(b, name)
	return appendTimeout(append(b, 0x81), timeoutMS)
}

func appendRange(b []byte, msgid uint32, name string, count, timeoutMS int64) []byte {
	b = appendRequest(b, msgid, "range")
	params := byte(0x92)
	if timeoutMS >= 0 {
		params++
	}
	b = append(b, params)
	b = appendString(b, name)
	b = appendInt(b, count)
	if timeoutMS < 0 {
		return b
	}
	return appendTimeout(append(b, 0x81), timeoutMS)
}

// appendInsert: unique or connection may be empty.
func appendInsert(b []byte, msgid uint32, name string, document []byte, timeoutMS int64, unique, connection string) []byte {
	b = appendRequest(b, msgid, "insert")
	options := byte(0x80)
	for _, has := range [...]bool{timeoutMS >= 0, unique != "", connection != ""} {
		if has {
			options++
		}
	}
	if options == 0x80 {
		b = appendString(append(b, 0x92), name)
		return append(b, document...)
	}
	b = appendString(append(b, 0x93), name)
	b = append(b, document...)
	b = append(b, options)
	if timeoutMS >= 0 {
		b = appendTimeout(b, timeoutMS)
	}
	if unique != "" {
		b = appendString(appendString(b, "unique"), unique)
	}
	if connection != "" {
		b = appendString(appendString(b, "connection"), connection)
	}
	return b
}

// appendRegister: params is the key and, of a cancel, the reason. number 0: without it.
func appendRegister(b []byte, msgid uint32, method, name string, params []byte, number, timeoutMS int64) []byte {
	b = appendRequest(b, msgid, method)
	count, options := byte(0x93), byte(0x80)
	if method == "cancel" {
		count++
	}
	b = appendString(append(b, count), name)
	b = append(b, params...)
	if timeoutMS >= 0 {
		options++
	}
	if number != 0 {
		options++
	}
	b = append(b, options)
	if number != 0 {
		b = appendInt(appendString(b, "number"), number)
	}
	if timeoutMS >= 0 {
		b = appendTimeout(b, timeoutMS)
	}
	return b
}

// appendCall: params is one MessagePack array.
func appendCall(b []byte, msgid uint32, method string, params []byte) []byte {
	return append(appendRequest(b, msgid, method), params...)
}

// appendHello: identity has 16 bytes, or none; name may be empty.
func appendHello(b []byte, msgid uint32, identity []byte, name string) []byte {
	b = append(appendRequest(b, msgid, "hello"), 0x91)
	options := byte(0x80)
	if len(identity) > 0 {
		options++
	}
	if name != "" {
		options++
	}
	b = append(b, options)
	if len(identity) > 0 {
		b = append(appendString(b, "client"), 0xc4, byte(len(identity)))
		b = append(b, identity...)
	}
	if name != "" {
		b = appendString(appendString(b, "name"), name)
	}
	return b
}

func appendAck(b []byte, below uint32) []byte {
	b = append(b, 0x93, 0x02, 0xa3, 'a', 'c', 'k', 0x91)
	return appendUint(b, uint64(below))
}

func appendTimeout(b []byte, timeoutMS int64) []byte {
	b = append(b, 0xaa)
	b = append(b, "timeout_ms"...)
	return appendInt(b, timeoutMS)
}

func appendString(b []byte, s string) []byte {
	n := len(s)
	switch {
	case n < 32:
		b = append(b, 0xa0|byte(n))
	case n <= math.MaxUint8:
		b = append(b, 0xd9, byte(n))
	case n <= math.MaxUint16:
		b = append(b, 0xda, byte(n>>8), byte(n))
	default:
		b = append(b, 0xdb, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	return append(b, s...)
}

func appendInt(b []byte, v int64) []byte {
	if v >= 0 {
		return appendUint(b, uint64(v))
	}
	switch {
	case v >= -32:
		return append(b, byte(v))
	case v >= math.MinInt8:
		return append(b, 0xd0, byte(v))
	case v >= math.MinInt16:
		return append(b, 0xd1, byte(v>>8), byte(v))
	case v >= math.MinInt32:
		return append(b, 0xd2, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
	}
	return appendWide(append(b, 0xd3), uint64(v))
}

func appendUint(b []byte, v uint64) []byte {
	switch {
	case v < 128:
		return append(b, byte(v))
	case v <= math.MaxUint8:
		return append(b, 0xcc, byte(v))
	case v <= math.MaxUint16:
		return append(b, 0xcd, byte(v>>8), byte(v))
	case v <= math.MaxUint32:
		return append(b, 0xce, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
	}
	return appendWide(append(b, 0xcf), v)
}

func appendWide(b []byte, v uint64) []byte {
	return append(b, byte(v>>56), byte(v>>48), byte(v>>40), byte(v>>32), byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
}
