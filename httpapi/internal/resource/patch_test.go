package resource

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/recurrence"
)

var ring = func() *action.Ring {
	r, err := action.ParseRing("k1:" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32)))
	if err != nil {
		panic(err)
	}
	return r
}()

// stored is a job in the state of the service: read, prepared and sealed.
func stored(t *testing.T, text string) *Job {
	t.Helper()
	j, mistakes := ReadJob([]byte(text), here)
	if len(mistakes) > 0 {
		t.Fatalf("%s: %+v", text, mistakes)
	}
	mistakes = append(j.Action.Prepare(t.Context(), nil), j.Action.Validate(action.Rules{})...)
	if len(mistakes) > 0 {
		t.Fatalf("%s: %+v", text, mistakes)
	}
	if err := j.Action.Seal(ring, action.PlaceOf(here.Schedule()), nil); err != nil {
		t.Fatal(err)
	}
	return j
}

// shown is the answer for a job, without the read-only fields.
func shown(j *Job) string {
	return string((&JobView{ID: "/jobCollections/demo/jobs/report", Name: here, State: Enabled, Job: j}).Append(nil))
}

const withSecrets = `{
	"startTime": "2027-03-01T00:00Z",
	"recurrence": {"frequency": "Month", "interval": 1, "count": 12, "endTime": "2030-01-01", "schedule": {"monthDays": [-1]}},
	"action": {"type": "https",
		"request": {"uri": "https://example.com/a", "method": "POST", "body": "x", "headers": {"X-A": "1", "X-B": "2"},
			"secretHeaders": {"X-Api-Key": "` + canary + `1"},
			"authentication": {"type": "Basic", "username": "u", "password": "` + canary + `2"}},
		"retryPolicy": {"retryType": "fixed", "retryInterval": "PT1M", "retryCount": 2},
		"errorAction": {"type": "https", "request": {"uri": "https://example.com/e", "authentication": {"type": "Bearer", "token": "` + canary + `3"}}}},
	"chime": {"overlap": "wait", "disableAfter": 3, "history": {"keep": 5, "body": "always"}}}`

func TestAPatchChangesWhatItNames(t *testing.T) {
	for _, c := range []struct{ name, patch, from, to string }{
		{"nothing", `{}`, ``, ``},
		{"a frequency: count and end are kept", `{"recurrence": {"frequency": "Day", "schedule": null}}`,
			`"frequency":"month","interval":1,"count":12,"endTime":"2030-01-01T00:00:00Z","schedule":{"monthDays":[-1]}`, `"frequency":"day","interval":1,"count":12,"endTime":"2030-01-01T00:00:00Z"`},
		{"in properties", `{"properties": {"recurrence": {"count": 3}}}`, `"count":12`, `"count":3`},
		{"in other letters", `{"PROPERTIES": {"Action": {"REQUEST": {"Body": "y"}}}}`, `"body":"x"`, `"body":"y"`},
		{"a header", `{"action": {"request": {"headers": {"x-a": "3", "X-B": null}}}}`, `"headers":{"X-A":"1","X-B":"2"}`, `"headers":{"x-a":"3"}`},
		{"the error action", `{"action": {"errorAction": {"request": {"body": "late"}}}}`, `"uri":"https://example.com/e","method":"GET",`, `"uri":"https://example.com/e","method":"GET","body":"late",`},
		{"an extension", `{"chime": {"disableAfter": null}}`, `"disableAfter":3,`, ``},
	} {
		j := stored(t, withSecrets)
		before := shown(j)
		patched, mistakes := j.Patch([]byte(c.patch), here)
		if len(mistakes) > 0 {
			t.Errorf("%s: %+v", c.name, mistakes)
			continue
		}
		if missing := patched.Action.CheckKept(j.Action); len(missing) > 0 {
			t.Errorf("%s: secrets are missing: %+v", c.name, missing)
		}
		if got, want := shown(patched), strings.Replace(before, c.from, c.to, 1); got != want || c.from != c.to && want == before {
			t.Errorf("%s: got\n%s, want\n%s", c.name, got, want)
		}
		if after := shown(j); after != before {
			t.Errorf("%s: the stored job has changed to %s", c.name, after)
		}
	}
}

