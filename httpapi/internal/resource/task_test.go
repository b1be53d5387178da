package resource

import (
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/httpapi/action"
)

func TestATaskIsReadInBothForms(t *testing.T) {
	const full = `{"job": {"name": "mail.send", "queue": "mail", "payload": {"a": 1}}, "in": "PT10S", "id": "order-42", "once": "P1D", "keep": "PT1H", "expire": "PT5M", "headers": {"tenant": "acme"}}`
	one, many, mistakes := ReadTasks([]byte(full))
	if len(mistakes) > 0 || many || len(one) != 1 {
		t.Fatalf("%d tasks, many %v, %v", len(one), many, mistakes)
	}
	task := one[0]
	if !task.Plain || task.Action.Type != action.Job || task.Action.Job.Name != "mail.send" || task.Action.Job.Queue != "mail" || string(task.Action.Job.Payload) != `{"a":1}` ||
		task.In != 10*time.Second || !task.Timed || task.ID != "order-42" || task.Once != 24*time.Hour || task.Keep != time.Hour || task.Expire != 5*time.Minute ||
		task.Headers["tenant"] != "acme" || task.Prefix != "" {
		t.Errorf("read %+v", task)
	}
	several, many, mistakes := ReadTasks([]byte(`{"value": [` + full + `, {"action": {"type": "HTTP", "request": {"uri": "http://example.com/"}}, "at": "2027-03-01T10:00:00+01:00"}]}`))
	if len(mistakes) > 0 || !many || len(several) != 2 {
		t.Fatalf("%d tasks, many %v, %v", len(several), many, mistakes)
	}
	if second := several[1]; second.Plain || second.Action.Type != action.HTTP || second.Prefix != "value[1]." || !second.At.Equal(time.Date(2027, 3, 1, 9, 0, 0, 0, time.UTC)) {
		t.Errorf("read %+v", second)
	}
	if _, many, mistakes = ReadTasks([]byte(`{"job": {"name": "a"}, "value": null, "in": null, "headers": {}}`)); many || len(mistakes) > 0 {
		t.Errorf("null means not set: many %v, %v", many, mistakes)
	}
}

func TestAMistakeInATaskNamesItsPlace(t *testing.T) {
	const sound = `"job": {"name": "app"}`
	for body, want := range map[string]string{
		`null`:                                  "type body",
		`[]`:                                    "type body",
		`{}`:                                    "required job",
		`{"job": null}`:                         "required job",
		`{"job": "app"}`:                        "type job",
		`{"value": 1}`:                          "type value",
		`{"value": []}`:                         "task_count value",
		`{"value": [{` + sound + `}], "in": 1}`: "unknown_field in",
		`{"value": [{` + sound + `}, null]}`:    "type value[1]",
		`{"value": [{` + sound + `}, {}]}`:      "required value[1].job",
		`{` + sound + `, "action": {"type": "http", "request": {"uri": "http://example.com/"}}}`: "conflict job",
		`{` + sound + `, "id": "a/b"}`:                                                                   "name id",
		`{` + sound + `, "id": "` + strings.Repeat("x", 101) + `"}`:                                      "name id",
		`{` + sound + `, "once": "P1D"}`:                                                                 "required id",
		`{` + sound + `, "in": "soon"}`:                                                                  "delay_range in",
		`{` + sound + `, "in": "P36501D"}`:                                                               "delay_range in",
		`{` + sound + `, "at": "2027-03-01"}`:                                                            "time_syntax at",
		`{` + sound + `, "at": "2199-03-01T00:00:00Z"}`:                                                  "time_range at",
		`{` + sound + `, "at": "1800-03-01T00:00:00Z"}`:                                                  "time_range at",
		`{` + sound + `, "in": "PT1S", "at": "2027-03-01T00:00Z"}`:                                       "conflict at",
		`{` + sound + `, "keep": "PT0S"}`:                                                                "keep_range keep",
		`{` + sound + `, "expire": "P366D"}`:                                                             "expire_range expire",
		`{` + sound + `, "id": "a", "once": "PT0.9S"}`:                                                   "once_range once",
		`{` + sound + `, "headers": {"": "x"}}`:                                                          "header_name headers",
		`{` + sound + `, "headers": {"a\u0001": "x"}}`:                                                   "header_name headers",
		`{` + sound + `, "headers": {"a": 1}}`:                                                           `type headers["a"]`,
		`{` + sound + `, "headers": {"a": "` + strings.Repeat("x", 4096) + `"}}`:                         "header_size headers",
		`{"action": {"type": "http", "request": {"uri": "http://example.com/"}}, "headers": {"a": "b"}}`: "conflict headers",
		`{` + sound + `, "payload": {}}`:                                                                 "unknown_field payload",
		`{"job": {"name": "app", "pay": {}}}`:                                                            "unknown_field job.pay",
		`{"value": [{` + sound + `, "jobs": 1}]}`:                                                        "unknown_field value[0].jobs",
		`{` + sound + `, "id": {"$secret": "k1.a.b"}}`:                                                   "type id",
		`{"job": {"name": "app"}, "Job": {"name": "other"}}`:                                             "duplicate_field Job",
	} {
		_, _, mistakes := ReadTasks([]byte(body))
		if len(mistakes) == 0 || mistakes[0].Code+" "+mistakes[0].Field != want {
			t.Errorf("%.200s: %v, want %s", body, mistakes, want)
		}
	}
	many := `{"value": [` + strings.Repeat(`{`+sound+`},`, 500) + `{` + sound + `}]}`
	if _, _, mistakes := ReadTasks([]byte(many)); len(mistakes) != 1 || mistakes[0].Code != "task_count" || mistakes[0].Value != "501" {
		t.Errorf("501 tasks: %v", mistakes)
	}
}
