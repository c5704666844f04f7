/* A block without a page: IDs that a client takes in its own process and counts alone. It says the count once.
 *
 *   this model                | the code (daemon/core/blocks, daemon/rpc/methods/block_methods.cc, client-lib/node/lib/ahead.js)
 *   --------------------------+----------------------------------------------------------------------------------------
 *   sent, replies             | the socket: both are lost with the connection, but a reply that was sent may still be read
 *   ASK, GRANTED, REFUSED     | `block` with nil as slot, and its replies; it is repeated with its number on the next connection
 *   END, ENDED                | `end_block`, and its reply, NO_BLOCK included: the client does nothing with it
 *   log_*                     | the log: outlives the daemon; a grant, an end and a gap are records
 *   mem_*                     | the daemon's memory: after a start what the log says
 *   gap:                      | no connection of the client for 10 s: all IDs of the block are a gap, and the client may go on to take
 *
 * Promises: no ID is used twice. An ID is lost only in a block that was not told, or where a kill took an ordinary reply along.
 *
 * Options: KILLS, of the daemon at any step; BREAKS, of the connection; AWAY: the client may stay away for so long that its block
 * becomes a gap; DIE: the client may die at any step. Mutants stand in runs.txt. */
#ifndef N
#define N 4
#endif
#ifndef BLOCK
#define BLOCK 2
#endif
#ifndef ASKS
#define ASKS 3
#endif
#ifndef KILLS
#define KILLS 0
#endif
#ifndef BREAKS
#define BREAKS 0
#endif

mtype = { ASK, END, GRANTED, REFUSED, ENDED };

byte used[N];
bool log_held[N], mem_held[N];
bool log_out = false, mem_out = false;
byte log_number = 0, log_begin, log_end;      /* of the block that is out, or was out last */

chan sent = [2] of { mtype, byte, byte };     /* request number of the block, IDs taken */
chan replies = [2] of { mtype, byte, byte, byte };
bool lost = false;                            /* the client's connection has ended */
bool stopped = false;                         /* the client: dead, or it has enough */
bool wanted = true;                           /* it has no IDs to ask for any more if not */
byte connection = 0;
byte kills = 0, breaks = 0, untold = 0;

inline use(id) { d_step { used[id]++; assert(used[id] <= 1) } }
#define CLEAR_SENT do :: sent?_,_,_ :: empty(sent) -> break od

#ifdef DIE
#define MAY_DIE if :: goto dead :: skip fi
#else
#define MAY_DIE skip
#endif

active proctype Client() {
  byte number = 0, ask = 0;                   /* ask: its request has no reply yet */
  byte at = 0, begin = 0, limit = 0;          /* the block that it takes from; at == limit == 0: none */
  byte end = 0, end_taken = 0;                /* an end without a reply */
  byte got_begin, got_end;
  bool has = false;

  do
  :: atomic { !lost && !has && ask == 0 && wanted && number < ASKS && nfull(sent) ->
       number++; ask = number; sent!ASK(number, 0) }
     MAY_DIE
  :: atomic { replies?GRANTED(eval(ask), got_begin, got_end) ->
       if
       :: got_begin == got_end -> wanted = false
       :: else -> has = true; begin = got_begin; at = begin; limit = got_end
       fi;
       ask = 0; got_begin = 0; got_end = 0 }
     MAY_DIE
  :: atomic { replies?REFUSED(eval(ask), _, _) -> ask = 0 }
  :: atomic { replies?ENDED(eval(end), _, _) -> end = 0; end_taken = 0 }
  :: has && at < limit ->
     at++;
     MAY_DIE;
     use(at - 1)
     MAY_DIE
#ifdef COUNTED_LATE
  :: atomic { has && at > begin && end == 0 && !lost && nfull(sent) -> end = number; end_taken = at - 1 - begin; sent!END(end, end_taken) }
#else
  :: atomic { has && end == 0 && !lost && nfull(sent) -> end = number; end_taken = at - begin; sent!END(end, end_taken) }
#endif
#ifdef TAKES_ON
     if :: at < limit -> use(at) :: else fi;
#endif
     atomic { has = false; begin = 0; at = 0; limit = 0 }
     MAY_DIE
     /* The next connection: what has no reply is repeated, the oldest first. */
  :: atomic { lost && nempty(replies) -> skip }                            /* it may read what came before the end */
  :: atomic { lost -> lost = false; connection++;
       do :: replies?_,_,_,_ :: empty(replies) -> break od;
       if :: end != 0 -> sent!END(end, end_taken) :: else fi;
       if :: ask != 0 -> sent!ASK(ask, 0) :: else fi }
  :: atomic { !lost && breaks < BREAKS -> breaks++; lost = true; CLEAR_SENT }
  :: !has && ask == 0 && end == 0 && (!wanted || number == ASKS) -> break
  od;
dead:
  atomic { stopped = true; CLEAR_SENT }
}

