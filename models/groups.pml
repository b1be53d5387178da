/* How the jobs of one group run, which is ordered or has a limit: JOBS jobs, two workers. turns has the group if it may start its next job. A d_step is one
   script. README.md lists the function of redisstore for each macro, and the properties G1 to G4. */
/* Sources: the macros of this model, and the source of each. A test checks that these names exist, and that the source names the model.
   TURN: redisstore/scripts/lib/groups.lua */
#ifndef JOBS
#define JOBS 3
#endif
#ifndef RUNNING
#define RUNNING 1     /* the limit; with ORDERED a job also blocks the group until it has ended for good */
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef RETRIES
#define RETRIES 1
#endif
#ifndef PAUSES
#define PAUSES 1
#endif
#define LINE 1
#define HELD 2
#define WAITS 3       /* for a retry */
#define DONE 4
byte place[JOBS+1];   /* 0: not enqueued yet */
byte flights, blocker;
bit inturns, paused, over;
byte crashes = CRASHES, retries = RETRIES, pauses = PAUSES;
byte begun;           /* ghost: the last job that began */
byte enqueued;

inline first() { f = 1; do :: f <= JOBS && place[f] != LINE -> f++ :: else -> break od; if :: f > JOBS -> f = 0 :: else fi }
#ifdef ORDERED
#ifdef NO_BLOCKER
#define FREE true
#else
#define FREE (blocker == 0 || (f != 0 && f == blocker))
#endif
#else
#define FREE true
#endif
#ifdef NO_LIMIT
#define ROOM true
#else
#define ROOM (flights < RUNNING)
#endif
/* lib/groups.lua: is the group in turns? */
#define TURN first(); inturns = (f != 0 && !paused && ROOM && FREE)
#ifdef NO_TURN
#define RETURN skip
#else
#define RETURN TURN
#endif
#ifdef NO_END
#define FLIGHTENDS skip
#else
#define FLIGHTENDS flights = flights - 1
#endif
#define ENQUEUE_BODY enqueued++; place[enqueued] = LINE; TURN
#define TAKE_BODY \
  first(); j = f; place[f] = HELD; flights++; printf("%d is taken\n", f); begun = f; blocker = f; \
  n = 0; for (i : 1 .. JOBS) { if :: place[i] == HELD -> n++ :: else fi }; assert(n <= RUNNING); /* G1 */ \
  OVERTAKEN; TURN
#ifdef ORDERED
#define OVERTAKEN for (i : 1 .. JOBS) { assert(i >= f || place[i] == DONE) } /* G2: every earlier job has ended for good */
#else
#define OVERTAKEN skip
#endif
#define DONE_BODY(J) place[J] = DONE; FLIGHTENDS; if :: blocker == J -> blocker = 0 :: else fi; RETURN
#define RETRY_BODY(J) place[J] = WAITS; FLIGHTENDS; RETURN
#define DUE_BODY(J) place[J] = LINE; RETURN
#define REAP_BODY(J) place[J] = LINE; FLIGHTENDS; RETURN

proctype Worker() provided (!over) {
  byte f, i, n, j;
  end: do
  :: d_step { inturns -> TAKE_BODY; f = 0; i = 0; n = 0 };
     if
     :: d_step { DONE_BODY(j); f = 0 }
     :: retries > 0 -> d_step { retries--; RETRY_BODY(j); f = 0 }
     :: crashes > 0 -> d_step { crashes--; REAP_BODY(j); f = 0 }  /* its worker vanished, and its session was reaped */
     fi; j = 0
  od }
proctype Due() provided (!over) { byte f; end: do
  :: d_step { place[1] == WAITS -> DUE_BODY(1); f = 0 } :: d_step { place[2] == WAITS -> DUE_BODY(2); f = 0 } :: d_step { place[3] == WAITS -> DUE_BODY(3); f = 0 } od }
proctype Enqueuer() provided (!over) { byte f; end: do :: enqueued < JOBS -> d_step { ENQUEUE_BODY; f = 0 } od }
proctype Operator() provided (!over) { byte f; end: do
  :: pauses > 0 && !paused -> d_step { pauses--; paused = 1; TURN; f = 0 }
  :: paused -> d_step { paused = 0; TURN; f = 0 } od }

active proctype Always() {
  byte f, i, n;
  atomic {
    d_step { n = 0; for (i : 1 .. JOBS) { if :: place[i] == HELD -> n++ :: else fi };
      assert(flights == n);                                               /* G3: flights are counted exactly */
      first(); assert(inturns == (f != 0 && !paused && n < RUNNING && FREE)) } /* G4: a group that may start its next job is in turns, and no other */
    over = 1 } }

init { atomic { run Worker(); run Worker(); run Due(); run Enqueuer(); run Operator() } }
