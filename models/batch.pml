/* batch.pml: how a batch ends. Two partitions, A and B, count their members; home, in a slot of its own, has their last reports. Each d_step is one script.
   Members: M0 in A, M1 in B, M2 in A, in this order of positions; G is added to B by a handler of M0; F follows M0 and goes from the outbox of A to B.
   Every process may stop anywhere: "stop" is possible in every state, and then somebody runs alone (REST) until the batch has ended. Calls and answers may come
   late and twice: reports, the calls of creators and of handlers, the looks, the last call of a look.
   Flags: NOB: M1 is not there; A3: M2 is; GR: growth; FO: F; RQ: M0 may die, and be requeued once; CA: a cancel; MS: anybody may seal; PB=1, PB=2: A or B returns to an
   earlier state once; HB: home does; NR reports under way, NL looks at once, NC creators, 1 or 2 each; M=n leaves out guard n.
   P1 Ended and Done are added once (in the present history of home). P2 Ended is not added while a member is left in a partition or an outbox, and nothing is added after it.
   P3 Done is added only if all members are done. P4 If somebody lives the batch ends, with Done if all are done. P5 A position and a growth are added once.
   If a partition went back, P2 and P3 hold for what it had when it was looked at, and for F only if home knows B. If home went back, they do not hold for a growth
   whose note was lost, nor for what was added to a partition whose note was lost, if somebody seals the batch as it is. */
/* Sources: the macros of this model, and the source of each. A test checks that these names exist, and that the source names the model.
   NOTE: redisstore/scripts/batches/note_fill.lua
   FILL: redisstore/scripts/jobs/enqueue.lua
   GROWNOTE: redisstore/scripts/batches/grow_batch.lua
   ENDMEMBER: redisstore/scripts/lib/members.lua
   CARRY: redisstore/scripts/outbox/carry.lua
   CONFIRM: redisstore/scripts/outbox/advance_outbox.lua
   READ: redisstore/scripts/batches/read_reports.lua
   STORE: redisstore/scripts/batches/report_batch.lua
   ACK: redisstore/scripts/batches/ack_reports.lua
   LOOK: redisstore/scripts/batches/count_batch.lua
   END: redisstore/scripts/batches/end_batch.lua
   SEALING: redisstore/scripts/batches/seal_batch.lua */
#ifndef M
#define M 0
#endif
#define LOOKS (M != 1)          /* there is a second look */
#define LOOKSAFTER (M != 2)     /* it begins after all reports are zero */
#define PENDINGHOLDS (M != 3)   /* a pending growth holds up the end */
#define USESUP (M != 4)         /* the number of a growth is used up in the partition before its note is cleared without the handler */
#define CLEARSTORES (M != 5)    /* what clears a note is stored as a report */
#define OUTCOUNTS (M != 6)      /* the source counts what is in its outbox */
#define LOWERREFUSED (M != 7)   /* home refuses a report of a lower version */
#define GROWTHONCE (M != 8)     /* a partition takes the number of a growth once */
#define POSITIONONCE (M != 9)   /* a partition takes a position once */
#define ENDSONCE (M != 10)      /* home adds Ended once */
#define RAISES (M != 11)        /* a partition that went back draws a version above the one at home */
#define BADHOLDS (M != 12)      /* no Done with dead or cancelled members */
#define NOTESFIRST (M != 13)    /* home notes a partition before it is filled */
#define MARKREFUSES (M != 14)   /* a marked partition takes no position */
#define LOOKMARKS (M != 15)     /* the look at a cancelled batch marks the partition */
#define ENDREFUSES (M != 16)    /* home refuses a growth after the end */
#define ENDCOMPARES (M != 17)   /* home compares what the look has seen with the reports that it has at the end */
#define CLOSES (M != 18)        /* sealing closes each partition first */
#define NAMESTARGET (M != 19)   /* a report of the source names the partition to which a member has gone */
#define MARKPROVES (M != 20)    /* a creator whom a marked partition refuses cancels at home */
#define DONELOOKS (M != 21)     /* there is a second look before Done, too */
#define LOOKCLOSES (M != 22)    /* the look at a sealed batch closes the partition again */
#define SEALCOMPARES (M != 23)  /* home compares the position of a creator that seals with its own */
#define NOTECOMPARES (M != 24)  /* home compares the position of a note with its own */
#define REPORTSAGAIN (M != 25)  /* a partition also reports counts that home has had; after the end nobody else brings them */

