package change

import (
	"net/url"
	"strings"
	"testing"
)

// Where a search has ended before the last job, that nothing fits is not said of all jobs.
func TestNothingThatFitsIsSaidOfWhatWasLookedAt(t *testing.T) {
	for more, want := range map[bool]string{false: "none fits any more", true: "There are more"} {
		answer, err := (&Changer{}).changeSelected(&Form{}, requeues, selection{more: more}, nil, "jobs")
		if err != nil || !strings.Contains(answer.Said, want) || answer.Ask != nil {
			t.Errorf("more %v: got %q, %v, %v; want %q", more, answer.Said, answer.Ask, err, want)
		}
	}
}

// A form leads back to its list as it was; what no address of a page could be is left out.
func TestAListIsLedBackToByWhatItsAddressMayBe(t *testing.T) {
	for _, c := range []struct{ query, want string }{{"state=dead&q=mail", "state=dead&q=mail"}, {strings.Repeat("x", maxList), strings.Repeat("x", maxList)}, {strings.Repeat("x", maxList+1), ""}} {
		f := &Form{Fields: url.Values{fromList: {c.query}}}
		if f.list() != c.want || f.back("queues/mail") != "queues" || f.kept()[0].Value != c.want {
			t.Errorf("of %d bytes: got %.40q, %q, %v", len(c.query), f.list(), f.back("queues/mail"), f.kept())
		}
	}
	if f := (&Form{Fields: url.Values{}}); f.back("queues/mail") != "queues/mail" || f.kept() != nil {
		t.Errorf("a form of no list leads to %q, and keeps %v", f.back("queues/mail"), f.kept())
	}
}

// The audit names what was ticked, as far as it has room.
func TestTheAuditNamesTheFirstOfWhatWasTicked(t *testing.T) {
	long := strings.Repeat("x", 2*maxNamed)
	for want, ticked := range map[string][]string{
		"":                              nil,
		"mail/a, send: refused":         {"mail/a", "send\trefused"},
		"a, b, c, d, e and 2 more":      strings.Split("abcdefg", ""),
		long[:maxNamed]:                 {long},
		long[:maxNamed] + " and 1 more": {long, "b"},
	} {
		if got := firstOf(ticked); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
