/* Taking a range from the store, when the answer may be lost, the request may be late or come twice, the daemon may be killed,
   the power may go, foreign writers move the same counter, and a copy of the state directory knows the same token.

   this line of the model             = this function of the code
   ----------------------------------------------------------------------------------------------------
   lease_start                        daemon/core/leasing/store_operation.cc: begin()
   lease_send                         daemon/core/leasing/store_operation.cc: durable(); lease_operation.cc: send()
   lease_granted()                    daemon/core/leasing/lease_operation.cc: granted(); daemon/core/sequence/sequence.cc: leased()
   lease_unknown                      daemon/core/leasing/lease_operation.cc: outcome()
   lease_resolve                      daemon/core/leasing/lease_operation.cc: look_up(), resolution()
   use                                daemon/core/sequence/issuer.h: reserve(), then issue_one(): only what was recorded and is durable
   restart after a kill               daemon/core/sequence/sequence_restart.cc: scope_owned(), adopt()
   forfeit()                          state/start_rules.cc: Transformation::forfeit(); daemon/core/sequence/sequence_restart.cc: scope_lost()
   store_lease, ledger                store/sqlite_store.cc: SqliteStore::lease(); a transaction with counter and token elsewhere
   store_resolve(), ledger            store/sqlite_store.cc: SqliteStore::resolve()
   store_lease, -DSLOT                one conditional write: counter, and the instance's slot, from the token read before to this one
   -DPLAIN                            store/mongo/mongo_store.cc: MongoStore::resolve() says untraceable
   -DSESSION                          a numbered write that the server remembers, announced in the instance's record
   announce(), lease_announced        store/mongo/lease/mongo_counter_traced.cc: MongoCounter::increment_as_numbered()
   store_resolve(), -DSESSION         store/mongo/documents/mongo_lease_resolution.cc: MongoLeaseRecords::resolve(), resolve_sent()
   forget                             the server drops sessions not used for 30 minutes, or is restored without them
   pc_, dk_                           state/state_log.cc: committed, durable
   CLAIM_..                           daemon/core/leasing/store_scope.cc (start.pml has the whole of it)

   Holds: no ID is used twice. At the end every ID that was taken from the counter has one owner, or belongs to a lease that some
   log closed as untraceable; after kills alone, with ledger or slot, or a session that is not forgotten, there is none of those.
   A token is applied once. Supposed with SESSION: no request is under way for as long as a server remembers a session. */

#ifndef TOKENS
#define TOKENS 2        /* leases that are begun; 0 is no lease */
#endif
#ifndef KILLS
#define KILLS 2
#endif
#ifndef CUTS
#define CUTS 0
#endif
#ifndef STOPS
#define STOPS 0
#endif
#ifndef FOREIGN
#define FOREIGN 1
#endif
#ifndef REPEATS
#define REPEATS 1       /* requests that the network delivers twice */
#endif
#ifndef FORGETS
#define FORGETS 0       /* how often the server forgets its sessions */
#endif
#define N 2
#define LAST (2 * TOKENS * N + FOREIGN)
#define INSTANCES 3
#define VOID 100        /* nothing was leased under the token, and never will be */
#define ABSENT 0
#define SENT 99         /* the record of a session's lease, until it is given up */
#define FORGOTTEN 98    /* given up after the server had forgotten the session: asked again, it is untraceable again */

/* --- store */
byte counter;
byte ledger[TOKENS + 1];                            /* ABSENT, VOID or the first ID */
byte slot_token[INSTANCES + 1], slot_first[INSTANCES + 1];

#ifdef SESSION
byte memo[TOKENS + 1];                              /* the first statement of a number: 0, VOID or the first ID */
bit announced[TOKENS + 1];                          /* the other one is remembered */
byte announcing[TOKENS + 1];                        /* deliveries of an announcement that are to come */
bit confirmed[TOKENS + 1];                          /* a reply to it */
byte forgets;
#endif

/* --- network */
byte under_way[TOKENS + 1];                         /* deliveries of a request that are to come */
byte expects[TOKENS + 1], sender[TOKENS + 1];
byte answer[TOKENS + 1];                            /* a reply: the first ID */

/* --- log. Of a lease: 1 available, 2 reserved, 3 issued or a gap, 4 closed as untraceable */
typedef Log { byte intent; byte lease[TOKENS + 1]; byte instance; byte epoch; bit clean };
Log pc_, dk_, copy_;
bit dirty;
byte epoch[INSTANCES + 1];                          /* in the store */
byte copies;                                        /* 1 there is one, 2 it was started */

