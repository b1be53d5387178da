/* Where a schedule lives: one name, NQ queues, the registry and the record of deletions, each in a slot of its own. A d_step is one script
   or command. A generation that the clock draws is even, and one that "+ 1" makes is odd. So the two are equal only where the code allows it.
   README.md lists the function of redisstore for each macro, and the properties P1 to P9. */
/* Sources: the macros of this model, and the source of each. A test checks that these names exist, and that the source names the model.
   BEGIN_BODY: redisstore/scripts/schedules/move_begin.lua
   ARRIVE_BODY: redisstore/scripts/schedules/move_arrive.lua
   END_BODY: redisstore/scripts/schedules/move_end.lua
   REMOVE_BODY: redisstore/scripts/schedules/remove.lua
   CAS_BODY: redisstore/scripts/schedules/change_registry.lua
   REGISTER_GEN_BODY: redisstore/scripts/schedules/register_schedules.lua
   NOTE_BODY: redisstore/scripts/schedules/note_deleted.lua
   MOVE: redisstore/schedules_move.go (move)
   TAKEOVER: redisstore/schedules_move.go (arrive)
   FINISHMOVE: redisstore/schedules_move.go (settle)
   RULEOF: redisstore/schedules_survivor.go (judgeCopy)
   SWEEP: redisstore/schedules_judge.go (carryOut)
   TAKEHOME: redisstore/schedules_judge.go (takeHome)
   MAYFINISH: redisstore/schedules_judge.go (settleAbsent)
   FINISHREMOVAL: redisstore/schedules_remove.go (finishRemoval)
   VERIFY: redisstore/repair_copies.go (restore) */
#ifndef NQ
#define NQ 2
#endif
#ifndef FAULTS
#define FAULTS 1
#endif
#define DEAD dd>ib
#define MOVINGON(m,r) (m>r)
#define NONE 0
#define DEF  1
#define MARK 2
#define MAX(a,b) ((a)>(b) -> (a) : (b))

typedef Slot { byte k; byte g; byte to; byte gone; byte orig; bit owed; bit v; byte b };  /* v: content, b: birth, which every move carries on */
Slot q[NQ+1];                 /* q[1] = A, q[2] = B, q[3] = C */
byte rq, rg;                  /* registry: queue (0: no entry), generation */
byte dl, dx;                  /* deleted: the intent of a deletion; and when the definition was gone */
byte clk;
Slot s[NQ+1];                 /* the snapshot */
byte srq, srg, sdl, sdx;
byte faults; bit taken; bit over;
byte creating, begun;         /* creators under way; deletions that began */
bit crd;   /* ghost: a creation began since the deletion did */
bit deld;                     /* ghost: the last completed operation was a deletion, D has its note */
bit acked;                    /* ghost: a creator has received that its definition is stored, and nothing was lost or deleted since */
byte faulted;                 /* ghost: mask of slots that went back: bit i queue i, bit 0 R, bit 7 D */
byte lk, la, lb, lc, ld; bit lv;      /* one call that the network delivers again, late */

/* ---- the scripts ---- */
#define BEGIN_BODY(F,HG,T,FL) /* move_begin.lua */ \
    mt = 0; later = 0; none = 0; \
    if \
    :: q[F].k==MARK && q[F].g>HG -> \
       if :: q[F].g<=FL -> clk = clk+2; q[F].g = MAX(clk, FL+1) :: else fi; \
       mt = q[F].to; mg = q[F].g; mo = q[F].orig | (1<<F); mv = q[F].v; mb = q[F].b \
    :: q[F].k==DEF && q[F].g>HG -> later = q[F].g \
    :: q[F].k==DEF && q[F].g<=HG -> \
       clk = clk+2; q[F].k = MARK; q[F].g = MAX(clk, MAX(HG, FL)+1); q[F].to = T; q[F].gone = clk; q[F].owed = 1; \
       mt = T; mg = q[F].g; mo = q[F].orig | (1<<F); mv = q[F].v; mb = q[F].b \
    :: else -> none = 1; if :: q[F].gone<HG -> q[F].gone = HG :: else fi \
    fi; \
    printf("move_begin q%d known g%d: mark -> q%d g%d (later %d none %d)\n", F, HG, mt, mg, later, none)
#define ARRIVE_BODY(T,G,O,V) \
    arr = 0; gn = 0; nw = 0; \
    if \
    :: q[T].k!=NONE && q[T].g==G -> arr = 1 \
    :: q[T].k!=NONE && q[T].g>G -> gn = (q[T].k==MARK -> q[T].g : 0) /* a higher mark: begin again above it */ \
    :: q[T].k==NONE && q[T].gone>=G -> gn = q[T].gone \
    :: q[T].k==DEF && q[T].g<G && q[T].v>V -> nw = 1 \
    :: else -> q[T].k = DEF; q[T].g = G; q[T].to = 0; q[T].orig = O & (255-(1<<T)); q[T].gone = 0; q[T].owed = 0; q[T].v = V; q[T].b = mb; arr = 1 \
    fi; \
    printf("move_arrive q%d g%d: %d gone %d\n", T, G, arr, gn)
