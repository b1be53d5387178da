package work

import (
	"time"

	"github.com/chimejobs/chime/internal/observe"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/reap"
	"github.com/chimejobs/chime/internal/retry"
)

// A processor is a worker's one loop: it connects the parts, and decides what every call carries.
//
// Each turn of the loop collects the flights that have ended, gives back those that wait too long, and ends those whose time is up. Then it makes
// at most one round trip to each node that is not busy: a call to each lane that needs one. The loop continues while they are under way. The jobs
// of an answer are admitted after the next call was sent, if there is one; the comment on flights describes the time in between.
type processor struct {
	config *Config
	name   string // among the listeners and the sleeping workers

	listener  protocol.Listener
	lanes     *lanes
	callers   *callers
	slots     *slots
	flights   *flights
	admission *admission
	sessions  *sessions
	reaper    *reap.Reaper
	relay     *relay
	wakeup    wakeup
	drain     drain
	gathers   []string // names of jobs that are handled together
	turns     int      // the odd ones are for suspects, if some wait
	waits     bool     // no jobs are requested now, because a suspect is next
	logged    retry.LogLimiter
	outage    *retry.Outage
}

// loop runs until the worker has drained after stop is closed.
func (p *processor) loop(stop <-chan struct{}) Drained {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	defer p.config.Processor.End()
	for {
		now := time.Now()
		p.config.Processor.Turn(now)
		p.sessions.drainHeartbeats(p.lanes)
		until := p.flights.collect(now)
		if p.drain.begun() {
			p.flights.admit(true, now)
		}
		until = earlier(until, earlier(p.flights.due(now), p.sessions.checkSilences(p.lanes, now)))
		hold := p.flights.noteBeside(p.lanes.every(), now)
		if _, alone := p.flights.suspect(now); alone.After(now) {
			until = earlier(until, alone)
		} else if hold.IsZero() {
			until = earlier(until, p.flights.callReady(now))
		}
		if p.drain.begun() {
			until = earlier(until, p.drainStep(now))
			if p.drained(now) {
				return p.result(now)
			}
		} else if !p.callers.allBusy() {
			p.act(now)
		}
		if p.flights.coming() > 0 && hold.IsZero() {
			p.flights.admit(p.drain.begun(), time.Now())
			continue
		}
		until = earlier(earlier(until, hold), p.nextAt(now))
		timer.Reset(earlier(until, now.Add(observe.LongestNap)).Sub(now))

		p.slots.rest(p.callers.allBusy())
		select {
		case <-p.slots.notified():
		case r := <-p.callers.answers():
			p.received(r, time.Now())
		case s := <-p.listener.Signals():
			p.signal(s, time.Now())
		case <-p.reaper.Reaped():
			p.signal(protocol.Signal{Wake: true}, time.Now())
		case extensions := <-p.sessions.answers():
			p.sessions.extended(p.lanes, extensions, time.Now())
		case <-timer.C:
		case <-stop:
			stop = nil
			p.beginDrain(time.Now())
		}
	}
}

// act makes one round trip, the most urgent one, to each node that is not busy, and reports whether it made any.
func (p *processor) act(now time.Time) (made bool) {
	p.lanes.locate(p.callers, now)
	p.useWakeups(now)
	for _, gather := range []func(time.Time){p.work, p.leave, p.poll, p.closeSessions} {
		gather(now)
		made = p.callers.send(now) || made
	}
	return made
}

// closeSessions closes the sessions that have held no job for a while. Once everything is settled in a drain, it closes all of them.
func (p *processor) closeSessions(now time.Time) {
	atOnce := p.drain.begun() && p.settled()
	for _, l := range p.lanes.every() {
		if l.via().busy() {
			continue
		}
		if s := p.sessions.close(l, atOnce, now); s != nil {
			l.via().addClosed(closing{s, l.take(s.nextMeasured)})
		}
	}
}

