package carry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

const (
	callTimeout  = 30 * time.Second
	confirmAfter = 61 * time.Second // the store removes what was carried if the target still has it a minute later
	maxRefusals  = 5                // consecutive calls that do not continue the mark of the target, before the line waits
	maxTurns     = 10_000           // of a loop that ends when everything is carried
	noteAgain    = time.Minute      // between two notes of the reason why a line fails
	noteTimeout  = 5 * time.Second
)

var (
	errRefused = errors.New("chime: the target has another mark at each call: another process carries the same line")
	errNoEnd   = errors.New("chime: the store notes a mark without end")
)

// A line is what a source has for a target.
type line struct {
	source protocol.Partition
	target protocol.Partition
	kind   lineKind
}

type lineKind byte

const (
	everyLine   lineKind = iota // the lines of the source are not known; there is no target
	ofQueue                     // of target only the queue is known
	ofPartition                 // the target is known
	delivered                   // likewise, and what was carried is to be confirmed
)

// nodes are the nodes that a line needs.
type nodes struct {
	on   string // of the target; of the source if the target is not known
	from string // of the source, if that is another one
}

func (l line) nodes(store Store) nodes {
	source := store.Node(l.source)
	if l.kind == everyLine || l.kind == ofQueue {
		return nodes{on: source}
	}
	n := nodes{on: store.Node(l.target), from: source}
	if n.from == n.on {
		n.from = ""
	}
	return n
}

// text returns the line as the store has it; empty: its lines are not known.
func (l line) text() string {
	switch l.kind {
	case ofQueue:
		return l.target.Queue
	case ofPartition:
		return l.target.Path()
	}
	return ""
}

// note stores in the source why a line has failed twice or more, once a minute, or that it does not fail any more: people look for the reason there. The
// line ends as if this had succeeded.
func (c *Carrier) note(ctx context.Context, l line, failed error) {
	c.mu.Lock()
	f, again := c.failing[l]
	c.mu.Unlock()
	why, now := "", time.Now()
	switch {
	case l.text() == "" || !again || ctx.Err() != nil:
		return
	case failed != nil && now.Sub(f.noted) < noteAgain, failed == nil && f.noted.IsZero():
		return
	case failed != nil:
		why = failed.Error()
	}
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	if c.store.BlockOutbox(ctx, l.source, l.text(), now.Sub(f.since), why) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if f, fails := c.failing[l]; fails {
		f.noted = now
		c.failing[l] = f
	}
}

// carry does what a line needs now.
func (c *Carrier) carry(ctx context.Context, l line) error {
	switch l.kind {
	case everyLine:
		return c.readLines(ctx, l.source)
	case ofQueue:
		return c.address(ctx, l.source, l.target.Queue)
	case delivered:
		return c.confirm(ctx, l)
	}
	batch, err := c.advance(ctx, l, "", time.Time{}, protocol.MaxItems)
	if err != nil {
		return err
	}
	return c.carryOn(ctx, l, batch)
}

