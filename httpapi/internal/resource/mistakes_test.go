package resource

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chimejobs/chime/httpapi/internal/problem"
)

// canary is a secret that no mistake may show.
const canary = "Canary-7c1e"

func TestEveryMistakeHasItsCodeAndItsPlace(t *testing.T) {
	const action = `"action": {"type": "https", "request": {"uri": "https://example.com/"}}`
	for _, c := range []struct{ body, want string }{
		{``, "syntax body"},
		{`{`, "syntax body"},
		{`{} {}`, "syntax body"},
		{"{\"a\": \"\xff\"}", "syntax body"},
		{`{"state": "\ud800"}`, "syntax body"},
		{strings.Repeat(`{"action":`, 33) + `1` + strings.Repeat(`}`, 33), "syntax body"},
		{`[]`, "type body"},
		{`null`, "type body"},
		{`{}`, "required action"},
		{`{"action": null}`, "required action"},
		{`{"action": {}, "Action": {}}`, "duplicate_field Action"},
		{`{"properties": {"action": {"request": {"headers": {"X": "1", "X": "2"}}}}}`, `duplicate_field properties.action.request.headers["X"]`},
		{`{"action": {"request": {"headers": {"X-A": "1", "x-a": "2"}}}}`, `duplicate_field action.request.headers["x-a"]`},
		{`{"acton": {}, ` + action + `}`, "unknown_field acton"},
		{`{` + action + `, "x y": 1}`, `unknown_field ["x y"]`},
		{`{"properties": {` + action + `}, "state": "enabled"}`, "conflict state"},
		{`{"properties": 1}`, "type properties"},
		{`{"properties": {` + action + `, "name": "report"}}`, "unknown_field properties.name"},
		{`{"name": "other", ` + action + `}`, "name_mismatch name"},
		{`{"name": "other/report", ` + action + `}`, "name_mismatch name"},
		{`{"id": "/jobCollections/demo/jobs/other", ` + action + `}`, "name_mismatch id"},
		{`{"id": "x/jobCollections/demo/jobs/report/", ` + action + `}`, "name_mismatch id"},
		{`{"state": "gone", ` + action + `}`, "state_value state"},
		{`{"state": 1, ` + action + `}`, "type state"},
		{`{"action": "https"}`, "type action"},
		{`{"action": {"type": 5}}`, "type action.type"},
		{`{"action": {"request": {"uri": ["x"]}}}`, "type action.request.uri"},
		{`{"action": {"request": {"redirects": "2"}}}`, "type action.request.redirects"},
		{`{"action": {"request": {"redirects": 2.0}}}`, "type action.request.redirects"},
		{`{"action": {"request": {"redirects": 1e0}}}`, "type action.request.redirects"},
		{`{"action": {"request": {"redirects": 6}}}`, "redirects_range action.request.redirects"},
		{`{"action": {"request": {"redirects": 99999999999999999999}}}`, "redirects_range action.request.redirects"},
		{`{"action": {"request": {"headers": ["a"]}}}`, "type action.request.headers"},
		{`{"action": {"request": {"headers": {"A b": 5}}}}`, `type action.request.headers["A b"]`},
		{`{"action": {"request": {"successCodes": ["200", 201]}}}`, "type action.request.successCodes[1]"},
		{`{"action": {"request": {"timeout": "60"}}}`, "timeout_range action.request.timeout"},
		{`{"action": {"request": {"retryPolicy": {"retryType": "none"}}, "retryPolicy": {"retryType": "none"}}}`, "conflict action.retryPolicy"},
		{`{"action": {"retryPolicy": {"retryCount": 101}}}`, "retry_count action.retryPolicy.retryCount"},
		{`{"action": {"retryPolicy": {"retryInterval": "soon"}}}`, "retry_interval action.retryPolicy.retryInterval"},
		{`{"action": {"errorAction": {"errorAction": {}}}}`, "unknown_field action.errorAction.errorAction"},
		{`{"action": {"request": {"secretHeaders": {"K": ["` + canary + `"]}}}}`, `type action.request.secretHeaders["K"]`},
		{`{"action": {"request": {"secretHeaders": "` + canary + `"}}}`, `type action.request.secretHeaders`},
		{`{"action": {"request": {"authentication": "` + canary + `"}}}`, `type action.request.authentication`},
		{`{"action": {"request": {"authentication": {"password": {"$secret": "` + canary + `"}}}}}`, `type action.request.authentication.password`},
		{`{"action": {"request": {"authentication": {"passwrod": "` + canary + `"}}}}`, `unknown_field action.request.authentication.passwrod`},
		{`{"action": {"request": {"authentication": {"password": "` + canary + `", "PASSWORD": "` + canary + `"}}}}`, `duplicate_field action.request.authentication.PASSWORD`},
		{`{"action": {"request": {"authentication": {"password": "` + canary + `}}}}`, `syntax body`},
		{`{"recurrence": {"frequency": "day", "schedule": {"hours": [24]}}, ` + action + `}`, "hours_range recurrence.schedule.hours[0]"},
		{`{"startTime": "soon", ` + action + `}`, "time_syntax startTime"},
		{`{"properties": {"startTime": "soon", ` + action + `}}`, "time_syntax properties.startTime"},
		{`{"chime": {"overlap": "perhaps", "misfire": "never", "grace": "1", "immediateRun": 1, "disableAfter": 101, "history": {"keep": 1001, "body": "some"}}, ` + action + `}`,
			"overlap_value chime.overlap, misfire_value chime.misfire, grace_value chime.grace, type chime.immediateRun, disable_after chime.disableAfter, " +
				"history_keep chime.history.keep, history_body chime.history.body"},
		{`{"chime": {"group": " a"}, ` + action + `}`, "group_value chime.group"},
		{`{"properties": {"chime": {"group": "a\u0007"}, ` + action + `}}`, "group_value properties.chime.group"},
		{`{"chime": {"group": "` + strings.Repeat("ä", 101) + `"}, ` + action + `}`, "group_value chime.group"},
		{`{"chime": {"group": "a@2026-01-31T09:00:00Z"}, ` + action + `}`, "group_value chime.group"},
		{`{"chime": {"group": 7}, ` + action + `}`, "type chime.group"},
		{`{"chime": {"grace": "PT0S"}, ` + action + `}`, "grace_value chime.grace"},
		{`{"chime": {"grace": "P366D"}, ` + action + `}`, "grace_value chime.grace"},
		{`{"state": 1, "zzz": 2, "action": {"type": 3}}`, "type state, unknown_field zzz, type action.type"},
	} {
		_, mistakes := ReadJob([]byte(c.body), here)
		if got := short(mistakes); got != c.want {
			t.Errorf("%s: got %s, want %s", c.body, got, c.want)
		}
		if text := fmt.Sprintf("%+v", mistakes); strings.Contains(text, canary) {
			t.Errorf("%s: a secret is shown: %s", c.body, text)
		}
	}
}