/* --- ghosts */
byte first_of[TOKENS + 1], applied[TOKENS + 1];     /* what the store gave for a token, and how often */
byte owners[LAST + 3], users[LAST + 3];
byte kills, cuts, stops, foreign, repeats;
bit harmed;

/* --- the process */
mtype = { DOWN, IDLE, RECORDING, ANNOUNCING, REQUESTING, RESOLVING, LEAVING };
mtype state = DOWN;
byte tokens;                                        /* drawn so far: they are random and never drawn again */
byte instances = 1;
byte before;                                        /* the counter when the lease was begun, for the mutant that guesses */
hidden byte i, found;

inline copy_log(from, to) {
  to.intent = from.intent; to.clean = from.clean; to.instance = from.instance; to.epoch = from.epoch; i = 0;
  do :: i <= TOKENS -> to.lease[i] = from.lease[i]; i++ :: else -> break od; i = 0
}
inline own(first) { owners[first]++; assert(owners[first] <= 1); owners[first + 1]++; assert(owners[first + 1] <= 1) }
inline issue(first) { users[first]++; assert(users[first] <= 1); users[first + 1]++; assert(users[first + 1] <= 1) }

inline take_range(t) { applied[t]++; first_of[t] = counter + 1; answer[t] = first_of[t]; counter = counter + N }
inline store_lease(t) {
#if defined(PLAIN) || defined(NO_TOKEN)
  take_range(t)
#elif defined(SESSION)
  if
  :: memo[t] == ABSENT -> take_range(t); memo[t] = first_of[t]
  :: memo[t] == VOID -> skip
  :: else -> answer[t] = memo[t]
  fi
#elif defined(SLOT)
  if
  :: slot_token[sender[t]] == t -> answer[t] = (slot_first[sender[t]] == VOID -> 0 : slot_first[sender[t]])
#ifdef SLOT_NOT_CHAINED
  :: slot_token[sender[t]] != t -> take_range(t); slot_token[sender[t]] = t; slot_first[sender[t]] = first_of[t]
#else
  :: slot_token[sender[t]] != t && slot_token[sender[t]] == expects[t] ->
     take_range(t); slot_token[sender[t]] = t; slot_first[sender[t]] = first_of[t]
#endif
  :: else
  fi
#else
  if
  :: ledger[t] == ABSENT -> take_range(t); ledger[t] = first_of[t]
  :: ledger[t] == VOID -> skip
  :: else -> answer[t] = ledger[t]
  fi
#endif
}
#ifdef SESSION
inline announce(t) {
  if
  :: announced[t] -> confirmed[t] = 1
  :: !announced[t] && slot_token[sender[t]] == expects[t] ->
     slot_token[sender[t]] = t; slot_first[sender[t]] = SENT; announced[t] = 1; confirmed[t] = 1
  :: else
  fi
}
#endif
inline store_resolve(who, t) {
#if defined(GUESS_BY_COUNTER)
  found = (counter >= before + N -> before + 1 : VOID)
#elif defined(NO_TOKEN)
  found = VOID
#elif defined(PLAIN)
  found = ABSENT
#elif defined(SESSION)
  if
#ifdef NO_EVIDENCE
  :: slot_token[who] == t && slot_first[who] == SENT ->
#else
  :: slot_token[who] == t && slot_first[who] == SENT && !announced[t] -> found = ABSENT;
#ifdef VOID_WHEN_FORGOTTEN
     slot_first[who] = VOID
#else
     slot_first[who] = FORGOTTEN
#endif
  :: slot_token[who] == t && slot_first[who] == SENT && announced[t] ->
#endif
     if
     :: memo[t] == ABSENT -> found = VOID;
#ifndef NO_VOID
        memo[t] = VOID; slot_first[who] = VOID
#endif
     :: else -> found = memo[t]
     fi
  :: slot_token[who] == t && slot_first[who] == FORGOTTEN -> found = ABSENT
  :: slot_token[who] == t && slot_first[who] != SENT && slot_first[who] != FORGOTTEN -> found = VOID
  :: slot_token[who] != t -> found = VOID; slot_token[who] = t; slot_first[who] = VOID
  fi
#elif defined(SLOT)
  if
  :: slot_token[who] == t -> found = slot_first[who]
  :: else -> found = VOID;
#ifndef NO_VOID
     slot_token[who] = t; slot_first[who] = VOID
#endif
  fi
#else
  if
  :: ledger[t] == ABSENT -> found = VOID;
#ifndef NO_VOID
     ledger[t] = VOID
#endif
  :: else -> found = ledger[t]
  fi
#endif
}

