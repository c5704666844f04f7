/* The register: numbers without gaps. A number belongs to a key of the caller's own, and the store has a record of each number.
   Two hosts that keep nothing, callers that repeat a request after any failure and save a document under its key, cancel, refill,
   confirm, close; answers that are lost, writes that arrive late; a failover; an older copy of the store put in place.

   this line of the model             = what it stands for
   ----------------------------------------------------------------------------------------------------
   plan, look_up                      assign: a host reads the highest number (or a free one), then the record of the key
   INSERT, FILL                       one conditional write: a new record; a free one for this key. Refused: from the beginning
   CANCEL, CONFIRM                    one conditional write each
   drop, late                         no answer came: the write was applied, is lost, or is applied later. A kill is the same
   program                            any number of them for a key: save what was answered
   mark                               in the callers' own table: this key is being cancelled. A save under it fails
   -DREFILL                           what is cancelled is free for the next key; otherwise void
   -DCLOSING                          the period is closed
   -DIN_STEPS                         by a store without transactions: the end is read before what is free, and a close marks the open
                                      numbers one after another before it makes void what is free (daemon/store/mongo/register)
   -DFAILOVERS=n                      a primary that loses what the majority does not have
   -DRESTORE                          a copy is taken and put back, the hosts stop, an administrator goes on
   -DKEY_FIRST                        the key is read before the highest number
   -DKEY_ALONE                        a cancel that names no number
   -DANYONE                           callers cancel what they like; only the register's own answers have to fit
   -DSETTLE                           after a restore the register is told from the callers' tables: this key, this number
   -DREAD_STALE                       a key is read from an older copy: right as long as nothing is cancelled

   Holds: a key has one number until it is cancelled, and a number one key; each number below the highest has a record; each
   document has the number that the register has for its key, and no two have one; what is confirmed stays so; a cancelled key
   gets a number only when it is asked for; nothing is assigned after the close was answered; after a restore no number is answered
   to another key than before.

   The rules, each with the mutant that shows it:
   assign   a number has one record                                            NUMBER_NOT_UNIQUE
            a key has one record that is not cancelled                         KEY_NOT_UNIQUE (with KEY_FIRST or REFILL)
            the highest is read before the key: else a late insert gives a
            cancelled key a number that was not requested                      KEY_FIRST with CANCELS
            what was cancelled has no key any more                             KEY_STAYS
            without an answer the highest is read again                        RETRY_WITH_NEXT_NUMBER
            a batch ends at the first that is refused                          BATCH_UNORDERED
            the key is read where the newest is, not from an older copy        READ_STALE
            both reads see only what the majority has                          KEY_READ_LOCAL, HIGHEST_READ_LOCAL
            answered is what the majority has                                  ANSWERED_LOCAL, CANCEL_ANSWERED_LOCAL
   refill   only while the number is free                                      REFILL_BLIND
            only while its history is as it was read                           REFILL_WITHOUT_HISTORY (with CLOSING)
            a key has one record then, too                                     REFILL_KEY_NOT_UNIQUE
            never to a key it was cancelled for: key and number name one
            assignment for ever                                                REFILL_TO_THE_SAME_KEY
   cancel   compares the key, not the number alone                             CANCEL_BY_NUMBER (with REFILL)
            compares the number, not the key alone                             CANCEL_BY_KEY
            the caller names both, or the key is not used again                KEY_ALONE REOPENED
            not what is confirmed                                              CANCEL_CONFIRMED
   confirm  compares key and number                                            CONFIRM_BLIND, CONFIRM_BY_NUMBER
   callers  cancel only what is not saved                                      CANCEL_SAVED
            and mark it first, so that no program saves it meanwhile           NO_MARK
            use the key again only when the cancel was answered                REOPENED_UNANSWERED
            and no program has the former number any more                      REOPENED_WHILE_HELD
   close    is a record under the next number, not a flag elsewhere            CLOSE_BY_FLAG
            and makes void what is free                                        CLOSE_KEEPS_FREE
            in steps: it marks what is assigned or free, and nothing that is
            marked becomes free or is refilled                                 UNMARKED, MARKS_ASSIGNED_ONLY
   restore  a host compares its heartbeat in the store with what it remembers  NO_HEARTBEAT
            has written one since the copy was taken                           COPY_AFTER_HEARTBEAT
            and remembers it when it is killed                                 HEARTBEAT_IN_MEMORY
            it does so before it answers from the record of a key, too         LOOKUP_UNCHECKED
            no write of before the restore arrives after it                    WRITES_SURVIVE
            numbers up to the highest that a host has seen become void         NO_HIGH_WATER
            hosts remember that when they are killed                           HIGH_WATER_IN_MEMORY
            all of them have stopped and told it                               RESTORE_UNDER_WRITES
            with refill: what is free, or assigned and not confirmed, becomes
            void: others may have had it since                                 FREE_KEPT, ASSIGNED_KEPT
            documents are settled with their numbers before anybody asks       NOT_SETTLED
            programs forget what they were answered before                     ANSWERS_KEPT
   No rules: a key has one record, where the highest is read first and nothing is refilled (the number says it); a high water that
   is compared (NO_HIGH_CHECK: heartbeats notice it before). */

