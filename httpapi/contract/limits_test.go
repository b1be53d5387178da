package contract_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chimejobs/chime/httpapi"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// number is the number at a place of the document, "components/schemas/Request/properties/uri/maxLength".
func number(t *testing.T, place string) int {
	t.Helper()
	var at any
	if err := json.Unmarshal(read(t, "../openapi.json"), &at); err != nil {
		t.Fatal(err)
	}
	for key := range strings.SplitSeq(place, "/") {
		switch node := at.(type) {
		case map[string]any:
			at = node[key]
		case []any:
			at = node[int(key[0]-'0')]
		}
	}
	n, ok := at.(float64)
	if !ok {
		t.Fatalf("%s is %v, want a number", place, at)
	}
	return int(n)
}

// A sample is a request with n of something: previews of jobs, bodies of collections, lists.
type sample func(n int) (method, target, body string, headers []string)

// job is a preview of a job; n of something replaces %s.
func job(body string, much func(n int) string) sample {
	return func(n int) (string, string, string, []string) {
		return "POST", "/preview", strings.Replace(body, "%s", much(n), 1), nil
	}
}

func collection(body string, much func(n int) string) sample {
	return func(n int) (string, string, string, []string) {
		return "PUT", demo, strings.Replace(body, "%s", much(n), 1), nil
	}
}

// added is a request for tasks; n of something replaces %s.
func added(body string, much func(n int) string) sample { return posted(tasks, body, much) }

// posted is a request with a body; n of something replaces %s.
func posted(target, body string, much func(n int) string) sample {
	return func(n int) (string, string, string, []string) {
		return "POST", target, strings.Replace(body, "%s", much(n), 1), nil
	}
}

func list(target string) sample {
	return func(n int) (string, string, string, []string) { return "GET", fmt.Sprintf(target, n), "", nil }
}

func text(n int) string { return strings.Repeat("x", n) }

func figure(n int) string { return fmt.Sprint(n) }

// items are n copies of an item, separated by commas; %d is replaced by the number of each.
func items(one string) func(n int) string {
	return func(n int) string {
		all := make([]string, n)
		for i := range all {
			if all[i] = one; strings.Contains(one, "%d") {
				all[i] = fmt.Sprintf(one, i)
			}
		}
		return strings.Join(all, ",")
	}
}

const (
	request1  = `{"action": {"type": "http", "request": {"uri": "http://example.com/", %s}}}`
	rule1     = `{"startTime": "2027-03-01", "action": {"type": "http", "request": {"uri": "http://example.com/"}}, "recurrence": {%s}}`
	extension = `{"action": {"type": "http", "request": {"uri": "http://example.com/"}}, "chime": {%s}}`
	bus       = `{"action": {"type": "serviceBusQueue", "serviceBusQueueMessage": {"namespace": "example", "queueName": "q", "authentication": {"type": "SharedAccessKey", "sasKeyName": "%s", "sasKey": "a2V5"}}}}`
	topic     = `{"action": {"type": "serviceBusTopic", "serviceBusTopicMessage": {"namespace": "example", "topicPath": "%s", "authentication": {"type": "SharedAccessKey", "sasKeyName": "k", "sasKey": "a2V5"}}}}`
)

func within(outer, inner string) string { return strings.Replace(outer, "%s", inner, 1) }