// The stored body has the real names; a patch may also use their aliases.
func TestAPatchTakesAnAliasForItsKey(t *testing.T) {
	j := stored(t, `{"recurrence": {"frequency": "month", "schedule": {"hours": [4], "minutes": [0], "monthlyOccurrences": [{"day": "monday"}]}},
		"action": {"type": "https", "request": {"uri": "https://example.com/"}}}`)
	patched, mistakes := j.Patch([]byte(`{"recurrence": {"schedule": {"hour": 5, "Minute": null, "monthlyOccurences": [{"day": "friday", "occurrence": 1}]}}}`), here)
	const want = `"schedule":{"hours":[5],"monthlyOccurrences":[{"day":"friday","occurrence":1}]}`
	if len(mistakes) > 0 || !strings.Contains(shown(patched), want) {
		t.Errorf("got %+v, %+v, want %s", patched, mistakes, want)
	}
	if _, mistakes := j.Patch([]byte(`{"recurrence": {"schedule": {"hour": 5, "hours": 6}}}`), here); short(mistakes) != "duplicate_field recurrence.schedule.hours" {
		t.Errorf("both: %s, want duplicate_field", short(mistakes))
	}
}

// A patch is refused if a PUT of its result would be refused.
func TestAPatchWithAHeaderTwiceIsRefused(t *testing.T) {
	for _, patch := range []string{`{"X-A": "1", "x-a": "2"}`, `{"X-C": "1", "x-c": null}`} {
		if _, mistakes := stored(t, withSecrets).Patch([]byte(`{"action": {"request": {"headers": `+patch+`}}}`), here); !strings.HasPrefix(short(mistakes), "duplicate_field ") {
			t.Errorf("%s: got %q, want duplicate_field", patch, short(mistakes))
		}
	}
}

// The time of a patch grows linearly with its length, for any content.
func TestALongPatchCostsWhatItsLengthCosts(t *testing.T) {
	j := stored(t, withSecrets)
	cost := func(keys int) float64 {
		var text strings.Builder
		for i := range keys {
			fmt.Fprintf(&text, `"K%d": 1,`, i)
		}
		patch := []byte(`{` + text.String() + `"action": {}}`)
		return testing.AllocsPerRun(1, func() { j.Patch(patch, here) })
	}
	if short, long := cost(200), cost(2000); long > 20*short {
		t.Errorf("%v allocations for 200 keys, %v for 2000; want a factor of ten", short, long)
	}
}

