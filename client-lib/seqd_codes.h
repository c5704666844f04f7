/* The result codes of libseqd; included by seqd.h. */
#ifndef SEQD_CODES_H
#define SEQD_CODES_H

/* Result codes. The numbers are part of the ABI: a code is only ever added at the end of its group.
 */
enum {
  SEQD_OK = 0,
  /* Errors of the daemon, in the order of its catalogue (protocol/errors.def). */
  SEQD_E_BAD_REQUEST = -1,
  SEQD_E_NO_METHOD = -2,
  SEQD_E_TOO_LARGE = -3,
  SEQD_E_NO_SEQUENCE = -4,
  SEQD_E_DENIED = -5,
  SEQD_E_BUSY = -6,
  SEQD_E_UNAVAILABLE = -7,
  SEQD_E_STOPPING = -8,
  SEQD_E_EXHAUSTED = -9,
  SEQD_E_SEQ_TYPE = -10,
  SEQD_E_SEQ_MEANING = -11,
  SEQD_E_SEQ_REGRESSED = -12,
  SEQD_E_SEQ_CHANGED = -13,
  SEQD_E_STORE_REFUSED = -14,
  SEQD_E_STATE_IO = -15,
  SEQD_E_STATE_CORRUPT = -16,
  SEQD_E_FENCED = -17,
  SEQD_E_CONFIG = -18,
  SEQD_E_INTERNAL = -19,
  SEQD_E_BAD_TEXT = -20,
  SEQD_E_WRONG_MODE = -21,
  SEQD_E_DOCUMENT_REFUSED = -22,
  SEQD_E_OUTCOME_UNKNOWN = -23, /* the document may have been inserted: check first */
  SEQD_E_NO_KEY = -24,
  SEQD_E_KEY_CONFIRMED = -25,
  SEQD_E_SEQ_PERIOD_CLOSED = -26,
  /* Errors of the library. */
  SEQD_E_CONNECT = -1001,  /* no daemon answers at the socket */
  SEQD_E_TIMEOUT = -1002,  /* connected, but no reply in time; the ID, if one was issued, is lost */
  SEQD_E_PROTOCOL = -1003, /* the peer does not speak the protocol; the connection was closed */
  SEQD_E_ARGUMENT = -1004, /* an argument is invalid; nothing was sent */
  SEQD_E_MEMORY = -1005,   /* out of memory */
  SEQD_E_FORKED = -1006,   /* the handle belongs to the parent process */
  SEQD_E_FULL = -1007,     /* too many requests in flight: seqd_poll first */
  SEQD_E_SYSTEM = -1008,   /* a system call failed, for example for lack of descriptors */
  SEQD_E_UNKNOWN = -1010   /* a code of the daemon that this version of the library does not know */
};

#endif