func short(mistakes []problem.Mistake) string {
	all := make([]string, len(mistakes))
	for i, m := range mistakes {
		all[i] = m.Code + " " + m.Field
		if m.Detail == "" {
			all[i] += " without a detail"
		}
	}
	return strings.Join(all, ", ")
}

func TestAHundredMistakesAreReported(t *testing.T) {
	var body strings.Builder
	for i := range 500 {
		fmt.Fprintf(&body, `"f%d": 1,`, i)
	}
	_, mistakes := ReadJob([]byte(`{`+body.String()+`"action": {}}`), here)
	if len(mistakes) != problem.MaxMistakes || mistakes[99].Field != "f99" {
		t.Errorf("got %d, the last of %+v; want the first 100", len(mistakes), mistakes[len(mistakes)-1])
	}
}

func TestEveryMistakeOfACollectionHasItsCodeAndItsPlace(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`{"sku": {"name": "Gold"}}`, "sku_value sku.name"},
		{`{"chime": {"group": "a "}}`, "group_value chime.group"},
		{`{"sku": {"name": "free"}, "quota": {"maxJobCount": 6}}`, "quota_value quota.maxJobCount"},
		{`{"sku": {"name": "FREE"}, "quota": {"maxRecurrence": {"frequency": "minute", "interval": 59}}}`, "quota_value quota.maxRecurrence.frequency"},
		{`{"quota": {"maxRecurrence": {"frequency": "second", "interval": 1}}}`, "quota_value quota.maxRecurrence.frequency"},
		{`{"quota": {"maxJobCount": 100001}}`, "quota_value quota.maxJobCount"},
		{`{"quota": {"maxJobCount": 0}}`, "quota_value quota.maxJobCount"},
		{`{"state": "Suspended"}`, "state_value state"},
		{`{"properties": {"state": "off"}}`, "state_value properties.state"},
		{`{"name": "other"}`, "name_mismatch name"},
		{`{"tags": {"a": 1}}`, `type tags["a"]`},
		{`{"tags": {"a": "` + strings.Repeat("ä", 257) + `"}}`, `tags_size tags`},
		{`{"location": 5}`, "type location"},
		{`{"chime": {"jobs": ["mail.*", "a b"]}}`, "jobs_value chime.jobs"},
		{`{"chime": {"jobs": ["mail.*"], "queues": "x"}}`, "unknown_field chime.queues"},
		{`{"tags": {` + manyTags(50) + `}}`, ""},
		{`{"tags": {` + manyTags(50) + `}, "chime": {"description": "` + strings.Repeat("ä", 1024) + `"}}`, "collection_size body"},
		{`{"tags": {` + manyTags(51) + `}}`, "tags_size tags"},
		{`{"chime": {"description": "` + strings.Repeat("ä", 1025) + `"}}`, "description_size chime.description"},
	} {
		_, mistakes := ReadCollection([]byte(c.body), "demo")
		if got := short(mistakes); got != c.want {
			t.Errorf("%s: got %s, want %s", c.body, got, c.want)
		}
	}
}

// manyTags returns a number of tags whose values have the maximum length.
func manyTags(n int) string {
	tags := make([]string, n)
	for i := range tags {
		tags[i] = fmt.Sprintf(`"%040d": "%s"`, i, strings.Repeat("x", 256))
	}
	return strings.Join(tags, ", ")
}