#ifndef N
#define N 3             /* numbers, 4 at most */
#endif
#ifndef KEYS
#define KEYS 2
#endif
#ifndef CANCELS
#define CANCELS 0
#endif
#ifndef FAILOVERS
#define FAILOVERS 0
#endif

/* --- the store: a record for each number */
#define NONE 0
#define ASSIGNED 1
#define CONFIRMED 2
#define VOID 3
#define FREE 4
#define END 5           /* no number: the period is closed */
byte key[5];            /* of who has it now: unique; 0 once it was cancelled */
byte state[5];
byte had[5];            /* the keys it was cancelled for, a bit each */

/* --- what the hosts do */
#define IDLE 0
#define PLANNED 1       /* the highest was read, then the key is */
#define PLANNED_FILL 2  /* a free number was read */
#define INSERT 3
#define FILL 4
#define CANCEL_READ 5   /* only for a cancel that names no number */
#define CANCEL 6
#define CONFIRM 7
#define CLOSE 8
#define CLOSE_FREE 9
#define WAIT 10         /* applied by the primary, not yet by the majority */
#define WAIT_CANCEL 11
#define LOOK 12         /* in steps: the highest and the end were read, what is free is not */
#define CLOSE_MARK 13
byte step[2], for_key[2], at[2];
#ifdef REFILL
byte history[2];        /* of the free number, as it was read */
#endif
#ifdef IN_STEPS
bit marked[5];          /* open when the period was closed */
#define MARKED(n) marked[n]
#else
#define MARKED(n) 0
#endif
bit two[2];             /* a batch: this key, and the other one under the next number */

/* --- a write that the host gave up and that may still arrive */
byte late, late_key, late_at, late_history;
bit late_two;

/* --- the callers: each key has one document, and any number of programs that ask and save */
byte answered[4];       /* the number the programs of a key have */
byte document[4];       /* the number that was saved under a key */
byte cancels;
byte mark[4];           /* in the callers' table: this number is being cancelled, and no program saves under the key */
bit cancelled[4];       /* and the cancel of it was answered */
byte old[4];            /* mutants: a program still has the number of before the cancel */
byte owner[5];          /* ghost: the key that a number was answered to, until it is cancelled */
byte confirmed[5];      /* ghost: the key that it was confirmed for */
bit quiet[4];           /* ghost: cancelled, and not asked for since */
bit closed;             /* the close was answered */

#if defined(RESTORE) || defined(READ_STALE)
byte older_key[5], older_state[5], older_had[5];
byte phase;             /* 1: a copy was taken, 2: it was put back, 3: an administrator went on */
#else
#define phase 0
#endif
#ifdef RESTORE
bit beaten[2];          /* has written its heartbeat since the copy was taken */
bit regressed[2];       /* its heartbeat in the store is older than the one it remembers */
bit reported[2];        /* it has stopped and told its high water */
byte high[2];           /* the highest number it has seen */
#endif
#if FAILOVERS
byte safe_key[5], safe_state[5];        /* what the majority has */
byte failovers;
#endif