inline lease_granted(first) { own(first); first_of[pc_.intent] = first; pc_.lease[pc_.intent] = 1; pc_.intent = 0; dirty = 1; state = IDLE }
/* Every available range is a gap. A lease in flight is closed, and nobody here looks it up. */
inline forfeit() {
  harmed = 1; i = 1;
  do :: i <= TOKENS -> if :: pc_.lease[i] == 1 || pc_.lease[i] == 2 -> pc_.lease[i] = 3 :: else fi; i++ :: else -> break od; i = 0;
#ifndef FORFEIT_LOOKS_UP
  if :: pc_.intent != 0 -> pc_.lease[pc_.intent] = 4; pc_.intent = 0 :: else fi;
#endif
  instances++; pc_.instance = instances; pc_.epoch = 0; pc_.clean = 1; dirty = 1
}
inline look_up_there() {
  if
  :: copy_.intent != 0 ->
     store_resolve(copy_.instance, copy_.intent);
     if :: found != VOID && found != ABSENT -> own(found); issue(found) :: else fi; found = 0
  :: else
  fi;
}
inline wake() { if :: pc_.intent != 0 -> state = RESOLVING :: else -> state = IDLE fi }

inline network(t) {
  if
  :: under_way[t] > 0 && counter + N <= LAST -> d_step { under_way[t]--; store_lease(t) }
  :: under_way[t] > 0 -> under_way[t]--                                     /* lost */
  :: answer[t] != 0 -> answer[t] = 0                                        /* lost, or nobody waits for it any more */
  fi
}
#ifdef SESSION
inline network_of_announcements(t) {
  if
  :: announcing[t] > 0 -> d_step { announcing[t]--; announce(t) }
  :: announcing[t] > 0 -> announcing[t]--
  :: confirmed[t] -> confirmed[t] = 0
  fi
}
#define can_announce(t) (announcing[t] > 0 || confirmed[t])
#else
#define can_announce(t) 0
#endif
#define can_move(t) (under_way[t] > 0 || answer[t] != 0)
#define all_done(t) (under_way[t] == 0 && answer[t] == 0 && !can_announce(t))

/* When all is quiet: nothing was taken from the counter that no log knows of. */
inline account(t) {
  if
#ifdef ONLY_DUPLICATES
  :: 1 -> skip
#endif
  :: applied[t] == 0 -> skip
  :: else ->
#if !defined(PLAIN)
     assert(applied[t] == 1);
     if
     :: owners[first_of[t]] == 1 -> skip
     :: else -> assert(harmed && pc_.lease[t] == 4)
     fi
#else
     assert(applied[t] > 1 || owners[first_of[t]] == 1 || pc_.lease[t] == 4)
#endif
  fi
}

