/* What an enqueuer does after an unknown outcome: one job, whose ID the caller repeats. A call may be lost, its reply may be lost, and it may arrive late,
   even after the job has ended: then the ID exists no more. The group of the job may be full for some time: then the job is refused. A d_step is one script.
   MEMBER: a handler adds the job to a batch. Each call then has a token of its own as caller, and number 1; and the partition may take nothing of the batch any more.
   README.md lists the function of redisstore for each macro, and the properties U1 to U4. */
/* Sources: the macros of this model, and the source of each. A test checks that these names exist, and that the source names the model.
   ENQUEUE_BODY: redisstore/scripts/jobs/enqueue.lua
   SEAL_BODY: redisstore/scripts/jobs/seal.lua
   KNOWN: redisstore/scripts/lib/refused.lua
   CLOSED: redisstore/scripts/lib/members.lua
   CALLER2: internal/enqueue/growths.go (grow) */
#ifndef LOSSES
#define LOSSES 2
#endif
byte last[3];       /* by caller: the number of its last call, or of its last seal */
byte answer[3];     /* of that call: 1 the job was added, 2 it existed, 3 it was refused by its group */
bit closed;         /* the partition takes nothing of the batch any more: it has ended, or somebody has cancelled it */
bit body;           /* the job exists */
bit crowded;        /* its group has as many waiting jobs as it may have */
byte added;         /* ghost: how often it was added */
bit told;           /* ghost: the caller knows that the job was refused, by its group or its batch, and does not repeat it */
byte kept;          /* the number of a call of the first caller that the network delivers later, any number of times; 0: none */
byte losses = LOSSES;
bit over;

#ifdef NO_NUMBER
#define AGAIN(C,N) false
#define LOW(C,N) false
#else
#define AGAIN(C,N) (last[C] == N)
#define LOW(C,N) (N < last[C])
#endif
#ifdef MEMBER
#define CALLER2 2
#define NUMBER2 1
#else
#define CALLER2 1
#define NUMBER2 3
#endif
#ifdef NO_CLOSED
#define CLOSED false
#else
#define CLOSED closed
#endif
/* lib/refused.lua: what a copy of the call, and its seal, answer */
#ifdef NO_REFUSALS
#define KNOWN(C) (answer[C] == 3 -> 1 : answer[C])
#else
#define KNOWN(C) answer[C]
#endif
/* enqueue.lua: 0 refused as a late copy, 1 added, 2 existing, 3 refused by the group; 4 refused by the batch: then nothing is written, the number neither */
#define ENQUEUE_BODY(C,N) \
  if \
  :: AGAIN(C,N) -> reply = KNOWN(C) \
  :: !AGAIN(C,N) && LOW(C,N) -> reply = 0 \
  :: !AGAIN(C,N) && !LOW(C,N) && CLOSED -> reply = 4 \
  :: else -> last[C] = N; \
     if \
     :: body -> answer[C] = 2 \
     :: !body && crowded -> answer[C] = 3 \
     :: else -> body = 1; added++; assert(added == 1) /* U1 */; assert(!told) /* U4 */; assert(!closed) /* U5 */; answer[C] = 1 \
     fi; reply = answer[C] \
  fi; printf("enqueue call %d of caller %d: %d\n", N, C, reply)
/* seal.lua: from now on a call up to N is refused. 1 to 3: call N was carried out before, with this answer */
#ifdef NO_SEAL
#define SEAL_BODY(C,N) reply = (last[C] == N -> KNOWN(C) : 0)
#else
#define SEAL_BODY(C,N) if :: last[C] == N -> reply = KNOWN(C) :: last[C] < N -> last[C] = N+1; answer[C] = 0; reply = 0 :: else -> reply = 0 fi; printf("seal %d: %d\n", N, reply)
#endif

/* The application gives up after the first call, and repeats it with the ID. The enqueuer asks first what has become of the first call. */
proctype Enqueuer() provided (!over) {
  byte n = 1, reply; bit known;
  /* the first call: it arrives and is answered, or its reply is lost, or it is under way */
  if
  :: d_step { ENQUEUE_BODY(1,n) }; known = 1
  :: d_step { ENQUEUE_BODY(1,n); reply = 0 }
  :: kept = n
  :: skip
  fi;
  if
  :: known -> skip
  :: else ->
     do /* it is repeated under its number while the caller waits */
     :: losses > 0 -> losses--; if :: d_step { ENQUEUE_BODY(1,n); reply = 0 } :: kept = n :: skip fi
     :: break
     od;
#ifdef NO_RECALL
     reply = 0;
#else
     do
     :: losses > 0 -> losses--; d_step { SEAL_BODY(1,n); reply = 0 } /* the reply is lost */
     :: d_step { SEAL_BODY(1,n) }; break
     od;
#endif
     if
     :: reply == 1 || reply == 2 -> known = 1
     :: else -> n = NUMBER2; /* not carried out, or refused by the group */
        do
        :: losses > 0 -> losses--; if :: d_step { ENQUEUE_BODY(CALLER2,n); reply = 0 } :: skip fi
        :: d_step { ENQUEUE_BODY(CALLER2,n) }; break
        od;
        known = 1
     fi
  fi;
  d_step {
    assert(reply != 0) /* U3 */;
    assert(added == (reply < 3)) /* U2: the caller has its receipt, and the store had the job; or it was refused */;
    told = (reply >= 3) } }

proctype Network() provided (!over) { byte reply; end: do :: kept != 0 -> d_step { printf("(late) "); ENQUEUE_BODY(1,kept); reply = 0 } od }
proctype Worker() provided (!over) { end: do :: body -> body = 0 od }
proctype Others() provided (!over) { end: do :: crowded = 1; crowded = 0 :: crowded = 1; break od } /* the other jobs of the group */

proctype Batch() provided (!over) { end: closed = 1 } /* the batch ends without the job */

init { atomic { run Enqueuer(); run Network(); run Worker(); run Others();
#ifdef MEMBER
  run Batch()
#endif
} }
