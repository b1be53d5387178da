//go:build unix

package chaos

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/chimejobs/chime"
)

// runChanger changes, moves, pauses and resumes its schedules, and groups, until Stop. Then it leaves all of them live.
func runChanger(ctx context.Context, p *program) error {
	random := rand.New(rand.NewPCG(p.Seed, uint64(time.Now().UnixNano())))
	schedules, queues := chime.NewSchedules(p.store), chime.NewQueues(p.store)
	all := changed(p.End)
	put := func(d declaration, queue string) error {
		p.send(Putting, d.name, 0, "")
		options := []chime.PutOption{chime.Queue(queue), chime.Args(random.IntN(5))}
		for i := len(d.options) - 1; i >= 0; i-- { // the last one counts
			options = append([]chime.PutOption{d.options[i]}, options...)
		}
		_, err := schedules.Put(ctx, d.name, d.recurrence, options...)
		if err == nil {
			p.send(Put, d.name, 0, queue)
		}
		return err
	}
	brief := &briefSchedules{program: p, schedules: schedules, random: random}
	for time.Now().Before(p.Stop) && sleep(ctx, time.Now().Add(time.Duration(random.IntN(400))*time.Millisecond)) {
		d := all[random.IntN(len(all))]
		// after an error it is unknown whether the change was made; the checks must hold either way
		switch random.IntN(12) {
		case 0:
			_ = schedules.Pause(ctx, d.name)
		case 1:
			_ = schedules.Resume(ctx, d.name)
		case 2:
			_ = put(d, queueDefault)
		case 3, 4:
			_ = put(d, queueNames[random.IntN(len(queueNames))])
		case 5, 6, 7, 8:
			changeGroup(ctx, queues, random)
		default:
			brief.next(ctx, put)
		}
	}
	for _, d := range all {
		for ctx.Err() == nil {
			err := schedules.Resume(ctx, d.name)
			if errors.Is(err, chime.ErrNotFound) && time.Now().Before(p.End) {
				err = put(d, queueDefault)
			}
			if err == nil || errors.Is(err, chime.ErrNotFound) {
				break
			}
			sleep(ctx, time.Now().Add(100*time.Millisecond))
		}
	}
	resumeGroups(ctx, queues)
	<-ctx.Done()
	return nil
}
