package guard

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestAViewerHasSoManyRequestsASecond(t *testing.T) {
	rate := NewRate(20)
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	for i := range 20 {
		if wait := rate.Take("anna", now); wait != 0 {
			t.Fatalf("request %d of the second waits %v", i+1, wait)
		}
	}
	if wait := rate.Take("anna", now); wait != 50*time.Millisecond {
		t.Errorf("the 21st request waits %v, want 50ms: a twentieth of a second", wait)
	}
	if wait := rate.Take("ben", now); wait != 0 {
		t.Errorf("another viewer waits %v", wait)
	}
	if wait := rate.Take("anna", now.Add(50*time.Millisecond)); wait != 0 {
		t.Errorf("50 ms later she waits %v", wait)
	}
	allowed := 0
	for range 100 {
		if rate.Take("anna", now.Add(time.Hour)) == 0 {
			allowed++
		}
	}
	if allowed != 20 {
		t.Errorf("after an hour's rest %d requests at once are allowed, want 20", allowed)
	}
}

func TestAClockThatGoesBackTakesNothingAway(t *testing.T) {
	rate := NewRate(20)
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	rate.Take("anna", now)
	for i := range 19 {
		if wait := rate.Take("anna", now.Add(-time.Minute)); wait != 0 {
			t.Fatalf("request %d waits %v", i+2, wait)
		}
	}
}

func TestViewersBeyondTheLimitShareOneAllowance(t *testing.T) {
	rate := NewRate(20)
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	allowed := 0
	for i := range maxViewers + 1000 {
		if rate.Take(fmt.Sprint(i), now) == 0 {
			allowed++
		}
	}
	if allowed != maxViewers+20 || len(rate.of) != maxViewers {
		t.Errorf("%d were allowed and %d are kept, want %d and %d", allowed, len(rate.of), maxViewers+20, maxViewers)
	}
	rate.Take("late", now.Add(time.Minute))
	if len(rate.of) != 1 {
		t.Errorf("a minute later %d are kept, want the one that sent a request", len(rate.of))
	}
}

func TestRequestsThatAreTooLong(t *testing.T) {
	for _, c := range []struct {
		name   string
		target string
		body   string
		want   string
	}{
		{"a short one", "/jobs?state=dead", "verb=pause", ""},
		{"the longest query", "/?" + strings.Repeat("q", MaxQuery), "", ""},
		{"a longer query", "/?" + strings.Repeat("q", MaxQuery+1), "", "the query of the address has 2049 bytes, want at most 2048"},
		{"a long path", "/" + strings.Repeat("p", maxPath), "", "the path of the address has 4097 bytes, want at most 4096"},
		{"the longest form", "/", strings.Repeat("f", MaxBody), ""},
		{"a longer form", "/", strings.Repeat("f", MaxBody+1), "the form has 65537 bytes, want at most 65536"},
	} {
		r := httptest.NewRequest("POST", c.target, strings.NewReader(c.body))
		if got := TooLong(r, MaxBody); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestNoAnswerIsKeptFramedOrGuessed(t *testing.T) {
	header := http.Header{}
	SetHeaders(header)
	for name, want := range map[string]string{
		"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
	} {
		if got := header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	policy := header.Get("Content-Security-Policy")
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") || strings.Contains(policy, "data:") {
		t.Errorf("the policy allows more than the dashboard itself: %s", policy)
	}
	for _, directive := range []string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "font-src 'self'", "connect-src 'self'", "form-action 'self'",
		"base-uri 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types chime",
	} {
		if !strings.Contains("; "+policy+";", "; "+directive+";") {
			t.Errorf("the policy has no %s: %s", directive, policy)
		}
	}
}