// useWakeups marks lanes as hungry whose alarm is due, and passes on a wake-up that finds no free slot.
func (p *processor) useWakeups(now time.Time) {
	if p.wakeup.alarmDue(now) {
		p.lanes.markHungry()
	}
	if p.lanes.alarmDue(now) {
		p.wakeup.wake()
	}
	free, _, worth := p.room(now)
	if free > 0 {
		p.lanes.comeBack()
	}
	p.wakeup.use(free, worth, p.lanes.listed(now), p.drain.begun(), now)
}

// room returns how many slots are free, and how many jobs may be taken now, for the free slots and ahead of them. worth reports whether that is
// worth a call. While a queue near its limit may have jobs, nothing is taken ahead. It must not be taken from that queue, by the rule for limits;
// and jobs taken ahead from other queues would always fill the slots before one is free for that queue. The same applies to jobs that are not taken
// ahead because their workers vanished.
func (p *processor) room(now time.Time) (free, take int, worth bool) {
	if p.drain.begun() || !p.wakeup.ready(now) {
		return 0, 0, false
	}
	if _, alone := p.flights.suspect(now); alone.After(now) || p.lanes.askedForSuspect(now) {
		return 0, 0, false
	}
	asked, ahead := p.lanes.reserved(now)
	free, take, worth = p.slots.room(p.flights.coming()+asked, ahead, p.flights.gathering(), now)
	if p.lanes.onlyNow(now) {
		take = min(take, free)
	}
	return free, take, worth && take > 0
}

// work calls every lane that has something to settle or to place, or that may have a job for a free slot.
func (p *processor) work(now time.Time) {
	held, _ := p.flights.suspect(now)
	forSuspect := p.turns%2 == 1 && !held
	if forSuspect && p.lanes.suspectsWait() {
		p.flights.callAll(nil, now) // none of these jobs may begin beside the suspect: they are older
	}
	free, take, worth := p.room(now)
	free = min(free, take)
	ahead := take - free
	hungry, due, again := p.lanes.choose(p.drain.begun(), now)
	least := p.lanes.least(now)
	var suspects *lane
	var wait bool
	if forSuspect && free > 0 {
		suspects, wait = p.lanes.suspect(hungry, p.turns/2, least, p.flights.coming() > 0 && p.gathers != nil, now)
	}
	if suspects != nil {
		hungry = p.lanes.only(suspects, hungry)
	}
	if p.waits = wait; wait {
		free, take, ahead = 0, 0, 0
	}
	asked, takes := p.lanes.divide(take, p.slots.grain(), !worth, least, hungry)
	lanes := len(asked) + len(due) + len(again)
	if lanes == 0 {
		return
	}
	if len(asked) > 0 && take > 0 {
		p.turns++
	}
	send := func(l *lane, take int) {
		begin := min(take, free)
		free -= begin
		ahead -= take - begin
		call := l.call(p.name, p.config.SessionTTL, take, take-begin, l == suspects, held, p.admission.lists(), now)
		if take > 0 {
			call.Gathers = p.gathers
		}
		l.via().addWork(l, call, lanes)
		if take > 0 {
			p.sessions.mayTake(l)
		}
	}
	for i, l := range asked {
		send(l, takes[i])
	}
	// A call to a lane that is called anyway also requests jobs if the others have left a free slot. For a lane that sleeps on it does not.
	for i, l := range due {
		room := free
		if l.sleepsOn(now) || l.weight() < least {
			room = 0
		}
		send(l, min((room+len(due)-i-1)/(len(due)-i), protocol.MaxTake))
	}
	for _, l := range again {
		l.via().addWork(l, l.again(now), lanes)
	}
}

// received handles the answers of a round trip.
func (p *processor) received(r reply, now time.Time) {
	failed := r.failed()
	r.caller.received(&r, failed, now)
	if r.work != nil && !failed {
		p.slots.roundTrip(r.took)
	}
	for i, l := range r.lanes {
		switch {
		case r.work != nil:
			p.worked(l, r.workAnswer(i), now)
		case r.poll != nil:
			p.polled(l, &r.poll[i], r.pollAnswer(i), now)
		case r.leave != nil:
			p.left(l, r.err, now)
		}
	}
	if r.again {
		p.lanes.markHungryOn(r.caller)
	}
}

