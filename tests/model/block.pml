/* A block: IDs that a client takes in its own process, from a slot of a page that it shares with the daemon.
 *
 *   this model                | the code (daemon/core/blocks, daemon/os/shared_pages.h, client-lib/blocks)
 *   --------------------------+----------------------------------------------------------------------------------------
 *   cursor_mem, limit_mem,    | the slot: a cache line of a file in a tmpfs, mapped by the client, read and written by
 *   block_mem                 | the daemon with pread and pwrite; it outlives both, and ends with the machine
 *   put(), drain()            | a store of the client waits in its CPU while its later loads go ahead (x86); a system
 *                             | call, its death, and the daemon's membarrier() bring it to memory
 *   log_*                     | the log: outlives the daemon; grant and close are records
 *   mem_*                     | the daemon's memory: after a start what the log says
 *   request, answered         | the socket; an answer may be read after the daemon's death. A request is repeated with
 *                             | its number
 *   close:                    | revocation: limit 0, membarrier(), cursor, record, and only then the rest is available; no
 *                             | membarrier() where the cursor is at the end already
 *
 * Promises: no ID is used twice. An ID is lost only where its client died between the store of the cursor and the use, or
 * where the block was revoked between them: one for each death and each revocation.
 *
 * Options: KILLS, of the daemon at any step; REVOKE, so many times while the client lives; DIE: the client may die at any
 * step; CUTS, of the machine. Mutants stand in runs.txt. */
#ifndef N
#define N 4
#endif
#ifndef BLOCK
#define BLOCK 2
#endif
#ifndef KILLS
#define KILLS 0
#endif
#ifndef REVOKE
#define REVOKE 0
#endif
#ifndef CUTS
#define CUTS 0
#endif
#define NONE 255

byte used[N];

byte cursor_mem = 0, limit_mem = 0, block_mem = 0;
bool page = true;            /* it is gone after a cut */
byte buffer = NONE;          /* the client's store of the cursor that is not in memory yet */

bool log_held[N], mem_held[N];
byte log_block = 0, log_begin, log_end, log_request = 0;
bool log_out = false;

byte request = 0, answered = 0, answer_begin, answer_end;
bool lost = false;           /* the client finds its connection closed */
bool stopped = false;        /* the client: dead, or it has enough */
bool nothing_left = false;
byte kills = 0, revoked = 0, cuts = 0, deaths = 0;

inline drain() { d_step { if :: buffer != NONE -> cursor_mem = buffer; buffer = NONE :: else fi } }
inline put(value) { d_step { if :: buffer != NONE -> cursor_mem = buffer :: else fi; buffer = value } }
inline use(id) { d_step { used[id]++; assert(used[id] <= 1) } }

#ifdef DIE
#define MAY_DIE if :: deaths++; goto dead :: skip fi
#else
#define MAY_DIE skip
#endif

/* The CPU writes its buffer back whenever it likes. */
active proctype Buffer() {
  do
  :: atomic { buffer != NONE -> cursor_mem = buffer; buffer = NONE }
  :: stopped -> break
  od
}

active proctype Client() {
  byte at, limit, number = 1;
ask:
  MAY_DIE;
#ifdef OLD_ANSWER
  atomic { drain(); lost = false; request = number };
#else
  atomic { drain(); lost = false; answered = 0; request = number };      /* of a connection that it left nothing is read */
#endif
wait:
  if
  :: atomic { answered == number -> at = answer_begin; limit = answer_end; number++ }
  :: atomic { lost && !(cuts > 0) -> goto ask }
  :: nothing_left -> goto dead
  :: cuts > 0 -> goto dead
  fi;
take:
  MAY_DIE;
  if :: cuts > 0 -> goto dead :: else fi;
#ifdef FIRST_LOOK_AT_THE_PAGE
  atomic { limit = limit_mem };
#endif
  if :: at >= limit -> goto ask :: else fi;  /* the limit of the answer will do */
#ifdef CURSOR_LATE
  use(at);
  MAY_DIE;
  put(at + 1);
#else
  put(at + 1);
  MAY_DIE;
  if :: cuts > 0 -> goto dead :: else fi;
#ifndef NO_SECOND_LOOK
  atomic { if :: at >= limit_mem -> put(at); goto ask :: else fi };      /* perhaps before the store above is in memory */
#endif
  MAY_DIE;
  atomic { if :: cuts > 0 -> goto dead :: else -> use(at) fi };
#endif
  at++;
  goto take;
dead:
  atomic { drain(); stopped = true }
}

#define KILLED atomic { kills < KILLS -> kills++; goto start }
#if KILLS > 0
#define STEP if :: KILLED :: skip fi
#else
#define STEP skip
#endif

