package top_test

import (
	"errors"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/top"
	"github.com/chimejobs/chime/cmd/chime/internal/top/story"
	"github.com/chimejobs/chime/internal/overview"
)

// A screen is a Model with the calls that it has made.
type screen struct {
	t     *testing.T
	model *top.Model
	acts  []top.Action
	polls int
	quit  bool
	now   time.Time

	answer *overview.Snapshot // of polls
	err    error
	late   bool // polls do not answer
}

func newScreen(t *testing.T, width, height int, o top.Options) *screen {
	s := &screen{t: t, answer: story.Snapshot(), now: story.At}
	o.Poll = func(w overview.Window) (*overview.Snapshot, error) {
		s.polls++
		s.answer.Window = w
		return s.answer, s.err
	}
	o.Act = func(a top.Action) (string, error) { s.acts = append(s.acts, a); return "done", s.err }
	s.model = story.Model(width, height, o)
	return s
}

// send sends the model a message, and executes its commands.
func (s *screen) send(msg tea.Msg) {
	_, cmd := s.model.Update(msg)
	s.do(cmd)
}

func (s *screen) do(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	if s.late && reflect.ValueOf(cmd).Pointer() != reflect.ValueOf(tea.Quit).Pointer() {
		return
	}
	switch msg := cmd().(type) {
	case tea.QuitMsg:
		s.quit = true
	case tea.BatchMsg:
		s.t.Fatal("a key asks for one thing")
	default:
		s.send(msg)
	}
}

// press presses keys: names as tab, or the letters of a text.
func (s *screen) press(keys ...string) *screen {
	named := map[string]tea.Key{
		"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab}, "space": {Code: tea.KeySpace, Text: " "},
		"up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "end": {Code: tea.KeyEnd}, "home": {Code: tea.KeyHome}, "pgdown": {Code: tea.KeyPgDown},
		"backspace": {Code: tea.KeyBackspace}, "shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift}, "ctrl+c": {Code: 'c', Mod: tea.ModCtrl},
	}
	for _, key := range keys {
		if k, is := named[key]; is {
			s.send(tea.KeyPressMsg(k))
			continue
		}
		for _, c := range key {
			s.send(tea.KeyPressMsg{Code: c, Text: string(c)})
		}
	}
	return s
}

// shows fails unless the screen has all these texts, and none of those that begin with !.
func (s *screen) shows(texts ...string) *screen {
	s.t.Helper()
	got := text(s.model)
	for _, want := range texts {
		not := strings.HasPrefix(want, "!")
		if strings.Contains(got, strings.TrimPrefix(want, "!")) == not {
			s.t.Errorf("the screen should show %q; it shows\n%s", want, got)
		}
	}
	return s
}

func TestKeysMoveBetweenPanelsAndRows(t *testing.T) {
	s := newScreen(t, 80, 24, top.Options{}).shows("[1 Queues (4)]", "▸ default")
	s.press("down").shows("▸ media").press("end").shows("▸ reports").press("k").shows("▸ mail").press("home").shows("▸ default").press("pgdown").shows("▸ reports")
	s.press("tab").shows("[2 Next (5)]", "▸      in 3s  heartbeat").press("shift+tab", "shift+tab").shows("[5 Workers (3)]", "▸ app-1:4711")
	s.press("3").shows("─ 3 Running (40)", "!1 Queues").press("3").shows("[3 Running (40)]").press("4", "esc").shows("[4 Failures (4)]")
	s.press("q")
	if !s.quit {
		t.Error("q does not quit")
	}
}

func TestCtrlCQuitsWhereverItIsPressed(t *testing.T) {
	for _, before := range [][]string{{}, {"/"}, {"p"}, {"?"}, {"enter"}, {"f"}} {
		if s := newScreen(t, 80, 24, top.Options{}).press(before...).press("ctrl+c"); !s.quit {
			t.Errorf("ctrl-c after %q does not quit", before)
		}
	}
}

