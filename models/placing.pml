/* How the next occurrence of one schedule is placed: by the worker that took the last one, by a leader and by a second leader, beside changes and
   pauses. A d_step is one script. README.md lists the function of redisstore for each macro, and the properties O1 to O4. */
/* Sources: the macros of this model, and the source of each. A test checks that these names exist, and that the source names the model.
   PLACE_BODY: redisstore/scripts/schedules/place.lua
   TAKE_BODY: redisstore/scripts/sessions/work.lua
   OWE: redisstore/scripts/lib/owed.lua
   WITHDRAW: redisstore/scripts/lib/withdraw.lua
   CHANGE_BODY: redisstore/scripts/schedules/declare.lua
   PAUSE_BODY: redisstore/scripts/schedules/pause_schedule.lua
   RESUME_BODY: redisstore/scripts/schedules/pause_schedule.lua */
#ifndef LAST
#define LAST 4       /* the instants are 1 to LAST */
#endif
#ifndef CHANGES
#define CHANGES 1
#endif
#ifndef PAUSES
#define PAUSES 1
#endif
byte cursor;         /* the instant that was placed last */
byte rev = 1;        /* the revision of the definition */
byte due, duerev;    /* the occurrence in due; 0: none. Ghost: the revision with which it was computed */
bit owed = 1, live = 1;
byte now;            /* instants up to this one have come */
byte ran[LAST+1];    /* ghost */
bit skipped[LAST+1]; /* ghost: withdrawn by a pause, and its instant had come when the schedule was resumed */
byte changes = CHANGES, pauses = PAUSES;
bit over;

#ifdef NO_CURSOR
#define SAMECURSOR(C) true
#else
#define SAMECURSOR(C) (cursor == C)
#endif
#ifdef NO_REVISION
#define SAMEREV(R) true
#else
#define SAMEREV(R) (rev == R)
#endif
#ifdef NO_OWED
#define OWE skip
#else
#define OWE if :: live -> owed = 1 :: else fi
#endif
/* place.lua: the caller has read cursor C and revision R, and computed the next instant */
#define PLACE_BODY(C,R) \
  if \
  :: live && SAMECURSOR(C) && SAMEREV(R) && C < LAST -> cursor = C+1; due = C+1; duerev = R; owed = 0; printf("%d is placed by revision %d\n", C+1, R) \
  :: else \
  fi
/* work.lua: the occurrence that is due is taken, and the schedule is owed its next one */
#define TAKE_BODY \
  if \
  :: due != 0 && due <= now -> ran[due]++; printf("%d is taken\n", due); assert(ran[due] == 1); /* O1 */ due = 0; duerev = 0; OWE \
  :: else \
  fi
/* withdraw.lua: what is placed and not due yet is withdrawn, and the cursor returns to now */
#define WITHDRAW if :: due > now -> printf("%d is withdrawn\n", due); due = 0; duerev = 0; cursor = now :: else fi
#define CHANGE_BODY rev++; WITHDRAW; if :: live && due == 0 -> owed = 1 :: else fi; printf("revision %d\n", rev)
#define PAUSE_BODY live = 0; WITHDRAW; owed = 0; printf("paused\n")
#define RESUME_BODY \
  live = 1; \
  do :: cursor < now && due == 0 -> cursor++; skipped[cursor] = (ran[cursor] == 0) :: else -> break od; \
  if :: due == 0 -> owed = 1 :: else fi; printf("resumed\n")

proctype Placer() provided (!over) {
  byte c, r;
  end: do
  :: d_step { owed && cursor < LAST -> c = cursor; r = rev }; d_step { PLACE_BODY(c,r); c = 0; r = 0 }
  od }
proctype Taker() provided (!over) {
  byte c, r;
  end: do
  :: d_step { due != 0 && due <= now -> TAKE_BODY; c = cursor; r = rev }; if :: d_step { PLACE_BODY(c,r) } :: skip fi; d_step { c = 0; r = 0 }
  od }
proctype Clock() provided (!over) { end: do :: now < LAST -> now++ od }
proctype Operator() provided (!over) {
  end: do
  :: changes > 0 -> d_step { changes--; CHANGE_BODY }
  :: pauses > 0 && live -> d_step { pauses--; PAUSE_BODY }
  :: !live -> d_step { RESUME_BODY }
  od }

/* In every state: */
active proctype Always() {
  atomic {
    assert(!live || due != 0 || owed);                                   /* O2: the next one is placed or owed */
    assert(due == 0 || duerev == rev || due <= now);                     /* O3: what is placed for later is of the present definition */
    over = 1;
    d_step { /* everybody dies, all instants come, and one placer and one taker remain */
      now = LAST; byte c, i;
      if :: !live -> RESUME_BODY :: else fi;
      for (i : 0 .. LAST) { TAKE_BODY; c = cursor; if :: owed -> PLACE_BODY(c,rev) :: else fi };
      TAKE_BODY;
      for (i : 1 .. LAST) { assert(ran[i] == 1 || skipped[i]) } /* O4 */ } } }

init { atomic { run Placer(); run Placer(); run Taker(); run Clock(); run Operator() } }
