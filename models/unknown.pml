/* What an enqueuer does after an unknown outcome: one job, whose ID the caller repeats. A call may be lost, its reply may be lost, and it may arrive late,
   even after the job has ended: then the ID exists no more. The group of the job may be full for some time: then the job is refused. A d_step is one script.
   README.md lists the function of redisstore for each macro, and the properties U1 to U4. */
#ifndef LOSSES
#define LOSSES 2
#endif
byte last;          /* the number of the caller's last call, or of its last seal */
byte answer;        /* of that call: 1 the job was added, 2 it existed, 3 it was refused */
bit body;           /* the job exists */
bit crowded;        /* its group has as many waiting jobs as it may have */
byte added;         /* ghost: how often it was added */
bit told;           /* ghost: the caller knows that the job was refused, and does not repeat it */
byte kept;          /* the number of a call that the network delivers later, any number of times; 0: none */
byte losses = LOSSES;
bit over;

#ifdef NO_NUMBER
#define AGAIN(N) false
#define LOW(N) false
#else
#define AGAIN(N) (last == N)
#define LOW(N) (N < last)
#endif
/* lib/refused.lua: what a copy of the call, and its seal, answer */
#ifdef NO_REFUSALS
#define KNOWN (answer == 3 -> 1 : answer)
#else
#define KNOWN answer
#endif
/* enqueue.lua: 0 refused as a late copy, 1 added, 2 existing, 3 refused by the group */
#define ENQUEUE_BODY(N) \
  if \
  :: AGAIN(N) -> reply = KNOWN \
  :: !AGAIN(N) && LOW(N) -> reply = 0 \
  :: else -> last = N; \
     if \
     :: body -> answer = 2 \
     :: !body && crowded -> answer = 3 \
     :: else -> body = 1; added++; assert(added == 1) /* U1 */; assert(!told) /* U4 */; answer = 1 \
     fi; reply = answer \
  fi; printf("enqueue call %d: %d\n", N, reply)
/* seal.lua: from now on a call up to N is refused. 1 to 3: call N was carried out before, with this answer */
#ifdef NO_SEAL
#define SEAL_BODY(N) reply = (last == N -> KNOWN : 0)
#else
#define SEAL_BODY(N) if :: last == N -> reply = KNOWN :: last < N -> last = N; answer = 0; reply = 0 :: else -> reply = 0 fi; printf("seal %d: %d\n", N, reply)
#endif

/* The application gives up after the first call, and repeats it with the ID. The enqueuer asks first what has become of the first call. */
proctype Enqueuer() provided (!over) {
  byte n = 1, reply; bit known;
  /* the first call: it arrives and is answered, or its reply is lost, or it is under way */
  if
  :: d_step { ENQUEUE_BODY(n) }; known = 1
  :: d_step { ENQUEUE_BODY(n); reply = 0 }
  :: kept = n
  :: skip
  fi;
  if
  :: known -> skip
  :: else ->
     do /* it is repeated under its number while the caller waits */
     :: losses > 0 -> losses--; if :: d_step { ENQUEUE_BODY(n); reply = 0 } :: kept = n :: skip fi
     :: break
     od;
#ifdef NO_RECALL
     reply = 0;
#else
     do
     :: losses > 0 -> losses--; d_step { SEAL_BODY(n); reply = 0 } /* the reply is lost */
     :: d_step { SEAL_BODY(n) }; break
     od;
#endif
     if
     :: reply == 1 || reply == 2 -> known = 1
     :: else -> n++; /* not carried out, or refused by the group */
        do
        :: losses > 0 -> losses--; if :: d_step { ENQUEUE_BODY(n); reply = 0 } :: skip fi
        :: d_step { ENQUEUE_BODY(n) }; break
        od;
        known = 1
     fi
  fi;
  d_step {
    assert(reply != 0) /* U3 */;
    assert(added == (reply != 3)) /* U2: the caller has its receipt, and the store had the job; or it was refused */;
    told = (reply == 3) } }

proctype Network() provided (!over) { byte reply; end: do :: kept != 0 -> d_step { printf("(late) "); ENQUEUE_BODY(kept); reply = 0 } od }
proctype Worker() provided (!over) { end: do :: body -> body = 0 od }
proctype Others() provided (!over) { end: do :: crowded = 1; crowded = 0 :: crowded = 1; break od } /* the other jobs of the group */

init { atomic { run Enqueuer(); run Network(); run Worker(); run Others() } }
