/* libseqd: take IDs from the seqd daemon of this host over its Unix socket.
 *
 * A handle (seqd_client) connects at its first request, reconnects when the daemon restarts, and
 * repeats the requests in flight: the daemon replies to a retry with the same IDs, so a restart
 * neither loses nor repeats an ID. seqd_insert is never repeated. Every call has a time-out. No
 * function throws, raises a signal, starts a thread or keeps global state. See also seqd_blocks.h.
 *
 * Threads: a handle is used by one thread at a time; different handles are independent. No call is
 * a cancellation point. After fork() or clone() the child may only close the parent's handle, which
 * frees nothing there (other calls return SEQD_E_FORKED), and opens its own.
 *
 * Every function that returns int returns SEQD_OK (0) or a negative SEQD_E_ code. Link with -lseqd.
 */
#ifndef SEQD_H
#define SEQD_H

#include <stddef.h>
#include <stdint.h>

#include "seqd_codes.h"

#if defined(__GNUC__)
#define SEQD_API __attribute__((visibility("default")))
#else
#define SEQD_API
#endif
/* A call that takes IDs: its result must be checked. */
#if defined(__GNUC__)
#define SEQD_CHECKED SEQD_API __attribute__((warn_unused_result))
#else
#define SEQD_CHECKED SEQD_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct seqd_client seqd_client;

enum {
  /* No identity: a request in flight at a restart is repeated, too, but gets a new ID (the first
     is a gap). */
  SEQD_ANONYMOUS = 1,
  /* Shorter requests: the daemon's configuration sets how long they may wait for an ID. */
  SEQD_DAEMON_WAIT = 2
};

/* Newer versions may add fields at the end of structures with a `size`. The caller sets `size` to
 * sizeof, as the ..._INIT macros do, and receives the fields that it knows. A structure of a newer
 * version is allowed: fields that this library does not know are left unchanged. seqd_run does not
 * change. */

/* Zero selects the default of a field. SEQD_E_ARGUMENT: a field that this library does not know is
 * not zero. */
typedef struct seqd_options {
  size_t size;                /* sizeof(seqd_options) */
  const char* socket_path;    /* default: the environment's SEQD_SOCKET, then /run/seqd.sock */
  const char* name;           /* of the application, in the daemon's lists, at most 64 bytes */
  int64_t timeout_ms;         /* of every call and request, with reconnects; default 5000 */
  int64_t connect_timeout_ms; /* while no daemon listens, then SEQD_E_CONNECT; default timeout_ms */
  uint64_t flags;             /* SEQD_ANONYMOUS, SEQD_DAEMON_WAIT */
  int64_t busy_poll_us; /* how long a call polls after each message before it sleeps; at most 1 s */
} seqd_options;
#define SEQD_OPTIONS_INIT \
  { sizeof(seqd_options), NULL, NULL, 0, 0, 0, 0 }

/* `count` IDs: first, first + step, ... in the order of issue. */
typedef struct seqd_run {
  int64_t first;
  int64_t count;
  int64_t step;
} seqd_run;

/* What a text of a sequence means. */
typedef struct seqd_parsed {
  size_t size; /* sizeof(seqd_parsed) */
  int64_t number;
  const char* period; /* "2026-11-21"; "" if the text has none */
  const char* check;  /* the check digits that were verified, "luhn"; "" if there are none */
} seqd_parsed;
#define SEQD_PARSED_INIT \
  { sizeof(seqd_parsed), 0, "", "" }

/* The result of seqd_peek. An ID may be 0 or negative: check ..._known. */
typedef struct seqd_peeked {
  size_t size;       /* sizeof(seqd_peeked) */
  int64_t next;      /* the next ID */
  int64_t available; /* IDs that the daemon can issue without a lease */
  int64_t last;      /* the last ID that this daemon issued */
  int next_known;    /* 0: the daemon does not know `next` */
  int last_known;    /* 0: it has issued none, or does not know `last` */
} seqd_peeked;
#define SEQD_PEEKED_INIT \
  { sizeof(seqd_peeked), 0, 0, 0, 0, 0 }

/* What an event loop watches for a handle. */
typedef struct seqd_watch {
  size_t size;         /* sizeof(seqd_watch) */
  uint64_t generation; /* changes with the socket, even if `descriptor` stays the same */
  int descriptor;      /* -1: not connected */
  int events;          /* of poll(2) */
  int timeout_ms;      /* call seqd_poll(client, 0, ...) after it in any case; -1: no need */
} seqd_watch;
#define SEQD_WATCH_INIT \
  { sizeof(seqd_watch), 0, -1, 0, -1 }

/* The reply to a submitted request. Pointers are valid until the next call with the handle. */
typedef struct seqd_reply {
  void* tag;            /* the argument of seqd_submit_... */
  int code;             /* SEQD_OK or the error */
  const char* text;     /* of the error; if code is SEQD_OK, the ID of a
                           seqd_submit_next_text, else "" */
  int64_t id;           /* the first ID; 0 after an error, or for a text */
  const seqd_run* runs; /* all IDs; a seqd_submit_next has one run of one ID */
  size_t run_count;
} seqd_reply;

/* Creates a handle; `options` may be NULL. Does not connect yet: the first request does. After an
 * error *client is a handle whose every call returns that error, with its text in
 * seqd_last_error(); or NULL if out of memory. seqd_close() frees it. */