active proctype System() {
  d_step { pc_.instance = 1; dk_.instance = 1; copy_.instance = 1; pc_.clean = 1; dk_.clean = 1 }
end:
  do
  /* === daemon === */
  :: state == IDLE && tokens < TOKENS -> d_step {                             /* lease_start */
       tokens++; pc_.intent = tokens; dirty = 1; before = counter; state = RECORDING }
#ifdef INTENT_NOT_DURABLE
  :: state == RECORDING -> atomic {
#else
  :: state == RECORDING && dk_.intent == pc_.intent -> atomic {               /* lease_send */
#endif
       sender[pc_.intent] = pc_.instance; expects[pc_.intent] = slot_token[pc_.instance];
#ifdef SESSION
       state = ANNOUNCING;
       if
       :: announcing[pc_.intent] = 1
       :: repeats < REPEATS -> repeats++; announcing[pc_.intent] = 2
       fi }
#ifdef NOT_ANNOUNCED
  :: state == ANNOUNCING -> atomic {
#else
  :: state == ANNOUNCING && confirmed[pc_.intent] -> atomic {                 /* lease_announced */
       confirmed[pc_.intent] = 0;
#endif
#endif
       state = REQUESTING;
       if
       :: under_way[pc_.intent] = 1
       :: repeats < REPEATS -> repeats++; under_way[pc_.intent] = 2
       fi }
#ifdef SESSION
  :: state == ANNOUNCING -> d_step { pc_.intent = 0; dirty = 1; state = IDLE }   /* no answer: the lease does not leave */
#endif
  :: state == REQUESTING && answer[pc_.intent] != 0 -> d_step { found = answer[pc_.intent]; answer[pc_.intent] = 0; lease_granted(found); found = 0 }
  :: state == REQUESTING ->                                                   /* lease_unknown */
#ifdef UNKNOWN_IS_REFUSED
     d_step { pc_.intent = 0; dirty = 1; state = IDLE }
#else
     state = RESOLVING
#endif
  :: state == RESOLVING -> atomic {                                           /* lease_resolve */
       store_resolve(pc_.instance, pc_.intent);
       if
       :: found == ABSENT -> pc_.lease[pc_.intent] = 4; pc_.intent = 0; dirty = 1; state = IDLE
       :: found == VOID -> pc_.intent = 0; dirty = 1; state = IDLE
       :: found != ABSENT && found != VOID -> lease_granted(found)
       :: true                                                                /* the answer is lost: again later */
       fi; found = 0 }
  /* use: reserved, durable, issued */
#define use(t) \
  :: state != DOWN && state != LEAVING && pc_.lease[t] == 1 -> d_step { pc_.lease[t] = 2; dirty = 1 } \
  :: state != DOWN && state != LEAVING && pc_.lease[t] == 2 && is_durable(t) -> d_step { pc_.lease[t] = 3; dirty = 1; issue(first_of[t]) }
#ifdef GRANT_NOT_DURABLE
#define is_durable(t) 1
#else
#define is_durable(t) (dk_.lease[t] == 2)
#endif
  use(1)
  use(2)
#if TOKENS > 2
  use(3)
#endif
  :: state != DOWN && dirty -> d_step { copy_log(pc_, dk_); dirty = 0 }       /* written back or flushed */
  /* an orderly stop; the look-up is for the next start */
  :: state != DOWN && state != LEAVING && stops < STOPS -> d_step { stops++; pc_.clean = 1; dirty = 1; state = LEAVING }
  :: state == LEAVING && !dirty -> state = DOWN
  /* start. R1: not clean, the witness is there. R2: the epoch is claimed. */
  :: state == DOWN && !pc_.clean -> d_step { wake() }
  :: state == DOWN && pc_.clean && epoch[pc_.instance] == pc_.epoch -> d_step { epoch[pc_.instance]++; pc_.epoch++; pc_.clean = 0; dirty = 1; wake() }
  :: state == DOWN && pc_.clean && epoch[pc_.instance] != pc_.epoch -> d_step { forfeit() }

  /* === store and network === */
  :: can_move(1) -> network(1)
  :: can_move(2) -> network(2)
#if TOKENS > 2
  :: can_move(3) -> network(3)
#endif
#ifdef SESSION
  :: can_announce(1) -> network_of_announcements(1)
  :: can_announce(2) -> network_of_announcements(2)
#if TOKENS > 2
  :: can_announce(3) -> network_of_announcements(3)
#endif
  :: forgets < FORGETS -> d_step { forgets++; harmed = 1; i = 1;              /* forget */
       do :: i <= TOKENS -> memo[i] = 0; announced[i] = 0; announcing[i] = 0; under_way[i] = 0; i++ :: else -> break od; i = 0 }
#endif
  :: foreign < FOREIGN && counter < LAST -> d_step { foreign++; counter++; owners[counter]++; assert(owners[counter] <= 1) }

  /* === faults === */
  :: state != DOWN && kills < KILLS -> d_step { kills++; state = DOWN }
  :: cuts < CUTS -> d_step { cuts++; harmed = 1; state = DOWN; dirty = 0;
       /* what was granted and is not durable is not known: not an owner any more */
       i = 1; do :: i <= TOKENS -> if :: pc_.lease[i] != 0 && pc_.lease[i] != 4 && (dk_.lease[i] == 0 || dk_.lease[i] == 4) -> owners[first_of[i]]--; owners[first_of[i] + 1]-- :: else fi; i++ :: else -> break od; i = 0;
       copy_log(dk_, pc_);
#ifdef RESUME
       i = 1; do :: i <= TOKENS -> if :: pc_.lease[i] == 2 -> pc_.lease[i] = 3 :: else fi; i++ :: else -> break od; i = 0;
       pc_.clean = 1
#else
       if :: !pc_.clean -> forfeit() :: else fi
#endif
     }
#ifdef COPY
  /* at any moment; started elsewhere at any later one */
  :: copies == 0 -> d_step { copies = 1; copy_log(pc_, copy_) }
  :: copies == 1 -> d_step { copies = 2;
       if
       :: copy_.clean && epoch[copy_.instance] == copy_.epoch ->      /* R2, won */
          epoch[copy_.instance]++; harmed = 1; i = 1;
          do :: i <= TOKENS -> if :: copy_.lease[i] == 1 || copy_.lease[i] == 2 -> issue(first_of[i]) :: else fi; i++ :: else -> break od; i = 0;
          look_up_there()
       :: else ->
#ifdef FORFEIT_LOOKS_UP
          look_up_there();
#endif
          skip
       fi }
#endif

  :: state == IDLE && pc_.intent == 0 && tokens == TOKENS && all_done(1) && all_done(2) && all_done(TOKENS) && copies != 1 -> d_step {
       account(1); account(2); account(TOKENS) }
  od
}