#define NONE 0
#define LIVE 1
#define DONE 2
#define DEAD 3
#define CANC 4
#define M0 0
#define M1 1
#define M2 2
#define G 3
#define F 4
#define NEVER 255
#ifndef NR
#define NR 1
#endif
#ifndef NL
#define NL 1
#endif
#ifndef NC
#define NC 1
#endif
#ifdef FO
#define FOLLOWED 1
#else
#define FOLLOWED 0
#endif

/* the partitions; version 0: it has never counted this batch. out: 1: F waits in the outbox of A, 2: it was carried */
byte mem[5], ver[2], pos[2], out, number, inbox;
bool mark[2], closed[2], used, target;
/* home; version NEVER: no report */
byte rv[2], rleft[2], position;
bool rbad[2], rclosed[2], known[2], sealing, sealed, cancel, ended, finished, pend;
/* creators, the handler that grows, reports under way, looks */
byte cs[NC], gs, mp[NR], mv[NR], mleft[NR], lv[2 * NL];
bool mbad[NR], mclosed[NR], mclear[NR], mtarget[NR], ls[NL], lseen[2 * NL], lknown[2 * NL], lcancel[NL], lzero[NL];
/* what no process knows */
byte top[2], fnumber, requeues, i, j, k, turn, refused;
bool excuse, pBack, hBack, pSaved, hSaved, sent[3];
#if M == 25
bool acked[2]; /* home has had the counts of this version */
#define ACKED(p) acked[p]
#define ACK(s) if :: mv[s] == ver[mp[s]] -> acked[mp[s]] = 1 :: else fi
#define NOTACKED(p) acked[p] = 0
#else
#define ACKED(p) 0
#define ACK(s) skip
#define NOTACKED(p) skip
#endif
/* earlier states */
byte xmem[5], xver, xpos, xout, xnumber, xinbox, yrv[2], yrleft[2], yposition;
bool xmark, xclosed, xused, xtarget, yrbad[2], yrclosed[2], yknown[2], ysealing, ysealed, ycancel, yended, yfinished, ypend;

#define LEFT(p) ((p) == 0 -> (mem[M0] == LIVE) + (mem[M2] == LIVE) + (OUTCOUNTS && out == 1) : (mem[M1] == LIVE) + (mem[G] == LIVE) + (mem[F] == LIVE))
#define BAD(p) ((p) == 0 -> (mem[M0] >= DEAD || mem[M2] >= DEAD) : (mem[M1] >= DEAD || mem[G] >= DEAD || mem[F] >= DEAD))
#define PART(m) ((m) == M0 || (m) == M2 -> 0 : 1)

inline DRAW(p) { /* max(last + 1, TIME) */
  ver[p] = (top[p] > ver[p] -> top[p] + 1 : ver[p] + 1);
  NOTACKED(p);
  if :: ver[p] > top[p] -> top[p] = ver[p] :: else fi }

/* home, before a creator fills a partition. The answer is how the creator continues: 6 seals, 7 has nothing left to do, 8 is refused. */
inline NOTE(c, p, at, next) {
  if
  :: cancel -> cs[c] = 8
  :: !cancel && (sealed || ended) -> cs[c] = 7
  :: !cancel && !sealed && !ended && sealing -> cs[c] = 6
  :: !cancel && !sealed && !ended && !sealing && at > position + 1 && NOTECOMPARES -> cs[c] = 0 /* home went back */
  :: else -> if :: NOTESFIRST || p == 0 -> known[p] = 1 :: else fi; if :: at > position -> position = at :: else fi; cs[c] = next
  fi }