// worked handles the answer to a lane's call.
func (p *processor) worked(l *lane, a *protocol.WorkAnswer, now time.Time) {
	s := l.holder()
	call, lost, err := l.answered(a, now)
	if err != nil {
		p.outage.Begin(l, "work", err, now)
		return
	}
	p.outage.End(l, now)
	p.flights.settled(l, len(call.Settle))
	p.placed(l, call.Place, a.Placed, now)
	logSuperseded(p.config, l.partition().Queue, a.Superseded)
	p.flights.passedOver(l.partition().Queue, a.Superseded, runSuperseded)
	p.flights.passedOver(l.partition().Queue, a.Skipped, runSkipped)
	logPaused(p.config, l.partition().Queue, a.PausedSchedules)
	l.place(p.admission.next(p.admission.compare(a), now))
	if lost {
		p.sessions.lose(l, s, now)
		return
	}
	if len(a.Taken) > 0 || s.exists() {
		p.sessions.moveOn(l, call, a, now)
	}
	l.reuse(call.Settle)
	p.flights.arrive(l, s, a.Taken)
	l.noteLimit(a.Limit)
	if !call.SleepOn {
		p.hint(l, &a.WaitHint, call.Serve, call.Lapses, now)
		l.worked(call, a, now)
	} else { // it has only settled jobs that are done
		p.relay.noteBatches(l, &a.WaitHint)
	}
	if a.Unreadable != "" && p.logged.Allow("unreadable "+a.Unreadable+" "+l.partition().Queue, now) {
		logUnreadable(p.config, l.partition(), a.Unreadable)
	}
}

// placed handles the answers to placements. If they fail, that is a separate outage, because the store makes placements separately from the call.
func (p *processor) placed(l *lane, sent []protocol.Placement, answers []protocol.PlaceAnswer, now time.Time) {
	if len(sent) == 0 {
		return
	}
	err := l.placed(sent, answers, p.drain.begun(), now)
	p.config.Observe.Places(sent, answers[:min(len(answers), len(sent))])
	switch {
	case err == nil:
		p.outage.End(l.placing(), now)
	case !p.drain.begun():
		p.outage.Begin(l.placing(), "place", err, now)
	}
}

// polled handles the answer to a poll.
func (p *processor) polled(l *lane, call *protocol.PollCall, a *protocol.PollAnswer, now time.Time) {
	if err := l.polled(a, now); err != nil {
		p.outage.Begin(l, "poll", err, now)
		return
	}
	p.outage.End(l, now)
	if !call.Sleep {
		l.watched(&a.WaitHint, now)
		p.relay.note(l, &a.WaitHint, now)
		return
	}
	p.hint(l, &a.WaitHint, nil, true, now)
	l.wakeIfMore(a)
}

// hint handles what an answer contains about waiting and about lapsed sessions.
func (p *processor) hint(l *lane, h *protocol.WaitHint, served []string, lapses bool, now time.Time) {
	l.note(h, served, lapses, p.config.SessionTTL, func(entry string) bool { return p.admission.serves(entry, now) }, now)
	p.relay.note(l, h, now)
}

// leave removes a worker that has no free slot or drains from the sleeping workers, and passes on a wake-up that it cannot use. While the worker
// drains this happens once for each lane, even if a wait after a failure is left.
func (p *processor) leave(now time.Time) {
	leave, pass := p.wakeup.leaves(p.drain.begun(), now)
	free, _, _ := p.room(now)
	for _, l := range p.lanes.every() {
		if pass && l.unanswered() == nil {
			l.passOn()
		}
		open := l.open(now) || p.drain.begun() && !l.via().busy()
		if !open || !l.passesOn() && !(leave && l.isListed()) {
			continue
		}
		l.via().addLeave(l, protocol.LeaveCall{Partition: l.partition(), Worker: p.name})
		// The worker is no longer registered, or soon will not be: after any answer the lane is not asleep.
		if free == 0 {
			l.stayAway()
		} else {
			l.stayAwake()
		}
	}
}