#define CAS_BODY(FQ,FG,TQ,TG) \
    ch = 0; \
    if \
    :: rq==FQ && rg==FG && FQ!=0 -> rq = TQ; rg = (TQ -> TG : 0); ch = 1 \
    :: else -> if :: TQ!=0 && rq==TQ && rg==TG -> ch = 1 :: else fi \
    fi; \
    printf("change_registry (q%d g%d) to (q%d g%d): %d\n", FQ, FG, TQ, TG, ch)
#define REMOVE_BODY(I,G) \
    lat = 0; ro = 0; \
    if \
    :: q[I].k!=NONE && q[I].g>G -> lat = q[I].k \
    :: else -> ro = q[I].orig; \
       if :: q[I].k==MARK -> q[I].orig = 0 :: else fi; \
       if :: q[I].k!=NONE || q[I].gone<G -> clk = clk+2; q[I].gone = MAX(clk, G) :: else fi; \
       q[I].k = NONE; q[I].g = 0; q[I].to = 0; q[I].owed = 0; q[I].v = 0; q[I].b = 0 \
    fi; \
    printf("remove q%d up to g%d: later %d\n", I, G, lat)
#define END_BODY(I,G) \
    if :: q[I].k==MARK && q[I].g==G -> q[I].owed = 0; q[I].orig = 0 :: else fi; \
    printf("move_end q%d g%d\n", I, G)
#define NOTE_BODY(DONE) dl = MAX(dl, clk); if :: DONE -> dx = MAX(dx, clk) :: else fi; printf("deleted is noted: %d\n", dl)
#define REGISTER_GEN_BODY(I,G) /* register_schedules.lua with a generation */ \
    if :: rq==0 || G>rg -> rq = I; rg = G :: else fi; printf("register_schedules q%d g%d: (q%d g%d)\n", I, G, rq, rg)

#ifdef LATE
#define KEEP(K,A_,B_,C_,D_,V_) if :: lk==0 -> d_step { lk = K; la = A_; lb = B_; lc = C_; ld = D_; lv = V_; printf("(that call will be delivered once more)\n") } :: skip fi
#else
#define KEEP(K,A_,B_,C_,D_,V_) skip
#endif

/*CODE*/
#define LOCALS byte mb, ib, hq, hg, mt, mg, mo, later, arr, gn, lat, ro, o, ik, ig, it, io, jq, jg, jk, jgg, jgone, dd, ng, tries, best; bit mv, iv, nw, none, ch, st, done; byte keep
#define RESET mb=0;ib=0;hq=0;hg=0;mt=0;mg=0;mo=0;later=0;arr=0;gn=0;lat=0;ro=0;o=0;ik=0;ig=0;it=0;io=0;jq=0;jg=0;jk=0;jgg=0;jgone=0;dd=0;ng=0;best=0;mv=0;nw=0;none=0;ch=0;st=0;keep=0

proctype Mover(byte t; byte n) provided (!over) {
  LOCALS;
  do
  :: n>0 ->
     d_step { n--; RESET; hq = rq; hg = rg; printf("a mover to q%d reads the registry: (q%d g%d)\n", t, hq, hg) };
     if :: hq==0 || hq==t -> skip :: else -> MOVE(t) fi;
     d_step { RESET; t = (t % NQ) + 1 }
  :: else -> break
  od; skip }

