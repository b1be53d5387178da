/* How a job that waits is cancelled, and its ID is enqueued again: one ID. An ID that is cancelled while it is in the list ready stays there, with a note
   in stale, until a take pops it. A d_step is one script. README.md lists the function of redisstore for each macro, and the properties C1 to C4. */
/* Sources: the macros of this model, and the source of each. A test checks that these names exist, and that the source names the model.
   ENQUEUE_BODY: redisstore/scripts/jobs/enqueue.lua
   CANCEL_BODY: redisstore/scripts/jobs/discard.lua
   TAKE_BODY: redisstore/scripts/sessions/work.lua */
#ifndef JOBS
#define JOBS 3      /* how often the ID is enqueued */
#endif
#ifndef CANCELS
#define CANCELS 2
#endif
byte inready;       /* how often the ID is in ready */
bit body, isvoid, held;
byte added, ended;  /* ghost: jobs that were added; that were taken, or cancelled while they waited */
byte jobs = JOBS, cancels = CANCELS;
bit over;

#ifdef NO_REVIVE
#define REVIVES false
#else
#define REVIVES isvoid
#endif
#ifdef NO_NOTE
#define NOTED 0
#else
#define NOTED 1
#endif
#ifdef NO_VOID
#define VOID false
#else
#define VOID isvoid
#endif
/* enqueue.lua */
#define ENQUEUE_BODY \
  if \
  :: body -> printf("it exists\n") \
  :: else -> body = 1; added++; if :: REVIVES -> isvoid = 0 :: else -> inready++ fi; printf("job %d is added, %d times in ready\n", added, inready) \
  fi; \
  assert(inready <= 1) /* C1 */
/* discard.lua */
#define CANCEL_BODY \
  if \
  :: body && !held -> body = 0; ended++; isvoid = NOTED; printf("job %d is cancelled\n", added) \
  :: else \
  fi
/* work.lua */
#define TAKE_BODY \
  inready--; \
  if \
  :: VOID -> isvoid = 0; printf("a void ID is dropped\n") \
  :: else -> assert(body && !held); /* C2: what was cancelled does not start, and nothing starts twice */ held = 1; ended++; printf("job %d is taken\n", added) \
  fi
#define SETTLE_BODY held = 0; body = 0

proctype Enqueuer() provided (!over) { end: do :: jobs > 0 -> d_step { jobs--; ENQUEUE_BODY } od }
proctype Operator() provided (!over) { end: do :: cancels > 0 -> d_step { cancels--; CANCEL_BODY } od }
proctype Worker() provided (!over) { end: do :: d_step { inready > 0 -> TAKE_BODY } :: d_step { held -> SETTLE_BODY } od }

active proctype Always() {
  atomic {
    assert(!body || held || inready == 1 && !isvoid);     /* C3: a job that waits is in ready */
    assert(!isvoid || inready == 1 && !body);              /* C4: a note belongs to an ID in ready without a job */
    over = 1 } }

init { atomic { run Enqueuer(); run Operator(); run Worker() } }