/* a partition takes a position, or passes over it, or refuses it: 1: it is closed, 2: it is marked as cancelled */
inline FILL(m, at) {
  refused = 0;
  if
  :: POSITIONONCE && pos[PART(m)] >= at -> skip
  :: !(POSITIONONCE && pos[PART(m)] >= at) && mark[PART(m)] && MARKREFUSES -> refused = 2
  :: !(POSITIONONCE && pos[PART(m)] >= at) && !(mark[PART(m)] && MARKREFUSES) && closed[PART(m)] && CLOSES -> refused = 1
  :: else ->
    assert(mem[m] == NONE || pBack); /* P5 */
    assert(!ended || pBack || hBack); /* P2 */
    mem[m] = LIVE; pos[PART(m)] = at; DRAW(PART(m))
  fi }
inline FILLED(c, next) { /* a refusal by a mark proves that somebody has cancelled, also if home went back */
  if
  :: refused == 0 -> cs[c] = next
  :: refused == 1 -> cs[c] = 6
  :: else -> cs[c] = 8; if :: MARKPROVES -> cancel = 1; known[0] = 1 :: else fi
  fi }

/* the handler of M0 asks home, then adds G */
inline GROWNOTE() {
  if
  :: ended && ENDREFUSES || cancel -> gs = (gs == 0 -> 9 : gs)
  :: else -> pend = 1; known[1] = 1; gs = 1
  fi }
inline GROW() {
  if
  :: used && GROWTHONCE || mark[1] -> skip
  :: else ->
    assert(mem[G] == NONE || pBack); /* P5 */
    assert(!ended || pBack || hBack); /* P2 */
    if :: pBack -> excuse = 1 :: else fi; /* a late copy, after B went back */
    mem[G] = LIVE; used = 1; DRAW(1)
  fi }

/* a member ends; F follows M0 when it is done */
inline ENDMEMBER(m, how) {
  mem[m] = how;
  if :: FOLLOWED && m == M0 && how == DONE -> fnumber++; number = fnumber; out = 1 :: else fi;
  DRAW(PART(m)) }

/* the target adds what is above its mark; then the source counts it no longer, unless the target went back */
inline CARRY() {
  if
  :: out == 1 && inbox < number ->
    assert(!ended || requeues || pBack || hBack); /* P2 */
    inbox = number; mem[F] = LIVE; DRAW(1)
  :: else
  fi }
inline CONFIRM() {
  if
  :: out == 1 && inbox >= number -> out = 2; target = 1; DRAW(0)
  :: out == 2 && inbox < number -> out = 1; DRAW(0); excuse = 1 /* B went back: F was not there when it was looked at */
  :: else
  fi }

inline READ(s, p, clear) { mp[s] = p; mv[s] = ver[p]; mleft[s] = LEFT(p); mbad[s] = BAD(p); mclosed[s] = closed[p]; mclear[s] = clear; mtarget[s] = (p == 0 && target) }

/* home takes a report, which may clear the note of a growth */
inline STORE(s) {
  if
  :: rv[mp[s]] == NEVER || mv[s] > rv[mp[s]] || !LOWERREFUSED ->
    if :: CLEARSTORES || !mclear[s] -> rv[mp[s]] = mv[s]; rleft[mp[s]] = mleft[s]; rbad[mp[s]] = mbad[s]; rclosed[mp[s]] = mclosed[s] :: else fi;
    known[mp[s]] = 1;
    if :: mtarget[s] && NAMESTARGET -> known[1] = 1 :: else fi
  :: else
  fi;
  ACK(s);
  if :: mclear[s] && (!CLEARSTORES || mv[s] >= rv[mp[s]]) -> pend = 0 :: else fi }

/* the reports allow a look */
#define ZERO(p) (!known[p] || rv[p] != NEVER && rleft[p] == 0)
#define GOOD (!cancel && (!BADHOLDS || !(known[0] && rbad[0]) && !(known[1] && rbad[1])))
#define OVER ((sealed || cancel) && (known[0] || known[1]) && ZERO(0) && ZERO(1) && (!ended || !finished && GOOD))
#define ISLEFT(m) (mem[m] == LIVE)
#define FLEFT (ISLEFT(F) && (known[1] || !pBack)) /* if A went back to before F left it, home learns of B from B */
#define NOTHINGLEFT (!ISLEFT(M0) && !ISLEFT(M1) && !ISLEFT(M2) && !FLEFT && !ISLEFT(G) && out != 1)
inline BEGIN(l) {
  ls[l] = 1; lcancel[l] = cancel; lzero[l] = NOTHINGLEFT;
  for (j : 0 .. 1) { lv[2 * l + j] = rv[j]; lknown[2 * l + j] = known[j]; lseen[2 * l + j] = (!LOOKS || !DONELOOKS && ended) } }

