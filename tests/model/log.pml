/* The log of one state directory, its start rules and its witness, down to the single write and sync.

   this line of the model             = this function of the code (daemon/state unless said otherwise)
   ----------------------------------------------------------------------------------------------------
   pc_, dk_                           page cache and medium of log.0, log.1; a unit is a header, a snapshot, a seal, a record
   recover()                          recovery.cc: recover(), SegmentReader::read()
   judge()                            start_rules.cc: why_no_witness(), judge(), carry_out()
   START_TAIL                         start.cc: Start::write_tail()
   START_SETTLE_..                    start.cc: Start::make_newest_durable()
   START_HEADER .. START_SEAL_SYNC    start.cc: Start::write_segment()
   START_WITNESS ..                   start.cc: Start::switch_witness(); witness.cc: Witness::write()
   t_, TURN_LENGTH                    log_tail.cc: LogTail::append()
   .._SPILL, _EMPTY, _MOVE            state_log.cc: StateLog::write_tail(); log_tail.cc: LogTail::begin()
   take_issue(), take_reservation()   daemon/core/sequence/issuer.h: Issuer::issue_one(), reserve()
   take_claim(), take_ownership(),    daemon/core/leasing/store_scope.cc: begin_claim(), answered(), leave_clean()
   take_leave()
   TURN_RECORD .. TURN_REPLY          state_log.cc: StateLog::commit(), write_turn(); daemon/core/turn.cc: Turn::end()
   ROTATE_..                          state_log.cc: StateLog::rotate()
   flush == ..                        state_log.cc: StateLog::start_flush(), Flush::run(), seal_older(), flushed()
   may_rotate, room                   state_log.cc: StateLog::may_rotate(), accepting()
   claim()                            daemon/core/leasing/store_scope.cc: send_claim(), answered(); store: claim()
   learn_durable()                    daemon/core/table/sequence_table.cc: SequenceTable::durable()

   The records since the last flush lie in the witness's memory only, as (segment, offset, length, bytes), and are written to the
   file before a flush, when the buffer is full, before a rotation, and by the next start of the same boot. With -DNO_TAIL each turn is
   written to the file, as one is that no tail has room for.

   Faults: kill -9 between any two steps, power cut with any subset of the unsynced units, failed sync after which the kernel
   takes the pages for clean (and may drop them), orderly stop, an older copy of the directory put back in place (-DRESTORE),
   a copy of the directory started elsewhere (-DCLONE).
   Not here: several sequences (each is alone in its ranges), leases (lease.pml), several full daemons (start.pml).

   Holds: no ID is issued twice. After kills alone nothing is lost but the turn whose replies had not left, every claim is won
   and nothing is found that makes no sense. After a power cut with -DRESUME at most the reservation is lost. */

#ifndef HI
#define HI 4            /* IDs 1 .. HI are available */
#endif
#ifndef SLOTS
#define SLOTS 2         /* turns that fit behind a snapshot */
#endif
#ifndef BUFFER
#define BUFFER SLOTS    /* turns that fit into the tail */
#endif
#ifndef SEGMENTS
#define SEGMENTS 6      /* segments in all */
#endif
#ifndef KILLS
#define KILLS 2
#endif
#ifndef CUTS
#define CUTS 0
#endif
#ifndef ERRORS
#define ERRORS 0
#endif
#ifndef STOPS
#define STOPS 0
#endif
#ifndef AHEAD
#define AHEAD 2         /* max_unsynced */
#endif
#define END (HI + 1)
#define CLEAN 0
#define CLAIMING 1
#define OWNED 2
#define NEW_INSTANCE 7   /* as epoch: a scope that was forfeited goes on as another instance, with nothing available */
#define NOWHERE 9
#define COPY 2
#define CLONES_NONCE 100

/* --- an image is what a record or a snapshot leaves: cursor, end of the reservation, scope (state, epoch, nonce of the claim) */
#define image(cursor, reserved, scope, epoch, nonce) \
  ((cursor) | ((reserved) << 3) | ((scope) << 6) | ((epoch) << 8) | ((nonce) << 11))
#define cursor_of(i) ((i) & 7)
#define reserved_of(i) (((i) >> 3) & 7)
#define scope_of(i) (((i) >> 6) & 3)
#define epoch_of(i) (((i) >> 8) & 7)
#define nonce_of(i) (((i) >> 11) & 7)

