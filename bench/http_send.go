package main

import (
	"context"
	"fmt"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
)

const (
	sendPace      = 1000 // requests a second
	sendAtOnce    = 100
	sendReceivers = 5
	sendAnswer    = 20 * time.Millisecond
)

// httpSend sends requests at a steady rate.
var httpSend = measure{
	name: "http send", group: "http", only: []string{chimePeer.library},
	about: fmt.Sprintf("%d jobs/s at an even pace, each a POST of %d bytes over plain HTTP to one of %d receivers in turn, which answer after %v; "+
		"p50 to max are from enqueue to the arrival of the request", sendPace, payloadBytes, sendReceivers, sendAnswer),
	run: runSend,
}

func runSend(ctx context.Context, r *testbed, p peer) ([]figure, error) {
	lib, err := p.open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer lib.Close()
	s := newSteady(r.sizes.steady, sendPace)
	to, err := startReceivers(sendReceivers, s.handle)
	if err != nil {
		return nil, err
	}
	defer to.close()
	sender, err := startChild(ctx, r.roleOf(sendRole, p, sendAtOnce))
	if err != nil {
		return nil, err
	}
	defer sender.kill()
	used := sender.cpu()
	e, err := s.run(ctx, r.server(p), &actions{lib.(*chimeLibrary), to})
	if err != nil {
		return nil, err
	}
	used = sender.cpu() - used
	return append(s.figures(), e.rate(),
		figure{name: "CPU of the sender", unit: "cores", value: used.Seconds() / e.took.Seconds(), less: true},
	), nil
}

// send works as a program does that sends actions.
func (role role) send() (stop func() error, err error) {
	loopback, err := action.ParseNet("127.0.0.1")
	if err != nil {
		return nil, err
	}
	sender := action.NewSender(action.SenderOptions{Egress: action.Egress{AllowNets: []action.Net{loopback}}})
	worker := chime.NewWorker(role.store(), chime.WorkerOptions{Concurrency: role.Concurrency, Logger: quiet})
	worker.Handle(action.JobName, sender.Handle)
	return runChime(worker), nil
}