// call makes a call to a partition's node. It waits for a place no longer than for an answer: a line that waits for a node that hangs is active, and only
// some lines may be.
func (c *Carrier) call(ctx context.Context, p protocol.Partition, do func(ctx context.Context) error) error {
	waiting, stop := context.WithTimeout(ctx, callTimeout)
	leave, err := c.place(waiting, p)
	stop()
	if err != nil {
		return fmt.Errorf("wait for other calls to the node of queue %q: %w", p.Queue, err)
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return do(ctx)
}

// read reads some lines of a source.
func (c *Carrier) read(ctx context.Context, source protocol.Partition, after string) (lines protocol.OutboxLines, err error) {
	err = c.call(ctx, source, func(ctx context.Context) (err error) {
		lines, err = c.store.ReadOutbox(ctx, source, after)
		return err
	})
	return lines, err
}

// readLines makes the lines of a source due.
func (c *Carrier) readLines(ctx context.Context, source protocol.Partition) error {
	after := ""
	for range maxTurns {
		lines, err := c.read(ctx, source, after)
		if err != nil {
			return err
		}
		now := time.Now()
		for _, found := range lines.Lines {
			if target, addressed, ok := protocol.ParseLine(found.Line); ok && addressed {
				c.add(line{source, target, ofPartition}, now)
			} else if ok {
				c.add(line{source, target, ofQueue}, now)
			}
		}
		for _, text := range lines.Targets {
			if target, addressed, ok := protocol.ParseLine(text); ok && addressed {
				c.add(line{source, target, delivered}, now.Add(confirmAfter))
			}
		}
		if after = lines.Next; after == "" {
			break
		}
	}
	return nil
}

// address puts the entries for a queue into the lines of its partitions, and makes these due. It registers a queue that was deleted.
func (c *Carrier) address(ctx context.Context, source protocol.Partition, queue string) error {
	n, err := c.partitions(ctx, queue)
	if err != nil {
		return err
	}
	for range maxTurns {
		lines, err := c.read(ctx, source, before(queue))
		if err != nil {
			return err
		}
		if len(lines.Lines) == 0 || lines.Lines[0].Line != queue || len(lines.Lines[0].Members) == 0 {
			return nil
		}
		var to []protocol.Addressed
		for _, member := range lines.Lines[0].Members {
			to = append(to, protocol.Addressed{Member: member, Index: protocol.PartitionOf(protocol.NewOutboxEntry(member, "").ID, n)})
		}
		err = c.call(ctx, source, func(ctx context.Context) error {
			_, err := c.store.AddressOutbox(ctx, source, queue, to) // another carrier may have been faster
			return err
		})
		if err != nil {
			return err
		}
		for _, entry := range to {
			c.add(line{source, protocol.Partition{Queue: queue, Index: entry.Index}, ofPartition}, time.Now())
		}
	}
	return errNoEnd
}

// partitions returns the number of partitions of a queue.
func (c *Carrier) partitions(ctx context.Context, queue string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return c.store.Partitions(ctx, queue)
}

// before returns a text that sorts directly before the line of a queue: reading begins behind it.
func before(queue string) string {
	return queue[:len(queue)-1] + string([]byte{queue[len(queue)-1] - 1, 0xff})
}

// advance notes a mark of the target and returns what it gets next.
func (c *Carrier) advance(ctx context.Context, l line, mark string, asked time.Time, want int) (batch protocol.OutboxBatch, err error) {
	for range maxTurns {
		err = c.call(ctx, l.source, func(ctx context.Context) (err error) {
			batch, err = c.store.AdvanceOutbox(ctx, l.source, l.target, mark, asked, want)
			return err
		})
		if err != nil {
			return batch, err
		}
		if batch.Lost && c.logged.Allow("lost "+l.source.Queue+"\t"+l.target.Queue, time.Now()) {
			c.log.Error("chime: jobs that follow others are lost: their queue has gone back to an earlier state, or they were removed", "event", "outbox.lost",
				"queue", l.source.Queue, "partition", l.source.Index, "target", l.target.Queue)
		}
		if !batch.Again {
			return batch, nil
		}
	}
	return batch, errNoEnd
}

// ask returns the mark of the target.
func (c *Carrier) ask(ctx context.Context, l line) (mark string, err error) {
	answer, err := c.send(ctx, l, "", nil)
	return answer.Mark, err
}

func (c *Carrier) send(ctx context.Context, l line, after string, entries []protocol.OutboxEntry) (answer protocol.CarryAnswer, err error) {
	err = c.call(ctx, l.target, func(ctx context.Context) (err error) {
		answer, err = c.store.Carry(ctx, l.source, l.target, after, entries)
		return err
	})
	if answer.Ungrouped > 0 && c.logged.Allow("group "+l.target.Queue, time.Now()) {
		c.log.Warn("chime: jobs that follow others have lost their groups: their queue has several partitions", "event", "outbox.group",
			"queue", l.target.Queue, "count", answer.Ungrouped)
	}
	return answer, err
}

// carryOn carries entries, and those after them until none is left.
func (c *Carrier) carryOn(ctx context.Context, l line, batch protocol.OutboxBatch) error {
	refusals := 0
	for len(batch.Entries) > 0 {
		if moved, err := c.moved(ctx, l, batch.Entries); moved || err != nil {
			return err
		}
		mark, asked := "", batch.Now
		var err error
		if batch.After == "" {
			mark, err = c.ask(ctx, l)
			asked = time.Time{}
		} else {
			var answer protocol.CarryAnswer
			if answer, err = c.send(ctx, l, batch.After, batch.Entries); err == nil && !answer.Continued {
				if refusals++; refusals >= maxRefusals {
					return errRefused
				}
			} else {
				refusals = 0
			}
			mark = answer.Mark
		}
		if err != nil {
			return err
		}
		if batch, err = c.advance(ctx, l, mark, asked, protocol.MaxItems); err != nil {
			return err
		}
	}
	if batch.Left {
		c.add(line{l.source, l.target, delivered}, time.Now().Add(confirmAfter))
	}
	return nil
}

// moved reports whether the target has another number of partitions than when the entries were addressed: then they are addressed again.
func (c *Carrier) moved(ctx context.Context, l line, entries []protocol.OutboxEntry) (moved bool, err error) {
	if l.target.Queue == "" {
		return false, nil
	}
	n, err := c.partitions(ctx, l.target.Queue)
	if err != nil {
		return false, err
	}
	var to []protocol.Addressed
	for _, entry := range entries {
		index := protocol.PartitionOf(entry.ID, n)
		moved = moved || index != l.target.Index
		to = append(to, protocol.Addressed{Member: entry.Member, Index: index})
	}
	if !moved {
		return false, nil
	}
	err = c.call(ctx, l.source, func(ctx context.Context) error {
		_, err := c.store.AddressOutbox(ctx, l.source, l.target.Path(), to)
		return err
	})
	if err != nil {
		return true, fmt.Errorf("address again: %w", err)
	}
	c.add(line{source: l.source}, time.Now())
	return true, nil
}

// confirm asks the target whether it still has what was carried. If it has gone back to an earlier state, the rest is carried again.
func (c *Carrier) confirm(ctx context.Context, l line) error {
	asked, err := c.advance(ctx, l, "", time.Time{}, 0)
	if err != nil || !asked.Left {
		return err
	}
	mark, err := c.ask(ctx, l)
	if err != nil {
		return err
	}
	batch, err := c.advance(ctx, l, mark, asked.Now, protocol.MaxItems)
	if err != nil {
		return err
	}
	return c.carryOn(ctx, l, batch)
}