func TestAllPanelsAreSeenOnAWideTerminalAndOneOnANarrowOne(t *testing.T) {
	s := newScreen(t, 100, 28, top.Options{}).shows("─ 1 Queues", "─ 2 Next", "─ 3 Running", "─ 4 Failures", "─ 5 Workers")
	s.send(tea.WindowSizeMsg{Width: 99, Height: 28})
	s.shows("[1 Queues (4)]", "!─ 2 Next")
	s.send(tea.WindowSizeMsg{Width: 39, Height: 28})
	s.shows("The terminal is too small")
	for _, size := range [][2]int{{1, 1}, {40, 10}, {79, 23}, {101, 200}, {500, 28}} {
		s.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		lines := strings.Split(text(s.model), "\n")
		if len(lines)-1 != size[1] {
			t.Errorf("%d lines on a terminal of %d", len(lines)-1, size[1])
		}
	}
}

func TestEnterOpensWhatTheCursorIsOn(t *testing.T) {
	for panel, want := range map[string][]string{
		"1": {"queue           default", "waiting         312", "ended, each minute of the last hour"},
		"2": {"schedule        heartbeat", "misfire         run_once", "next            Fri 20 Nov 2026 14:26:51 CET, in 3s"},
		"3": {"id              01kbq3m8d2w7", "worker          app-1:4711", "62 %"},
		"4": {"error           dial tcp #.#.#.#:#: connection refused", "3 jobs whose last attempt failed with this error", "retrying  "},
		"5": {"process         app-1:4711", "busy            20 of 20 slots", "queues          default × 3, mail × 1"},
	} {
		newScreen(t, 100, 40, top.Options{}).press(panel, "enter").shows(want...).press("esc").shows("─ " + panel)
	}
	newScreen(t, 100, 40, top.Options{}).press("down", "enter").shows(`‖ paused by anna, 42m ago: the disk is being moved`)
}

func TestWhatIsOpenedScrolls(t *testing.T) {
	s := newScreen(t, 80, 24, top.Options{}).press("4", "down", "enter").shows("job             send", "!01kbq2se20")
	s.press("end").shows("01kbq2se20", "!job             send").press("home").shows("job             send")
}

func TestAFilterLeavesRowsWithItsText(t *testing.T) {
	s := newScreen(t, 80, 24, top.Options{}).press("/", "ME").shows("/ME█", "media", "!default", "!mail ")
	s.press("backspace", "backspace", "rep", "enter").shows("▸ reports", "/rep ", "!media")
	s.press("p", "y")
	if want := []top.Action{{Verb: top.Pause, Panel: overview.Queues, Targets: []top.Target{{Name: "reports"}}}}; !reflect.DeepEqual(s.acts, want) {
		t.Errorf("acted %v, want %v", s.acts, want)
	}
	s.press("esc").shows("default").press("/", "zzz").shows("nothing matches this text").press("esc").shows("default")
	s.press("/")
	s.send(tea.PasteMsg{Content: "med\x1b[2J"})
	s.shows("/med[2J█")
}

func TestSortGoesThroughTheOrdersOfAPanel(t *testing.T) {
	first := func(s *screen) string {
		_, rows, _ := strings.Cut(text(s.model), "STATE")
		return strings.Trim(strings.Split(rows, "\n")[1], "▸ ")
	}
	s := newScreen(t, 80, 24, top.Options{})
	s.answer.Queues[3].Waiting = 5000
	s.tick(2 * time.Second)
	for _, want := range []string{"reports", "default", "reports", "media", "default", "reports", "default"} {
		if got := first(s); !strings.HasPrefix(got, want) {
			t.Errorf("first is %q, want %s", got, want)
		}
		s.press("s")
	}
	s.shows("by most waiting", "▸ reports")
}

func TestTheCursorStaysOnItsRow(t *testing.T) {
	s := newScreen(t, 80, 24, top.Options{}).press("down").shows("▸ media")
	more := *s.answer.Queues[0].QueueInfo
	more.Name = "added"
	s.answer.Queues = append([]overview.Queue{{QueueInfo: &more}}, s.answer.Queues...)
	s.tick(2*time.Second).shows("added", "▸ media")
	s.answer.Queues = s.answer.Queues[:2]
	s.tick(2*time.Second).shows("added", "!media")
}

// A schedule that was paused here remains in the list, so that it can be resumed.
func TestAPausedScheduleIsResumedWhereItWasPaused(t *testing.T) {
	s := newScreen(t, 80, 24, top.Options{})
	paused := *s.answer.Next[1]
	paused.State = chime.StatePaused
	s.answer.Next = append(s.answer.Next[:1:1], append(s.answer.Next[2:], &paused)...)
	s.tick(2*time.Second).press("2", "end").shows("▸   ‖ paused  report ").press("p").shows("Resume schedule report? y/N").press("y")
	if want := []top.Action{{Verb: top.Resume, Panel: overview.Next, Targets: []top.Target{{Name: "report"}}}}; !reflect.DeepEqual(s.acts, want) {
		t.Errorf("acted %v, want %v", s.acts, want)
	}
	s.press("enter").shows("state           ‖ paused", "!next  ")
}