hidden byte i, m, to, fine;    /* fine: the write was applied */

#define next_key(x) (x % KEYS + 1)
#define first_of(a, x) (a[1] == x -> 1 : (a[2] == x -> 2 : (a[3] == x -> 3 : (a[4] == x -> 4 : 0))))
#define highest_of(a) (a[4] != NONE -> 4 : (a[3] != NONE -> 3 : (a[2] != NONE -> 2 : (a[1] != NONE -> 1 : 0))))
#define differs(n) (state[n] != safe_state[n] || key[n] != safe_key[n])
#define largest(a, b) (a > b -> a : b)

/* --- where the mutants differ */
#ifdef NUMBER_NOT_UNIQUE
#define number_taken(n) 0
#else
#define number_taken(n) (state[n] != NONE)
#endif
#ifdef KEY_NOT_UNIQUE
#define key_taken(x) 0
#else
#define key_taken(x) (first_of(key, x) != 0)
#endif
#ifdef REFILL_KEY_NOT_UNIQUE
#define key_taken_refill(x) 0
#else
#define key_taken_refill(x) key_taken(x)
#endif
#if defined(REFILL_BLIND)
#define may_fill(n, h) 1
#elif defined(REFILL_WITHOUT_HISTORY)
#define may_fill(n, h) (state[n] == FREE)
#else
#define may_fill(n, h) (state[n] == FREE && had[n] == h && !MARKED(n))
#endif
#ifdef REFILL_TO_THE_SAME_KEY
#define free_now(n, x) (state[n] == FREE)
#else
#define free_now(n, x) (state[n] == FREE && !(had[n] & (1 << x)) && !MARKED(n))
#endif
#ifdef CANCEL_BY_NUMBER
#define cancel_means(n, x) (key[n] != 0)
#else
#define cancel_means(n, x) (key[n] == x)
#endif
#ifdef CANCEL_CONFIRMED
#define may_cancel(n) 1
#else
#define may_cancel(n) (state[n] == ASSIGNED)
#endif
#if defined(CONFIRM_BLIND)
#define may_confirm(n, x) 1
#elif defined(CONFIRM_BY_NUMBER)
#define may_confirm(n, x) (state[n] == ASSIGNED || state[n] == CONFIRMED)
#else
#define may_confirm(n, x) (key[n] == x)
#endif
#ifdef REFILL
#define AFTER_CANCEL FREE
#define free_for(x) (free_now(1, x) -> 1 : (free_now(2, x) -> 2 : (free_now(3, x) -> 3 : 0)))
#else
#define AFTER_CANCEL VOID
#define free_for(x) 0
#endif
/* which copy is read */
#if FAILOVERS && !defined(KEY_READ_LOCAL)
#define found(x) first_of(safe_key, x)
#elif defined(READ_STALE)
#define found(x) (phase -> first_of(older_key, x) : first_of(key, x))
#else
#define found(x) first_of(key, x)
#endif
#if FAILOVERS && !defined(HIGHEST_READ_LOCAL)
#define highest highest_of(safe_state)
#else
#define highest highest_of(state)
#endif
#ifdef ANSWERED_LOCAL
#define is_safe(d) 1
#else
#define is_safe(d) (safe_key[at[d]] == for_key[d])
#endif
#ifdef CANCEL_ANSWERED_LOCAL
#define cancel_is_safe(d) 1
#else
#define cancel_is_safe(d) (safe_key[at[d]] != for_key[d])
#endif