/* --- what a segment is; its salt is its name. A record is (salt, place behind the snapshot), packed; 0 is no record. */
typedef Segment { byte number; byte base; byte boot; byte nonce; short snapshot; short turn[SLOTS] };
Segment segment[SEGMENTS + 1];
byte salts = 1;
#define record(salt, place) ((salt) * 8 + (place) + 1)
#define salt_of(r) ((r) >> 3)

/* Unit 0 the header, 1 the snapshot, 2 the seal, then the records. The units of file f begin at f * UNITS. */
#define UNITS (3 + SLOTS)
#define HEADER(f) ((f) * UNITS)
#define SNAPSHOT(f) ((f) * UNITS + 1)
#define SEAL(f) ((f) * UNITS + 2)
#define RECORD(f, place) ((f) * UNITS + 3 + (place))
#if defined(RESTORE) || defined(CLONE)
byte pc_[4 * UNITS];
#else
byte pc_[2 * UNITS];
#endif
byte dk_[2 * UNITS];
bit dirty[2 * UNITS];
#define write_unit(unit, value) pc_[unit] = value; dirty[unit] = 1

byte boot = 1;

/* --- witness and tail: shared memory, gone with the boot */
bit w_whole; byte w_nonce, w_position; bit w_good;
#ifndef NO_TAIL
byte t_salt, t_offset, t_length, t_bytes[BUFFER];
#endif

/* --- store: epoch of the instance and nonce of the claim that moved it */
byte store_epoch = 1, store_nonce = 0, nonces = 1;

/* --- a copy of the directory, as files 2 and 3 */
#if defined(RESTORE) || defined(CLONE)
byte copied;     /* 1, 2: so many files; 3: used */
#endif

/* --- ghosts */
byte issued[END + 1], replied = 1;      /* the first ID that was not replied */
byte kills, cuts, errors, stops;
#ifdef ROT
bit rots;
#endif
bit harmed;       /* more than kills and orderly stops has happened */
bit readable = 1; /* the medium has kept what it confirmed, and the directory was left alone */
bit sound = 1;    /* and no sync has failed */
bit claim_at_risk; /* won in the store and not durable here when the power went */

/* --- the process: gone with a kill */
mtype = { DOWN, START_TAIL, START_READ, START_SETTLE_MARK, START_SETTLE_AGAIN, START_SETTLE_SYNC, START_HEADER, START_SNAPSHOT,
          START_SYNC, START_SEAL, START_SEAL_SYNC, START_WITNESS, START_WITNESS_TAIL,
          START_WITNESS_FIRST, START_WITNESS_MIDDLE, START_WITNESS_LAST, RUN };
mtype = { NONE, TURN_RECORD, TURN_LENGTH, TURN_POSITION, TURN_REPLY, TURN_SPILL, TURN_SPILL_EMPTY, TURN_SPILL_MOVE, ROTATE_HEADER,
          ROTATE_SNAPSHOT, ROTATE_TAIL_EMPTY, ROTATE_TAIL_NEW, FLUSH_SPILL, FLUSH_SPILL_EMPTY, FLUSH_SPILL_MOVE, FLUSH_SUBMIT };
mtype = { IDLE, MARK, SYNC, SEAL_WRITE, SEAL_SYNC, GOOD, TELL };
mtype = { FRESH, RECORDING, WON, OWNING, OPEN, LOST };
mtype at = DOWN, turn = NONE, flush = IDLE, claim_state = FRESH;
byte steps;                             /* of a step that has several */
hidden byte i, h_file, h_salt, h_position, h_highest, h_sealed; hidden short h_found;
byte file, salt, offset, position, durable, to_seal;
short now; byte issuable;               /* the image in memory, and what may be issued */
byte reserving, claiming, owning, leaving;   /* positions waited for; 0: none */
byte previous;                          /* cursor before the turn */
bit flush_due, flush_failed;
byte f_file, f_position, f_seal, f_salt;
bit resumes, believed, adopting;
byte found_file, found_salt, found_position, highest; short found; bit sealed;

#ifdef NO_SETTLE
#define NO_SETTLE_ 1
#else
#define NO_SETTLE_ 0
#endif
#ifdef ROTATE_EARLY
#define may_rotate 1
#else
#define may_rotate (durable >= segment[salt].base && !flush_failed)
#endif
#define room (offset < SLOTS || may_rotate)

