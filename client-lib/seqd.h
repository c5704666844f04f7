/* libseqd: take IDs from the seqd daemon of this host over its Unix socket.
 *
 * A handle (seqd_client) connects by itself, connects again when the daemon restarts, and repeats
 * what was in flight: the daemon answers a repeat with the same IDs, so a restart neither loses nor
 * doubles an ID (seqd_insert apart, which is never repeated). Every call has a time-out. Nothing
 * throws, raises a signal, starts a thread or keeps global state.
 *
 * Threads: a handle is used by one thread at a time; different handles are independent. After
 * fork() the child may only close the parent's handle (other calls give SEQD_E_FORKED) and opens
 * one of its own.
 *
 * Every function that returns int returns SEQD_OK (0) or a negative SEQD_E_ code. Link with -lseqd.
 */
#ifndef SEQD_H
#define SEQD_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SEQD_API __attribute__((visibility("default")))
#else
#define SEQD_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Result codes. The numbers are part of the ABI: a code is only ever added at the end of its group.
 */
enum {
  SEQD_OK = 0,
  /* What the daemon answered, in the order of the daemon's catalogue (protocol/errors.def). */
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
  SEQD_E_OUTCOME_UNKNOWN = -23, /* the document may have been inserted: look for it first */
  /* What the library found out by itself. */
  SEQD_E_CONNECT = -1001, /* no daemon answers at the socket */
  SEQD_E_TIMEOUT = -1002, /* connected, but no answer in time; the ID, if one was issued, is lost */
  SEQD_E_PROTOCOL = -1003, /* what answers does not speak the protocol; the connection was closed */
  SEQD_E_ARGUMENT = -1004, /* an argument is not allowed; nothing was sent */
  SEQD_E_MEMORY = -1005,   /* out of memory */
  SEQD_E_FORKED = -1006,   /* the handle belongs to the parent process */
  SEQD_E_FULL = -1007,     /* too many requests in flight: seqd_poll first */
  SEQD_E_SYSTEM = -1008,   /* the system refused something, for example a descriptor */
  SEQD_E_UNKNOWN = -1010   /* a code of the daemon that this version of the library does not know */
};

typedef struct seqd_client seqd_client;

enum {
  /* No identity: a request that was in flight at a restart is repeated too, but gets a new ID (the
     first is a gap). */
  SEQD_ANONYMOUS = 1,
  /* A request does not say how long it may wait for an ID: the daemon's configuration decides.
     Shorter requests. */
  SEQD_DAEMON_WAIT = 2
};

/* Zero in a field means its default. Fields are only ever added at the end; `size` says which ones
 * the caller knows. */
typedef struct seqd_options {
  size_t size;                /* sizeof(seqd_options) */
  const char* socket_path;    /* default: the environment's SEQD_SOCKET, then /run/seqd.sock */
  const char* name;           /* the application's name for the daemon's lists, at most 64 bytes */
  int64_t timeout_ms;         /* of every call and request, reconnects included; default 5000 */
  int64_t connect_timeout_ms; /* without a connection, then SEQD_E_CONNECT; default timeout_ms */
  uint64_t flags;             /* SEQD_ANONYMOUS, SEQD_DAEMON_WAIT */
} seqd_options;
#define SEQD_OPTIONS_INIT \
  { sizeof(seqd_options), NULL, NULL, 0, 0, 0 }

/* `count` IDs: first, first + step, ... in the order of issue. */
typedef struct seqd_run {
  int64_t first;
  int64_t count;
  int64_t step;
} seqd_run;

/* What a text of a sequence means. Zero it but for `size`, as SEQD_PARSED_INIT does; fields are
 * only ever added at the end. */
typedef struct seqd_parsed {
  size_t size; /* sizeof(seqd_parsed) */
  int64_t number;
  const char* period; /* "2026-11-21", as far as the text says; "" when it does not */
  const char* check;  /* which check digits were found right, "luhn"; "" when there are none */
} seqd_parsed;
#define SEQD_PARSED_INIT \
  { sizeof(seqd_parsed), 0, "", "" }

/* One answer to a submitted request. The pointers stay valid until the next call with the same
 * handle. */
typedef struct seqd_reply {
  void* tag;            /* as given to seqd_submit_... */
  int code;             /* SEQD_OK or the error */
  const char* text;     /* the error's text for people; when code is SEQD_OK, the ID of a
                           seqd_submit_next_text, else "" */
  int64_t id;           /* the first ID; 0 when there was an error, or for a text */
  const seqd_run* runs; /* all of them; a seqd_submit_next has one run of one ID */
  size_t run_count;
} seqd_reply;