#define KILLED atomic { kills < KILLS -> kills++; goto start }
#if KILLS > 0
#define STEP if :: KILLED :: skip fi
#else
#define STEP skip
#endif
#define REPLY(kind, n, b, e) atomic { if :: !lost && !stopped && connection == from -> assert(len(replies) < 2); replies!kind(n, b, e) :: else fi }

active proctype Daemon() {
  byte i, at, number, taken, begin, end, from;

  i = 0;
  do :: i < N -> log_held[i] = true; i++ :: else -> break od;

start:
  skip;
  d_step {                                                   /* what the log says; the connection is lost */
    i = 0;
    do :: i < N -> mem_held[i] = log_held[i]; i++ :: else -> break od;
    i = 0; at = 0; number = 0; taken = 0; begin = 0; end = 0; from = 0;
    mem_out = log_out;
    if
    :: kills > 0 -> if :: !stopped -> lost = true :: else fi;
       CLEAR_SENT
    :: else
    fi
  };
#ifdef UNTOLD_AT_START_IS_UNUSED
  d_step {
    if
    :: log_out -> log_out = false; mem_out = false;
       i = log_begin; do :: i < log_end -> log_held[i] = true; mem_held[i] = true; i++ :: else -> break od; i = 0
    :: else
    fi
  };
#endif

serve:
  do
  :: atomic { sent?ASK(number, _) -> from = connection };
     if
     :: mem_out && log_number == number -> begin = log_begin; end = log_end; goto answer       /* a repeat */
#ifndef REPEAT_OF_A_GAP_IS_GRANTED
     :: !mem_out && log_number == number -> REPLY(REFUSED, number, 0, 0)                       /* its block has ended */
#endif
     :: else -> assert(!mem_out); goto grant
     fi
  :: atomic { sent?END(number, taken) -> from = connection };
#ifdef ANY_BLOCK
     if :: mem_out -> goto close
#else
     if :: mem_out && log_number == number -> goto close
#endif
     :: else -> REPLY(ENDED, number, 0, 0)
     fi
#if defined(AWAY) || defined(DIE)
  :: atomic { mem_out && (stopped
#ifdef AWAY
       || lost
#endif
       ) && empty(sent) -> mem_out = false; log_out = false; untold = untold + log_end - log_begin
#ifdef UNTOLD_IS_UNUSED
       ; i = log_begin; do :: i < log_end -> log_held[i] = true; mem_held[i] = true; i++ :: else -> break od; i = 0
#endif
     };
     STEP
#endif
  :: atomic { mem_held[0] || mem_held[1] || mem_held[2] || mem_held[3] ->              /* an ordinary request of another client */
       at = 0;
       do :: !mem_held[at] -> at++ :: else -> break od;
       mem_held[at] = false; log_held[at] = false };
     STEP;
     use(at); at = 0
#if KILLS > 0
  :: KILLED
#endif
  :: stopped && empty(sent) && !mem_out -> break
  od;
  goto over;

close:
  skip;
#ifdef REST_BEFORE_RECORD
  d_step { i = log_begin + taken; do :: i < log_end -> mem_held[i] = true; i++ :: else -> break od; i = 0; at = log_begin + taken };
  if
  :: at < log_end -> mem_held[at] = false; use(at); STEP; log_held[at] = false
  :: else
  fi;
  STEP;
#endif
  d_step {                                                   /* the record: what it knows is what is in the log */
    log_out = false; mem_out = false;
    i = log_begin + taken;
    do :: i < log_end -> log_held[i] = true; mem_held[i] = true; i++ :: else -> break od; i = 0
  };
  STEP;
  REPLY(ENDED, number, 0, 0);
  number = 0; taken = 0;
  goto serve;

grant:
  skip;
  d_step {
    begin = 0;
    do :: begin < N && !mem_held[begin] -> begin++ :: else -> break od;
    end = begin;
    do :: end < N && end < begin + BLOCK && mem_held[end] -> end++ :: else -> break od
  };
  if :: begin == N -> goto answer :: else fi;
#ifdef REPLY_BEFORE_RECORD
  REPLY(GRANTED, number, begin, end);
  STEP;
#endif
  d_step {
    i = begin; do :: i < end -> log_held[i] = false; mem_held[i] = false; i++ :: else -> break od; i = 0;
    log_out = true; mem_out = true; log_number = number; log_begin = begin; log_end = end
  };
  STEP;
#ifdef REPLY_BEFORE_RECORD
  goto serve;
#endif

answer:
  REPLY(GRANTED, number, begin, end);
  number = 0; begin = 0; end = 0;
  goto serve;

over:
  skip;
  d_step {
    at = 0; i = 0;
    do :: i < N -> if :: used[i] == 0 && !log_held[i] -> at++ :: else fi; i++ :: else -> break od
  };
  assert(at <= untold + kills)                               /* an ordinary reply that a kill of the daemon takes along, too */
}
