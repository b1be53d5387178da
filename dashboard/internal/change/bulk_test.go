package change

import (
	"net/url"
	"strings"
	"testing"
)

// If a search ended before the last job, the message does not claim that no job matches.
func TestAPartialSearchDoesNotClaimThatNoJobMatches(t *testing.T) {
	for more, want := range map[bool]string{false: "no job matches any more", true: "There are more"} {
		answer, err := (&Changer{}).changeSelected(&Form{}, requeues, selection{more: more}, nil, "jobs")
		if err != nil || !strings.Contains(answer.Said, want) || answer.Ask != nil {
			t.Errorf("more %v: got %q, %v, %v; want %q", more, answer.Said, answer.Ask, err, want)
		}
	}
}

// A form redirects to its list with the same query. A query that cannot be the address of a page is left out.
func TestAFormRedirectsToItsList(t *testing.T) {
	for _, c := range []struct{ query, want string }{{"state=dead&q=mail", "state=dead&q=mail"}, {strings.Repeat("x", maxList), strings.Repeat("x", maxList)}, {strings.Repeat("x", maxList+1), ""}} {
		f := &Form{Fields: url.Values{fromList: {c.query}}}
		if f.list() != c.want || f.back("queues/mail") != "queues" || f.kept()[0].Value != c.want {
			t.Errorf("of %d bytes: got %.40q, %q, %v", len(c.query), f.list(), f.back("queues/mail"), f.kept())
		}
	}
	if f := (&Form{Fields: url.Values{}}); f.back("queues/mail") != "queues/mail" || f.kept() != nil {
		t.Errorf("a form without a list redirects to %q, and keeps %v", f.back("queues/mail"), f.kept())
	}
}

// The audit names the ticked rows, up to its maximum length.
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
