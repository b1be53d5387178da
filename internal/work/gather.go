package work

import "time"

// A gatherer keeps admitted flights until a call is made of them. It belongs to the processor's goroutine.
//
//	                    Size or Bytes are reached
//	open: it gets more ────────────────────────────────────────────────────────────────► complete ──► handed over
//	  │                                                                                                  ▲
//	  └──────────────────────────────────────────────────────────────────────────────────────────────────┘
//	    Wait is over; the limit of its queue or of a group is reached; other flights take the last free slots; a suspect is requested next
//
// What holds:
//   - the flights of a gathering have one handler, session and timeout, and with ByGroup one group;
//   - at most Size jobs of a handler are in open gatherings;
//   - a gathering of a silent session is not handed over: either the session is extended soon, or its jobs are lost.
type gatherer struct {
	gatherings []*gathering // in the order of their first flights
	open       map[gatherKey]*gathering
	opened     map[*Handler]int // jobs in open gatherings
	jobs       int
}

// A gatherKey is what the flights of a call have in common.
type gatherKey struct {
	handler *Handler
	session *session
	timeout time.Duration
	group   string // with ByGroup; empty: no group
}

func keyOf(c *claim, s *session) gatherKey {
	key := gatherKey{handler: c.handler, session: s, timeout: c.timeout}
	if c.handler.Many.ByGroup && c.message.Details != nil {
		key.group = c.message.Details.Group
	}
	return key
}

// A gathering is flights that will be one call.
type gathering struct {
	gatherKey
	lane     *lane
	flights  []*flight
	bytes    int // of their payloads
	since    time.Time
	answer   *storeClock // of the answer that brought the first flight
	last     bool        // a job has come after which its group may start no other
	complete bool
}

func newGatherer() *gatherer {
	return &gatherer{open: make(map[gatherKey]*gathering), opened: make(map[*Handler]int)}
}

// len returns how many flights there are.
func (g *gatherer) len() int { return g.jobs }

// each calls visit for each flight.
func (g *gatherer) each(visit func(*flight)) {
	for _, group := range g.gatherings {
		for _, f := range group.flights {
			visit(f)
		}
	}
}

// add adds a flight that gathers.
func (g *gatherer) add(f *flight, now time.Time) {
	key, many, bytes := keyOf(f.claimed(), f.holder()), f.claimed().handler.Many, len(f.claimed().message.Payload)
	group := g.open[key]
	if group != nil && group.bytes+bytes > many.Bytes {
		g.close(group)
		group = nil
	}
	if group == nil {
		group = &gathering{gatherKey: key, lane: f.inLane(), since: now, answer: f.claimed().clock}
		g.open[key], g.gatherings = group, append(g.gatherings, group)
	}
	group.flights = append(group.flights, f)
	group.bytes += bytes
	group.last = group.last || f.claimed().last
	g.jobs++
	g.opened[key.handler]++
	switch {
	case len(group.flights) >= many.Size:
		g.close(group)
	case g.opened[key.handler] >= many.Size:
		g.closeLargest(key.handler)
	}
}

// close completes a gathering.
func (g *gatherer) close(group *gathering) {
	if group.complete {
		return
	}
	group.complete = true
	delete(g.open, group.gatherKey)
	if g.opened[group.handler] -= len(group.flights); g.opened[group.handler] == 0 {
		delete(g.opened, group.handler)
	}
}

// closeLargest completes the open gathering of a handler that has the most flights, and among several the oldest.
func (g *gatherer) closeLargest(handler *Handler) {
	var largest *gathering
	for _, group := range g.gatherings {
		if group.handler == handler && !group.complete && (largest == nil || len(group.flights) > len(largest.flights)) {
			largest = group
		}
	}
	g.close(largest)
}

// ready removes and returns what need not wait for more. If it takes the last free slots, everything older comes first: only a free slot brings more.
func (g *gatherer) ready(now time.Time, free int) [][]*flight {
	last, ready := -1, 0
	for i, group := range g.gatherings {
		if !group.isHeld() && group.isReady(now) {
			last, ready = i, ready+1
		}
	}
	if ready == 0 {
		return nil
	}
	return g.take(func(i int) bool { return free > 0 && ready >= free && i < last || g.gatherings[i].isReady(now) })
}

// isHeld reports whether the gathering is not handed over now, because another worker may get its jobs.
func (group *gathering) isHeld() bool { return group.session.isSilent() }

// isReady reports whether the gathering need not wait for more.
func (group *gathering) isReady(now time.Time) bool {
	return group.complete || group.last || !now.Before(group.until()) || group.lane.limitReached()
}

// all removes and returns everything, except what an answer has begun.
func (g *gatherer) all(but *storeClock) [][]*flight {
	return g.take(func(i int) bool { return g.gatherings[i].answer != but })
}

// take removes and returns the gatherings for whose index which returns true, the oldest first.
func (g *gatherer) take(which func(i int) bool) (taken [][]*flight) {
	kept := make([]*gathering, 0, len(g.gatherings))
	for i, group := range g.gatherings {
		if group.isHeld() || !which(i) {
			kept = append(kept, group)
			continue
		}
		g.close(group)
		g.jobs -= len(group.flights)
		taken = append(taken, group.flights)
	}
	g.gatherings = kept
	return taken
}

// until returns when to call ready again, if nothing is added; zero: never.
func (g *gatherer) until() (until time.Time) {
	for _, group := range g.gatherings {
		if !group.isHeld() {
			until = earlier(until, group.until())
		}
	}
	return until
}

func (group *gathering) until() time.Time { return group.since.Add(group.handler.Many.Wait) }

// drop removes the flights for which keep returns false, and returns them.
func (g *gatherer) drop(keep func(*flight) bool) (dropped []*flight) {
	kept := g.gatherings[:0]
	for _, group := range g.gatherings {
		before, flights := len(group.flights), group.flights[:0]
		for _, f := range group.flights {
			if keep(f) {
				flights = append(flights, f)
			} else {
				dropped = append(dropped, f)
				group.bytes -= len(f.claimed().message.Payload)
			}
		}
		clear(group.flights[len(flights):])
		group.flights = flights
		gone := before - len(flights)
		g.jobs -= gone
		if !group.complete {
			g.opened[group.handler] -= gone
		}
		if len(flights) > 0 {
			kept = append(kept, group)
		} else {
			g.close(group)
		}
	}
	clear(g.gatherings[len(kept):])
	g.gatherings = kept
	return dropped
}