/* --- what has to hold */
#define same(x, y) (document[x] != 0 && document[x] == document[y])
#define has_its_number(x) (document[x] == 0 || (key[document[x]] == x && state[document[x]] <= CONFIRMED))
#if defined(RESTORE) && defined(SETTLE)
#define registered(x) (phase == 2 || has_its_number(x))
#elif defined(RESTORE)
#define registered(x) 1                 /* what was lost with the store can be in no register */
#elif defined(ANYONE)
#define registered(x) 1                 /* the callers' rule is broken, and only the register's own answers have to fit */
#else
#define registered(x) has_its_number(x)
#endif
#define check() \
  assert(registered(1) && registered(2) && registered(3)); \
  assert(ANYHOW || !(same(1, 2) || same(1, 3) || same(2, 3))); \
  assert(confirmed[1] == 0 || (state[1] == CONFIRMED && key[1] == confirmed[1])); \
  assert(confirmed[2] == 0 || (state[2] == CONFIRMED && key[2] == confirmed[2])); \
  assert(confirmed[3] == 0 || (state[3] == CONFIRMED && key[3] == confirmed[3]))
#ifdef ANYONE
#define ANYHOW 1
#else
#define ANYHOW 0
#endif

#ifdef RESTORE
#ifdef NO_HEARTBEAT
#define stops(d) (highest < high[d])
#else
#define stops(d) (regressed[d] || HIGH_CHECK(d))
#ifdef NO_HIGH_CHECK
#define HIGH_CHECK(d) 0
#else
#define HIGH_CHECK(d) (highest < high[d])
#endif
#endif
#define SEEN(d, n) high[d] = largest(high[d], n)
#define STOP(d) reported[d] = 1
#ifdef LOOKUP_UNCHECKED
#define CHECKED 0
#else
#define CHECKED 1
#endif
#else
#define stops(d) 0
#define SEEN(d, n) skip
#define STOP(d) skip
#define CHECKED 1
#endif
#ifdef CLOSING
#define refuses (CLOSED_SEEN)
#else
#define refuses 0
#endif
#ifdef CLOSE_BY_FLAG
#define CLOSED_SEEN closed
#else
#define CLOSED_SEEN (first_of(state, END) != 0)
#endif

/* an ask for the key that is not given up */
#define asks(d, x) (step[d] >= PLANNED && step[d] <= FILL && (for_key[d] == x || (two[d] && next_key(for_key[d]) == x)))
#define busy(x) (asks(0, x) || asks(1, x))

/* --- the store applies a write */
inline insert(n, x) {
  fine = !number_taken(n) && !key_taken(x);
  if
  :: fine ->
#ifndef ONLY_DUPLICATES
     assert(n == 1 || state[n - 1] != NONE);                                   /* no hole */
#endif
     assert(!closed);
#ifndef REFILL
     assert(!quiet[x]);
#endif
     key[n] = x; state[n] = ASSIGNED
  :: else
  fi
}
inline apply(what, x, n, h, both) {
  fine = 0;
  if
  :: what == INSERT ->
     insert(n, x);
#ifdef BATCH
     if
#ifdef BATCH_UNORDERED
     :: both && n < N -> insert(n + 1, next_key(x)); fine = 0
#else
     :: both && n < N && fine -> insert(n + 1, next_key(x)); fine = 1
#endif
     :: else
     fi
#endif
  :: what == FILL ->
     fine = may_fill(n, h) && !key_taken_refill(x);
     if :: fine -> assert(!closed); key[n] = x; state[n] = ASSIGNED :: else fi
  :: what == CANCEL ->
#ifdef CANCEL_BY_KEY
     m = first_of(key, x);
     fine = m != 0 && may_cancel(m);
#else
     m = n;
     fine = cancel_means(n, x) && may_cancel(n);
#endif
     if
     :: fine ->
#if defined(NO_MARK) || defined(REOPENED_WHILE_HELD)
        old[key[m]] = answered[key[m]];
#endif
        quiet[key[m]] = !busy(key[m]);
        answered[key[m]] = 0; owner[m] = 0;
#ifdef REFILL
        had[m] = had[m] | (1 << key[m]);
#endif
#ifndef KEY_STAYS
        key[m] = 0;
#endif
        state[m] = (MARKED(m) -> VOID : AFTER_CANCEL)
     :: else
     fi;
     m = 0
  :: what == CONFIRM ->
     fine = may_confirm(n, x);
     if :: fine -> state[n] = CONFIRMED; confirmed[n] = x :: else fi
  fi;
  check()
}
inline answer(d, x, n) {
#ifndef ONLY_DUPLICATES
  assert(answered[x] == 0 || answered[x] == n);                                 /* one key, one number */
#endif
  assert(owner[n] == 0 || owner[n] == x);                                       /* one number, one key */
  answered[x] = n; owner[n] = x;
  SEEN(d, n)
}
#ifdef REFILL
#define PLAN(d, x) if :: free_for(x) && at[d] <= N -> step[d] = PLANNED_FILL; history[d] = had[at[d]] :: else -> step[d] = PLANNED fi
#define history_of(d) history[d]
#define FORGET(d) history[d] = 0
#else
#define PLAN(d, x) step[d] = PLANNED
#define history_of(d) 0
#define FORGET(d) skip
#endif
inline rest(d) { step[d] = IDLE; for_key[d] = 0; at[d] = 0; two[d] = 0; FORGET(d) }