/* Makes a handle; `options` may be NULL. Does not connect yet: the first request does. */
SEQD_API int seqd_open(const seqd_options* options, seqd_client** client);
/* Tells the daemon what has arrived, closes and frees. Does not wait. NULL is allowed. */
SEQD_API void seqd_close(seqd_client* client);

/* One ID of the sequence `name`. */
SEQD_API int seqd_next(seqd_client* client, const char* name, int64_t* id);
/* `count` IDs as runs: (*runs)[0 .. *run_count), one of them usually. Valid until the next call
 * with the handle. */
SEQD_API int seqd_range(seqd_client* client, const char* name, int64_t count, const seqd_run** runs,
                        size_t* run_count);
/* `count` IDs, one by one, into ids: one request. */
SEQD_API int seqd_next_many(seqd_client* client, const char* name, size_t count, int64_t* ids);
/* One ID of the sequence `name` as text, written as its `format` says. *text is valid until the
 * next call with the handle. */
SEQD_API int seqd_next_text(seqd_client* client, const char* name, const char** text);
/* What such a text means; issues nothing. SEQD_E_BAD_TEXT when it is none of this sequence, with
 * the place. The texts in *parsed are valid until the next call with the handle. */
SEQD_API int seqd_parse(seqd_client* client, const char* name, const char* text,
                        seqd_parsed* parsed);
/* Puts a document, one MessagePack map without _id, into the collection of a sequence that inserts;
 * *id is its _id: the highest before it plus one. Never repeated: SEQD_E_OUTCOME_UNKNOWN when the
 * connection or the time ends before the answer; after any other error it is not there. */
SEQD_API int seqd_insert(seqd_client* client, const char* name, const void* document,
                         size_t document_length, int64_t* id);
/* Issues nothing. *next and *last are 0 where the daemon does not know; any pointer may be NULL.
 * Where 0 may be an ID (a sequence with a shape), ask by seqd_call(): nil means not known. */
SEQD_API int seqd_peek(seqd_client* client, const char* name, int64_t* next, int64_t* in_hand,
                       int64_t* last);
/* Does the daemon answer? */
SEQD_API int seqd_ping(seqd_client* client);
/* Any method, as list, status and what newer daemons know: `params` is one MessagePack array, or
 * NULL for an empty one; *result, a MessagePack value, is valid until the next call with the
 * handle. Repeated after a lost connection. "hello", "ack" and "insert" are the library's own
 * (_ARGUMENT). */
SEQD_API int seqd_call(seqd_client* client, const char* method, const void* params,
                       size_t params_length, const void** result, size_t* result_length);
/* A limit that the daemon's hello told: "frame", "depth", "name", "count", "pipeline",
 * "unacknowledged". Connects if need be. SEQD_E_ARGUMENT: the daemon names no such limit. */
SEQD_API int seqd_limit(seqd_client* client, const char* name, int64_t* value);

/* Pipelining: submit any number of requests, then collect the answers in any order. Submitting only
 * queues (it never blocks); seqd_poll sends and receives. Each request has the handle's time-out.
 * SEQD_E_FULL: collect some first. */
SEQD_API int seqd_submit_next(seqd_client* client, const char* name, void* tag);
SEQD_API int seqd_submit_range(seqd_client* client, const char* name, int64_t count, void* tag);
SEQD_API int seqd_submit_next_text(seqd_client* client, const char* name, void* tag);
SEQD_API int seqd_submit_insert(seqd_client* client, const char* name, const void* document,
                                size_t document_length, void* tag);
/* Waits at most timeout_ms for the first answer and gives up to `capacity` of those that are there.
 * *used may be 0: the time is over or nothing is in flight. Errors of single requests are in their
 * replies. */
SEQD_API int seqd_poll(seqd_client* client, int64_t timeout_ms, seqd_reply* replies,
                       size_t capacity, size_t* used);
/* Requests submitted and not collected yet. */
SEQD_API size_t seqd_pending(const seqd_client* client);
/* For an event loop: the descriptor to watch (-1 when not connected), the poll(2) events, and after
 * how many milliseconds to call seqd_poll(client, 0, ...) in any case (-1: no need). Ask again
 * after every call. */
SEQD_API int seqd_descriptor(seqd_client* client, int* descriptor, short* events, int* timeout_ms);

/* The text of this handle's last error, "" when there was none. Valid until the next call with the
 * handle. */
SEQD_API const char* seqd_last_error(const seqd_client* client);
/* "NO_SEQUENCE" for SEQD_E_NO_SEQUENCE, "OK" for SEQD_OK, "UNKNOWN" for what is no code. */
SEQD_API const char* seqd_error_name(int code);
/* 1 when the same request may succeed later with nothing changed, else 0. */
SEQD_API int seqd_error_is_transient(int code);
/* The library's version, "0.1.0". */
SEQD_API const char* seqd_version(void);

#ifdef __cplusplus
}
#endif

#endif