func TestWhatComesNextAndCannotRunIsMarked(t *testing.T) {
	s := newScreen(t, 80, 24, top.Options{})
	s.answer.Next[0].Queue, s.answer.Next[1].Queue = "media", "reports"
	s.answer.Workers[0].Queues = map[string]int{"default": 1, "media": 1}
	s.tick(2*time.Second).press("2").shows("⚠ queue paused  heartbeat", "⚠ no worker  report", "in 33m 10s  sync-crm")
	s.answer.Notes[overview.Workers] = "this Redis user has no permission to read them"
	s.tick(2*time.Second).shows("⚠ queue paused  heartbeat", "in 3m 8s  report")
}

func TestZonesChange(t *testing.T) {
	newScreen(t, 80, 24, top.Options{}).shows("14:26:48 CET").press("z").shows("13:26:48 UTC").press("z").shows("14:26:48 CET")
}

func TestHelpListsTheKeysAndAnyKeyGoesBack(t *testing.T) {
	s := newScreen(t, 80, 30, top.Options{}).press("?").shows("shift-tab", "cancel (Running)", "delete (Queues, Next, Failures)").press("x").shows("▸ default")
	s.model = story.Model(80, 30, top.Options{ReadOnly: true})
	s.press("?").shows("--read-only", "!delete")
}

// asking are the keys that change something, each with its panel, its action and the text to type.
var asking = []struct {
	keys     []string
	question string
	yes      []string
	want     top.Action
}{
	{[]string{"1", "p"}, "Pause queue default? y/N", []string{"y"}, top.Action{Verb: top.Pause, Panel: overview.Queues, Targets: []top.Target{{Name: "default"}}}},
	{[]string{"1", "down", "p"}, "Resume queue media? y/N", []string{"Y"}, top.Action{Verb: top.Resume, Panel: overview.Queues, Targets: []top.Target{{Name: "media"}}}},
	{[]string{"1", "d"}, "Delete queue default? type default and enter", []string{"default", "enter"}, top.Action{Verb: top.Delete, Panel: overview.Queues, Targets: []top.Target{{Name: "default"}}}},
	{[]string{"1", "space", "space", "d"}, "Delete 2 queues? type 2 and enter", []string{"2", "enter"}, top.Action{Verb: top.Delete, Panel: overview.Queues, Targets: []top.Target{{Name: "default"}, {Name: "media"}}}},
	{[]string{"2", "p"}, "Pause schedule heartbeat? y/N", []string{"y"}, top.Action{Verb: top.Pause, Panel: overview.Next, Targets: []top.Target{{Name: "heartbeat"}}}},
	{[]string{"2", "down", "t"}, "Trigger schedule report? y/N", []string{"y"}, top.Action{Verb: top.Trigger, Panel: overview.Next, Targets: []top.Target{{Name: "report"}}}},
	{[]string{"2", "d"}, "Delete schedule heartbeat?", []string{"heartbeat", "enter"}, top.Action{Verb: top.Delete, Panel: overview.Next, Targets: []top.Target{{Name: "heartbeat"}}}},
	{[]string{"3", "c"}, "Cancel job 01kbq3m8d2w7? y/N", []string{"y"}, top.Action{Verb: top.Cancel, Panel: overview.Running, Targets: []top.Target{{Name: "01kbq3m8d2w7", Queue: "media"}}}},
	{[]string{"3", "space", "space", "c"}, "Cancel 2 jobs? y/N", []string{"y"}, top.Action{Verb: top.Cancel, Panel: overview.Running, Targets: []top.Target{{Name: "01kbq3m8d2w7", Queue: "media"}, {Name: "01kbq3p4x9yz", Queue: "default"}}}},
	{[]string{"4", "r"}, "Retry 3 failed jobs of resize? y/N", []string{"y"}, top.Action{Verb: top.Retry, Panel: overview.Failures, Targets: []top.Target{
		{Name: "resize", Queue: "default", State: chime.JobDead, IDs: []string{"01kbq2re00", "01kbq2re01"}}, {Name: "resize", Queue: "default", State: chime.JobRetrying, IDs: []string{"01kbq2re02"}}}}},
	{[]string{"4", "end", "d"}, "Delete 1 failed job of sync-crm? type sync-crm and enter", []string{"sync-crm", "enter"}, top.Action{Verb: top.Delete, Panel: overview.Failures, Targets: []top.Target{
		{Name: "sync-crm", Queue: "default", State: chime.JobDead, IDs: []string{"01kbq2sy00"}}}}},
}