/* The highest is read before the key. */
inline plan(d, x) {
  if
  :: stops(d) && CHECKED -> STOP(d)
  :: else ->
#ifdef IN_STEPS
     at[d] = highest + 1;
     SEEN(d, highest);
     at[d] = (refuses -> N + 1 : at[d]);
     for_key[d] = x; step[d] = LOOK; quiet[x] = 0;
#else
     at[d] = (free_for(x) -> free_for(x) : highest + 1);
     SEEN(d, highest);
     at[d] = (refuses -> N + 1 : at[d]);
     for_key[d] = x; PLAN(d, x); quiet[x] = 0;
#endif
#ifdef KEY_FIRST
     m = found(x);
     if
     :: m != 0 -> answer(d, x, m); rest(d)
     :: else -> at[d] = 0
     fi
#endif
  fi;
  m = 0
}
inline look_for_free(d) {
  to = for_key[d];
  at[d] = (at[d] <= N && free_for(to) -> free_for(to) : at[d]);
  PLAN(d, to);
  to = 0
}
inline look_up(d) {
#ifdef KEY_FIRST
  at[d] = highest + 1;
  if :: at[d] > N -> rest(d) :: else -> step[d] = INSERT fi
#else
  m = found(for_key[d]);
  if
  :: stops(d) && (CHECKED || m == 0) -> STOP(d); rest(d)
  :: m != 0 && !(stops(d) && CHECKED) -> answer(d, for_key[d], m); rest(d)
  :: m == 0 && !stops(d) && at[d] > N -> rest(d)
  :: m == 0 && !stops(d) && at[d] <= N -> step[d] = (step[d] == PLANNED -> INSERT : FILL)
  fi;
  m = 0
#endif
}
/* with its answer */
inline send(d) {
  to = for_key[d];
  apply(step[d], to, at[d], history_of(d), two[d]);
  if
  :: fine && step[d] <= FILL ->
#if FAILOVERS
     step[d] = WAIT
#else
     answer(d, to, at[d]); rest(d)
#endif
#if FAILOVERS
  :: step[d] == CANCEL && (fine || key[at[d]] != to) -> step[d] = WAIT_CANCEL
#else
  :: step[d] == CANCEL && (fine || key[at[d]] != to) -> cancelled[to] = (mark[to] == at[d]); rest(d)
#endif
  :: else -> rest(d)
  fi;
  fine = 0; to = 0
}
inline drop(d) {
#ifdef RETRY_WITH_NEXT_NUMBER
  if
  :: step[d] == INSERT && at[d] < N -> at[d]++
  :: else -> rest(d)
  fi
#else
  rest(d)
#endif
}
#define sends(d) (step[d] == INSERT || step[d] == FILL || step[d] == CANCEL || step[d] == CONFIRM)

