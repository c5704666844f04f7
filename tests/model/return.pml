/* Returning the rest of a range to the store, so that any host may have it. Two daemons, one counter. Taking a range is one step
   here; lease.pml has what can go wrong with that. A return has a token of its own in the code, one for each range that is given
   back; here it goes by the token of the lease, which comes to the same. The stores keep the token as that of the newest operation
   of its lease slot, and replace it only while it is the one that was seen before: lease.pml, chained.

   this line of the model             = what it stands for
   ----------------------------------------------------------------------------------------------------
   lease                              daemon/core/leasing/lease_operation.cc, daemon/core/sequence/sequence.cc: a range is granted, recorded and durable
   issue                              daemon/core/sequence/issuer.h: reserve() and issue_one(), below a durable reservation
   drop                               daemon/core/sequence/drain.cc: ReturnOpened releases the rest and opens a return
   send                               daemon/core/leasing/store_operation.cc: the request leaves when that record is durable
   deliver()                          the store applies it, at most once for a token
   confirmed                          ReturnClosed, returned
   give_up                            ReturnRequest::give_up: the store makes the token void, and only then ReturnClosed says kept: a gap
   pc_, dk_                           state/state_log.cc: committed, durable
   -DTAIL                             counter lowered by compare-and-set, if it still is the range's end, once for each lease token
   otherwise                          a collection of returned ranges, keyed by the lease token; a range that was taken out of it leaves
                                      its entry behind as a tombstone

   Holds: no ID is issued twice; every ID up to the counter is issued, available, free in the store, a gap or on its way back, and
   exactly one of these; no daemon takes a counter that was lowered by a return for one that was set back (SEQ_REGRESSED). */

#ifndef MAXID
#define MAXID 4
#endif
#ifndef TOKENS
#define TOKENS 3
#endif
#ifndef KILLS
#define KILLS 1
#endif
#ifndef CUTS
#define CUTS 0
#endif
#ifndef REPEATS
#define REPEATS 1
#endif
#define N 2
#define OPEN 0
#define FREE 1          /* in the collection */
#define DONE 2          /* taken out of it, or the counter was lowered: a tombstone */
#define VOID 3

/* --- store */
byte counter;                                   /* the last ID that was leased */
byte entry[TOKENS + 1];                         /* of a lease token: OPEN, FREE, DONE, VOID */
byte entry_begin[TOKENS + 1], entry_end[TOKENS + 1];

/* --- network */
byte under_way[TOKENS + 1], sent_begin[TOKENS + 1], sent_end[TOKENS + 1];
bit answer[TOKENS + 1], refused[TOKENS + 1];

/* --- the logs: available range and its lease; end of the reservation; return in flight; guard: no lease may begin below */
typedef Log { byte begin; byte end; byte reserved; byte token; byte returning; byte first; byte after; byte guard };
Log pc_[2], dk_[2];
bit dirty[2];

/* --- the processes */
bit waiting[2];                                 /* the request of the return was sent by this process */

/* --- ghosts */
byte issued[MAXID + 2], gap[MAXID + 2];
byte tokens, kills, cuts, repeats;
bit unaccounted;
hidden byte i;

inline copy_log(from, to) {
  to.begin = from.begin; to.end = from.end; to.reserved = from.reserved; to.token = from.token; to.returning = from.returning;
  to.first = from.first; to.after = from.after; to.guard = from.guard
}
inline take(d, a_begin, an_end) {
  tokens++; pc_[d].begin = a_begin; pc_[d].end = an_end; pc_[d].reserved = a_begin; pc_[d].token = tokens;
#if defined(GUARD_OF_LEASES) || defined(GUARD_KEPT)
  if :: an_end > pc_[d].guard -> pc_[d].guard = an_end :: else fi;
#endif
  copy_log(pc_[d], dk_[d]); dirty[d] = 0
}
inline deliver(t) {
  under_way[t]--;
#ifdef TAIL
  if
#ifdef BLIND
  :: counter + 1 == sent_end[t] ->
#else
  :: counter + 1 == sent_end[t] && entry[t] == OPEN ->
#endif
     counter = sent_begin[t] - 1; entry[t] = DONE; answer[t] = 1
  :: else -> if :: entry[t] == DONE -> answer[t] = 1 :: else -> refused[t] = 1 fi
  fi
#else
  if
#ifdef BLIND
  :: entry[t] == OPEN || entry[t] == DONE ->
#else
  :: entry[t] == OPEN ->
#endif
     entry[t] = FREE; entry_begin[t] = sent_begin[t]; entry_end[t] = sent_end[t]; answer[t] = 1
  :: else -> if :: entry[t] == VOID -> refused[t] = 1 :: else -> answer[t] = 1 fi
  fi
#endif
}