inline forget() {
  at = DOWN; turn = NONE; flush = IDLE; claim_state = FRESH; steps = 0; file = 0; salt = 0; offset = 0; position = 0; durable = 0;
  to_seal = 0; now = 0; issuable = 0; reserving = 0; claiming = 0; owning = 0; leaving = 0; previous = 0; flush_due = 0;
  flush_failed = 0; f_file = 0; f_position = 0; f_seal = 0; f_salt = 0; resumes = 0; believed = 0; adopting = 0; found_file = 0; found_salt = 0;
  found_position = 0; highest = 0; found = 0; sealed = 0
}

/* --- the disk */
inline sync_file(f) {
  d_step { i = (f) * UNITS;
    do
    :: i < (f) * UNITS + UNITS -> if :: dirty[i] -> dk_[i] = pc_[i]; dirty[i] = 0 :: else fi; i++
    :: else -> break
    od }
}
/* The second sync says yes and has written nothing. */
inline fail_sync(f) {
  d_step { i = (f) * UNITS; errors++; harmed = 1; sound = 0;
    do :: i < (f) * UNITS + UNITS -> dirty[i] = 0; i++ :: else -> break od; i = 0 }
}

/* --- reading */
inline read_segment(f) {
  if
  :: found_salt == 0 && pc_[HEADER(f)] != 0 && pc_[SNAPSHOT(f)] == pc_[HEADER(f)] ->
     found_salt = pc_[HEADER(f)]; found_file = f; found = segment[found_salt].snapshot; i = 0;
     do
     :: i < SLOTS && pc_[RECORD(f, i)] == record(found_salt, i) -> found = segment[found_salt].turn[i]; i++
     :: else -> break
     od;
     /* STATE_CORRUPT: a record of this segment that does not follow the one before */
     if :: i < SLOTS -> assert(salt_of(pc_[RECORD(f, i)]) != found_salt) :: else fi;
     found_position = segment[found_salt].base + i;
#ifndef NO_SEAL
     sealed = pc_[SEAL(f)] == found_salt
#endif
  :: else
  fi
}
#define number_in(f) segment[pc_[HEADER(f)]].number
inline recover(first) {   /* of files first and first + 1 */
  found_salt = 0; sealed = 0; found_file = NOWHERE; found_position = 0; found = image(END, END, CLEAN, NEW_INSTANCE, 0);
  highest = number_in(first);
  if :: number_in(first + 1) > highest -> highest = number_in(first + 1) :: else fi;
  if
  :: number_in(first) >= number_in(first + 1) -> read_segment(first); read_segment(first + 1)
  :: else -> read_segment(first + 1); read_segment(first)
  fi;
  if :: number_in(first) == number_in(first + 1) -> sealed = 1 :: else fi
}

#ifdef NO_POSITION_CHECK
#define position_good 1
#else
#define position_good (w_position <= found_position && found_position - w_position <= 1)
#endif
#define witness_good (w_whole && segment[found_salt].boot == boot && w_nonce == segment[found_salt].nonce && !sealed && position_good)

inline judge() {
#ifndef ONLY_DUPLICATES
  assert(found_file != NOWHERE || !readable);
#endif
  resumes = witness_good; believed = resumes && w_good;
#ifdef BELIEVE_SYNC
  believed = 1;
#endif
  if
  :: resumes || found_file == NOWHERE -> skip
  :: else ->
     if
     :: scope_of(found) != OWNED -> found = image(cursor_of(found), reserved_of(found), CLEAN, epoch_of(found), 0)
#ifdef CAS_ONLY
     :: scope_of(found) == OWNED -> found = image(cursor_of(found), reserved_of(found), CLEAN, epoch_of(found), 0)
#endif
#ifdef RESUME
     :: scope_of(found) == OWNED && segment[found_salt].boot != boot && !sealed ->
#ifdef TWO_RECORDS
        adopting = 1
#else
        found = image(reserved_of(found), reserved_of(found), CLEAN, epoch_of(found), 0)
#endif
#endif
     :: else -> found = image(END, END, CLEAN, NEW_INSTANCE, 0)
     fi
  fi;
  /* After kills alone: all but the turn in flight. After power cuts as well: all but the reservation. */
#ifndef ONLY_DUPLICATES
  assert(harmed || (cursor_of(found) >= replied && cursor_of(found) <= replied + 1));
#endif
#if defined(RESUME) && !defined(TWO_RECORDS) && !defined(ONLY_DUPLICATES)
  assert(!sound || claim_at_risk || (cursor_of(found) >= replied && cursor_of(found) <= replied + AHEAD));
#endif
  replied = cursor_of(found);
  if
  :: adopting -> skip
  :: else -> found = image(cursor_of(found), cursor_of(found), scope_of(found), epoch_of(found), nonce_of(found))
  fi;
  file = (found_file == 0 -> 1 : 0)
}

