package batchmodel

import (
	"slices"

	"github.com/chimejobs/chime/internal/protocol"
)

// A creator opens a batch, notes and fills it two items at a time, and seals it.
type creator struct {
	*plan
	stage  int // 0 open, 1 note, 2 fill, 3 close, 4 seal
	at     int // items that are confirmed
	counts []protocol.PartitionCounts
}

func (c *creator) name() string {
	if c.plan == nil {
		return ""
	}
	return "the creator of " + c.def.ID
}

// chunk is how many items are noted together.
const chunk = 2

func (c *creator) step(w *Walk) bool {
	switch c.stage {
	case 0:
		w.ledger.Open(c.def.ID, c.def.DoneWithoutCancelled)
		record, existed, err := w.OpenBatch(ctx, c.def)
		w.made(nil, "%s opens it: existed %v, %s, %v", c.name(), existed, record.State, err)
		if err != nil {
			w.fail("open %s: %w", c.def.ID, err)
		}
		if !w.lost() {
			c.stage = 1
		}
		return true
	case 1:
		return c.noteNext(w)
	case 2:
		return c.fill(w)
	}
	sealed, more := seal(w, c.plan, false, &c.stage, &c.counts)
	return more && !sealed
}

func (c *creator) next() []planned { return c.items[c.at:min(c.at+chunk, len(c.items))] }

func (c *creator) noteNext(w *Walk) bool {
	if c.at == len(c.items) {
		c.stage = 3
		return true
	}
	some := c.next()
	note := protocol.FillNote{Before: int64(c.at), Position: int64(c.at + len(some)), BeforeHash: hashOf(c.items[:c.at]), Hash: hashOf(c.items[:c.at+len(some)])}
	for _, item := range some {
		if !slices.Contains(note.Partitions, item.place) {
			note.Partitions = append(note.Partitions, item.place)
		}
	}
	record, err := w.NoteFill(ctx, c.def.ID, note)
	w.made(nil, "%s notes %d to %d: %s at %d, sealing %v, %v", c.name(), note.Before, note.Position, record.State, record.Position, record.Sealing, err)
	w.again(lateCall{name: c.name() + " notes", call: func() { _, _ = w.NoteFill(ctx, c.def.ID, note) }})
	if err != nil {
		return false // it was cancelled, is sealed, or is removed
	}
	if !w.lost() {
		c.stage = 2
	}
	return true
}

func (c *creator) fill(w *Walk) bool {
	some := c.next()
	calls := map[Place]*protocol.FillCall{}
	var order []Place
	for i, item := range some {
		call := calls[item.place]
		if call == nil {
			call = &protocol.FillCall{Partition: item.place, Batch: c.def.ID}
			calls[item.place] = call
			order = append(order, item.place)
		}
		call.Positions = append(call.Positions, int64(c.at+i+1))
		call.Items = append(call.Items, Item(c.def.ID, item.id))
	}
	refused, cancelled := false, false
	for _, p := range order {
		a := fillOne(w, *calls[p], c.name()+" fills")
		refused, cancelled = refused || a.Closed, cancelled || a.Closed && a.Counts.Cancelled
		if w.chance(6) {
			return true // the rest comes when it tries again
		}
	}
	if cancelled { // somebody has cancelled it, also if home went back
		record, err := w.CancelBatch(ctx, c.def.ID)
		w.made(nil, "%s cancels: %s, %v", c.name(), record.State, err)
	}
	if refused {
		return false
	}
	c.at += len(some)
	c.stage = 1
	return true
}

// Item is the job of an item.
func Item(batch, id string) protocol.EnqueueItem {
	return protocol.EnqueueItem{ID: id, Own: true, Body: []byte(batch)}
}

