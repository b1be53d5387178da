/* outbox.pml: how jobs go from the outbox of a partition (S) to another one (T), once each. The steps are those of scripts/outbox: each d_step is one script.
   Flags: SB=1: S goes back to an earlier state once, with its clock behind; TB=1: T goes back once; LATE: copies of calls come later; JOBS: 2 or 3.
   P1 no job is lost: one that has ended in the present history of S was added to the present T, unless T went back after a confirmation.
   P2 no job is added twice to the present T, unless S went back.
   P3 two carriers that take turns come to rest. P4 an entry is in one place.
   Guards can be left out: NO_COMPARE T adds entries that are not above its mark too; NO_TOKEN T adds although it has no mark; NO_REDRAW S takes for delivered what is below
   a mark that it does not know; NO_HIGH S draws numbers that are not above the marks that it has read; NO_AGAIN a delivered entry above the mark does not wait again;
   NO_CONFIRM a delivered entry is gone at once; NO_MINUTE it is gone after the next mark, however soon. */
/* Sources: the macros of this model, and the source of each. A test checks that these names exist, and that the source names the model.
   ADDRESS: redisstore/scripts/outbox/address_outbox.lua
   ADVANCE: redisstore/scripts/outbox/advance_outbox.lua
   CARRY: redisstore/scripts/outbox/carry.lua */
#ifndef JOBS
#define JOBS 2
#endif
#ifndef SB
#define SB 0
#endif
#ifndef TB
#define TB 0
#endif
#define MAXN 15
#define NONE 0
#define WAITS 1      /* not addressed */
#define ADDRESSED 2
#define DELIVERED 3
#define GONE 4

/* S; ended counts what has ended in its present history */
byte ent[JOBS], num[JOBS], sent, high, gone, confirms, over;
byte knownN, knownI;           /* the mark that S knows; I: 1 + job, 100 + n: a token; 255: none */
/* T */
byte markN, markI, token, added[JOBS];
/* snapshots */
byte sent_[JOBS], snum[JOBS], ssent, shigh, sgone, sconfirms, sover, sknownN, sknownI;
byte tmarkN, tmarkI, ttoken, tadded[JOBS];
bool sSaved, tSaved, sBack, tBack, tLate; /* tLate: T went back over a confirmation */
/* two carriers, and a late copy of a call */
byte cAfterN[3], cAfterI[3], cHas[3], cNum[3 * JOBS], cMarkN[3], cMarkI[3], cAsked[3];
byte i, j, n, top, knows, redrawn, prev, found, ok, clock;

#define SAVE_S d_step { skip; for (i : 0 .. JOBS-1) { sent_[i] = ent[i]; snum[i] = num[i] } ssent = sent; shigh = high; sgone = gone; sconfirms = confirms; sover = over; sknownN = knownN; sknownI = knownI; sSaved = true; skip }
#define SAVE_T d_step { skip; for (i : 0 .. JOBS-1) { tadded[i] = added[i] } tmarkN = markN; tmarkI = markI; ttoken = token; tSaved = true; tLate = false; skip }

inline DRAW() { /* above all that S knows; the clock may be anywhere below what T has, or just above */
#if SB
  n = sent + (sBack -> 1 : 2); /* the clock was ahead of the numbers that are drawn after the return */
#else
  n = sent + 1;
#endif
  if :: clock > n -> n = clock :: else fi;
#ifndef NO_HIGH
  if :: high + 1 > n -> n = high + 1 :: else fi;
#endif
  sent = n
}

inline ADDRESS() { d_step { skip; for (i : 0 .. JOBS-1) { if :: ent[i] == WAITS -> DRAW(); num[i] = n; ent[i] = ADDRESSED :: else fi }; skip } }

/* the judgement of a mark (mn, mi), with asked: it was requested a minute after the last one was noted */
inline ADVANCE(mn, mi, asked) {
  if
  :: mi == 255 -> skip /* not known */
  :: else ->
    knows = (mn == knownN && mi == knownI);
    for (i : 0 .. JOBS-1) {
      if :: mi == i + 1 && num[i] == mn && (ent[i] == ADDRESSED || ent[i] == DELIVERED) -> knows = 1 :: else fi
    }
#ifdef NO_REDRAW
    knows = 1;
#endif
    redrawn = 0;
#ifndef NO_HIGH
    if :: !knows && mn > high && mn > sent -> sent = mn :: else fi;
#endif
    for (i : 0 .. JOBS-1) {
      if
      :: ent[i] == ADDRESSED && num[i] <= mn && knows -> ent[i] = DELIVERED
      :: ent[i] == ADDRESSED && num[i] <= mn && !knows -> redrawn = 1; DRAW(); if :: n <= mn -> n = mn + 1; sent = n :: else fi; num[i] = n
#ifndef NO_AGAIN
      :: ent[i] == DELIVERED && num[i] > mn -> ent[i] = ADDRESSED; if :: confirms > mn -> confirms = mn :: else fi
#endif
      :: else
      fi
    }
    knownN = mn; knownI = mi;
    if :: mn > high -> high = mn :: else fi;
    if
#ifdef NO_CONFIRM
    :: true -> for (i : 0 .. JOBS-1) { if :: ent[i] == DELIVERED -> ent[i] = GONE :: else fi }
#elif defined(NO_MINUTE)
    :: confirms > 0 && mn >= confirms ->
#else
    :: confirms > 0 && asked && over && mn >= confirms ->
#endif
#ifndef NO_CONFIRM
      for (i : 0 .. JOBS-1) { if :: ent[i] == DELIVERED && num[i] <= confirms -> ent[i] = GONE; if :: num[i] > gone -> gone = num[i] :: else fi :: else fi }
      confirms = mn; over = 0
    :: else
#endif
    fi;
    found = 0;
    for (i : 0 .. JOBS-1) { if :: ent[i] == DELIVERED -> found = 1 :: else fi }
    if :: !found -> confirms = 0; over = 0 :: found && confirms == 0 -> confirms = mn; over = 0 :: else fi
  fi
}

