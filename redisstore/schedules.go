package redisstore

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var (
	declareScript  = load("declare")
	removeScript   = load("remove")
	pauseScript    = load("pause")
	registryScript = load("registry")
	registerScript = load("register")
)

const (
	declareBatch  = 100       // schedules a script
	registerAlone = 8         // schedules for which plain commands cost the server less than a script of the registry
	registerBatch = 500       // schedules a script of the registry
	declareBytes  = 512 << 10 // of definitions a script
	moveRounds    = 8         // how often a declaration follows a schedule that others move meanwhile
)

// Declare creates or changes schedules, and moves those whose queue is another now.
func (s *store) Declare(ctx context.Context, declarations []protocol.Declaration) []protocol.DeclareAnswer {
	answers := make([]protocol.DeclareAnswer, len(declarations))
	pending := make([]int, len(declarations))
	for i := range pending {
		pending[i] = i
	}
	if err := s.registerQueues(ctx, declarations); err != nil {
		return declareFailed(answers, pending, err)
	}
	for range moveRounds {
		here, err := s.bringHere(ctx, declarations, pending, answers)
		if err != nil {
			return declareFailed(answers, pending, err)
		}
		pending, err = s.declareHere(ctx, declarations, here, answers)
		if err != nil {
			return declareFailed(answers, pending, err)
		}
		if len(pending) == 0 {
			return answers
		}
	}
	return declareFailed(answers, pending, errors.New("redisstore: declare: others keep moving it to another queue"))
}

func declareFailed(answers []protocol.DeclareAnswer, pending []int, err error) []protocol.DeclareAnswer {
	for _, i := range pending {
		answers[i].Err = err
	}
	return answers
}

// registerQueues writes the queues of declarations into the registry. For a few declarations a queue that this process knows is
// left to bringHere, which saves a round trip.
func (s *store) registerQueues(ctx context.Context, declarations []protocol.Declaration) error {
	if s.bad != nil {
		return s.bad
	}
	register := s.registerQueue
	if len(declarations) <= registerAlone {
		register = s.Partitions
	}
	seen := map[string]bool{}
	for i := range declarations {
		if queue := declarations[i].Queue; !seen[queue] {
			seen[queue] = true
			if _, err := register(ctx, queue); err != nil {
				return err
			}
		}
	}
	return nil
}

// bringHere writes where new schedules live, and moves those that live elsewhere. It returns the ones that now live in the
// queue they are declared for; a move that failed is told in its answer.
func (s *store) bringHere(ctx context.Context, declarations []protocol.Declaration, pending []int, answers []protocol.DeclareAnswer) (here []int, err error) {
	homes, err := s.register(ctx, declarations, pending, len(declarations) <= registerAlone)
	if err != nil {
		return nil, err
	}
	for j, i := range pending {
		if from := homes.text(j); from != declarations[i].Queue {
			owed, err := s.move(ctx, declarations[i].Name, from, declarations[i].Queue)
			if err != nil {
				answers[i].Err = err
				continue
			}
			answers[i].Owed = owed
		}
		here = append(here, i)
	}
	return here, nil
}

// declareHere declares each in the partition it lives in and returns those that have moved away meanwhile.
func (s *store) declareHere(ctx context.Context, declarations []protocol.Declaration, here []int, answers []protocol.DeclareAnswer) (again []int, err error) {
	groups := map[protocol.Partition][]int{}
	for _, i := range here {
		partition, err := s.home(ctx, declarations[i].Queue, declarations[i].Name)
		if err != nil {
			return here, err
		}
		answers[i].Partition = partition
		groups[partition] = append(groups[partition], i)
	}
	var calls []call
	var batches [][]int
	for partition, members := range groups {
		k := s.keys.partition(partition)
		for _, batch := range declareBatches(declarations, members) {
			args := make([]any, 0, 3*len(batch))
			for _, i := range batch {
				args = append(args, declarations[i].Name, string(declarations[i].Overlap), declarations[i].Body)
			}
			calls = append(calls, newCall(&declareScript, []string{k.schedules, k.cursors, k.owed, k.due, k.state, k.jobs, k.crashes}, args))
			batches = append(batches, batch)
		}
	}
	if len(calls) == 0 {
		return nil, nil
	}
	for b, cmd := range s.run(ctx, s.client, calls...) {
		values, err := list("declare", declarations[batches[b][0]].Name, cmd)
		for j, i := range batches[b] {
			if err != nil {
				answers[i].Err = err
				continue
			}
			if status := values.number(1 + 5*j); status == 3 {
				again = append(again, i)
				continue
			}
			readDeclared(values, 1+5*j, &declarations[i], &answers[i])
		}
	}
	elsewhere, err := s.confirmHomes(ctx, declarations, here, answers)
	return append(again, elsewhere...), err
}

