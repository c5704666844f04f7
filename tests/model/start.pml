/* Who may issue from what is found on disk: several state directories, copied from each other at any moment, put back in place,
   started and killed in any order, on one machine or several. What a start writes is one step here; log.pml has its parts.

   this line of the model             = this function of the code
   ----------------------------------------------------------------------------------------------------
   matches                            daemon/state/start_rules.cc: why_no_witness()
   start: R1, R2, R3                  daemon/state/start_rules.cc: judge(), carry_out(), Transformation::forfeit()
   start: nonce, witness              daemon/state/start.cc: Start::write_segment(), switch_witness()
   intend                             daemon/core/leasing/store_scope.cc: StoreScope::begin_claim(): the nonce is durable first
   send, won                          daemon/core/leasing/store_scope.cc: send_claim(), answered(); daemon/store: claim()
   own                                daemon/core/leasing/store_scope.cc: answered(), open()
   issue                              daemon/core/sequence/issuer.h: issue_one(); daemon/state/state_log.cc: StateLog::commit()
   stop                               daemon/core/leasing/store_scope.cc: StoreScope::leave_clean()
   restart of the machine             the witness directory is a tmpfs

   Holds: no ID is issued twice. A claim is lost only to a daemon that has the remainder. As long as no directory was put back,
   no machine restarted and no copy has won, a kill or a stop costs directory 0 nothing. */

#ifndef HI
#define HI 2
#endif
#ifndef KILLS
#define KILLS 2
#endif
#ifndef STOPS
#define STOPS 2
#endif
#ifndef BOOTS
#define BOOTS 1
#endif
#ifndef COPIES
#define COPIES 1
#endif
#ifndef STARTS
#define STARTS 5
#endif
#define END (HI + 1)
#define CLEAN 0
#define CLAIMING 1
#define OWNED 2
#define DIRECTORIES 2

typedef Directory { byte cursor; byte state; byte epoch; byte claim; byte nonce; byte position; bit forfeited; bit gone };
Directory disk[DIRECTORIES];
#ifdef RESTORE
Directory saved; byte restores;
#endif
byte witness_nonce[DIRECTORIES], witness_position[DIRECTORIES];     /* of this boot; 0: none */
byte epoch = 1, claimed_by;                                          /* in the store */

mtype = { DOWN, STARTED, RECORDED, WON, SERVING, LOST };
mtype process[DIRECTORIES] = DOWN;
byte issued[HI + 2];
byte nonces = 2, claims, kills, stops, boots, copies;
bit harmed, taken;                              /* ghosts; taken: who moved the epoch last had the remainder */
hidden byte resumes;

inline copy_directory(from, to) {
  to.cursor = from.cursor; to.state = from.state; to.epoch = from.epoch; to.claim = from.claim; to.nonce = from.nonce;
  to.position = from.position; to.forfeited = from.forfeited; to.gone = from.gone
}
#ifdef NO_DIRECTORY_CHECK
#define said_nonce(d) (witness_nonce[d] != 0 -> witness_nonce[d] : witness_nonce[0])
#define said_position(d) (witness_nonce[d] != 0 -> witness_position[d] : witness_position[0])
#else
#define said_nonce(d) witness_nonce[d]
#define said_position(d) witness_position[d]
#endif
#ifdef NO_POSITION_CHECK
#define position_matches(d) 1
#else
#define position_matches(d) (said_position(d) == disk[d].position)
#endif
#define matches(d) (said_nonce(d) != 0 && said_nonce(d) == disk[d].nonce && position_matches(d))

inline advance(d) { disk[d].position++; witness_position[d] = disk[d].position }
inline start(d) {
  resumes = matches(d);
  if
  :: resumes -> skip                                                            /* R1 */
  :: else ->
     if
     :: disk[d].state != OWNED -> skip                                          /* R2 */
#ifdef CAS_ONLY
     :: disk[d].state == OWNED -> skip
#else
     :: disk[d].state == OWNED -> disk[d].cursor = END; disk[d].gone = 1;       /* R3 */
        assert(harmed || d != 0);
#ifndef INSTANCE_KEPT
        disk[d].forfeited = 1
#endif
#endif
     fi;
#ifdef NONCE_COPIED
     if :: disk[d].state == OWNED -> disk[d].state = CLEAN :: else fi;
#else
     disk[d].state = CLEAN; disk[d].claim = 0;
#endif
     nonces++; disk[d].nonce = nonces
  fi;
  witness_nonce[d] = disk[d].nonce; witness_position[d] = disk[d].position;
#ifdef CLEAN_AT_HOME
  if :: disk[d].state == CLEAN && disk[d].epoch > 1 && resumes -> disk[d].state = OWNED :: else fi;
#endif
  process[d] = (disk[d].forfeited -> LOST : (disk[d].state == OWNED -> SERVING : STARTED))
}
/* R1 goes on with the claim that is recorded; otherwise with a nonce of its own. */
inline intend(d) {
  if :: disk[d].state == CLAIMING -> skip :: else -> claims++; disk[d].claim = claims fi;
#ifndef CLAIM_NOT_RECORDED
  disk[d].state = CLAIMING;
#endif
  advance(d); process[d] = RECORDED
}
inline send(d) {
  if
  :: epoch == disk[d].epoch -> epoch++; claimed_by = disk[d].claim; process[d] = WON; taken = !disk[d].gone;
     if :: d != 0 -> harmed = 1 :: else fi
  :: epoch == disk[d].epoch + 1 && claimed_by == disk[d].claim -> process[d] = WON
  :: else -> assert(harmed || d != 0); assert(taken); process[d] = LOST;
     disk[d].cursor = END; disk[d].state = CLEAN; disk[d].forfeited = 1; advance(d)
  fi
}

#define daemon(d) \
  :: process[d] == DOWN && disk[d].nonce != 0 && nonces < 2 + STARTS -> d_step { start(d) } \
  :: process[d] == STARTED -> d_step { intend(d) } \
  :: process[d] == RECORDED -> d_step { send(d) } \
  :: process[d] == WON -> d_step { disk[d].state = OWNED; disk[d].epoch++; advance(d); process[d] = SERVING } \
  :: process[d] == SERVING && disk[d].cursor <= HI -> d_step { issued[disk[d].cursor]++; assert(issued[disk[d].cursor] <= 1); disk[d].cursor++; advance(d) } \
  :: process[d] == SERVING && stops < STOPS -> d_step { stops++; disk[d].state = CLEAN; advance(d); process[d] = DOWN } \
  :: process[d] != DOWN && kills < KILLS -> d_step { kills++; process[d] = DOWN }

active proctype System() {
  d_step { disk[0].epoch = 1; disk[0].cursor = 1; disk[0].nonce = 1 }
end:
  do
  daemon(0)
  daemon(1)
  :: boots < BOOTS -> d_step { boots++; harmed = 1; process[0] = DOWN; process[1] = DOWN;
       witness_nonce[0] = 0; witness_nonce[1] = 0; witness_position[0] = 0; witness_position[1] = 0 }
  :: copies < COPIES && process[1] == DOWN -> d_step { copies++; copy_directory(disk[0], disk[1]) }
#ifdef RESTORE
  :: restores == 0 -> d_step { restores = 1; copy_directory(disk[0], saved) }
  :: restores == 1 && process[0] == DOWN -> d_step { restores = 2; harmed = 1; copy_directory(saved, disk[0]) }
  :: restores == 1 && process[1] == DOWN -> d_step { restores = 2; harmed = 1; copy_directory(saved, disk[1]) }
#endif
  od
}