// The document's maximum passes, and one more is refused with the code.
func TestTheLimitsOfTheDocumentAreThoseOfTheHandler(t *testing.T) {
	const schemas, parameters = "components/schemas/", "components/parameters/"
	server := embedded.StartInMemory()
	defer func() { _ = server.Close() }()
	w := &wire{api: httpapi.New(server.Store(), httpapi.Options{Authenticate: httpapi.Loopback(), Logger: quiet(), Secrets: newRing(t)})}
	w.want(t, 201, "", "PUT", demo, `{"chime": {"jobs": "mail"}}`)
	w.want(t, 201, "", "PUT", report, weekly)
	for _, limit := range []struct {
		place, code string
		of          sample
	}{
		{schemas + "Request/properties/uri/maxLength", "uri", job(`{"action": {"type": "http", "request": {"uri": "%s"}}}`, func(n int) string { return "http://example.com/" + text(n-19) })},
		{schemas + "Request/properties/body/maxLength", "body_size", job(within(request1, `"body": "%s"`), text)},
		{schemas + "Request/properties/headers/maxProperties", "header_count", job(within(request1, `"headers": {%s}`), items(`"X-%d": ""`))},
		{schemas + "Request/properties/successCodes/oneOf/1/maxItems", "success_codes", job(within(request1, `"successCodes": [%s]`), items(`"200"`))},
		{schemas + "Request/properties/redirects/maximum", "redirects_range", job(within(request1, `"redirects": %s`), figure)},
		{schemas + "Request/properties/redirects/minimum", "redirects_range", job(within(request1, `"redirects": %s`), figure)},
		{schemas + "RetryPolicy/properties/retryCount/maximum", "retry_count", job(within(request1, `"retryPolicy": {"retryType": "exponential", "retryCount": %s}`), figure)},
		{schemas + "RetryPolicy/properties/retryCount/minimum", "retry_count", job(within(request1, `"retryPolicy": {"retryCount": %s}`), figure)},
		{schemas + "JobTarget/properties/body/maxLength", "body_size", job(`{"action": {"type": "job", "job": {"name": "mail", "body": "%s"}}}`, text)},
		{schemas + "QueueMessage/properties/message/maxLength", "body_size", job(`{"action": {"type": "storageQueue", "queueMessage": {"storageAccount": "example", "queueName": "fail", "sasToken": "sig=x", "message": "%s"}}}`, text)},
		{schemas + "BusAuthentication/properties/sasKeyName/maxLength", "name", job(bus, text)},
		{schemas + "BusTopicMessage/properties/topicPath/maxLength", "name", job(topic, text)},
		{schemas + "JobChime/properties/disableAfter/maximum", "disable_after", job(within(extension, `"disableAfter": %s`), figure)},
		{schemas + "JobChime/properties/disableAfter/minimum", "disable_after", job(within(extension, `"disableAfter": %s`), figure)},
		{schemas + "JobChime/properties/group/maxLength", "group_value", job(within(extension, `"group": "%s"`), text)},
		{schemas + "JobChime/properties/history/properties/keep/maximum", "history_keep", job(within(extension, `"history": {"keep": %s}`), figure)},
		{schemas + "JobChime/properties/history/properties/keep/minimum", "history_keep", job(within(extension, `"history": {"keep": %s}`), figure)},
		{schemas + "Recurrence/properties/interval/maximum", "interval_range", job(within(rule1, `"frequency": "hour", "interval": %s`), figure)},
		{schemas + "Recurrence/properties/interval/minimum", "interval_range", job(within(rule1, `"frequency": "hour", "interval": %s`), figure)},
		{schemas + "Recurrence/properties/count/maximum", "count_range", job(within(rule1, `"frequency": "hour", "count": %s`), figure)},
		{schemas + "Recurrence/properties/count/minimum", "count_range", job(within(rule1, `"frequency": "hour", "count": %s`), figure)},
		{schemas + "Recurrence/properties/cron/maxLength", "cron_syntax", job(within(rule1, `"cron": "%s"`), func(n int) string {
			return "0" + strings.Repeat(",0", (n-9)/2) + strings.Repeat(" ", (n-9)%2) + " 0 * * *"
		})},
		{schemas + "Filters/oneOf/1/maxItems", "filter_size", job(within(rule1, `"frequency": "day", "except": [%s]`), items(`{"weekDays": "monday"}`))},
		{schemas + "Filter/properties/dates/oneOf/1/maxItems", "filter_size", job(within(rule1, `"frequency": "day", "except": {"dates": [%s]}`), items(`"2030-01-02"`))},
		{schemas + "Filter/properties/times/oneOf/1/maxItems", "filter_size", job(within(rule1, `"frequency": "day", "except": {"times": [%s]}`), items(`"03:00"`))},
		{schemas + "Schedule/properties/minutes/oneOf/0/maximum", "minutes_range", job(within(rule1, `"frequency": "day", "schedule": {"minutes": %s}`), figure)},
		{schemas + "Schedule/properties/minutes/oneOf/0/minimum", "minutes_range", job(within(rule1, `"frequency": "day", "schedule": {"minutes": %s}`), figure)},
		{schemas + "Schedule/properties/hours/oneOf/0/maximum", "hours_range", job(within(rule1, `"frequency": "day", "schedule": {"hours": %s}`), figure)},
		{schemas + "Schedule/properties/seconds/oneOf/0/maximum", "seconds_range", job(within(rule1, `"frequency": "day", "schedule": {"seconds": %s}`), figure)},
		{schemas + "Schedule/properties/positions/oneOf/0/maximum", "positions_range", job(within(rule1, `"frequency": "year", "interval": 1, "schedule": {"positions": %s}`), figure)},
		{schemas + "MonthDays/oneOf/0/maximum", "monthdays_range", job(within(rule1, `"frequency": "month", "schedule": {"monthDays": %s}`), figure)},
		{schemas + "MonthDays/oneOf/0/minimum", "monthdays_range", job(within(rule1, `"frequency": "month", "schedule": {"monthDays": %s}`), figure)},
		{schemas + "Months/oneOf/0/maximum", "months_range", job(within(rule1, `"frequency": "year", "schedule": {"months": %s}`), figure)},
		{schemas + "Occurrence/properties/occurrence/maximum", "occurrence_range", job(within(rule1, `"frequency": "month", "schedule": {"monthlyOccurrences": {"day": "friday", "occurrence": %s}}`), figure)},
		{schemas + "YearlyOccurrence/properties/occurrence/maximum", "occurrence_range", job(within(rule1, `"frequency": "day", "only": {"yearlyOccurrences": {"day": "friday", "occurrence": %s}}`), figure)},
		{schemas + "Filter/properties/weeks/oneOf/0/maximum", "weeks_range", job(within(rule1, `"frequency": "day", "except": {"weeks": %s}`), figure)},
		{schemas + "Filter/properties/yearDays/oneOf/0/maximum", "yeardays_range", job(within(rule1, `"frequency": "day", "except": {"yearDays": %s}`), figure)},

		{schemas + "NewTasks/properties/value/maxItems", "task_count", added(`{"value": [%s]}`, items(`{"job": {"name": "mail"}}`))},
		{schemas + "NewTasks/properties/value/minItems", "task_count", added(`{"value": [%s]}`, items(`{"job": {"name": "mail"}}`))},
		{schemas + "NewTask/properties/group/maxLength", "group_value", added(`{"job": {"name": "mail"}, "group": "%s"}`, text)},
		{schemas + "NewTask/properties/headers/propertyNames/maxLength", "header_name", added(`{"job": {"name": "mail"}, "headers": {"%s": ""}}`, text)},
		{schemas + "NewTask/properties/headers/propertyNames/minLength", "header_name", added(`{"job": {"name": "mail"}, "headers": {"%s": ""}}`, text)},

		{schemas + "NewBatch/properties/value/maxItems", "task_count", posted(demo+"/batches", `{"value": [%s]}`, items(`{"job": {"name": "mail"}}`))},
		{schemas + "NewBatch/properties/value/minItems", "task_count", posted(demo+"/batches", `{"value": [%s]}`, items(`{"job": {"name": "mail"}}`))},
		{schemas + "NewBatch/properties/note/maxLength", "note_size", posted(demo+"/batches", `{"note": "%s", "value": [{"job": {"name": "mail"}}]}`, text)},

		{schemas + "Quota/properties/maxJobCount/maximum", "quota_value", collection(`{"quota": {"maxJobCount": %s}}`, figure)},
		{schemas + "Quota/properties/maxJobCount/minimum", "quota_value", collection(`{"quota": {"maxJobCount": %s}}`, figure)},
		{schemas + "Quota/properties/maxJobOccurrence/maximum", "quota_value", collection(`{"quota": {"maxJobOccurrence": %s}}`, figure)},
		{schemas + "Quota/properties/maxRecurrence/properties/interval/maximum", "quota_value", collection(`{"quota": {"maxRecurrence": {"frequency": "Hour", "interval": %s}}}`, figure)},
		{schemas + "CollectionWhole/properties/location/maxLength", "location_size", collection(`{"location": "%s"}`, text)},
		{schemas + "CollectionWhole/properties/tags/maxProperties", "tags_size", collection(`{"tags": {%s}}`, items(`"t%d": ""`))},
		{schemas + "CollectionWhole/properties/tags/additionalProperties/maxLength", "tags_size", collection(`{"tags": {"t": "%s"}}`, text)},
		{schemas + "CollectionWhole/properties/tags/propertyNames/maxLength", "tags_size", collection(`{"tags": {"%s": "t"}}`, text)},
		{schemas + "CollectionChime/properties/group/maxLength", "group_value", collection(`{"chime": {"group": "%s"}}`, text)},
		{schemas + "CollectionChime/properties/description/maxLength", "description_size", collection(`{"chime": {"description": "%s"}}`, text)},
		{schemas + "CollectionChime/properties/jobs/oneOf/1/maxItems", "jobs_size", collection(`{"chime": {"jobs": [%s]}}`, items(`"mail.%d"`))},

		{parameters + "Top/schema/maximum", "top", list(demo + "/jobs?$top=%d")},
		{parameters + "Top/schema/minimum", "top", list(demo + "/jobs?$top=%d")},
		{parameters + "Skip/schema/maximum", "skip", list(demo + "/jobs?$skip=%d")},
		{parameters + "Skip/schema/minimum", "skip", list(demo + "/jobs?$skip=%d")},
		{parameters + "Count/schema/maximum", "count", list(report + "/next?count=%d")},
		{parameters + "Count/schema/minimum", "count", list(report + "/next?count=%d")},
	} {
		n := number(t, limit.place)
		beyond := n + 1
		if strings.HasSuffix(limit.place, "minimum") || strings.HasSuffix(limit.place, "minItems") || strings.HasSuffix(limit.place, "minLength") {
			beyond = n - 1
		}
		for _, try := range []struct{ n, status int }{{n, 200}, {beyond, 400}} {
			method, target, body, headers := limit.of(try.n)
			x := w.send(t, method, target, body, headers...)
			if x.answer.StatusCode != try.status || try.status == 400 && !strings.Contains(string(x.got), `"code":"`+limit.code+`"`) {
				t.Errorf("%s: n = %d: got %d %s, want %d %s", limit.place, try.n, x.answer.StatusCode, cut(x.got), try.status, limit.code)
			}
		}
	}
	// Lengths of time are texts in the document, so their bounds are only in its descriptions.
	for _, c := range []struct {
		status int
		body   string
	}{
		{200, within(request1, `"timeout": "PT1S"`)}, {400, within(request1, `"timeout": "PT0.9S"`)},
		{200, within(request1, `"timeout": "PT30M"`)}, {400, within(request1, `"timeout": "PT30M1S"`)},
		{200, within(request1, `"retryPolicy": {"retryInterval": "PT15S"}`)}, {400, within(request1, `"retryPolicy": {"retryInterval": "PT14S"}`)},
		{200, within(request1, `"retryPolicy": {"retryInterval": "P548D"}`)}, {400, within(request1, `"retryPolicy": {"retryInterval": "P549D"}`)},
		{200, within(request1, `"retryPolicy": {"retryCount": 20}`)}, {400, within(request1, `"retryPolicy": {"retryCount": 21}`)},
		{200, within(request1, `"headers": {"X-A": "`+text(4093)+`"}`)}, {400, within(request1, `"headers": {"X-A": "`+text(4094)+`"}`)},
	} {
		w.want(t, c.status, "", "POST", "/preview", c.body)
	}
	w.want(t, 200, "", "PUT", demo, `{"chime": {"jobs": "mail"}}`)
	for _, c := range []struct {
		status int
		task   string
	}{
		{200, `"in": "P36500D"`}, {400, `"in": "P36501D"`}, {200, `"keep": "PT1S"`}, {400, `"keep": "PT0.9S"`}, {200, `"keep": "P365D"`}, {400, `"keep": "P366D"`},
		{200, `"id": "a", "once": "PT1S"`}, {400, `"id": "a", "once": "PT0.9S"`}, {200, `"id": "b", "once": "P365D"`}, {400, `"id": "b", "once": "P366D"`},
		{200, `"expire": "PT0.001S"`}, {400, `"expire": "PT0S"`}, {200, `"expire": "P365D"`}, {400, `"expire": "P366D"`},
		{200, `"headers": {"a": "` + text(4095) + `"}`}, {400, `"headers": {"a": "` + text(4096) + `"}`},
	} {
		w.want(t, c.status, "", "POST", tasks, `{"action": {"type": "job", "job": {"name": "mail"}}, `+c.task+`}`)
	}
	for keep, status := range map[string]int{"PT1M": 200, "PT59S": 400, "P365D": 200, "P366D": 400} {
		w.want(t, status, "", "POST", demo+"/batches", `{"keep": "`+keep+`", "value": [{"job": {"name": "mail"}}]}`)
	}
	for wait, status := range map[string]int{"0s": 404, "25s": 404, "26s": 400} {
		w.want(t, status, "", "GET", tasks+"/none?wait="+wait, "")
	}
	for n, status := range map[int]int{255: 200, 256: 400} {
		w.want(t, status, "", "POST", report+"/run", "", "Idempotency-Key: "+text(n))
	}
}
