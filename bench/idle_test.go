package main

import "testing"

func TestReadingTheUsageIsNoCommand(t *testing.T) {
	r := newTestbed(t, false)
	if err := r.redis.empty(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, err := r.redis.usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := r.redis.client.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := r.redis.usage(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.redis.client.Eval(t.Context(), "redis.call('TIME') return redis.call('TIME')", nil).Err(); err != nil {
		t.Fatal(err)
	}
	after, err := r.redis.usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := after.since(before).commands; got != 6 { // three PING, one EVAL, two TIME inside of it
		t.Errorf("%d commands, want 6", got)
	}
}

// A worker that polls every twelve seconds polls twice in the window, regardless of its start.
func TestTheWindowOfASparseLoadIsAMultipleOfTheLongestTimeBetweenPolls(t *testing.T) {
	if sparseTime < 2*longestPoll || sparseTime%longestPoll != 0 {
		t.Errorf("jobs are enqueued for %v, want a multiple of %v, twice it at least", sparseTime, longestPoll)
	}
	for _, form := range []sizes{longForm, shortForm} {
		if form.idle%(11e9) != 0 || form.idleMany%(11e9) != 0 {
			t.Errorf("idle processes are watched for %v and %v, want multiples of 11s, the mean time between two polls", form.idle, form.idleMany)
		}
	}
}
