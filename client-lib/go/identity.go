package seqd

import (
	"crypto/rand"
	"errors"
)

// wantsIdentity: the numbers come to their end.
func (s *session) wantsIdentity() bool {
	return s.table.next >= s.last || s.nextID >= ^uint32(0)-keptBack
}

// renew takes a new identity when nothing is outstanding, and ends the connection of the old one.
func (s *session) renew(l *link) {
	if l.inFlight > 0 || s.table.floor != s.table.next || len(s.other) > 0 || l.writing {
		return
	}
	identity := s.identity
	if _, err := rand.Read(identity[:]); err != nil {
		return // tried again with the next request; numbers are kept back for that
	}
	s.acknowledge(l)
	l.tryWrite(l.takeOutput())
	l.end(errors.New("the request numbers of the identity are used up"))
	s.identity = identity
	s.table = newTable()
	s.nextID = firstOther
}