/* the look at a partition: the same version, or a new report is due and the look is over */
#define SEES(l, p) (ver[p] == lv[2 * (l) + (p)] && LEFT(p) == 0)
inline LOOK(l, p) {
  if :: LOOKMARKS && lcancel[l] && !mark[p] -> mark[p] = 1; DRAW(p) :: else fi;
  if :: LOOKCLOSES && CLOSES && !lcancel[l] && !closed[p] -> closed[p] = 1; DRAW(p) :: else fi;
  if
  :: !LOOKSAFTER && LEFT(p) == 0 -> lv[2 * l + p] = ver[p]; lseen[2 * l + p] = 1
  :: LOOKSAFTER && SEES(l, p) -> lseen[2 * l + p] = 1
  :: else ->
    if :: RAISES && ver[p] <= lv[2 * l + p] -> ver[p] = lv[2 * l + p]; DRAW(p) :: else fi;
    ls[l] = 0
  fi }

/* home ends the batch */
#define SAME(l, p) (known[p] == lknown[2 * (l) + (p)] && (!known[p] || !ENDCOMPARES || rv[p] == lv[2 * (l) + (p)] && rleft[p] == 0))
#define ISDONE(m) (mem[m] == NONE || mem[m] == DONE)
inline END(l) {
  if
  :: (sealed || cancel) && (!pend || !PENDINGHOLDS) && SAME(l, 0) && SAME(l, 1) ->
    if
    :: !ended || !ENDSONCE ->
      assert(!ended); /* P1 */
      assert(excuse || pBack || lzero[l] || !LOOKSAFTER); /* P2: nothing was left when the look began */
      assert(excuse || requeues || !ISLEFT(M0) && !ISLEFT(M1) && !ISLEFT(M2) && !FLEFT && out != 1); /* P2 */
      assert(excuse || hBack || !ISLEFT(G)); /* P2 */
      ended = 1
    :: else
    fi;
    if
    :: !finished && GOOD ->
      assert(excuse || ISDONE(M0) && ISDONE(M1) && ISDONE(M2) && (ISDONE(F) || pBack && !known[1]) && out != 1 && (hBack || ISDONE(G))); /* P3 */
      finished = 1
    :: else
    fi
  :: else
  fi }

/* somebody runs alone */
inline ALONE(p) { /* reports of a partition, until home has taken one */
  if
  :: known[p] && (REPORTSAGAIN || !ended || !ACKED(p)) ->
    if :: cancel && !mark[p] -> mark[p] = 1; DRAW(p) :: else fi;
    if :: sealing && !closed[p] && CLOSES -> closed[p] = 1; DRAW(p) :: else fi;
    READ(0, p, (p == 1 && used)); STORE(0);
    if
    :: RAISES && (rv[p] > ver[p] || rv[p] == ver[p] && rleft[p] != mleft[0]) -> ver[p] = rv[p]; DRAW(p); READ(0, p, (p == 1 && used)); STORE(0)
    :: else
    fi
  :: else
  fi }
inline REST() {
  for (turn : 1 .. 6) {
    if
    :: !sealing && !sealed && !cancel && !ended ->
      known[0] = 1; FILL(M0, 1);
#ifndef NOB
      if :: refused == 0 -> known[1] = 1; FILL(M1, 2) :: else fi;
#endif
#ifdef A3
      if :: refused == 0 -> FILL(M2, 3) :: else fi;
#endif
      if :: refused < 2 -> sealing = 1 :: refused == 2 && MARKPROVES -> cancel = 1; known[0] = 1 :: else fi
    :: else
    fi;
    if :: pend -> used = 1 :: else fi;
    CONFIRM(); CARRY(); CONFIRM();
    for (i : 0 .. 4) { if :: mem[i] == LIVE -> k = (mark[PART(i)] -> CANC : DONE); ENDMEMBER(i, k) :: else fi }
    CARRY(); CONFIRM();
    ALONE(0); ALONE(1); ALONE(1);
    if :: sealing && !cancel && (!known[0] || rclosed[0] || !CLOSES) && (!known[1] || rclosed[1] || !CLOSES) -> sealed = 1 :: else fi;
    if
    :: OVER ->
      BEGIN(0);
      if :: known[0] && !lseen[0] -> LOOK(0, 0) :: else fi;
      if :: ls[0] && known[1] && !lseen[1] -> LOOK(0, 1) :: else fi;
      if :: ls[0] -> END(0) :: else fi
    :: else
    fi
  };
  assert(ended); /* P4 */
  assert(finished || cancel || known[0] && BAD(0) || known[1] && BAD(1)) /* P4 */ }