active proctype Daemon() {
  byte i, at, number, begin, end;
  bool asked;

  i = 0;
  do :: i < N -> log_held[i] = true; i++ :: else -> break od;

start:
  skip;
  /* What the log says. The connection is lost, but an answer that was sent can still be read. */
  d_step {
    i = 0;
    do :: i < N -> mem_held[i] = log_held[i]; i++ :: else -> break od;
    i = 0;
    request = 0;
    lost = true
  };
#ifdef PAGE_WRITTEN_AT_START
  atomic { if :: log_out && page -> cursor_mem = log_begin; limit_mem = log_end; block_mem = log_block :: else fi };
#endif
  if
  :: !page && log_out ->
#ifdef PAGE_GONE_IS_UNUSED
     d_step { i = log_begin; do :: i < log_end -> log_held[i] = true; mem_held[i] = true; i++ :: else -> break od };
#endif
     log_out = false                       /* a gap: nobody knows what was taken of it */
  :: else
  fi;

serve:
  do
  :: atomic { request != 0 -> number = request; request = 0; asked = true };
     if
     :: log_out && log_request == number && block_mem == log_block -> goto answer      /* a repeat: it has it already */
     :: log_out && !(log_request == number && block_mem == log_block) -> goto close    /* it is used up, or was never shown */
     :: else -> goto grant
     fi
  :: atomic { log_out && page && revoked < REVOKE -> revoked++; asked = false }; goto close
  :: atomic { log_out && page && stopped -> asked = false }; goto close                /* its connection has ended */
  :: atomic { mem_held[0] || mem_held[1] || mem_held[2] || mem_held[3] ->              /* an ordinary request of another client */
       at = 0;
       do :: !mem_held[at] -> at++ :: else -> break od;
       mem_held[at] = false; log_held[at] = false };
     STEP;
     use(at); at = 0
#if KILLS > 0
  :: KILLED
#endif
#if CUTS > 0
  :: atomic { cuts < CUTS -> cuts++; page = false; buffer = NONE; stopped = true; goto start }
#endif
  :: stopped && !(log_out && page) -> break
  od;
  goto over;

close:
#if !defined(NO_REVOCATION) && !defined(CURSOR_BEFORE_REVOCATION)
  limit_mem = 0;
  STEP;
#endif
#if !defined(NO_MEMBARRIER) && !defined(CURSOR_BEFORE_REVOCATION)
#ifdef NEARLY_TAKEN
  atomic { if :: block_mem == log_block && cursor_mem + 1 >= log_end -> at = cursor_mem; goto taken :: else fi };
#else
  atomic { if :: block_mem == log_block && cursor_mem == log_end -> at = cursor_mem; goto taken :: else fi };
#endif
  drain();
  STEP;
#endif
#ifdef NO_BLOCK_NUMBER
  at = cursor_mem;
#else
  atomic { if :: block_mem == log_block -> at = cursor_mem :: else -> at = log_begin fi };   /* never shown: all of it */
#endif
taken:
#ifdef CURSOR_BEFORE_REVOCATION
  limit_mem = 0;
  drain();
#endif
  STEP;
#ifdef REST_BEFORE_RECORD
  d_step { i = at; do :: i < log_end -> mem_held[i] = true; i++ :: else -> break od; i = 0 };
  if
  :: at < log_end && mem_held[at] -> mem_held[at] = false; use(at); log_held[at] = false
  :: skip
  fi;
  STEP;
#endif
  d_step {                                                   /* the record: what it knows is what is in the log */
    log_out = false;
    assert(at >= log_begin && at <= log_end);
    i = at; do :: i < log_end -> log_held[i] = true; mem_held[i] = true; i++ :: else -> break od; i = 0; at = 0
  };
  STEP;
  if :: asked -> goto grant :: else -> goto serve fi;

grant:
  asked = false;
  d_step {
    begin = 0;
    do :: begin < N && !mem_held[begin] -> begin++ :: else -> break od;
    end = begin;
    do :: end < N && end < begin + BLOCK && mem_held[end] -> end++ :: else -> break od
  };
  if
  :: begin == N -> nothing_left = true; goto serve
  :: else
  fi;
#ifdef SHOWN_BEFORE_RECORD
  d_step { cursor_mem = begin; limit_mem = end; block_mem = log_block + 1 };
  atomic { answer_begin = begin; answer_end = end; answered = number };
  STEP;
#endif
  d_step {
    i = begin; do :: i < end -> log_held[i] = false; mem_held[i] = false; i++ :: else -> break od; i = 0;
    log_out = true; log_begin = begin; log_end = end; log_request = number; log_block++
  };
#ifndef SHOWN_BEFORE_RECORD
  STEP;
  d_step { cursor_mem = begin; limit_mem = end; block_mem = log_block };
#endif
  STEP;

answer:
  skip;
  d_step { answer_begin = log_begin; answer_end = log_end; answered = number; asked = false; number = 0; begin = 0; end = 0 };
  goto serve;

over:
  skip;
  d_step {
    at = 0; i = 0;
    do :: i < N -> if :: used[i] == 0 && !log_held[i] -> at++ :: else fi; i++ :: else -> break od
  };
#if CUTS == 0
  assert(at <= deaths + revoked + kills);                    /* an ordinary reply that a kill of the daemon takes along, too */
#endif
}