#if KEYS > 2
#define THIRD(option) :: option
#else
#define THIRD(option)
#endif
#define host(d) \
  :: step[d] == IDLE -> d_step { plan(d, 1) } \
  :: step[d] == IDLE -> d_step { plan(d, 2) } \
  THIRD(step[d] == IDLE -> d_step { plan(d, 3) }) \
  :: step[d] == PLANNED || step[d] == PLANNED_FILL -> d_step { look_up(d) } \
  LOOKS(d) \
  BATCHES(d) \
  :: sends(d) -> d_step { send(d) } \
  :: sends(d) -> d_step { apply(step[d], for_key[d], at[d], history_of(d), two[d]); fine = 0; drop(d) } \
  :: sends(d) -> d_step { drop(d) } \
  :: sends(d) && late == 0 && LATE -> d_step { \
       late = step[d]; late_key = for_key[d]; late_at = at[d]; late_history = history_of(d); late_two = two[d]; drop(d) }
#ifndef LATE
#define LATE 1
#endif
#ifdef IN_STEPS
#define LOOKS(d) :: step[d] == LOOK -> d_step { look_for_free(d) }
#else
#define LOOKS(d)
#endif
#ifdef BATCH
/* both keys of the batch were not found; it may break off behind the first */
#define BATCHES(d) \
  :: step[d] == INSERT && !two[d] && found(next_key(for_key[d])) == 0 -> d_step { two[d] = 1; quiet[next_key(for_key[d])] = 0 } \
  :: step[d] == INSERT && two[d] -> d_step { apply(INSERT, for_key[d], at[d], 0, 0); fine = 0; drop(d) }
#else
#define BATCHES(d)
#endif

/* --- the callers */
#if defined(ANYONE) || defined(CANCEL_SAVED)
#define MARKS 0
#define named(x) answered[x]
#define begins_cancel(x) (cancels < CANCELS)
#define BEGIN_CANCEL(x) cancels++
#elif defined(NO_MARK)
#define MARKS 0
#define named(x) answered[x]
#define begins_cancel(x) (cancels < CANCELS && document[x] == 0)
#define BEGIN_CANCEL(x) cancels++
#else
#define MARKS 1
#define named(x) mark[x]
#define begins_cancel(x) (mark[x] != 0 && !cancelled[x])
#define BEGIN_CANCEL(x) skip
#endif
/* -DKEY_ALONE: a cancel names no number, and the host reads which it is; then a cancelled key is not used again. */
#ifdef KEY_ALONE
#define cancelled_by(d, x) \
  :: step[d] == IDLE && begins_cancel(x) -> d_step { BEGIN_CANCEL(x); for_key[d] = x; step[d] = CANCEL_READ } \
  :: step[d] == CANCEL_READ && for_key[d] == x -> d_step { \
       at[d] = found(x); \
       if :: at[d] -> step[d] = CANCEL :: else -> cancelled[x] = (mark[x] != 0); rest(d) fi }
#else
#define cancelled_by(d, x) \
  :: step[d] == IDLE && begins_cancel(x) && named(x) != 0 -> d_step { \
       BEGIN_CANCEL(x); for_key[d] = x; at[d] = named(x); step[d] = CANCEL }
#endif
#if defined(KEY_ALONE) && !defined(REOPENED)
#define may_reopen(x) 0
#elif defined(REOPENED_UNANSWERED)
#define may_reopen(x) (mark[x] != 0)
#else
#define may_reopen(x) (mark[x] != 0 && cancelled[x])
#endif
#define confirmed_by(d, x) \
  :: step[d] == IDLE && document[x] != 0 && state[document[x]] == ASSIGNED -> d_step { \
       for_key[d] = x; at[d] = document[x]; step[d] = CONFIRM }