proctype Creator(byte t) provided (!over) {
  LOCALS;
  d_step { creating++; crd = 1; deld = 0; acked = 0; tries = 0 };
  do
  :: tries<3 && !done ->
     d_step { tries++; RESET;
       if :: rq==0 -> clk = clk+2; rq = t; rg = clk :: else fi;
       hq = rq; hg = rg; printf("a creator of q%d registers: (q%d g%d)\n", t, hq, hg) };
     d_step { dd = MAX(dl,dx) }; /* read after the registry, as today */
     if
     :: hg==0 -> skip
     :: hg!=0 && hq!=t -> MOVE(t); d_step { if :: rq==t -> hq = rq; hg = rg :: else -> hg = 0 fi }
     :: else
     fi;
     if :: hg==0 -> skip
     :: else ->
       d_step { done = 0; st = 0; gn = 0; later = 0;   /* declare.lua */
         if
         :: q[t].k!=NONE && q[t].g>hg -> if :: q[t].k==MARK -> st = 1 :: else -> later = q[t].g fi
         :: q[t].k==MARK && q[t].g==hg -> st = 1
         :: q[t].k!=DEF && q[t].g<=hg && !(q[t].k==MARK && q[t].g==hg) && q[t].k==NONE && q[t].gone>=hg -> gn = q[t].gone
         :: q[t].k==MARK && q[t].g<hg && q[t].gone>=hg -> gn = q[t].gone
         :: else -> if :: q[t].k!=DEF -> q[t].b = MAX(hg, MAX(clk, dd+1)) :: else fi; q[t].k = DEF; q[t].g = hg; q[t].to = 0; q[t].owed = 0; q[t].v = 1; q[t].gone = 0; done = 1;
            acked = (begun==0)
         fi;
         printf("declare q%d g%d: done %d mark %d gone %d ahead %d\n", t, hg, done, st, gn, later) };
       if
       :: later -> d_step { CAS_BODY(hq,hg,hq,later) }
       :: gn!=0 && !later -> MAYFINISH(hq,hg); d_step { CAS_BODY(hq,hg,hq,(gn+1)) }
       :: st && !gn && !later -> FINISHMOVE(t)
       :: else
       fi
     fi
  :: else -> break
  od; skip;
  d_step { creating--; RESET; done = 0; tries = 0 } }

proctype Deleter(bit refused) provided (!over) {
  LOCALS;
  d_step { begun++; acked = 0; tries = 0; crd = (creating>0) };
  do
  :: tries<2 && !done ->
     d_step { tries++; RESET; hq = rq; hg = rg; printf("a deleter reads the registry: (q%d g%d)\n", hq, hg) };
     if
     :: hq==0 -> done = 1
     :: else ->
        d_step { clk = clk+2;
#ifdef SKEW
          dl = MAX(dl, clk+4);
#else
          dl = MAX(dl, clk);
#endif
          printf("the intent is noted: %d\n", dl) };
        if
        :: refused -> d_step { done = 1; begun--; printf("the deletion is refused: the revision is another one\n") }
        :: else ->
          d_step { REMOVE_BODY(hq,hg) };
          KEEP(2,hq,hg,0,0,0);
          if
          :: lat==MARK -> FINISHMOVE(hq)
          :: lat==DEF -> d_step { jg = q[hq].g; CAS_BODY(hq,hg,hq,jg) }
          :: else ->
            d_step { NOTE_BODY(1) };
            REMOVEMARKS(hg);
            d_step { CAS_BODY(hq,hg,0,0); done = 1;
              if :: !crd -> deld = 1 :: else fi; crd = 0; printf("the deletion is done\n") };
          fi
        fi
     fi
  :: else -> break
  od; skip;
  d_step { RESET; done = 0; tries = 0 } }

proctype Sweeper(byte rounds) provided (!over) {
  LOCALS; byte i;
  do
  :: rounds>0 ->
     d_step { rounds--; RESET };
     if :: i = 1 :: i = 2
#if NQ>2
     :: i = 3
#endif
     fi;
     SWEEP(i)
  :: else -> break
  od; skip;
  d_step { RESET; i = 0 } }

#define BACK(m) (mask & (1<<m))
proctype Fault() provided (!over) {
  byte mask, i;
  do
  :: faults>0 && !taken -> d_step { taken = 1;   /* what a replica has */
       for (i : 1 .. NQ) { s[i].k = q[i].k; s[i].g = q[i].g; s[i].to = q[i].to; s[i].gone = q[i].gone; s[i].orig = q[i].orig; s[i].owed = q[i].owed; s[i].v = q[i].v; s[i].b = q[i].b }
       srq = rq; srg = rg; sdl = dl; sdx = dx; i = 0; printf("--- snapshot\n") }
  :: faults>0 && taken ->
     if
#ifdef MASKS
     :: mask = MASKS
#else
     :: mask = 2 :: mask = 4 :: mask = 1 :: mask = 128 :: mask = 6 :: mask = 3 :: mask = 5
#if NQ>2
     :: mask = 8 :: mask = 10 :: mask = 12
#endif
#endif
     fi;
     d_step {
       faults--; faulted = faulted | mask; acked = 0;
       for (i : 1 .. NQ) { if :: BACK(i) -> q[i].k = s[i].k; q[i].g = s[i].g; q[i].to = s[i].to; q[i].gone = s[i].gone; q[i].orig = s[i].orig; q[i].owed = s[i].owed; q[i].v = s[i].v; q[i].b = s[i].b :: else fi }
       if :: BACK(0) -> rq = srq; rg = srg :: else fi;
       if :: BACK(7) -> dl = sdl; dx = sdx; deld = 0 :: else fi;
       printf("--- slots of mask %d (2 A, 4 B, 8 C, 1 registry, 128 deleted) go back to the snapshot\n", mask);
       taken = 0; mask = 0; i = 0; srq = 0; srg = 0; sdl = 0; sdx = 0;
       for (i : 1 .. NQ) { s[i].k = 0; s[i].g = 0; s[i].to = 0; s[i].gone = 0; s[i].orig = 0; s[i].owed = 0; s[i].v = 0; s[i].b = 0 }; i = 0 }
  :: faults==0 -> break
  od; skip }