// fillOne makes a call that fills or grows a batch.
func fillOne(w *Walk, call protocol.FillCall, what string) protocol.FillAnswer {
	fill := func() protocol.FillAnswer {
		a := w.FillBatch(ctx, []protocol.FillCall{call})[0]
		if a.Err != nil {
			w.fail("%s: %w", what, a.Err)
		}
		again := call.Token != "" && w.grown[call.Token] // its answer reports the job that it has added
		for i, existing := range a.Existing {
			if known, _ := w.ledger.Ended(call.Batch); existing && known && i >= a.Passed && !again {
				w.ledger.Existing(call.Batch, call.Partition, 1)
			}
		}
		if call.Token != "" && !a.Closed {
			w.grown[call.Token] = true
		}
		return a
	}
	a := fill()
	w.made(nil, "%s %v at %v in %s: passed %d, existing %v, closed %v", what, itemIDs(call), call.Positions, call.Partition.Path(), a.Passed, a.Existing, a.Closed)
	w.again(lateCall{name: what + " " + call.Partition.Path(), token: call.Token != "", call: func() { fill() }})
	return a
}

func itemIDs(call protocol.FillCall) (ids []string) {
	for _, i := range call.Items {
		ids = append(ids, i.ID)
	}
	return ids
}

// seal makes one call of somebody who seals: it closes the partitions, and then asks home.
func seal(w *Walk, p *plan, asIs bool, stage *int, counts *[]protocol.PartitionCounts) (sealed, more bool) {
	id := p.def.ID
	record, sealed, err := w.SealBatch(ctx, id, int64(len(p.items)), hashOf(p.items), asIs, *counts)
	w.made(nil, "seal %s with %d counts: %s, sealed %v, %v", id, len(*counts), record.State, sealed, err)
	given := *counts
	w.again(lateCall{name: "seal " + id, call: func() { _, _, _ = w.SealBatch(ctx, id, int64(len(p.items)), hashOf(p.items), asIs, given) }})
	if err != nil || sealed {
		return sealed, false
	}
	*counts = nil
	for _, part := range record.Partition {
		call := protocol.CountCall{Partition: part.Partition, Batch: id, Above: part.Version, Close: true}
		a := w.CountBatch(ctx, []protocol.CountCall{call})[0]
		w.made(nil, "close %s in %s: %+v", id, part.Partition.Path(), a.Counts)
		w.again(lateCall{name: "close " + id, call: func() { w.CountBatch(ctx, []protocol.CountCall{call}) }})
		*counts = append(*counts, a.Counts)
		if w.chance(8) {
			return false, false // it stops
		}
	}
	return false, true
}

// A sealer seals a batch as it is.
type sealer struct {
	*plan
	stage  int
	counts []protocol.PartitionCounts
}

func (s *sealer) name() string {
	if s.plan == nil {
		return ""
	}
	return "the sealer of " + s.def.ID
}

func (s *sealer) step(w *Walk) bool {
	sealed, more := seal(w, s.plan, true, &s.stage, &s.counts)
	return more && !sealed
}

// A grower is a handler that adds a job to the batch of its own job. It may go on after its session was lost.
type grower struct {
	*plan
	batch, token string
	item         planned
	stage        int
	counts       protocol.PartitionCounts
}

func (g *grower) name() string { return "growth " + g.token + " of " + g.batch }

func (g *grower) step(w *Walk) bool {
	switch g.stage {
	case 0:
		record, err := w.GrowBatch(ctx, g.batch, g.token, g.item.place)
		w.made(nil, "%s asks home: %s, %v", g.name(), record.State, err)
		w.again(lateCall{name: g.name(), token: true, call: func() { _, _ = w.GrowBatch(ctx, g.batch, g.token, g.item.place) }})
		if err != nil {
			return false
		}
	case 1:
		call := protocol.FillCall{Partition: g.item.place, Batch: g.batch, Token: g.token, Items: []protocol.EnqueueItem{Item(g.batch, g.item.id)}}
		a := fillOne(w, call, g.name())
		if a.Closed {
			return false // the token is void, or the batch was cancelled: whoever did that reports
		}
		g.counts = a.Counts
	default:
		report(w, protocol.BatchReport{Counts: g.counts, Grown: []string{g.token}})
		return false
	}
	if !w.lost() {
		g.stage++
	}
	return true
}