#define may_take(t) (tokens >= t && entry[t] == FREE)
#define durable(d) (!dirty[d] && dk_[d].returning == pc_[d].returning)
#define daemon(d) \
  /* lease */ \
  :: pc_[d].token == 0 && pc_[d].returning == 0 && tokens < TOKENS && counter + N <= MAXID -> d_step { \
       CHECK_GUARD(d); take(d, counter + 1, counter + N + 1); counter = counter + N } \
  :: pc_[d].token == 0 && pc_[d].returning == 0 && tokens < TOKENS && may_take(1) -> d_step { take(d, entry_begin[1], entry_end[1]); entry[1] = TAKEN } \
  :: pc_[d].token == 0 && pc_[d].returning == 0 && tokens < TOKENS && may_take(2) -> d_step { take(d, entry_begin[2], entry_end[2]); entry[2] = TAKEN } \
  :: pc_[d].token == 0 && pc_[d].returning == 0 && tokens < TOKENS && may_take(3) -> d_step { take(d, entry_begin[3], entry_end[3]); entry[3] = TAKEN } \
  /* issue */ \
  :: pc_[d].reserved == pc_[d].begin && pc_[d].begin < pc_[d].end -> d_step { pc_[d].reserved = pc_[d].begin + 1; dirty[d] = 1 } \
  :: pc_[d].begin < pc_[d].reserved && dk_[d].token == pc_[d].token && dk_[d].reserved == pc_[d].reserved -> d_step { \
       issued[pc_[d].begin]++; assert(issued[pc_[d].begin] <= 1); pc_[d].begin++; dirty[d] = 1; \
       if :: pc_[d].begin > pc_[d].guard -> pc_[d].guard = pc_[d].begin :: else fi; \
       if :: pc_[d].begin == pc_[d].end -> pc_[d].token = 0; pc_[d].begin = 0; pc_[d].end = 0; pc_[d].reserved = 0 :: else fi } \
  /* drop */ \
  :: pc_[d].token != 0 && pc_[d].returning == 0 -> d_step { \
       pc_[d].returning = pc_[d].token; pc_[d].first = pc_[d].begin; pc_[d].after = pc_[d].end; LOWER(d); \
       pc_[d].token = 0; pc_[d].begin = 0; pc_[d].end = 0; pc_[d].reserved = 0; dirty[d] = 1 } \
  /* send */ \
  :: pc_[d].returning != 0 && !waiting[d] && DROP_DURABLE(d) -> atomic { \
       waiting[d] = 1; sent_begin[pc_[d].returning] = pc_[d].first; sent_end[pc_[d].returning] = pc_[d].after; \
       if :: under_way[pc_[d].returning] == 0 -> under_way[pc_[d].returning] = 1 \
          :: repeats < REPEATS -> repeats++; under_way[pc_[d].returning] = 2 \
          :: under_way[pc_[d].returning] > 0 fi } \
  /* confirmed, or not possible any more */ \
  :: pc_[d].returning != 0 && waiting[d] && answer[pc_[d].returning] -> d_step { waiting[d] = 0; pc_[d].returning = 0; pc_[d].first = 0; pc_[d].after = 0; dirty[d] = 1 } \
  :: pc_[d].returning != 0 && waiting[d] -> d_step { GIVE_UP(d) } \
  /* the medium */ \
  :: dirty[d] -> d_step { copy_log(pc_[d], dk_[d]); dirty[d] = 0 } \
  /* kill: R1, goes on from the log. Power cut: R3, all available is a gap; a return that was opened is looked up */ \
  :: kills < KILLS -> d_step { kills++; waiting[d] = 0 } \
  :: cuts < CUTS -> d_step { cuts++; waiting[d] = 0; dirty[d] = 0; copy_log(dk_[d], pc_[d]); \
       if :: pc_[d].token != 0 -> AFTER_CUT(d) :: else fi }