#ifdef LATE
proctype Network() provided (!over) {
  byte mb, arr, gn, lat, ro; bit ch, nw;
  end: do
  :: lk==1 -> d_step { printf("(late) "); mb = ld; ARRIVE_BODY(la,lb,lc,lv); lk = 9; la=0;lb=0;lc=0;ld=0;lv=0;arr=0;gn=0;mb=0 }
  :: lk==2 -> d_step { printf("(late) "); REMOVE_BODY(la,lb); lk = 9; la=0;lb=0;lc=0;ld=0;lv=0;lat=0;ro=0 }
  :: lk==3 -> d_step { printf("(late) "); CAS_BODY(la,lb,lc,ld); lk = 9; la=0;lb=0;lc=0;ld=0;lv=0;ch=0 }
  od; skip }
#endif

/* At any moment all processes may stop: one that dies is one that does not run again. Then only sweeps run, until nothing changes. */
#define COUNT live = 0; where = 0; any = 0; \
  for (i : 1 .. NQ) { if :: q[i].k==DEF -> live++; where = i; any = 1 :: q[i].k==MARK -> any = any | 2 :: else fi }
#define SUM(x) x = ((rq*251+rg)*251+dl)*251+dx; for (i : 1 .. NQ) { x = x*31 + ((q[i].k*64+q[i].g)*2+q[i].owed)*4+q[i].to; x = x*31 + q[i].gone }
proctype Rest() {
  LOCALS; byte i, live, where, any, had, round, phase; int before, after; bit d0;
  d_step {
    over = 1; lk = 9; printf("=== everybody stops. A: %d g%d, B: %d g%d, registry (q%d g%d), deleted %d\n", q[1].k, q[1].g, q[2].k, q[2].g, rq, rg, dl);
    COUNT; had = any; round = 0; before = 0; after = 1;
    do
    :: phase==0 && before!=after && round<8 || phase==1 && round<4 -> SUM(before);
       for (i : 1 .. NQ) { SWEEP_rest(i) }
       SUM(after); round++
    :: phase==0 && (before==after || round>=8) ->
    COUNT;
    printf("=== after %d rounds: A: %d g%d, B: %d g%d, registry (q%d g%d); live %d had %d deld %d begun %d\n", round, q[1].k, q[1].g, q[2].k, q[2].g, rq, rg, live, had, deld, begun);
#ifndef NO_P1
    assert(round<8);                                  /* P1 no livelock */
#endif
#ifndef NO_P2
    assert(live<=1);                                  /* P2 not two homes */
#endif
#ifndef NO_P3
    assert(live==0 || rq==where);                     /* P3 the registry names it */
#endif
#ifndef NO_P4
    assert(!(had&1) || begun>0 || live==1);           /* P4 a definition that was there at rest is not lost */
#endif
#ifndef NO_P5
    assert(!deld || live==0 || creating>0 || (faulted&128)!=0); /* P5 what was deleted stays deleted */
#endif
    VERIFY_rest(); phase = 1; round = 0
    :: phase==1 && round>=4 -> break
    od; skip;
    COUNT;
    printf("=== after Verify: A: %d g%d, B: %d g%d, registry (q%d g%d)\n", q[1].k, q[1].g, q[2].k, q[2].g, rq, rg);
#ifndef NO_P6
    assert(had==0 || begun>0 || live==1);             /* P6 nor a mark */
#endif
#ifndef NO_P7
    assert(live<=1 && (live==0 || rq==where));
#endif
#ifdef P8
    assert(live==0 || !acked || q[where].v==1);       /* P8 an acknowledged definition is the one that stays */
#endif
#ifndef NO_P9
    assert(live==1 || rq==0);                         /* P9 no entry without a schedule */
#endif
  } }

init {
  d_step { clk = 2; q[1].k = DEF; q[1].g = 2; q[1].b = 2; rq = 1; rg = 2; faults = FAULTS };
  atomic {
#ifdef M1
    run Mover(2, M1);
#endif
#ifdef M2
    run Mover(1, M2);
#endif
#ifdef CR
    run Creator(CR);
#endif
#ifdef DE
    run Deleter(0);
#endif
#ifdef RF
    run Deleter(1);
#endif
#ifdef SW
    run Sweeper(SW);
#endif
#if FAULTS>0
    run Fault();
#endif
#ifdef LATE
    run Network();
#endif
    run Rest() }
}
