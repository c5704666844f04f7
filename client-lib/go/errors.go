package seqd

import (
	"context"
	"errors"
	"strings"
)

// A Code says what kind of error it is. Every error of this package matches its code:
//
//	if errors.Is(err, seqd.ErrUnavailable) { ... }
type Code string

// Codes of the daemon. PROTOCOL.md section 4 has their meaning.
const (
	ErrBadRequest      Code = "BAD_REQUEST"       // the request is malformed
	ErrNoMethod        Code = "NO_METHOD"         // the daemon has no such method
	ErrTooLarge        Code = "TOO_LARGE"         // a request, name or count is above its limit
	ErrNoSequence      Code = "NO_SEQUENCE"       // no such sequence, and it may not be created
	ErrDenied          Code = "DENIED"            // this user may not do that
	ErrBusy            Code = "BUSY"              // a queue or table is full; temporary
	ErrUnavailable     Code = "UNAVAILABLE"       // no store and no available ID; temporary
	ErrStopping        Code = "STOPPING"          // the daemon is stopping; temporary
	ErrExhausted       Code = "EXHAUSTED"         // the sequence has reached its maximum
	ErrSeqType         Code = "SEQ_TYPE"          // the counter in the store is not an integer
	ErrSeqMeaning      Code = "SEQ_MEANING"       // the configuration lacks `meaning`
	ErrSeqRegressed    Code = "SEQ_REGRESSED"     // the counter was set back
	ErrSeqChanged      Code = "SEQ_CHANGED"       // the sequence was bound to another counter
	ErrStoreRefused    Code = "STORE_REFUSED"     // the store refused the operation
	ErrStateIO         Code = "STATE_IO"          // the state directory cannot be written
	ErrStateCorrupt    Code = "STATE_CORRUPT"     // a file of the state cannot be understood
	ErrFenced          Code = "FENCED"            // another daemon owns this state
	ErrConfig          Code = "CONFIG"            // the configuration is wrong
	ErrInternal        Code = "INTERNAL"          // a defect of the daemon, or a newer code of it
	ErrBadText         Code = "BAD_TEXT"          // the text is not an ID of the sequence
	ErrWrongMode       Code = "WRONG_MODE"        // the sequence does not have this method
	ErrDocumentRefused Code = "DOCUMENT_REFUSED"  // the document cannot be stored
	ErrOutcomeUnknown  Code = "OUTCOME_UNKNOWN"   // a document may have been inserted, or a number cancelled; matches nothing else
	ErrNoKey           Code = "NO_KEY"            // the key has no number in the register
	ErrKeyConfirmed    Code = "KEY_CONFIRMED"     // the number is confirmed, and is not cancelled any more
	ErrPeriodClosed    Code = "SEQ_PERIOD_CLOSED" // the period of the register gets no more numbers
)

// Codes of this package.
const (
	ErrConnect  Code = "CONNECT"  // no daemon answered within the time; temporary
	ErrTimeout  Code = "TIMEOUT"  // the daemon did not reply within the time; temporary
	ErrCanceled Code = "CANCELED" // the context was canceled; wraps context.Canceled
	ErrProtocol Code = "PROTOCOL" // what answers does not speak the protocol
	ErrArgument Code = "ARGUMENT" // a parameter that cannot be sent
	ErrClosed   Code = "CLOSED"   // the client was closed
	ErrLibrary  Code = "LIBRARY"  // blocks need libseqd: the build tag seqd_blocks
)

var daemonCodes = map[string]bool{}

func init() {
	for _, code := range []Code{ErrBadRequest, ErrNoMethod, ErrTooLarge, ErrNoSequence, ErrDenied, ErrBusy,
		ErrUnavailable, ErrStopping, ErrExhausted, ErrSeqType, ErrSeqMeaning, ErrSeqRegressed, ErrSeqChanged,
		ErrStoreRefused, ErrStateIO, ErrStateCorrupt, ErrFenced, ErrConfig, ErrInternal, ErrBadText, ErrWrongMode,
		ErrDocumentRefused, ErrOutcomeUnknown, ErrNoKey, ErrKeyConfirmed, ErrPeriodClosed} {
		daemonCodes[string(code)] = true
	}
}

// Error makes a Code a target for errors.Is.
func (c Code) Error() string { return "seqd: " + string(c) }

// Temporary reports whether the same request can succeed later with nothing changed.
func (c Code) Temporary() bool {
	switch c {
	case ErrBusy, ErrUnavailable, ErrStopping, ErrConnect, ErrTimeout:
		return true
	}
	return false
}

// An Error is what every call of this package returns when it fails.
type Error struct {
	Code Code
	Text string // for people: do not parse it
	// CallerFault: the daemon says that the request is wrong, and not itself, its store or its
	// configuration.
	CallerFault bool
	// Err is the cause, or nil: an error of the context or of the system. It is nil if the code is
	// ErrOutcomeUnknown, so that no retry takes it for one that was not carried out.
	Err error
}

func (e *Error) Error() string {
	if e.Text == "" {
		return e.Code.Error()
	}
	return e.Code.Error() + ": " + e.Text
}

// Is matches the code.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code == e.Code
}

// As fills a *Code.
func (e *Error) As(target interface{}) bool {
	code, ok := target.(*Code)
	if ok {
		*code = e.Code
	}
	return ok
}

// Unwrap returns the cause, so that errors.Is(err, context.DeadlineExceeded) holds.
func (e *Error) Unwrap() error { return e.Err }

// Temporary reports whether the same request can succeed later with nothing changed.
func (e *Error) Temporary() bool { return e.Code.Temporary() }

// Timeout reports whether the time of the caller was over, as of a net.Error.
func (e *Error) Timeout() bool {
	return e.Code == ErrTimeout || errors.Is(e.Err, context.DeadlineExceeded)
}

// outcomeUnknown is the error of an insert or a cancel that may have been carried out. It wraps nothing:
// programs retry by the cause.
func outcomeUnknown(c *call, why *Error) *Error {
	what := "the document may have been inserted: "
	if c.kind == kindRegister {
		what = "the number may have been cancelled: "
	}
	return &Error{Code: ErrOutcomeUnknown, Text: what + why.Error()}
}

// protocolError is the error of a peer that does not speak the protocol.
func protocolError(text string) *Error { return &Error{Code: ErrProtocol, Text: text} }

// readError makes an error of the daemon's "CODE: text", which another library may have wrapped:
// the first known code that is a whole word followed by a colon counts.
func readError(fault int64, said string) *Error {
	e := &Error{CallerFault: fault == 1, Code: ErrInternal, Text: said}
	if e.CallerFault {
		e.Code = ErrBadRequest
	}
	for from := 0; ; {
		colon := strings.IndexByte(said[from:], ':')
		if colon < 0 {
			return e
		}
		end := from + colon
		begin := end
		for begin > 0 && isWordByte(said[begin-1]) {
			begin--
		}
		if daemonCodes[said[begin:end]] {
			e.Code = Code(said[begin:end])
			e.Text = strings.TrimPrefix(said[end+1:], " ")
			return e
		}
		from = end + 1
	}
}

func isWordByte(b byte) bool {
	return b == '_' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z' || b >= '0' && b <= '9'
}