#if defined(RESTORE) && !defined(SETTLE)
#define SAVES 0
#else
#define SAVES 1
#endif
#define program(x) \
  :: SAVES && document[x] == 0 && answered[x] != 0 && mark[x] == 0 -> d_step { document[x] = answered[x]; check() } \
  :: document[x] == 0 && old[x] != 0 && mark[x] == 0 -> d_step { document[x] = old[x]; check() } \
  :: cancels < CANCELS && document[x] == 0 && mark[x] == 0 && answered[x] != 0 && MARKS -> d_step { mark[x] = answered[x]; cancels++ } \
  :: may_reopen(x) -> d_step { mark[x] = 0; cancelled[x] = 0 }
/* From the callers' tables: this key has a document with this number. */
inline settle(x) {
  if
  :: document[x] != 0 ->
     to = first_of(key, x);
     if :: to != 0 -> key[to] = 0; state[to] = VOID :: else fi;
     key[document[x]] = x; state[document[x]] = CONFIRMED; to = 0
  :: else
  fi
}
#ifdef ANSWERS_KEPT
#define FORGET_ANSWERS skip
#else
#define FORGET_ANSWERS answered[1] = 0; answered[2] = 0; answered[3] = 0        /* the programs are started again */
#endif

#if defined(IN_STEPS) && !defined(UNMARKED)
#define BEGIN_SWEEP at[0] = 1; step[0] = CLOSE_MARK
#else
#define BEGIN_SWEEP at[0] = 0; step[0] = CLOSE_FREE
#endif
#ifdef MARKS_ASSIGNED_ONLY
#define may_mark(n) (state[n] == ASSIGNED)
#else
#define may_mark(n) (state[n] == ASSIGNED || state[n] == FREE)
#endif