inline new_segment(a_number, a_base, a_nonce, a_snapshot) {
  salts++; segment[salts].number = a_number; segment[salts].base = a_base; segment[salts].boot = boot;
  segment[salts].nonce = a_nonce; segment[salts].snapshot = a_snapshot
}

inline issue() {
  issued[previous]++; assert(issued[previous] <= 1); if :: replied <= previous -> replied = previous + 1 :: else fi
}

inline issue_rest() {
  i = cursor_of(found); do :: i < END -> issued[i]++; assert(issued[i] <= 1); i++ :: else -> break od
}

/* --- a turn: the image changes in memory first */
inline begin_turn(an_image) { previous = 0; now = an_image; turn = TURN_RECORD }
#define may_issue (!adopting && claim_state == OPEN && leaving == 0 && cursor_of(now) < issuable)
#define must_reserve (!adopting && claim_state == OPEN && leaving == 0 && reserving == 0 && !flush_failed && cursor_of(now) == reserved_of(now) && cursor_of(now) < END)
#define must_claim (claim_state == FRESH && scope_of(now) != OWNED && epoch_of(now) != 7 && nonces < 6)
inline take_issue() {
  begin_turn(image(cursor_of(now) + 1, reserved_of(now), scope_of(now), epoch_of(now), nonce_of(now)));
  previous = cursor_of(now) - 1;
#ifdef REPLY_FIRST
  issue()
#endif
}
inline take_reservation() {
  if
  :: cursor_of(now) + AHEAD > END -> begin_turn(image(cursor_of(now), END, scope_of(now), epoch_of(now), nonce_of(now)))
  :: else -> begin_turn(image(cursor_of(now), cursor_of(now) + AHEAD, scope_of(now), epoch_of(now), nonce_of(now)))
  fi;
#ifdef RESERVATION_NOT_DURABLE
  issuable = reserved_of(now); flush_due = 1
#else
  reserving = position + 1; flush_due = 1
#endif
}
/* With its own nonce, or again with the one that was sent before. */
inline take_claim() {
  if
  :: scope_of(now) == CLAIMING -> begin_turn(now)
  :: else -> nonces++; begin_turn(image(cursor_of(now), reserved_of(now), CLAIMING, epoch_of(now), nonces))
  fi;
  claim_state = RECORDING; claiming = position + 1; flush_due = 1;
#ifdef CLAIM_NOT_DURABLE
  claim()
#endif
}
inline take_ownership() {
  begin_turn(image(cursor_of(now), reserved_of(now), OWNED, epoch_of(now) + 1, nonce_of(now)));
  claim_state = OWNING; owning = position + 1; flush_due = 1
}
inline take_leave() {
  stops++; begin_turn(image(cursor_of(now), reserved_of(now), CLEAN, epoch_of(now), nonce_of(now)));
  leaving = position + 1; flush_due = 1
}
inline claim() {
  claiming = 0;
  if
  :: store_epoch == epoch_of(now) -> store_epoch++; store_nonce = nonce_of(now); claim_state = WON
  :: else ->
     if
     :: store_epoch == epoch_of(now) + 1 && store_nonce == nonce_of(now) -> claim_state = WON
     :: else -> assert(harmed); claim_state = LOST
     fi
  fi
}
inline learn_durable() {
  if :: reserving != 0 && reserving <= durable -> reserving = 0; issuable = reserved_of(now) :: else fi;
  if :: owning != 0 && owning <= durable -> owning = 0; claim_state = OPEN :: else fi;
  if :: leaving != 0 && leaving <= durable -> forget() :: else fi
}

