/* How a worker holds a job: one partition, one job, WORKERS workers. A d_step is one script. README.md lists the function of redisstore for each macro,
   and the properties S1 to S6. A worker that dies loses what it knows, and begins again with a new session.
   FEW: a worker may send a call to work_few.lua first, which carries it out or leaves it to work.lua. */
/* Sources: the macros of this model, and the source of each. A test checks that these names exist, and that the source names the model.
   WORK_BODY: redisstore/scripts/sessions/work.lua
   FEW_BODY: redisstore/scripts/sessions/work_few.lua
   HOLDS: redisstore/scripts/lib/settle.lua
   EXTEND_BODY: redisstore/scripts/sessions/extend.lua
   CLOSE_BODY: redisstore/scripts/sessions/close_session.lua
   REAP_BODY: redisstore/scripts/sessions/reap.lua */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef ROUNDS
#define ROUNDS 2     /* takes of a worker */
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#ifndef LOSSES
#define LOSSES 1     /* replies that are lost */
#endif
#ifndef SILENCES
#define SILENCES 1   /* how often a living worker cannot extend its session in time */
#endif
#ifndef MAXC
#define MAXC 2       /* after so many crashes the job is dead */
#endif
#define NS 6         /* sessions: WORKERS * ROUNDS, and one at the end */
#define READY 1
#define HELD 2
#define DONE 3
#define DEAD 4
#define NOTHING 0
#define FINISH 1     /* the kinds of settlements */
#define RETRY 2

typedef Session {
  bit open;    /* the store has it */
  bit gone;    /* it has ended, and the store remembers that */
  byte last;   /* the number of its last call */
  byte answer; /* the fence that this call has drawn; 0: none */
  bit lapsed;
  bit orphan;  /* ghost: its worker has died */
  bit silent;  /* ghost: its worker could not extend it */
  bit seen;    /* the reaper has seen it lapsed */
  bit fresh    /* it was extended since then */
};
Session s[NS+1];
byte place = READY, holder, holds;  /* the job; its session and its fence if it is HELD */
byte fence, crashes, completions, sessions;
byte deaths = DEATHS, losses = LOSSES, silences = SILENCES;
byte ks, kn, kk, kf; bit kt; byte kept;   /* one call that the network delivers again, late: kept 0 none yet, 1 kept, 2 delivered */

#ifdef NO_NUMBER
#define AGAIN(S,N) false
#else
#define AGAIN(S,N) (s[S].last == N)
#endif
#ifdef NO_SESSION
#define MAYOPEN(S,N,K) true
#else
#ifdef NO_MEMORY
#define MAYOPEN(S,N,K) (N == 1 && K == NOTHING)
#else
#define MAYOPEN(S,N,K) (N == 1 && K == NOTHING && !s[S].gone)
#endif
#endif
#ifdef NO_FENCE
#define HOLDS(S,F) (place == HELD && holder == S)
#else
#define HOLDS(S,F) (place == HELD && holder == S && holds == F)
#endif

/* work.lua: call number N of session S settles the job with fence F as K, and takes if T */
#define WORK_BODY(S,N,K,F,T) \
  lost = 0; got = 0; \
  if \
  :: !s[S].open && !MAYOPEN(S,N,K) -> lost = 1 \
  :: s[S].open && AGAIN(S,N) -> got = s[S].answer \
  :: s[S].open && !AGAIN(S,N) && N < s[S].last -> lost = 1 \
  :: else -> \
     s[S].open = 1; s[S].last = N; s[S].answer = 0; s[S].lapsed = 0; s[S].fresh = 1; \
     if \
     :: K != NOTHING && HOLDS(S,F) -> \
        if :: K == FINISH -> place = DONE; completions++; assert(completions == 1); assert(stale != F) /* S1 */ \
           :: else -> place = READY fi; \
        holder = 0; holds = 0 \
     :: else \
     fi; \
     if :: T && place == READY -> fence++; place = HELD; holder = S; holds = fence; s[S].answer = fence; got = fence :: else fi \
  fi; \
  printf("work session %d call %d: settle %d of fence %d, take %d: lost %d, got fence %d; the job is %d\n", S, N, K, F, T, lost, got, place)