func TestAPatchShowsAStoredSecretToNobodyElse(t *testing.T) {
	for _, c := range []struct{ name, patch, want string }{
		{"nothing", `{}`, ""},
		{"another path of the same host", `{"action": {"request": {"uri": "https://example.com/b"}}}`, ""},
		{"a secret again", `{"action": {"request": {"authentication": {"password": "new"}}}}`, ""},
		{"another host", `{"action": {"request": {"uri": "https://example.org/a"}}}`,
			`secret_required action.request.secretHeaders["X-Api-Key"], secret_required action.request.authentication.password`},
		{"another user", `{"action": {"request": {"authentication": {"username": "v"}}}}`, "secret_required action.request.authentication.password"},
		{"a removed password", `{"action": {"request": {"authentication": {"password": null}}}}`, "secret_required action.request.authentication.password"},
		{"a removed header", `{"action": {"request": {"secretHeaders": {"x-api-key": null}}}}`, ""},
		{"no authentication", `{"action": {"request": {"authentication": null}}}`, ""},
		{"another error receiver", `{"action": {"errorAction": {"request": {"uri": "https://example.net/"}}}}`, "secret_required action.errorAction.request.authentication.token"},
		{"no error action", `{"action": {"errorAction": null}}`, ""},
	} {
		j := stored(t, withSecrets)
		patched, mistakes := j.Patch([]byte(c.patch), here)
		if len(mistakes) > 0 {
			t.Errorf("%s: %+v", c.name, mistakes)
			continue
		}
		if got := short(patched.Action.CheckKept(j.Action)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	for _, forged := range []string{
		`{"action": {"request": {"authentication": {"password": {"$secret": "k1.a.b"}}}}}`,
		`{"action": {"request": {"authentication": {"password": {}}}}}`,
		`{"action": {"request": {"secretHeaders": {"Y-Key": {"$secret": "k1.a.b"}}}}}`,
	} {
		if _, mistakes := stored(t, withSecrets).Patch([]byte(forged), here); len(mistakes) != 1 || mistakes[0].Code != "type" {
			t.Errorf("%s: got %+v, want type", forged, mistakes)
		}
	}
}

func TestWhatIsShownPutAgainIsTheSame(t *testing.T) {
	for _, text := range []string{
		withSecrets,
		`{"action": {"type": "http", "request": {"uri": "http://example.com/"}}}`,
		`{"startTime": "2027-03-01T10:00", "recurrence": {"cron": "0 9 * * 1-5", "timeZone": "Europe/Berlin"},
			"action": {"type": "job", "job": {"name": "mail", "queue": "slow", "payload": {"b": [1, 2.50, "ü<>"], "a": null}}}}`,
		`{"action": {"type": "storageQueue", "queueMessage": {"storageAccount": "abc", "queueName": "q-1", "sasToken": "sig=` + canary + `", "message": "m"}}}`,
		`{"action": {"type": "serviceBusTopic", "serviceBusTopicMessage": {"topicPath": "a/b", "namespace": "name-space", "message": "m", "transportType": "amqp",
			"authentication": {"type": "sharedaccesskey", "sasKeyName": "n", "sasKey": "` + canary + `"},
			"brokeredMessageProperties": {"label": "l", "timeToLive": "PT5M"}, "customMessageProperties": {"A": "1", "a-b": "2"}}}}`,
		`{"action": {"type": "https", "request": {"uri": "https://example.com/", "signing": {"secret": "whsec_` + base64.StdEncoding.EncodeToString(make([]byte, 24)) + `"},
			"secretQuery": {"code": "` + canary + `"}, "successCodes": "200", "timeout": "00:05:00", "redirects": 2}}, "chime": {"immediateRun": false, "grace": "PT1S", "history": {"keep": 0}}}`,
	} {
		j := stored(t, text)
		first := shown(j)
		if strings.Contains(first, canary) || strings.Contains(first, "$secret") {
			t.Errorf("%s: a secret is shown: %s", text, first)
		}
		again, mistakes := ReadJob([]byte(first), here)
		if len(mistakes) > 0 {
			t.Errorf("%s: put again: %+v", first, mistakes)
			continue
		}
		mistakes = append(again.Action.Prepare(t.Context(), nil), again.Action.Keep(j.Action)...)
		if mistakes = append(mistakes, again.Action.Validate(action.Rules{})...); len(mistakes) > 0 {
			t.Errorf("%s: put again: %+v", first, mistakes)
		}
		if second := shown(again); second != first {
			t.Errorf("after a second put it is\n%s, want\n%s", second, first)
		}
		kept, err := action.Encode(again.Action)
		was, _ := action.Encode(j.Action)
		if err != nil || !bytes.Equal(kept, was) {
			t.Errorf("after a second put its action is\n%s, %v; want\n%s", kept, err, was)
		}
	}
}

// A patch that removes startTime and recurrence means once, now, like a PUT without both.
func TestAPatchThatTakesTheRuleAwayMeansNow(t *testing.T) {
	for _, c := range []struct {
		patch string
		now   bool
	}{
		{`{}`, false},
		{`{"startTime": null}`, false},
		{`{"recurrence": null}`, false},
		{`{"startTime": null, "recurrence": null}`, true},
	} {
		if patched, mistakes := stored(t, withSecrets).Patch([]byte(c.patch), here); len(mistakes) > 0 || patched.Now != c.now {
			t.Errorf("%s: now is %v, %+v; want %v", c.patch, patched != nil && patched.Now, mistakes, c.now)
		}
	}
	made := stored(t, withSecrets)
	made.Rule, made.Now = recurrence.Recurrence{StartTime: time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC)}, true
	for patch, now := range map[string]bool{`{}`: true, `{"startTime": null}`: true, `{"startTime": "2028-01-01"}`: false} {
		if patched, mistakes := made.Patch([]byte(patch), here); len(mistakes) > 0 || patched.Now != now {
			t.Errorf("with a start from the server, %s: now is %v, %+v; want %v", patch, patched != nil && patched.Now, mistakes, now)
		}
	}
}

func TestAnEmptyObjectIsNotSet(t *testing.T) {
	const full, bare = `{"startTime": "2027-01-01", "action": {"type": "https", "request": {"uri": "https://example.com/", "headers": {}, "secretHeaders": {}, "secretQuery": {},
		"successCodes": [], "authentication": {}, "signing": {}, "retryPolicy": {}}, "queueMessage": {}, "serviceBusQueueMessage": {}, "serviceBusTopicMessage": {},
		"job": {}, "errorAction": {}, "retryPolicy": {}}, "chime": {"history": {}}}`, `{"startTime": "2027-01-01", "action": {"type": "https", "request": {"uri": "https://example.com/"}}}`
	if got, want := shown(stored(t, full)), shown(stored(t, bare)); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}

func TestAJobHasTheDefaultsOfTheOldService(t *testing.T) {
	j := stored(t, `{"startTime": "2027-01-01T00:00Z", "action": {"type": "https", "request": {"uri": "https://example.com/"}}}`)
	const want = `{"id":"/jobCollections/demo/jobs/report","type":"Microsoft.Scheduler/jobCollections/jobs","name":"demo/report","properties":{` +
		`"startTime":"2027-01-01T00:00:00Z","action":{"type":"https","request":{"uri":"https://example.com/","method":"GET"}},"state":"disabled",` +
		`"status":{"lastExecutionTime":"2027-01-02T03:04:05.678Z","executionCount":3,"failureCount":2,"faultedCount":1},` +
		`"chime":{"overlap":"allow","misfire":"run_once","grace":"PT1M","immediateRun":true,"history":{"keep":100,"body":"failures"},"held":"client"}}}`
	v := JobView{ID: "/jobCollections/demo/jobs/report", Name: here, State: Disabled, Held: "client", Job: j, Executions: 3, Failures: 2, Faults: 1,
		Last: time.Date(2027, 1, 2, 4, 4, 5, 678e6, time.FixedZone("", 3600))}
	if got := string(v.Append(nil)); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}

// The recurrence and chime have one value of immediateRun, which answers show in chime.
func TestImmediateRunOfTheRecurrenceIsThatOfTheJob(t *testing.T) {
	const of = `{"recurrence": {"frequency": "day", "immediateRun": %s}, "action": {"type": "http", "request": {"uri": "http://example.com/", "method": "GET"}}, "chime": {"immediateRun": %s}}`
	for _, values := range [][2]string{{"false", "true"}, {"true", "false"}, {"false", "false"}} {
		j := stored(t, fmt.Sprintf(of, values[0], values[1]))
		if answer := shown(j); !strings.Contains(answer, `"recurrence":{"frequency":"day"}`) || !strings.Contains(answer, `"immediateRun":false`) {
			t.Errorf("%v: shown as %s", values, answer)
		}
		patched, mistakes := j.Patch([]byte(`{"properties": {"chime": {"immediateRun": true}}}`), here)
		if len(mistakes) > 0 || patched.NoImmediateRun || patched.Rule.NoImmediateRun {
			t.Errorf("%v: patched to %+v, %v; want a run at creation", values, patched, mistakes)
		}
	}
	if j := stored(t, fmt.Sprintf(of, "true", "true")); j.NoImmediateRun {
		t.Error("a job with a run at creation has none")
	}
}