// declareBatches splits members so that no script touches too much.
func declareBatches(declarations []protocol.Declaration, members []int) [][]int {
	var batches [][]int
	start, bytes := 0, 0
	for j, i := range members {
		size := len(declarations[i].Body)
		if j > start && (j-start == declareBatch || bytes+size > declareBytes) {
			batches = append(batches, members[start:j])
			start, bytes = j, 0
		}
		bytes += size
	}
	return append(batches, members[start:])
}

func readDeclared(values reply, at int, declared *protocol.Declaration, answer *protocol.DeclareAnswer) {
	answer.New, answer.Changed = values.number(at) == 1, values.number(at) == 2
	if answer.Changed {
		answer.Old = []byte(values.text(at + 1))
	}
	answer.Stored = []byte(values.text(at + 2))
	h, _ := parseHead(values.text(at + 2))
	answer.Created, answer.Revision = h.created, h.revision
	if values.number(at+4) == 1 {
		answer.Owed = &protocol.Owed{
			Partition: answer.Partition, Name: declared.Name, Definition: answer.Stored,
			Cursor: parseCursor(values.text(at + 3)), Since: values.now(), Now: values.now(),
		}
	}
}

// confirmHomes writes the registry again for schedules that somebody deleted while they were declared, and returns those
// that the registry says live elsewhere.
func (s *store) confirmHomes(ctx context.Context, declarations []protocol.Declaration, here []int, answers []protocol.DeclareAnswer) (elsewhere []int, err error) {
	var written []int
	for _, i := range here {
		if answers[i].New || answers[i].Changed {
			written = append(written, i)
		}
	}
	if len(written) == 0 {
		return nil, nil
	}
	homes, err := s.register(ctx, declarations, written, false)
	if err != nil {
		return here, err
	}
	for j, i := range written {
		if homes.text(j) != declarations[i].Queue {
			elsewhere = append(elsewhere, i)
		}
	}
	return elsewhere, nil
}

// register writes where some declarations live into the registry where it has nothing for them, and returns what it has.
// It writes their queues too, if told so: a few at most.
func (s *store) register(ctx context.Context, declarations []protocol.Declaration, which []int, queues bool) (reply, error) {
	if len(which) <= registerAlone {
		return s.registerFew(ctx, declarations, which, queues)
	}
	homes := make(reply, 0, len(which))
	for some := range slices.Chunk(which, registerBatch) {
		args := make([]any, 0, 2*len(some))
		for _, i := range some {
			args = append(args, declarations[i].Name, declarations[i].Queue)
		}
		values, err := s.one(ctx, "look up schedules in", s.keys.registry(), newCall(&registerScript, []string{s.keys.registry()}, args))
		if err != nil {
			return nil, err
		}
		homes = append(homes, values...)
	}
	return homes, nil
}

func (s *store) registerFew(ctx context.Context, declarations []protocol.Declaration, which []int, queues bool) (reply, error) {
	pipe := s.client.Pipeline()
	numbers := map[string]*redis.StringCmd{}
	homes := make([]*redis.StringCmd, len(which))
	for j, i := range which {
		d := &declarations[i]
		if queues && numbers[d.Queue] == nil {
			numbers[d.Queue] = s.askQueue(ctx, pipe, d.Queue)
		}
		pipe.HSetNX(ctx, s.keys.registry(), d.Name, d.Queue)
		homes[j] = pipe.HGet(ctx, s.keys.registry(), d.Name)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, failure("look up schedules in", s.keys.registry(), err)
	}
	for queue, number := range numbers {
		if _, err := s.learnQueue(queue, number.Val()); err != nil {
			return nil, err
		}
	}
	found := make(reply, len(homes))
	for j, home := range homes {
		found[j] = home.Val()
	}
	return found, nil
}

// Remove deletes a schedule and what is placed of it.
func (s *store) Remove(ctx context.Context, name string) (bool, error) {
	if s.bad != nil {
		return false, s.bad
	}
	for range moveRounds {
		queue, err := s.client.HGet(ctx, s.keys.registry(), name).Result()
		if errors.Is(err, redis.Nil) {
			return false, nil
		}
		if err != nil {
			return false, failure("look up schedule", name, err)
		}
		partition, err := s.home(ctx, queue, name)
		if err != nil {
			return false, err
		}
		k := s.keys.partition(partition)
		cmd := s.run(ctx, s.client, newCall(&removeScript,
			[]string{k.schedules, k.cursors, k.owed, k.due, k.open, k.jobs, k.crashes, k.counters}, []any{name}))[0]
		if err := cmd.Err(); err != nil {
			return false, failure("remove schedule", name, err)
		}
		if mark, ok := cmd.Val().(string); ok {
			if _, err := s.finishMove(ctx, name, queue, mark); err != nil {
				return false, err
			}
			continue
		}
		found, _ := cmd.Val().(int64)
		if err := s.run(ctx, s.client, newCall(&registryScript, []string{s.keys.registry()}, []any{name, queue, ""}))[0].Err(); err != nil {
			return false, failure("remove from the registry schedule", name, err)
		}
		// Somebody who declared it again meanwhile found the registry still written: write it again.
		if exists, err := s.client.HExists(ctx, k.schedules, name).Result(); err == nil && exists {
			s.client.HSetNX(ctx, s.keys.registry(), name, queue)
		}
		return found == 1, nil
	}
	return false, fmt.Errorf("redisstore: remove schedule %q: others keep moving it to another queue", name)
}