/* what a carrier reads: the mark to name, and the entries with their numbers; 0: not among them */
inline READ(c) {
  cAfterN[c] = knownN; cAfterI[c] = knownI; cHas[c] = 0;
  for (i : 0 .. JOBS-1) { cNum[c * JOBS + i] = 0; if :: ent[i] == ADDRESSED -> cNum[c * JOBS + i] = num[i]; cHas[c] = 1 :: else fi }
}

inline CARRY(c) {
  if
#ifndef NO_TOKEN
  :: markI == 255 -> token++; markN = 0; markI = 100 + token /* no mark: a token */
#endif
  :: else ->
    top = 255; /* entries above top are added */
    if :: markN == cAfterN[c] && markI == cAfterI[c] -> top = markN :: else fi;
#ifdef NO_TOKEN
    if :: markI == 255 -> top = 0 :: else fi;
#endif
    for (i : 0 .. JOBS-1) { if :: top == 255 && markI == i + 1 && cNum[c * JOBS + i] == markN && markN > 0 -> top = markN :: else fi }
#ifdef NO_COMPARE
    if :: top < 255 -> top = 0 :: else fi;
#endif
    if
    :: top == 255 || !cHas[c] -> skip
    :: else ->
      for (j : 1 .. MAXN) {
        for (i : 0 .. JOBS-1) {
          if :: cNum[c * JOBS + i] == j && j > top -> added[i]++; markN = j; markI = i + 1; assert(SB && sBack || added[i] <= 1) /* P2 */ :: else fi
        }
      }
    fi
  fi;
  cMarkN[c] = markN; cMarkI[c] = markI
}

active proctype All() {
  byte steps, c, turns;
  bool late;
  d_step { skip; knownI = 255; markI = 255;
    for (i : 0 .. 2) { cAfterI[i] = 255; cMarkI[i] = 255 }; skip }
  do
  :: steps >= STEPS -> break
  :: steps < STEPS ->
    steps++;
    if
    :: d_step { ent[0] == NONE -> ent[0] = WAITS; skip }
    :: d_step { ent[1] == NONE && ent[0] != NONE -> ent[1] = WAITS; skip }
#if JOBS > 2
    :: d_step { ent[2] == NONE && ent[1] != NONE -> ent[2] = WAITS; skip }
#endif
    :: ADDRESS()
    :: if :: c = 0 :: c = 1 fi;
       if
       :: d_step { skip; ADVANCE(cMarkN[c], cMarkI[c], cAsked[c]); cMarkI[c] = 255; cAsked[c] = 0; READ(c); skip }
       :: d_step { skip; CARRY(c); cHas[c] = 0; cAsked[c] = over; skip }
       :: d_step { skip; CARRY(c); cHas[c] = 0; cMarkI[c] = 255; skip } /* the answer is lost */
#ifdef LATE
       :: d_step { !late -> late = true; cAfterN[2] = cAfterN[c]; cAfterI[2] = cAfterI[c]; cHas[2] = cHas[c]; for (i : 0 .. JOBS-1) { cNum[2 * JOBS + i] = cNum[c * JOBS + i] }; skip }
       :: d_step { late -> CARRY(2); skip }
       :: d_step { late && cMarkI[2] != 255 -> ADVANCE(cMarkN[2], cMarkI[2], 0); skip } /* a stale answer */
#endif
       fi
    :: d_step { confirms > 0 && !over -> over = 1; if :: tSaved -> tLate = true :: else fi; skip } /* a minute passes */
#if SB
    :: !sSaved && !sBack -> SAVE_S
    :: d_step { sSaved && !sBack -> sBack = true; for (i : 0 .. JOBS-1) { ent[i] = sent_[i]; num[i] = snum[i] } sent = ssent; high = shigh; gone = sgone; confirms = sconfirms; over = sover; knownN = sknownN; knownI = sknownI; skip }
    :: d_step { sBack && clock < markN + 1 -> clock++; skip }
    :: d_step { sBack && clock < markN -> clock = markN + 1; skip }
#endif
#if TB
    :: !tSaved && !tBack -> SAVE_T
    :: d_step { tSaved && !tBack && !tLate -> tBack = true; for (i : 0 .. JOBS-1) { added[i] = tadded[i] } markN = tmarkN; markI = tmarkI; token = ttoken; skip }
#endif
    fi
  od;
  /* one carrier runs alone until nothing waits */
  turns = 0; skip;
  do
  :: turns >= 8 -> break
  :: turns < 8 ->
    turns++;
    ADDRESS();
    d_step { skip; cHas[0] = 0; CARRY(0); skip }
    d_step { skip; ADVANCE(cMarkN[0], cMarkI[0], 0); READ(0); skip }
    if :: cHas[0] -> d_step { skip; CARRY(0); skip } d_step { skip; ADVANCE(cMarkN[0], cMarkI[0], 0); READ(0); skip } :: else -> break fi
  od;
  skip;
  d_step { skip; assert(!cHas[0]); /* P3 */
    for (i : 0 .. JOBS-1) {
      assert(ent[i] != WAITS && ent[i] != ADDRESSED);
      assert(ent[i] == NONE || added[i] >= 1); /* P1 */
      assert(sBack || added[i] <= 1) /* P2 */
    }; skip }
}