func TestChangesAskFirstAndTheDefaultIsNo(t *testing.T) {
	for _, c := range asking {
		for _, no := range [][]string{{"enter"}, {"esc"}, {"n", "enter"}, {"q", "enter"}} {
			s := newScreen(t, 80, 24, top.Options{}).press(c.keys...).shows(c.question).press(no...)
			if len(s.acts) > 0 || s.quit {
				t.Errorf("%q and then %q: did %v", c.keys, no, s.acts)
			}
		}
		s := newScreen(t, 80, 24, top.Options{}).press(c.keys...).press(c.yes...)
		if want := []top.Action{c.want}; !reflect.DeepEqual(s.acts, want) {
			t.Errorf("%q and then %q: did %v, want %v", c.keys, c.yes, s.acts, want)
		}
		s.shows("✓ done")
	}
}

func TestYIsNotEnoughToDelete(t *testing.T) {
	s := newScreen(t, 80, 24, top.Options{}).press("d", "y").shows("y█").press("enter").shows("nothing was done")
	s.press("d", "defaul", "enter", "d", "default", "x", "enter")
	if len(s.acts) > 0 {
		t.Errorf("did %v", s.acts)
	}
}

func TestNoKeyChangesAnythingWhereItIsReadOnly(t *testing.T) {
	for _, c := range asking {
		s := newScreen(t, 80, 24, top.Options{ReadOnly: true}).shows("READ-ONLY", "!p pause").press(c.keys...).shows("!?  y/N", "!type ").press(c.yes...)
		if len(s.acts) > 0 {
			t.Errorf("%q: did %v", c.keys, s.acts)
		}
	}
}

func TestAChangeIsAboutTheRowsOfTheQuestion(t *testing.T) {
	s := newScreen(t, 80, 24, top.Options{}).press("p").shows("Pause queue default?")
	s.answer.Queues = s.answer.Queues[1:]
	s.tick(2*time.Second).shows("▸ media", "Pause queue default?").press("y")
	if len(s.acts) != 1 || s.acts[0].Targets[0].Name != "default" {
		t.Errorf("did %v, want to pause default", s.acts)
	}
}

func TestAnErrorOfAChangeIsShown(t *testing.T) {
	s := newScreen(t, 80, 24, top.Options{})
	s.err = errors.New("no right\x1b[2J")
	s.press("p", "y").shows(`✕ no right\x1b[2J`)
}

// tick advances the clock second by second.
func (s *screen) tick(d time.Duration) *screen {
	for range int(d / time.Second) {
		s.now = s.now.Add(time.Second)
		if s.answer != nil {
			s.answer.At = s.now
		}
		s.do(top.Tick(s.model, s.now))
	}
	return s
}

func TestItPollsAsOftenAsItIsTold(t *testing.T) {
	for every, want := range map[time.Duration]int{time.Second: 60, 2 * time.Second: 30, 7 * time.Second: 8, time.Minute: 1} {
		if s := newScreen(t, 80, 24, top.Options{Every: every}).tick(time.Minute); s.polls != want {
			t.Errorf("every %s: %d polls in a minute, want %d", every, s.polls, want)
		}
	}
}

func TestALateAnswerIsStaleAndFaint(t *testing.T) {
	s := newScreen(t, 80, 24, top.Options{}).tick(4*time.Second).shows("live 2s", "● billing")
	bright := s.model.View().Content
	s.late = true
	s.tick(8*time.Second).shows("stale 8s", "⚠ billing")
	if got := s.model.View().Content; strings.Contains(bright, "\x1b[2m312") || !strings.Contains(got, "\x1b[2m312") {
		t.Errorf("stale figures are not faint: %q", got)
	}
	if s.polls != 2 {
		t.Errorf("%d polls, want 2: no second one while the first is under way", s.polls)
	}
}