// PauseSchedule stops a schedule or lets it go on.
func (s *store) PauseSchedule(ctx context.Context, name string, paused bool) (protocol.Owed, error) {
	wanted := protocol.StateLive
	if paused {
		wanted = protocol.StatePaused
	}
	for range moveRounds {
		if s.bad != nil {
			return protocol.Owed{}, s.bad
		}
		queue, err := s.client.HGet(ctx, s.keys.registry(), name).Result()
		if errors.Is(err, redis.Nil) {
			return protocol.Owed{}, fmt.Errorf("redisstore: schedule %q: %w", name, protocol.ErrNotFound)
		}
		if err != nil {
			return protocol.Owed{}, failure("look up schedule", name, err)
		}
		partition, err := s.home(ctx, queue, name)
		if err != nil {
			return protocol.Owed{}, err
		}
		k := s.keys.partition(partition)
		values, err := s.one(ctx, "pause or resume schedule", name, newCall(&pauseScript,
			[]string{k.schedules, k.cursors, k.owed, k.due, k.jobs, k.crashes}, []any{name, string(wanted)}))
		if err != nil {
			return protocol.Owed{}, err
		}
		text := values.text(2)
		if h, ok := parseHead(text); ok && h.movedTo != "" {
			if _, err := s.finishMove(ctx, name, queue, text); err != nil {
				return protocol.Owed{}, err
			}
			continue
		}
		if values.number(1) < 0 {
			return protocol.Owed{}, fmt.Errorf("redisstore: schedule %q: %w", name, protocol.ErrNotFound)
		}
		if paused || values.number(1) == 0 {
			return protocol.Owed{}, nil
		}
		return protocol.Owed{
			Partition: partition, Name: name, Definition: []byte(text), Cursor: parseCursor(values.text(3)),
			Since: values.now(), Now: values.now(),
		}, nil
	}
	return protocol.Owed{}, fmt.Errorf("redisstore: pause or resume schedule %q: others keep moving it to another queue", name)
}

// head is what the scripts know of a definition: it begins the stored text.
type head struct {
	revision int64
	state    string
	created  time.Time
	overlap  string
	rest     string
	movedTo  string // queue; empty: not a mark
	before   string // state before it was moved
}

var headPattern = regexp.MustCompile(`^\{"revision":(\d+),"state":"([^"]+)","created":"([^"]+)","overlap":"([a-z]+)",(?s:(.+))$`)

func parseHead(text string) (head, bool) {
	m := headPattern.FindStringSubmatch(text)
	if m == nil {
		return head{}, false
	}
	h := head{state: m[2], overlap: m[4], rest: m[5]}
	h.revision, _ = strconv.ParseInt(m[1], 10, 64)
	h.created, _ = time.Parse(time.RFC3339, m[3])
	if after, ok := strings.CutPrefix(h.state, "moved to "); ok {
		h.movedTo, h.before, _ = strings.Cut(after, " ")
	}
	return h, true
}

// withState spells the definition with another state.
func (h head) withState(state string) string {
	return fmt.Sprintf(`{"revision":%d,"state":"%s","created":"%s","overlap":"%s",%s`,
		h.revision, state, h.created.UTC().Format(time.RFC3339), h.overlap, h.rest)
}

// parseCursor reads "<planned instant> <runs used> <kind>"; anything else is the zero Cursor.
func parseCursor(text string) protocol.Cursor {
	fields := strings.Fields(text)
	if len(fields) != 3 {
		return protocol.Cursor{}
	}
	at, err := time.Parse(time.RFC3339, fields[0])
	used, _ := strconv.Atoi(fields[1])
	if err != nil {
		return protocol.Cursor{}
	}
	return protocol.Cursor{At: at, Used: used, Placed: fields[2] == "p"}
}

// spellCursor is the part of a cursor that placing compares.
func spellCursor(c protocol.Cursor) string {
	switch {
	case c.At.IsZero():
		return ""
	case c.Placed:
		return c.At.UTC().Format(time.RFC3339) + " p"
	}
	return c.At.UTC().Format(time.RFC3339) + " s"
}