#ifndef NO_TAIL
/* Whether the tail belongs to what is in file f. */
#ifdef TAIL_ANY_SEGMENT
#define tail_of(f) (w_whole && number_in(f) >= number_in(1 - (f)))
#else
#define tail_of(f) (w_whole && pc_[HEADER(f)] == t_salt)
#endif
/* The buffer to the file with one write; a kill may cut it. */
#ifdef TAIL_NOT_SPILLED
#define spill_one() steps++
#else
inline spill_one() { write_unit(RECORD(file, t_offset + steps), t_bytes[steps]); steps++ }
#endif
#endif

active proctype System() {
  /* left clean by an earlier boot */
  atomic {
    segment[1].number = 1; segment[1].base = 1; segment[1].snapshot = image(1, 1, CLEAN, 1, 0); segment[1].nonce = 1;
    dk_[HEADER(0)] = 1; dk_[SNAPSHOT(0)] = 1; pc_[HEADER(0)] = 1; pc_[SNAPSHOT(0)] = 1
  }
end:
  do
  /* === start === */
  :: at == DOWN && salts < SEGMENTS ->
#if !defined(NO_TAIL) && !defined(TAIL_NOT_SETTLED)
     at = START_TAIL
#else
     at = START_READ
#endif
#ifndef NO_TAIL
  /* Only a tail of this boot, this directory and this very segment. */
  :: at == START_TAIL -> d_step {
       if
       :: tail_of(0) && t_length > steps -> file = 0; assert(salt_of(t_bytes[steps]) == pc_[HEADER(0)]); spill_one()
       :: tail_of(1) && t_length > steps -> file = 1; assert(salt_of(t_bytes[steps]) == pc_[HEADER(1)]); spill_one()
       :: else -> steps = 0; file = 0; at = START_READ
       fi }
#endif
  :: at == START_READ -> d_step { recover(0); judge();
       if
       :: NO_SETTLE_ || found_file == NOWHERE || segment[found_salt].boot != boot -> at = START_HEADER
       :: else -> if :: resumes -> at = START_SETTLE_MARK :: else -> at = START_SETTLE_AGAIN fi
       fi }
  :: at == START_SETTLE_MARK -> d_step { w_good = 0; if :: believed -> at = START_SETTLE_SYNC :: else -> at = START_SETTLE_AGAIN fi }
  :: at == START_SETTLE_AGAIN -> d_step {   /* what was read, not what the page cache has by now */
       write_unit(HEADER(found_file), found_salt); write_unit(SNAPSHOT(found_file), found_salt);
       write_unit(SEAL(found_file), (sealed -> found_salt : 0)); i = 0;
       do
       :: i < found_position - segment[found_salt].base -> write_unit(RECORD(found_file, i), record(found_salt, i)); i++
       :: else -> break
       od; i = 0;
       at = START_SETTLE_SYNC }
  :: at == START_SETTLE_SYNC ->
     if
     :: atomic { sync_file(found_file); at = START_HEADER }
     :: atomic { errors < ERRORS -> fail_sync(found_file); forget() }
     fi
  :: at == START_HEADER -> d_step {
       if
#ifndef RESUME_NEW_NONCE
       :: resumes -> new_segment(highest + 1, found_position, segment[found_salt].nonce, found)
#endif
       :: else -> new_segment(highest + 1, found_position, salts + 1, found)
       fi;
       salt = salts; write_unit(HEADER(file), salt); write_unit(SEAL(file), 0); at = START_SNAPSHOT }
  :: at == START_SNAPSHOT -> d_step { write_unit(SNAPSHOT(file), salt); at = START_SYNC }
  :: at == START_SYNC ->
     if
     :: atomic { sync_file(file); if :: found_file == NOWHERE -> at = START_WITNESS :: else -> at = START_SEAL fi }
     :: atomic { errors < ERRORS -> fail_sync(file); forget() }
     fi
  :: at == START_SEAL -> d_step { write_unit(SEAL(found_file), found_salt); at = START_SEAL_SYNC }
  :: at == START_SEAL_SYNC ->
     if
     :: atomic { sync_file(found_file); at = START_WITNESS }
     :: atomic { errors < ERRORS -> fail_sync(found_file); forget() }
     fi
  :: at == START_WITNESS -> d_step { at = START_WITNESS_TAIL;
#if !defined(NO_TAIL) && defined(TAIL_NEW_BEFORE_EMPTY)
       t_salt = salt; t_offset = 0
#elif !defined(NO_TAIL) && !defined(TAIL_KEPT_AT_START)
       t_length = 0
#endif
     }
  :: at == START_WITNESS_TAIL -> d_step { at = START_WITNESS_FIRST;
#if !defined(NO_TAIL) && defined(TAIL_NEW_BEFORE_EMPTY)
       t_length = 0
#elif !defined(NO_TAIL)
       t_salt = salt; t_offset = 0
#endif
     }
  :: at == START_WITNESS_FIRST -> d_step { at = START_WITNESS_MIDDLE;
       if :: resumes && segment[salt].nonce == w_nonce -> w_position = segment[salt].base :: else -> w_whole = 0 fi }
  :: at == START_WITNESS_MIDDLE -> d_step { at = START_WITNESS_LAST;
       if :: !w_whole -> w_nonce = segment[salt].nonce; w_position = segment[salt].base; w_good = 1 :: else fi }
  :: at == START_WITNESS_LAST -> d_step { at = RUN;
       w_whole = 1; w_good = 1;
       position = segment[salt].base; durable = position; offset = 0; now = found; issuable = cursor_of(now);
       if :: scope_of(now) == OWNED -> claim_state = OPEN :: else fi;
       found_file = 0; found_salt = 0; found_position = 0; found = 0; highest = 0; sealed = 0; resumes = 0; believed = 0 }

  /* === a turn of the loop === */
#define turn_free (at == RUN && turn == NONE && room && salts < SEGMENTS)
#ifdef TWO_RECORDS
  :: turn_free && adopting -> d_step { adopting = 0; begin_turn(image(reserved_of(now), reserved_of(now), scope_of(now), epoch_of(now), nonce_of(now))); issuable = reserved_of(now); replied = reserved_of(now) }
#endif
  :: turn_free && may_issue -> d_step { take_issue() }
  :: turn_free && must_reserve -> d_step { take_reservation() }
  :: turn_free && must_claim -> d_step { take_claim() }
  :: turn_free && claim_state == WON -> d_step { take_ownership() }
  :: turn_free && claim_state == OPEN && leaving == 0 && stops < STOPS -> d_step { take_leave() }
#ifdef POSITION_FIRST
  :: at == RUN && turn == TURN_RECORD && w_position == position -> w_position = position + 1
  :: at == RUN && turn == TURN_RECORD && w_position != position -> d_step {
#else
  :: at == RUN && turn == TURN_RECORD -> d_step {
#endif
       if
#if !defined(NO_TAIL) && !defined(TAIL_DROPPED_AT_ROTATION)
       :: offset == SLOTS && t_length > 0 -> turn = TURN_SPILL
       :: offset == SLOTS && t_length == 0 ->
#else
       :: offset == SLOTS ->
#ifdef TAIL_DROPPED_AT_ROTATION
          t_length = 0;
#endif
#endif
          new_segment(segment[salt].number + 1, position + 1, segment[salt].nonce, now); turn = ROTATE_HEADER
       :: else -> segment[salt].turn[offset] = now;
#ifndef NO_TAIL
          if
          :: t_length == BUFFER -> turn = TURN_SPILL
#ifdef TAIL_LENGTH_BEFORE_BYTES
          :: else -> t_length++; turn = TURN_LENGTH
#else
          :: else -> t_bytes[t_length] = record(salt, offset); turn = TURN_LENGTH
#endif
          fi
#else
          write_unit(RECORD(file, offset), record(salt, offset)); offset++; turn = TURN_POSITION
#endif
       fi }
#ifndef NO_TAIL
  :: at == RUN && turn == TURN_SPILL -> d_step { spill_one(); if :: steps == offset - t_offset -> steps = 0; turn = TURN_SPILL_EMPTY :: else fi }
  :: at == RUN && turn == TURN_SPILL_EMPTY -> d_step { t_length = 0; turn = TURN_SPILL_MOVE }
  :: at == RUN && turn == TURN_SPILL_MOVE -> d_step { t_offset = offset; turn = TURN_RECORD }
#ifdef TAIL_LENGTH_BEFORE_BYTES
  :: at == RUN && turn == TURN_LENGTH -> d_step { t_bytes[t_length - 1] = record(salt, offset); offset++; turn = TURN_POSITION }
#else
  :: at == RUN && turn == TURN_LENGTH -> d_step { t_length++; offset++; turn = TURN_POSITION }
#endif

#endif
  :: at == RUN && turn == ROTATE_HEADER -> d_step { write_unit(HEADER(1 - file), salts); write_unit(SEAL(1 - file), 0); turn = ROTATE_SNAPSHOT }
  :: at == RUN && turn == ROTATE_SNAPSHOT -> d_step { write_unit(SNAPSHOT(1 - file), salts);
       to_seal = salt; salt = salts; file = 1 - file; offset = 0; flush_due = 1;
#ifndef NO_TAIL
       turn = ROTATE_TAIL_EMPTY
#else
       turn = TURN_POSITION
#endif
     }
#ifndef NO_TAIL
  :: at == RUN && turn == ROTATE_TAIL_EMPTY -> d_step { t_length = 0; turn = ROTATE_TAIL_NEW }
  :: at == RUN && turn == ROTATE_TAIL_NEW -> d_step { t_salt = salt; t_offset = 0; turn = TURN_POSITION }
#endif
  :: at == RUN && turn == TURN_POSITION -> d_step { position++; w_position = position; turn = TURN_REPLY }
  :: at == RUN && turn == TURN_REPLY -> d_step {
#ifndef REPLY_FIRST
       if :: previous != 0 -> issue() :: else fi;
#endif
       previous = 0;
       if
       :: flush_due && flush == IDLE && !flush_failed -> turn = FLUSH_SPILL
       :: else -> turn = NONE
       fi }
  :: at == RUN && turn == FLUSH_SPILL ->
#ifndef NO_TAIL
     d_step {
       if
       :: steps < offset - t_offset -> spill_one()
#ifdef TAIL_EMPTY_BEFORE_SPILL
          ; t_length = 0
#endif
       :: else -> steps = 0; turn = FLUSH_SPILL_EMPTY
       fi }
#ifdef TAIL_MOVE_BEFORE_EMPTY
  :: at == RUN && turn == FLUSH_SPILL_EMPTY -> d_step { t_offset = offset; turn = FLUSH_SPILL_MOVE }
  :: at == RUN && turn == FLUSH_SPILL_MOVE -> d_step { t_length = 0; turn = FLUSH_SUBMIT }
#else
  :: at == RUN && turn == FLUSH_SPILL_EMPTY -> d_step { t_length = 0; turn = FLUSH_SPILL_MOVE }
  :: at == RUN && turn == FLUSH_SPILL_MOVE -> d_step { t_offset = offset; turn = FLUSH_SUBMIT }
#endif
  :: at == RUN && turn == FLUSH_SUBMIT ->
#endif
     d_step { turn = NONE; flush_due = 0;
       if :: position != durable -> flush = MARK; f_file = file; f_position = position; f_seal = to_seal; f_salt = salt :: else fi }

  /* === the flush on the worker === */
  :: flush == MARK -> d_step { w_good = 0; flush = SYNC }
  :: flush == SYNC ->
     if
     :: atomic { sync_file(f_file); if :: f_seal != 0 -> flush = SEAL_WRITE :: else -> flush = GOOD fi }
     :: atomic { errors < ERRORS -> fail_sync(f_file);
#ifdef RETRY_SYNC
          flush = GOOD                          /* once more, and the kernel says yes */
#else
          flush = IDLE; flush_failed = 1; f_file = 0; f_position = 0; f_seal = 0; f_salt = 0
#endif
        }
     fi
  :: flush == SEAL_WRITE -> d_step { write_unit(SEAL(1 - f_file), f_seal); flush = SEAL_SYNC }
  :: flush == SEAL_SYNC ->
     if
     :: atomic { sync_file(1 - f_file); flush = GOOD }
     :: atomic { errors < ERRORS -> fail_sync(1 - f_file); flush = IDLE; flush_failed = 1; f_file = 0; f_position = 0; f_seal = 0; f_salt = 0 }
     fi
  :: flush == GOOD -> d_step { w_good = 1; flush = TELL }
  :: flush == TELL && turn == NONE -> d_step { flush = IDLE; durable = f_position;
       if :: f_seal != 0 && f_salt == salt -> to_seal = 0 :: else fi;
       f_file = 0; f_position = 0; f_seal = 0; f_salt = 0;
       if :: flush_due -> turn = FLUSH_SPILL :: else fi;
       learn_durable() }
  :: at == RUN && claim_state == RECORDING && claiming <= durable -> d_step { claim() }

  /* === faults === */
  :: at != DOWN && kills < KILLS -> d_step { kills++; forget() }
  :: cuts < CUTS -> atomic { cuts++; i = 0;
       do
       :: i < 2 * UNITS ->
          if :: dirty[i] -> dk_[i] = pc_[i] :: dirty[i] -> skip :: else fi;
          dirty[i] = 0; pc_[i] = dk_[i]; i++
       :: else -> break
       od;
       if :: claim_state == WON || claim_state == OWNING -> claim_at_risk = 1 :: else fi;
       forget(); harmed = 1; boot++; w_whole = 0; w_nonce = 0; w_position = 0; w_good = 0
#ifndef NO_TAIL
       ; t_salt = 0; t_offset = 0; t_length = 0; i = 0; do :: i < BUFFER -> t_bytes[i] = 0; i++ :: else -> break od
#endif
     }
#if CUTS > 0
  /* The kernel writes back by itself. It matters where a unit is written again with something else before it is synced. */
#define write_back(unit) :: cuts < CUTS && dirty[unit] -> d_step { dk_[unit] = pc_[unit]; dirty[unit] = 0 }
  write_back(HEADER(0))
  write_back(HEADER(1))
  write_back(SNAPSHOT(0))
  write_back(SNAPSHOT(1))
#endif
#if ERRORS > 0
  /* what the kernel takes for clean it may drop and read again */
  :: errors > 0 && at != START_SETTLE_AGAIN -> d_step { i = 0;
       do
       :: i < 2 * UNITS -> if :: !dirty[i] -> pc_[i] = dk_[i] :: else fi; i++
       :: else -> break
       od; i = 0 }
#endif
#if defined(RESTORE) || defined(CLONE)
  /* one file after the other, whatever happens in between */
  :: copied < 2 -> d_step { i = copied * UNITS; copied++; do :: i < copied * UNITS -> pc_[COPY * UNITS + i] = pc_[i]; i++ :: else -> break od; i = 0 }
#endif
#ifdef RESTORE
  :: at == DOWN && copied == 2 -> d_step { copied = 3; harmed = 1; readable = 0; sound = 0; i = 0;
       do :: i < 2 * UNITS -> write_unit(i, pc_[COPY * UNITS + i]); pc_[COPY * UNITS + i] = 0; i++ :: else -> break od; i = 0 }
#endif
#ifdef CLONE
  /* starts, claims, and issues all it may */
  :: copied == 2 -> d_step { copied = 3;
       h_file = found_file; h_salt = found_salt; h_position = found_position; h_highest = highest; h_sealed = sealed; h_found = found;
       recover(COPY);
       if
#ifdef CAS_ONLY
       :: store_epoch == epoch_of(found) ->
#else
       :: scope_of(found) != OWNED && store_epoch == epoch_of(found) ->
#endif
          store_epoch++; store_nonce = CLONES_NONCE; harmed = 1; readable = 0; sound = 0; issue_rest()
#ifdef NONCE_COPIED
       :: scope_of(found) == CLAIMING && store_epoch == epoch_of(found) + 1 && store_nonce == nonce_of(found) -> issue_rest()
#endif
       :: else
       fi;
       found_file = h_file; found_salt = h_salt; found_position = h_position; highest = h_highest; sealed = h_sealed; found = h_found;
       i = 0; do :: i < 2 * UNITS -> pc_[COPY * UNITS + i] = 0; i++ :: else -> break od; i = 0 }
#endif
#ifdef ROT
  /* a snapshot that was on the medium cannot be read any more */
  :: rots == 0 && at == DOWN && dk_[SNAPSHOT(0)] == dk_[HEADER(0)] -> d_step { rots = 1; harmed = 1; readable = 0; sound = 0; dk_[SNAPSHOT(0)] = 0; pc_[SNAPSHOT(0)] = 0 }
  :: rots == 0 && at == DOWN && dk_[SNAPSHOT(1)] == dk_[HEADER(1)] -> d_step { rots = 1; harmed = 1; readable = 0; sound = 0; dk_[SNAPSHOT(1)] = 0; pc_[SNAPSHOT(1)] = 0 }
#endif
  od
}