inline FORGET() { /* all ends of the search are one state */
  for (i : 0 .. 4) { mem[i] = 0; xmem[i] = 0 }
  for (i : 0 .. 1) {
    ver[i] = 0; pos[i] = 0; mark[i] = 0; closed[i] = 0; rv[i] = 0; rleft[i] = 0; rbad[i] = 0; rclosed[i] = 0; known[i] = 0; top[i] = 0; NOTACKED(i);
    yrv[i] = 0; yrleft[i] = 0; yrbad[i] = 0; yrclosed[i] = 0; yknown[i] = 0
  }
  for (i : 0 .. NR - 1) { mp[i] = 0; mv[i] = 0; mleft[i] = 0; mbad[i] = 0; mclosed[i] = 0; mclear[i] = 0; mtarget[i] = 0 }
  for (i : 0 .. NC - 1) { cs[i] = 0 }
  for (i : 0 .. 2) { sent[i] = 0 }
  for (i : 0 .. NL - 1) { ls[i] = 0; lcancel[i] = 0; lzero[i] = 0 }
  for (i : 0 .. 2 * NL - 1) { lv[i] = 0; lseen[i] = 0; lknown[i] = 0 }
  out = 0; number = 0; inbox = 0; used = 0; target = 0; sealing = 0; sealed = 0; cancel = 0; ended = 0; finished = 0; pend = 0; gs = 0; fnumber = 0; requeues = 0;
  excuse = 0; pBack = 0; hBack = 0; pSaved = 0; hSaved = 0; xver = 0; xpos = 0; xout = 0; xnumber = 0; xinbox = 0; xmark = 0; xclosed = 0; xused = 0; xtarget = 0;
  position = 0; yposition = 0; ysealing = 0; ysealed = 0; ycancel = 0; yended = 0; yfinished = 0; ypend = 0 }

#define CALM i = 0; j = 0; k = 0; turn = 0; refused = 0

/* the steps of a creator; each call to a partition may come once more, later */
#ifdef NOB
#define AFTERM0 4
#else
#define AFTERM0 2
#endif
#ifdef A3
#define AFTERM1 4
#else
#define AFTERM1 6
#endif
#ifdef NOB
#define FIRSTTHEN AFTERM1
#else
#define FIRSTTHEN 2
#endif
#ifdef A3
#define LASTPOSITION 3
#elif defined(NOB)
#define LASTPOSITION 1
#else
#define LASTPOSITION 2
#endif
/* a seal by a creator is refused if home does not know the last item: home went back, and the creator begins again */
#define CREATOR(c) \
  :: d_step { cs[c] == 0 -> NOTE(c, 0, 1, 1); printf("creator %d asks home: %d\n", c, cs[c]); CALM } \
  :: d_step { cs[c] == 1 -> sent[0] = 1; FILL(M0, 1); FILLED(c, FIRSTTHEN); printf("creator %d: M0 in A, refused %d\n", c, refused); CALM } \
  :: d_step { cs[c] == 2 -> NOTE(c, 1, 2, 3); printf("creator %d asks home: %d\n", c, cs[c]); CALM } \
  :: d_step { cs[c] == 3 -> sent[1] = 1; FILL(M1, 2); FILLED(c, AFTERM1); printf("creator %d: M1 in B, refused %d\n", c, refused); CALM } \
  :: d_step { cs[c] == 4 -> NOTE(c, 0, 3, 5); printf("creator %d asks home: %d\n", c, cs[c]); CALM } \
  :: d_step { cs[c] == 5 -> sent[2] = 1; FILL(M2, 3); FILLED(c, 6); printf("creator %d: M2 in A, refused %d\n", c, refused); CALM } \
  :: d_step { cs[c] == 6 -> cs[c] = 7; if :: position < LASTPOSITION && !sealing && !sealed && !cancel -> cs[c] = (SEALCOMPARES -> 0 : 7) :: else fi; if :: cs[c] == 7 -> SEALING() :: else fi; printf("creator %d seals: %d\n", c, cs[c]); CALM }