// A canceller cancels a batch, or goes on with what somebody else has begun.
type canceller struct {
	*plan
	asks   bool // it cancels
	record protocol.BatchRecord
	at     int
	stage  int
}

func (c *canceller) name() string {
	if c.plan == nil {
		return ""
	}
	return "the canceller of " + c.def.ID
}

func (c *canceller) step(w *Walk) bool {
	id := c.def.ID
	if c.stage == 0 {
		var err error
		if c.asks {
			c.record, err = w.CancelBatch(ctx, id)
			w.again(lateCall{name: c.name(), call: func() { _, _ = w.CancelBatch(ctx, id) }})
		} else {
			c.record, err = w.GetBatch(ctx, id)
		}
		w.made(nil, "%s: %s, %v", c.name(), c.record.State, err)
		c.stage = 1
		return err == nil && c.record.State == protocol.BatchCancelled
	}
	if c.at == len(c.record.Partition) {
		return false
	}
	part := c.record.Partition[c.at]
	call := protocol.CountCall{Partition: part.Partition, Batch: id, Above: part.Version, Cancel: true}
	a := w.CountBatch(ctx, []protocol.CountCall{call})[0]
	w.made(nil, "%s marks %s: %+v", c.name(), part.Partition.Path(), a.Counts)
	if w.chance(2) { // it looks for the members afterwards
		w.takeFrom(part.Partition)
	}
	report(w, protocol.BatchReport{Counts: a.Counts})
	c.at++
	return true
}

// A voider clears the growths of a batch, as somebody does when their handlers are gone.
type voider struct {
	*plan
	record protocol.BatchRecord
	at     int
	stage  int
}

func (v *voider) name() string {
	if v.plan == nil {
		return ""
	}
	return "the voider of " + v.def.ID
}

func (v *voider) step(w *Walk) bool {
	if v.stage == 0 {
		record, err := w.GetBatch(ctx, v.def.ID)
		w.read("%s: growing %v, %v", v.name(), record.Growing, err)
		v.record, v.stage = record, 1
		return err == nil
	}
	if v.at == len(v.record.Growing) {
		return false
	}
	g := v.record.Growing[v.at]
	call := protocol.CountCall{Partition: g.Partition, Batch: v.def.ID, Void: g.Token}
	a := w.CountBatch(ctx, []protocol.CountCall{call})[0]
	w.made(nil, "%s voids %s in %s: %+v", v.name(), g.Token, g.Partition.Path(), a.Counts)
	v.at++
	if !w.lost() {
		report(w, protocol.BatchReport{Counts: a.Counts, Grown: []string{g.Token}})
	}
	return true
}

// A forgetter removes a batch whose retention is over: first in the partitions, then at home.
type forgetter struct {
	*plan
	stage int
}

func (f *forgetter) name() string { return "the removal of " + f.def.ID }

func (f *forgetter) step(w *Walk) bool {
	f.gone = true
	record, err := w.GetBatch(ctx, f.def.ID)
	if err != nil || f.stage > 0 && f.stage > len(record.Partition)+1 {
		return false
	}
	if f.stage < len(record.Partition) {
		call := protocol.CountCall{Partition: record.Partition[f.stage].Partition, Batch: f.def.ID, Forget: true}
		w.CountBatch(ctx, []protocol.CountCall{call})
		w.made(nil, "%s: %s forgets it", f.name(), call.Partition.Path())
		f.stage++
		return true
	}
	if err := w.DeleteBatch(ctx, f.def.ID); err != nil {
		w.fail("delete %s: %w", f.def.ID, err)
	}
	w.remove(f.def.ID)
	w.made(nil, "%s", f.name())
	return false
}

// remove ends everything that belongs to a batch.
func (w *Walk) remove(id string) {
	delete(w.plans, id)
	w.ledger.Forget(id)
	w.late = nil
	w.actors = nil
}