func TestAStoreThatFailsIsAskedAgain(t *testing.T) {
	s := newScreen(t, 80, 24, top.Options{}).tick(2 * time.Second)
	s.err = errors.New("dial tcp: connection refused")
	s.tick(6*time.Second).shows("stale 6s", "✕ dial tcp: connection refused", "default")
	s.err = nil
	s.tick(2*time.Second).shows("live 2s", "!refused")
}

func TestBeforeTheFirstAnswer(t *testing.T) {
	s := &screen{t: t, err: errors.New("connection refused"), now: story.At}
	s.model = top.New(top.Options{Every: top.DefaultEvery, Address: story.Address, Now: story.At, Poll: func(overview.Window) (*overview.Snapshot, error) { return s.answer, s.err }})
	s.shows("reading…", "◌ billing")
	s.press("down", "enter", "space", "s", "p", "/", "x", "esc", "tab", "3", "?", "x").shows("reading…")
	s.tick(12*time.Second).shows("no answer from Redis", "stale 12s")
}

func TestFreezeStopsTheScreenUntilItGoesOn(t *testing.T) {
	s := newScreen(t, 80, 24, top.Options{}).tick(2*time.Second).press("f").shows("frozen", "14:26:50", "‖ billing")
	before := s.model.View().Content
	s.tick(time.Minute)
	if got := s.model.View().Content; got != before || s.polls != 1 {
		t.Errorf("a frozen screen has changed, or polled: %d polls", s.polls)
	}
	s.press("down").shows("▸ media").press("f").shows("live 2s", "14:27:50")
}

func TestTheSameAnswerDrawsTheSameFrame(t *testing.T) {
	s := newScreen(t, 200, 60, top.Options{})
	if a, b := s.model.View().Content, s.model.View().Content; a != b {
		t.Error("two frames of one state differ")
	}
}

func TestNothingInTheStoreMovesTheCursor(t *testing.T) {
	const evil = "a\x1b[2J\x1b]0;owned\x07\u202e\r\nb\u0085"
	snapshot := story.Snapshot()
	snapshot.Queues[0].Name, snapshot.Queues[2].Note = evil, chime.Note{Text: evil, By: evil}
	snapshot.Next[0].Name, snapshot.Next[0].JobName, snapshot.Next[0].Queue = evil, evil, evil
	snapshot.Running[0].Name, snapshot.Running[0].ID, snapshot.Running[0].Worker, snapshot.Running[0].Schedule = evil, evil, evil, evil
	snapshot.Running[0].Failures = []chime.Failure{{At: story.At, Error: evil}}
	snapshot.Failures[0].Job, snapshot.Failures[0].Error, snapshot.Failures[0].Jobs[0].LastError, snapshot.Failures[0].Jobs[0].ID = evil, evil, evil, evil
	snapshot.Workers[0].Host, snapshot.Workers[0].Version, snapshot.Workers[0].Queues = evil, evil, map[string]int{evil: 1}
	for _, size := range [][2]int{{80, 24}, {200, 60}} {
		for _, keys := range [][]string{{}, {"1"}, {"2"}, {"3"}, {"4"}, {"5"}} {
			for _, then := range [][]string{{}, {"enter"}, {"d"}, {"p"}, {"c"}, {"r"}} {
				s := newScreen(t, size[0], size[1], top.Options{Address: evil})
				s.answer = snapshot
				s.tick(2 * time.Second).press(keys...).press(then...)
				for _, line := range strings.Split(s.model.View().Content, "\n") {
					if rest := withoutPaint(line); strings.ContainsAny(rest, "\x1b\x07\r\u202e\u0085") {
						t.Fatalf("%v %q: a line moves the cursor: %q", size, append(keys, then...), line)
					}
				}
			}
		}
	}
}

var paints = regexp.MustCompile("\x1b\\[[0-9;]*m")

// withoutPaint removes colours and other styles from a text.
func withoutPaint(text string) string { return paints.ReplaceAllString(text, "") }

func TestWithoutColoursNothingIsColoured(t *testing.T) {
	s := newScreen(t, 200, 60, top.Options{Plain: true})
	if got := s.model.View().Content; strings.Contains(got, "\x1b[3") || !strings.Contains(got, "\x1b[1m") {
		t.Error("a plain screen has colours, or no bold")
	}
	s = newScreen(t, 200, 60, top.Options{})
	if !strings.Contains(s.model.View().Content, "\x1b[32m● live") {
		t.Error("the screen has no colours")
	}
}