active proctype System() {
end:
  do
  host(0)
  host(1)
  program(1)
  program(2)
#if KEYS > 2
  program(3)
#endif
  :: late -> d_step { apply(late, late_key, late_at, late_history, late_two); fine = 0; late = 0; late_key = 0; late_at = 0; late_history = 0; late_two = 0 }
  :: late -> d_step { late = 0; late_key = 0; late_at = 0; late_history = 0; late_two = 0 }
#if CANCELS
  cancelled_by(0, 1)
  cancelled_by(0, 2)
  cancelled_by(1, 1)
  cancelled_by(1, 2)
#endif
#ifdef CONFIRMING
  confirmed_by(0, 1)
  confirmed_by(0, 2)
  confirmed_by(1, 1)
  confirmed_by(1, 2)
#endif
#ifdef CLOSING
  :: step[0] == IDLE && !closed && highest < N -> d_step {
#ifdef CLOSE_BY_FLAG
       closed = 1
#else
       at[0] = highest + 1; step[0] = CLOSE
#endif
     }
  :: step[0] == CLOSE -> d_step {
       if
       :: first_of(state, END) != 0 -> BEGIN_SWEEP
       :: first_of(state, END) == 0 && state[at[0]] == NONE -> state[at[0]] = END; BEGIN_SWEEP
       :: else -> rest(0)
       fi }
#ifdef IN_STEPS
  :: step[0] == CLOSE_MARK -> d_step {
       if
       :: at[0] <= N && may_mark(at[0]) -> marked[at[0]] = 1; at[0]++
       :: at[0] <= N && !may_mark(at[0]) -> at[0]++
       :: at[0] > N -> at[0] = 0; step[0] = CLOSE_FREE
       fi }
#endif
  :: step[0] == CLOSE_FREE -> d_step {
#ifndef CLOSE_KEEPS_FREE
       i = 1; do :: i <= N -> state[i] = (state[i] == FREE -> VOID : state[i]); i++ :: else -> break od; i = 0;
#endif
       closed = 1; rest(0) }
#endif
#if FAILOVERS
  :: step[0] == WAIT && is_safe(0) -> d_step { to = for_key[0]; answer(0, to, at[0]); rest(0); to = 0 }
  :: step[1] == WAIT && is_safe(1) -> d_step { to = for_key[1]; answer(1, to, at[1]); rest(1); to = 0 }
#if CANCELS
  :: step[0] == WAIT_CANCEL && cancel_is_safe(0) -> d_step { to = for_key[0]; cancelled[to] = (mark[to] == at[0]); rest(0); to = 0 }
  :: step[1] == WAIT_CANCEL && cancel_is_safe(1) -> d_step { to = for_key[1]; cancelled[to] = (mark[to] == at[1]); rest(1); to = 0 }
#endif
  :: differs(1) || differs(2) || differs(3) -> d_step {
       i = 1;
       do
       :: i <= N ->
          if
          :: safe_key[i] != 0 && key[i] == 0 -> to = safe_key[i]; answered[to] = (answered[to] == i -> 0 : answered[to]); owner[i] = 0
          :: else
          fi;
          safe_key[i] = key[i]; safe_state[i] = state[i]; i++
       :: else -> break
       od;
       i = 0; to = 0 }
  :: failovers < FAILOVERS && (differs(1) || differs(2) || differs(3)) -> d_step { failovers++;
       i = 1; do :: i <= N -> key[i] = safe_key[i]; state[i] = safe_state[i]; i++ :: else -> break od; i = 0;
       if :: step[0] >= WAIT -> rest(0) :: else fi; if :: step[1] >= WAIT -> rest(1) :: else fi }
#endif
#if defined(RESTORE) || defined(READ_STALE)
  :: phase == 0 -> d_step { phase = 1;
       i = 1; do :: i <= N -> older_key[i] = key[i]; older_state[i] = state[i]; older_had[i] = had[i]; i++ :: else -> break od; i = 0 }
#endif
#ifdef RESTORE
  :: phase == 1 && !beaten[0] -> beaten[0] = 1
  :: phase == 1 && !beaten[1] -> beaten[1] = 1
#ifdef COPY_AFTER_HEARTBEAT
  :: phase == 1 -> d_step { phase = 2;
#else
  :: phase == 1 && beaten[0] && beaten[1] -> d_step { phase = 2;
#endif
       regressed[0] = beaten[0]; regressed[1] = beaten[1]; beaten[0] = 0; beaten[1] = 0;
       i = 1; do :: i <= N -> key[i] = older_key[i]; state[i] = older_state[i]; had[i] = older_had[i];
                older_key[i] = 0; older_state[i] = 0; older_had[i] = 0; i++ :: else -> break od; i = 0;
#ifndef WRITES_SURVIVE
       late = 0; late_key = 0; late_at = 0; late_history = 0; late_two = 0; rest(0); rest(1);
#endif
     }
#ifdef HIGH_WATER_IN_MEMORY
  :: high[0] && step[0] == IDLE -> high[0] = 0
#endif
#ifdef HEARTBEAT_IN_MEMORY
  :: regressed[0] -> regressed[0] = 0
#endif
#ifdef RESTORE_UNDER_WRITES
  :: phase == 2 && (reported[0] || reported[1]) -> d_step { phase = 3;
       m = largest((reported[0] -> high[0] : 0), (reported[1] -> high[1] : 0));
#else
  :: phase == 2 && reported[0] && reported[1] -> d_step { phase = 3; m = largest(high[0], high[1]);
#endif
#if defined(SETTLE) && !defined(NOT_SETTLED)
       settle(1); settle(2);
#endif
       i = 1;
       do
       :: i <= N ->
          if
#ifndef NO_HIGH_WATER
          :: i <= m && state[i] == NONE -> state[i] = VOID
#endif
#ifdef REFILL
#ifndef FREE_KEPT
          :: state[i] == FREE -> state[i] = VOID
#endif
#ifndef ASSIGNED_KEPT
          :: state[i] == ASSIGNED -> state[i] = VOID; key[i] = 0
#endif
#endif
          :: else
          fi;
          i++
       :: else -> break
       od;
       i = 0; m = 0; regressed[0] = 0; regressed[1] = 0; reported[0] = 0; reported[1] = 0;
       FORGET_ANSWERS }
#endif
  od
}