#ifdef ONLY_DUPLICATES
#define CHECK_GUARD(d) skip
#else
#define CHECK_GUARD(d) assert(counter + 1 >= pc_[d].guard)
#endif
#ifdef NO_TOMBSTONE
#define TAKEN OPEN
#else
#define TAKEN DONE
#endif
/* What was returned this host may see the counter at again: with -DTAIL the guard is the end of what was issued or written off,
   and not of what was leased. Lowering the latter to where the return began is not enough: another host may return what is below. */
#if defined(GUARD_OF_LEASES)
#define LOWER(d) pc_[d].guard = (pc_[d].guard == pc_[d].end -> pc_[d].begin : pc_[d].guard)
#else
#define LOWER(d) skip
#endif
#ifdef DROP_NOT_DURABLE
#define DROP_DURABLE(d) 1
#else
#define DROP_DURABLE(d) (dk_[d].returning == pc_[d].returning)
#endif
#ifdef NO_VOID
#define VOID_RETURN(t) skip
#else
#define VOID_RETURN(t) entry[t] = (entry[t] == OPEN -> VOID : entry[t])
#endif
/* OPEN before: it never arrived, and now never will be applied: a gap. FREE, DONE: it was applied. */
#define GIVE_UP(d) \
  VOID_RETURN(pc_[d].returning); waiting[d] = 0; \
  pc_[d].returning = 0; pc_[d].first = 0; pc_[d].after = 0; dirty[d] = 1
/* -DRESUME: goes on behind what was reserved. Either way what the log of before did not know as issued is a gap. */
#ifdef RESUME
#define AFTER_CUT(d) \
  i = pc_[d].begin; do :: i < pc_[d].reserved -> gap[i] = gap[i] + (issued[i] -> 0 : 1); i++ :: else -> break od; i = 0; \
  pc_[d].guard = (pc_[d].begin < pc_[d].reserved -> pc_[d].reserved : pc_[d].guard); pc_[d].begin = pc_[d].reserved; dirty[d] = 1; \
  if :: pc_[d].begin == pc_[d].end -> pc_[d].token = 0; pc_[d].begin = 0; pc_[d].end = 0; pc_[d].reserved = 0 :: else fi
#else
#define AFTER_CUT(d) \
  i = pc_[d].begin; do :: i < pc_[d].end -> gap[i] = gap[i] + (issued[i] -> 0 : 1); i++ :: else -> break od; i = 0; \
  pc_[d].guard = pc_[d].end; pc_[d].token = 0; pc_[d].begin = 0; pc_[d].end = 0; pc_[d].reserved = 0; dirty[d] = 1
#endif

inline network(t) {
  if
  :: under_way[t] > 0 -> d_step { deliver(t) }
  :: under_way[t] > 0 -> under_way[t]--
  :: answer[t] || refused[t] -> d_step { answer[t] = 0; refused[t] = 0 }
  fi
}
#define can_move(t) (under_way[t] > 0 || answer[t] || refused[t])

/* every ID at every moment */
#define available(d, id) (pc_[d].token != 0 && pc_[d].begin <= id && id < pc_[d].end -> 1 : 0)
/* on its way back, unless the store has applied it already */
#define being_returned(d, id) (pc_[d].returning != 0 && pc_[d].first <= id && id < pc_[d].after && entry[pc_[d].returning] == OPEN -> 1 : 0)
#define is_void(t, id) (entry[t] == VOID && sent_begin[t] <= id && id < sent_end[t] -> 1 : 0)
#define is_free(t, id) (entry[t] == FREE && entry_begin[t] <= id && id < entry_end[t] -> 1 : 0)
#define places(id) (issued[id] + gap[id] + available(0, id) + available(1, id) + being_returned(0, id) + being_returned(1, id) \
  + is_void(1, id) + is_void(2, id) + is_void(3, id) + is_free(1, id) + is_free(2, id) + is_free(3, id))
#define accounted(id) (places(id) == (id <= counter -> 1 : 0))

active proctype System() {
  d_step { pc_[0].guard = 0 }
end:
  do
  daemon(0)
  daemon(1)
  :: can_move(1) -> network(1)
  :: can_move(2) -> network(2)
  :: can_move(3) -> network(3)
#ifndef ONLY_DUPLICATES
  :: !(accounted(1) && accounted(2) && accounted(3) && accounted(4)) -> assert(false && unaccounted)
#endif
  od
}
