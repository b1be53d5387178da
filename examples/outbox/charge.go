package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/chimejobs/chime"
)

// A provider charges cards. It charges each key once: a call with a known key returns the outcome of the first one.
type provider interface {
	Charge(ctx context.Context, key string, cents int) error
}

var errDeclined = errors.New("the card was declined")

type payment struct{ Order, Cents int }

var charge = chime.Define[payment]("charge", chime.Queue("payments"))

// requestCharge adds the job that charges an order. The ID comes from the order, so two calls for one order have the same key.
func requestCharge(ctx context.Context, enqueuer *chime.Enqueuer, order, cents int) error {
	_, err := charge.Enqueue(ctx, enqueuer, payment{Order: order, Cents: cents}, chime.ID(fmt.Sprintf("order-%d/charge", order)))
	return err
}

// chargeWith returns the handler. The job's ID is the same in all attempts, so it is the key.
func chargeWith(p provider) func(ctx context.Context, job *chime.Job, args payment) error {
	return func(ctx context.Context, job *chime.Job, args payment) error {
		err := p.Charge(ctx, job.ID, args.Cents)
		if errors.Is(err, errDeclined) {
			return chime.Discard(err) // a known outcome: another attempt would get the same one
		}
		return err // unknown, such as a timeout: the next attempt asks again, with the same key
	}
}