/* work_few.lua carries out a call only if the session exists, its last call was the one before this, and it holds the finished job with this fence. It does not
   extend the session. Everything else it leaves to work.lua, and writes nothing. It settles no failed jobs. */
#ifdef NO_FEWLAST
#define FEWFOLLOWS(S,N) (s[S].last <= N)
#else
#define FEWFOLLOWS(S,N) (s[S].last + 1 == N)
#endif
#ifdef NO_FEWFENCE
#define FEWHOLDS(S,F) (place == HELD && holder == S)
#else
#define FEWHOLDS(S,F) (place == HELD && holder == S && holds == F)
#endif
#define FITS(S,N,K,F,T) (s[S].open && FEWFOLLOWS(S,N) && (K == FINISH && FEWHOLDS(S,F) || K == NOTHING && T && place == READY))
#define FEW_BODY(S,N,K,F,T) \
  lost = 0; got = 0; s[S].last = N; s[S].answer = 0; \
  if \
  :: K == FINISH -> place = DONE; completions++; assert(completions == 1); assert(stale != F) /* S1 */; holder = 0; holds = 0 \
  :: else \
  fi; \
  if :: T && place == READY -> fence++; place = HELD; holder = S; holds = fence; s[S].answer = fence; got = fence :: else fi; \
  printf("work_few session %d call %d: settle %d of fence %d, take %d: got fence %d; the job is %d\n", S, N, K, F, T, got, place)
#ifdef FEW
#define WORKORFEW(S,N,K,F,T) \
  if \
  :: d_step { FITS(S,N,K,F,T) -> FEW_BODY(S,N,K,F,T) } \
  :: d_step { WORK_BODY(S,N,K,F,T) } \
  fi
#else
#define WORKORFEW(S,N,K,F,T) d_step { WORK_BODY(S,N,K,F,T) }
#endif

bit over;    /* everybody stops */
byte stale;  /* ghost: the fence of an attempt that was settled as failed while its handler continued */

#define EXTEND_BODY(S) if :: s[S].open -> s[S].lapsed = 0; s[S].fresh = 1 :: else fi
#define CLOSE_BODY(S) if :: s[S].open && !(place == HELD && holder == S) -> s[S].open = 0; s[S].gone = 1; s[S].lapsed = 0 :: else fi
/* reap.lua, with the lapse that was seen */
#ifdef NO_SECOND
#define MAYREAP(S) (s[S].open)
#else
#define MAYREAP(S) (s[S].open && s[S].lapsed && !s[S].fresh)
#endif
#define REAP_BODY(S) \
  if \
  :: MAYREAP(S) -> \
     assert(!s[S].fresh); /* S3 */ \
     assert(s[S].orphan || s[S].silent); /* S4 */ \
     if \
     :: place == HELD && holder == S -> CRASH; holder = 0; holds = 0 \
     :: else \
     fi; \
     s[S].open = 0; s[S].gone = 1; s[S].lapsed = 0; s[S].seen = 0; printf("session %d is reaped: the job is %d, %d crashes\n", S, place, crashes) \
  :: else -> s[S].seen = 0 \
  fi
#ifdef NO_CAP
#define CRASH crashes++; assert(crashes <= MAXC) /* S6 */; place = READY
#else
#define CRASH crashes++; assert(crashes <= MAXC); if :: crashes >= MAXC -> place = DEAD :: else -> place = READY fi 
#endif

/* One call, until it is answered: its reply may be lost, and then it is repeated. The network may keep a copy. */
#define CALL(K,F,T) \
  do \
  :: atomic { \
       WORKORFEW(sid,n,K,F,T); \
       if :: kept == 0 -> d_step { kept = 1; ks = sid; kn = n; kk = K; kf = F; kt = T; printf("(that call will arrive once more)\n") } :: skip fi; \
       if :: losses > 0 -> losses--; printf("(its reply is lost)\n") :: break fi } \
  :: deaths > 0 -> d_step { deaths--; s[sid].orphan = 1; sid = 0; n = 0; f = 0; printf("the worker dies\n") }; goto again \
  od; skip