inline SEALING() { if :: !cancel && !ended && !sealed -> sealing = 1; if :: !CLOSES -> sealed = 1 :: else fi :: else fi }

#define REPORTS(s) \
  :: d_step { ver[0] > 0 || known[0] -> READ(s, 0, 0); printf("A reports: version %d, left %d\n", mv[s], mleft[s]); CALM } \
  :: d_step { ver[1] > 0 || known[1] -> READ(s, 1, 0); printf("B reports: version %d, left %d\n", mv[s], mleft[s]); CALM } \
  :: d_step { pend && (used || !USESUP) -> READ(s, 1, 1); printf("B reports, to clear the note: version %d, left %d\n", mv[s], mleft[s]); CALM } \
  :: d_step { mp[s] != NEVER -> STORE(s); printf("home has report %d: version %d\n", s, mv[s]); CALM }

#define LOOKER(l) \
  :: d_step { OVER || !LOOKSAFTER && (sealed || cancel) -> BEGIN(l); printf("look %d begins: A %d, B %d\n", l, rv[0], rv[1]); CALM } \
  :: d_step { ls[l] && lknown[2 * l] && !lseen[2 * l] -> LOOK(l, 0); printf("look %d at A: %d\n", l, lseen[2 * l]); CALM } \
  :: d_step { ls[l] && lknown[2 * l + 1] && !lseen[2 * l + 1] -> LOOK(l, 1); printf("look %d at B: %d\n", l, lseen[2 * l + 1]); CALM } \
  :: d_step { ls[l] && (!lknown[2 * l] || lseen[2 * l]) && (!lknown[2 * l + 1] || lseen[2 * l + 1]) -> END(l); printf("look %d is over: ended %d, done %d\n", l, ended, finished); CALM }

#define MEMBER(m) \
  :: d_step { mem[m] == LIVE -> k = DONE; ENDMEMBER(m, k); printf("member %d is done\n", m); CALM } \
  :: d_step { mem[m] == LIVE && mark[PART(m)] -> k = CANC; ENDMEMBER(m, k); printf("member %d is dropped\n", m); CALM }