SEQD_API int seqd_open(const seqd_options* options, seqd_client** client);
/* Acknowledges the received replies, closes and frees. Does not wait. NULL is allowed. */
SEQD_API void seqd_close(seqd_client* client);

/* One ID of the sequence `name`. */
SEQD_CHECKED int seqd_next(seqd_client* client, const char* name, int64_t* id);
/* `count` IDs as runs: (*runs)[0 .. *run_count), usually one run. Valid until the next call with
 * the handle. */
SEQD_CHECKED int seqd_range(seqd_client* client, const char* name, int64_t count,
                            const seqd_run** runs, size_t* run_count);
/* `count` IDs, one by one, into ids, with one request. */
SEQD_CHECKED int seqd_next_many(seqd_client* client, const char* name, size_t count, int64_t* ids);
/* One ID of the sequence `name` as text, in its `format`. *text is valid until the next call with
 * the handle. */
SEQD_CHECKED int seqd_next_text(seqd_client* client, const char* name, const char** text);
/* Decodes such a text; issues nothing. SEQD_E_BAD_TEXT: it is not valid for this sequence; the
 * error text has the position. The texts in *parsed are valid until the next call. */
SEQD_API int seqd_parse(seqd_client* client, const char* name, const char* text,
                        seqd_parsed* parsed);
/* Inserts a document, one MessagePack map without _id, into the collection of a sequence with mode
 * insert; *id is its _id, the highest before it plus one. Never repeated: SEQD_E_OUTCOME_UNKNOWN if
 * the connection or the time ends before the reply; after any other error it is not inserted. */
SEQD_CHECKED int seqd_insert(seqd_client* client, const char* name, const void* document,
                             size_t document_length, int64_t* id);
/* The same for a document whose `field` (a text, bytes, an integer or a date) has a unique index
 * of its own, else SEQD_E_CONFIG. If a document with the same value exists, *id is its _id. So the
 * library repeats it after a lost connection, and the caller may repeat it after any error. */
SEQD_CHECKED int seqd_insert_unique(seqd_client* client, const char* name, const void* document,
                                    size_t document_length, const char* field, int64_t* id);
/* The next ID; issues nothing. Initialize *peeked with SEQD_PEEKED_INIT. */
SEQD_API int seqd_peek(seqd_client* client, const char* name, seqd_peeked* peeked);
/* SEQD_OK if the daemon answers. */
SEQD_API int seqd_ping(seqd_client* client);
/* Calls any method, as list, status or one of a newer daemon: `params` is one MessagePack array, or
 * NULL for an empty one; *result, a MessagePack value, is valid until the next call with the
 * handle. Repeated after a lost connection. "hello", "ack" and "insert" are SEQD_E_ARGUMENT. */
SEQD_API int seqd_call(seqd_client* client, const char* method, const void* params,
                       size_t params_length, const void** result, size_t* result_length);
/* A limit from the daemon's hello: "frame", "depth", "name", "count", "pipeline",
 * "unacknowledged". Connects if necessary. SEQD_E_ARGUMENT: the daemon has no such limit. */
SEQD_API int seqd_limit(seqd_client* client, const char* name, int64_t* value);

/* Pipelining: submit any number of requests, then collect the replies in any order. Submitting only
 * queues (it never blocks); seqd_poll sends and receives. Each request has the handle's time-out.
 * SEQD_E_FULL: collect replies first. */
SEQD_API int seqd_submit_next(seqd_client* client, const char* name, void* tag);
SEQD_API int seqd_submit_range(seqd_client* client, const char* name, int64_t count, void* tag);
SEQD_API int seqd_submit_next_text(seqd_client* client, const char* name, void* tag);
SEQD_API int seqd_submit_insert(seqd_client* client, const char* name, const void* document,
                                size_t document_length, void* tag);
SEQD_API int seqd_submit_insert_unique(seqd_client* client, const char* name, const void* document,
                                       size_t document_length, const char* field, void* tag);
/* Waits at most timeout_ms for the first reply and returns up to `capacity` that have arrived,
 * each in reply_size bytes, the caller's sizeof(seqd_reply). *used may be 0: the time is over or
 * nothing is in flight. Errors of single requests are in their replies. */
SEQD_API int seqd_poll(seqd_client* client, int64_t timeout_ms, seqd_reply* replies,
                       size_t reply_size, size_t capacity, size_t* used);
/* Requests submitted and not collected yet. */
SEQD_API size_t seqd_pending(const seqd_client* client);
/* For an event loop: what to watch, also without requests, until seqd_poll(client, 0, ...) runs.
 * Every call with the handle may close the socket or open another one: call this after each. If
 * `generation` has changed, remove the old descriptor from the loop (it is closed) and add the new
 * one. The program only watches it, and does not read, write, or change its SO_RCVTIMEO. */
SEQD_API int seqd_descriptor(seqd_client* client, seqd_watch* watch);

/* This handle's last error as text, "" if none. Valid until the next call with the handle. */
SEQD_API const char* seqd_last_error(const seqd_client* client);
/* "NO_SEQUENCE" for SEQD_E_NO_SEQUENCE, "OK" for SEQD_OK, "UNKNOWN" if it is not a code. */
SEQD_API const char* seqd_error_name(int code);
/* 1 if the same request may succeed later without a change, else 0. */
SEQD_API int seqd_error_is_transient(int code);
/* The library's version, "0.1.0". */
SEQD_API const char* seqd_version(void);

#ifdef __cplusplus
}
#endif

#endif
