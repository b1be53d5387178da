//go:build unix

package chaos

import (
	"fmt"
	"testing"
)

func TestAScheduleHasToLiveInOneQueue(t *testing.T) {
	for _, c := range []struct {
		story string
		homes []string
		want  string
		do    func(s *story)
	}{
		{"it was put", []string{"q"}, "", func(s *story) { s.put("x", "q", 100) }},
		{"it lives in two queues", []string{"q", "other"}, `schedule x lives in ["q" "other"]`, func(s *story) { s.put("x", "q", 100) }},
		{"it is lost", nil, "schedule x lives nowhere", func(s *story) { s.put("x", "q", 100) }},
		{"its queue lost that it was put", nil, "", func(s *story) { s.put("x", "q", 100); s.wentBack("q", 50, 200) }},
		{"its queue lost something later", nil, "schedule x lives nowhere", func(s *story) { s.put("x", "q", 100); s.wentBack("q", 150, 200) }},
		{"another queue lost something", nil, "schedule x lives nowhere", func(s *story) { s.put("x", "q", 100); s.wentBack("other", 50, 200) }},
		{"it was put again before the loss", nil, "schedule x lives nowhere", func(s *story) {
			s.put("x", "q", 100)
			s.put("x", "q", 300)
			s.wentBack("q", 250, 400)
		}},
		{"the server was emptied", nil, "", func(s *story) { s.put("x", "q", 100); s.Emptied = Window{From: s.at(200), To: s.at(300)} }},
		{"it was deleted", nil, "", func(s *story) { s.put("x", "q", 100); s.deleted("x") }},
		{"it was deleted and came back", []string{"q"}, `schedule x was deleted and lives in ["q"]`, func(s *story) { s.put("x", "q", 100); s.deleted("x") }},
		{"its deletion was not acknowledged", []string{"q"}, "", func(s *story) { s.put("x", "q", 100); s.line(s.a, 150, Deleting, "x", 0, "") }},
		{"a program declares it", nil, "schedule declared lives nowhere", func(*story) {}},
	} {
		t.Run(c.story, func(t *testing.T) {
			s := newStory()
			c.do(s)
			homes := Homes{"declared": {"q"}}
			if c.want == "schedule declared lives nowhere" {
				delete(homes, "declared")
			}
			if len(c.homes) > 0 {
				homes["x"] = c.homes
			}
			want := fmt.Sprint(Findings(nil))
			if c.want != "" {
				want = fmt.Sprint(Findings{{Homeless, c.want}})
			}
			if got := fmt.Sprint(CheckHomes(s.History, homes, []string{"declared"})); got != want {
				t.Errorf("found %s, want %s", got, want)
			}
		})
	}
}

// put adds an acknowledged call of Put of 10 ms.
func (s *story) put(name, queue string, ms int) {
	s.line(s.a, ms, Putting, name, 0, "")
	s.line(s.a, ms+10, Put, name, 0, queue)
}

func (s *story) deleted(name string) {
	s.line(s.a, 150, Deleting, name, 0, "")
	s.line(s.a, 160, Deleted, name, 0, "")
}