active proctype All() {
  d_step { skip; rv[0] = NEVER; rv[1] = NEVER; for (i : 0 .. NR - 1) { mp[i] = NEVER }; CALM }
  do
  :: d_step { skip; printf("stop\n"); REST(); FORGET(); CALM } break
  CREATOR(0)
#if NC > 1
  CREATOR(1)
#endif
  /* copies of a creator's calls that come later */
  :: d_step { sent[0] -> FILL(M0, 1); printf("a copy: M0 in A, refused %d\n", refused); CALM }
  :: d_step { sent[1] -> FILL(M1, 2); printf("a copy: M1 in B, refused %d\n", refused); CALM }
  :: d_step { sent[2] -> FILL(M2, 3); printf("a copy: M2 in A, refused %d\n", refused); CALM }
#ifdef MS
  :: d_step { known[0] && !sealing && !cancel && !ended -> SEALING(); printf("somebody seals\n"); CALM }
#endif
  :: d_step { sealing && known[0] && !closed[0] && CLOSES -> closed[0] = 1; DRAW(0); printf("A is closed\n"); CALM }
  :: d_step { sealing && known[1] && !closed[1] && CLOSES -> closed[1] = 1; DRAW(1); printf("B is closed\n"); CALM }
  :: d_step { sealing && !sealed && !cancel && (!known[0] || rclosed[0]) && (!known[1] || rclosed[1]) -> sealed = 1; printf("sealed\n"); CALM }
#ifdef CA
  :: d_step { !cancel && !ended && known[0] -> cancel = 1; printf("cancelled\n"); CALM }
#endif
  :: d_step { cancel && known[0] && !mark[0] -> mark[0] = 1; DRAW(0); printf("A is marked\n"); CALM }
  :: d_step { cancel && known[1] && !mark[1] -> mark[1] = 1; DRAW(1); printf("B is marked\n"); CALM }
#ifdef GR
  :: d_step { gs == 0 && mem[M0] != NONE || gs == 1 && !pend -> GROWNOTE(); printf("growth: home answers %d\n", gs); CALM }
  :: d_step { gs == 1 -> GROW(); printf("growth: G is %d\n", mem[G]); CALM }
  :: d_step { pend && !used && USESUP -> used = 1; printf("the number of the growth is used up\n"); CALM }
#endif
  MEMBER(M0)
  MEMBER(M1)
  MEMBER(M2)
  MEMBER(G)
  MEMBER(F)
#ifdef RQ
  :: d_step { mem[M0] == LIVE -> k = DEAD; ENDMEMBER(M0, k); printf("member 0 is dead\n"); CALM }
  :: d_step { mem[M0] == DEAD && !requeues -> requeues = 1; mem[M0] = LIVE; DRAW(0); printf("member 0 is requeued\n"); CALM }
#endif
  :: d_step { out == 1 && inbox < number -> CARRY(); printf("F is carried to B\n"); CALM }
  :: d_step { out == 1 && inbox >= number || out == 2 && inbox < number -> CONFIRM(); printf("the outbox of A: %d\n", out); CALM }
  REPORTS(0)
#if NR > 1
  REPORTS(1)
#endif
  LOOKER(0)
#if NL > 1
  LOOKER(1)
#endif
#ifdef PB
#define P (PB - 1)
  :: d_step { !pSaved && !pBack -> pSaved = 1;
       for (i : 0 .. 4) { if :: PART(i) == P -> xmem[i] = mem[i] :: else fi }
       xver = ver[P]; xpos = pos[P]; xmark = mark[P]; xclosed = closed[P];
       if :: P == 0 -> xout = out; xnumber = number; xtarget = target :: else -> xused = used; xinbox = inbox fi;
       printf("%d is saved\n", P); CALM }
  :: d_step { pSaved && !pBack -> pBack = 1;
       for (i : 0 .. 4) { if :: PART(i) == P -> mem[i] = xmem[i]; xmem[i] = 0 :: else fi }
       ver[P] = xver; pos[P] = xpos; mark[P] = xmark; closed[P] = xclosed;
       if :: P == 0 -> out = xout; number = xnumber; target = xtarget :: else -> used = xused; inbox = xinbox fi;
       for (i : 0 .. NL - 1) { if :: ls[i] && lseen[2 * i + P] -> excuse = 1 :: else fi }
       xver = 0; xpos = 0; xmark = 0; xclosed = 0; xout = 0; xnumber = 0; xtarget = 0; xused = 0; xinbox = 0; pSaved = 0;
       printf("%d goes back\n", P); CALM }
#endif
#ifdef HB
  :: d_step { !hSaved && !hBack -> hSaved = 1;
       for (i : 0 .. 1) { yrv[i] = rv[i]; yrleft[i] = rleft[i]; yrbad[i] = rbad[i]; yrclosed[i] = rclosed[i]; yknown[i] = known[i] }
       yposition = position; ysealing = sealing; ysealed = sealed; ycancel = cancel; yended = ended; yfinished = finished; ypend = pend; printf("home is saved\n"); CALM }
  :: d_step { hSaved && !hBack -> hBack = 1;
       for (i : 0 .. 1) { rv[i] = yrv[i]; rleft[i] = yrleft[i]; rbad[i] = yrbad[i]; rclosed[i] = yrclosed[i]; known[i] = yknown[i]; yrv[i] = 0; yrleft[i] = 0; yrbad[i] = 0; yrclosed[i] = 0; yknown[i] = 0 }
       position = yposition; yposition = 0; sealing = ysealing; sealed = ysealed; cancel = ycancel; ended = yended; finished = yfinished; pend = ypend;
       ysealing = 0; ysealed = 0; ycancel = 0; yended = 0; yfinished = 0; ypend = 0; hSaved = 0; printf("home goes back\n"); CALM }
#endif
  od
}