proctype Worker() provided (!over) {
  byte sid, n, f, rounds = ROUNDS, got; bit lost;
again: skip;
  do
  :: rounds == 0 -> break
  :: rounds > 0 ->
     d_step { rounds--; if :: sid == 0 -> sessions++; sid = sessions; n = 0 :: else fi; n++ };
     CALL(NOTHING,0,1);
     if
     :: lost -> d_step { sid = 0; n = 0; lost = 0 }
     :: !lost && got != 0 ->
        d_step { f = got; got = 0; n++ };
        if
        :: CALL(FINISH,f,0)
        :: CALL(RETRY,f,0)
#ifdef TIMEOUT
        :: /* its time is over: it is settled as failed and taken again, and then the first handler returns */
           CALL(RETRY,f,1);
           d_step { stale = f; n++ };
           CALL(FINISH,f,0);
           if
           :: !lost && got == 0 -> skip
           :: else
           fi;
           d_step { stale = 0; n++ };
           if :: place == HELD && holder == sid -> CALL(FINISH,holds,0) :: else fi
#endif
        :: d_step { EXTEND_BODY(sid) }; CALL(FINISH,f,0)
        fi;
        d_step { f = 0; got = 0; if :: lost -> sid = 0; n = 0; lost = 0 :: else fi }
     :: else -> d_step { assert(!(place == HELD && holder == sid)); /* S2 */ CLOSE_BODY(sid); sid = 0; n = 0 }
     fi
  :: deaths > 0 -> d_step { deaths--; if :: sid != 0 -> s[sid].orphan = 1 :: else fi; sid = 0; n = 0; f = 0; printf("the worker dies\n") }
  od; skip;
  d_step { if :: sid != 0 -> CLOSE_BODY(sid) :: else fi; sid = 0; n = 0; f = 0; got = 0; lost = 0 } }

/* A session lapses: its worker has died, or is silent. */
#define LAPSE(I) \
  :: atomic { s[I].open && !s[I].lapsed && (s[I].orphan || s[I].silent || silences > 0) -> \
       if :: s[I].orphan || s[I].silent -> skip :: else -> silences--; s[I].silent = 1 fi; s[I].lapsed = 1; printf("session %d lapses\n", I) }
proctype Clock() provided (!over) { end: do LAPSE(1) LAPSE(2) LAPSE(3) LAPSE(4) LAPSE(5) od }

#define REAP(I) \
  :: d_step { s[I].open && s[I].lapsed && !s[I].seen -> s[I].seen = 1; s[I].fresh = 0; printf("session %d is seen lapsed\n", I) } \
  :: d_step { s[I].seen -> REAP_BODY(I) }
proctype Reaper() provided (!over) { end: do REAP(1) REAP(2) REAP(3) REAP(4) REAP(5) od }

proctype Network() provided (!over) {
  byte got; bit lost;
  end: do
  :: kept == 1 -> d_step { printf("(late) "); WORK_BODY(ks,kn,kk,kf,kt); kept = 2; ks = 0; kn = 0; kk = 0; kf = 0; kt = 0; got = 0; lost = 0 }
#ifdef FEW
  :: d_step { kept == 1 && FITS(ks,kn,kk,kf,kt) -> printf("(late) "); FEW_BODY(ks,kn,kk,kf,kt); kept = 2; ks = 0; kn = 0; kk = 0; kf = 0; kt = 0; got = 0; lost = 0 }
#endif
  od }

/* At any moment everybody may die. Then the sessions lapse and are reaped, and one worker takes what it gets and finishes it. */
active proctype End() {
  byte i, got; bit lost;
  atomic { over = 1;
    d_step {
      for (i : 1 .. NS) { if :: s[i].open -> s[i].orphan = 1; s[i].lapsed = 1; s[i].fresh = 0; REAP_BODY(i) :: else fi };
      WORK_BODY(NS,1,NOTHING,0,1);
      if :: got -> i = got; WORK_BODY(NS,2,FINISH,i,0) :: else fi;
      assert(place == DONE || place == DEAD) /* S5 */ } } }

init { atomic { byte i; for (i : 1 .. WORKERS) { run Worker() }; i = 0; run Clock(); run Reaper(); run Network() } }