// left handles the answer to leaving. If it failed it is repeated, unless the worker drains.
func (p *processor) left(l *lane, err error, now time.Time) {
	if err != nil {
		l.failed(now)
		p.outage.Begin(l, "leave", err, now)
		if !p.drain.begun() {
			return
		}
	}
	p.outage.End(l, now)
	p.wakeup.left()
	l.left()
}

// poll polls the lanes whose poll is due. The same round trip also polls the node's lanes whose poll is due soon.
func (p *processor) poll(now time.Time) {
	if p.drain.begun() || !p.lanes.pollDue(now) {
		return
	}
	for _, l := range p.lanes.every() {
		if !l.via().busy() && l.via().wantsPoll() && l.pollSoon(now) {
			l.via().addPoll(l, l.poll(p.name, p.admission.lists(), now))
		}
	}
}

// nextAt returns when the loop has something to do although no event arrives; zero: it has nothing to do.
func (p *processor) nextAt(now time.Time) time.Time {
	late := p.callers.lateAt(now)
	if p.callers.allBusy() {
		return late
	}
	_, _, worth := p.room(now)
	until := earlier(late, earlier(p.wakeup.nextAt(now), p.lanes.nextAt(worth && !p.waits, p.config.SessionTTL, now)))
	if p.drain.begun() {
		return until
	}
	if _, alone := p.flights.suspect(now); alone.After(now) {
		until = earlier(until, alone)
	}
	return earlier(until, p.lanes.watchAt())
}

// signal handles a message for this worker.
func (p *processor) signal(s protocol.Signal, now time.Time) {
	if p.wakeup.signal(s) {
		p.lanes.wake(s.Partition)
	}
	if s.Connected { // the store answers, so failed calls need not wait longer
		p.lanes.retry()
	}
	if !s.Alarm.IsZero() {
		p.wakeup.keepAlarm(p.lanes.earliest(s.Alarm), now)
	}
	if s.Replaced != "" {
		p.flights.replace(s.Replaced)
	}
	if s.Cancelled.ID != "" {
		p.flights.cancel(s.Cancelled, now)
	}
}

// beginDrain begins the end of the worker.
func (p *processor) beginDrain(now time.Time) {
	p.drain.begin(p.config.DrainTimeout, now)
	p.wakeup.handOver()
	p.flights.giveBackWaiting(now)
	p.config.Log.Info("chime: worker takes no more jobs and stops when its handlers have returned", "event", "drain.started", "worker", p.name,
		"count", p.flights.running(), "timeout_ms", p.config.DrainTimeout.Milliseconds())
}

// drainStep does what the drain requires now and returns when it requires something again.
func (p *processor) drainStep(now time.Time) time.Time {
	shutDown, abandon, until := p.drain.step(now)
	if shutDown {
		p.flights.shutDown()
	}
	if abandon {
		p.flights.abandon(now)
	}
	for _, l := range p.lanes.every() {
		l.forgetRefused()
	}
	return until
}

// drained reports whether the drain is over: everything is settled, the worker has left and its sessions are closed, or the time is
// up.
func (p *processor) drained(now time.Time) bool {
	if p.drain.over(now) {
		return true
	}
	return !p.act(now) && p.callers.idle() && p.settled()
}

// settled reports whether no outcome is left to wait for or to send.
func (p *processor) settled() bool { return p.lanes.settled() && !p.flights.open() }

// result logs and returns how the worker ended.
func (p *processor) result(now time.Time) Drained {
	d := Drained{CutOff: p.flights.cutOff(), Unsettled: p.lanes.unsettled()}
	logEnd(p.config, p.name, d, p.flights.result(), p.drain.took(now))
	return d
}
