package main

import "testing"

func TestAskingForCallsIsNoCall(t *testing.T) {
	r := testRig(t, false)
	if err := r.redis.empty(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, err := r.redis.calls(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := r.redis.client.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.redis.client.Eval(t.Context(), "redis.call('TIME') return redis.call('TIME')", nil).Err(); err != nil {
		t.Fatal(err)
	}
	after, err := r.redis.calls(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int64{"ping": 3, "eval": 1, "time": 2} {
		if got := after[name] - before[name]; got != want {
			t.Errorf("%d calls of %s, want %d", got, name, want)
		}
	}
	if got, want := total(after)-total(before), int64(6); got != want {
		t.Errorf("%d calls in all, want %d: %v after %v", got, want, after, before)
	}
}
