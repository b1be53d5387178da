//go:build real

package top_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/faultproxy"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore"
)

const deadMails = 12_000 // a queue keeps 10,000 dead jobs: they are on two

// anOutage is a store on a server, after a night without the mail server: a schedule that fails, and dead jobs on the queues mail and news.
func anOutage(t *testing.T) (*redistest.Server, chime.Store) {
	t.Helper()
	server := redistest.Start(t, redistest.Options{})
	store := redisstore.New(server.Client(&redis.Options{ContextTimeoutEnabled: true}), redisstore.Options{})
	monthly := recurrence.Recurrence{Frequency: recurrence.Month, MonthDays: []int{-1}, Hours: []int{18}, Minutes: []int{0}, TimeZone: "UTC"}
	must(chime.NewSchedules(store).Put(t.Context(), "invoices", monthly, chime.JobName("invoice"), chime.Queue("mail"), chime.MaxAttempts(1)))(t)
	must(chime.NewSchedules(store).Put(t.Context(), "report", everyMinutes(t)))(t)
	items := make([]chime.Item, deadMails)
	for i := range items {
		items[i] = chime.Item{Name: "send", Options: []chime.EnqueueOption{chime.Queue([]string{"mail", "news"}[i%2]), chime.ID(fmt.Sprintf("mail-%05d", i)), chime.MaxAttempts(1)}}
	}
	must(chime.NewEnqueuer(store, chime.EnqueuerOptions{}).EnqueueMany(t.Context(), items))(t)
	workAll(t, store, deadMails+1, func(*chime.Job) error { return errors.New("mail:587: connection refused") })
	return server, store
}

// workAll works on both queues until a number of attempts have ended.
func workAll(t *testing.T, store chime.Store, attempts int, handle func(*chime.Job) error) {
	t.Helper()
	worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"mail": 1, "news": 1}})
	ended := make(chan struct{}, attempts)
	handler := func(_ context.Context, job *chime.Job) error {
		defer func() { ended <- struct{}{} }()
		return handle(job)
	}
	worker.Handle("send", handler)
	worker.Handle("invoice", handler)
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- chime.Run(ctx, worker) }()
	for range attempts {
		<-ended
	}
	stop()
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
}

// enter types a command when the shell is ready.
func (term *terminal) enter(line string) *terminal {
	term.t.Helper()
	deadline, look := time.Now().Add(terminalWait), time.NewTicker(20*time.Millisecond)
	defer look.Stop()
	for screen := ""; !strings.HasSuffix("\n"+strings.TrimSpace(screen), "\n$"); <-look.C {
		if time.Now().After(deadline) {
			term.t.Fatalf("the shell does not ask for a command; the screen shows\n%s", screen)
		}
		screen = term.tmux("capture-pane", "-p")
	}
	return term.answer(line)
}

// answer types a line.
func (term *terminal) answer(line string) *terminal {
	term.t.Helper()
	term.tmux("send-keys", "-l", line)
	return term.press("Enter")
}

// read returns everything that the terminal has shown.
func (term *terminal) read() string {
	term.t.Helper()
	return term.tmux("capture-pane", "-p", "-S", "-")
}

// A user finds out why a schedule did not run, pauses its queue, and requeues all dead jobs, with one interruption.
func TestAnOutageIsRepairedInATerminal(t *testing.T) {
	server, store := anOutage(t)
	proxy := faultproxy.Start(t, server.Addr())
	term := openShell(t, 170, 50, "USER=anna REDIS_URL=redis://"+proxy.Addr()).until("$")

	term.enter("chime schedules list --state failing").until("✕ failing", "invoices", "!report")
	term.enter("chime schedules history invoices").until("dead", "connection refused")
	term.enter("chime schedules show invoices").until("no live worker serves queue mail")
	term.enter("chime queues pause mail --note 'mail server is down'").until("Paused mail.")
	if queue := must(chime.NewQueues(store).Get(t.Context(), "mail"))(t); !queue.Paused || queue.Note.Text != "mail server is down" || queue.Note.By != "anna" {
		t.Errorf("mail is %+v, want it paused with the note", queue)
	}

	requeue := "chime jobs requeue --filter 'state:dead job:send' --max 20000"
	term.enter(requeue).until("Requeue 12,000 jobs (12,000 dead; on 2 queues)? [y/N]")
	proxy.Delay(200 * time.Millisecond) // each step takes this long: the interruption comes between two steps
	term.answer("y").until("requeue  ▓", "of 12,000").press("C-c").until("interrupted; ")
	proxy.Delay(0) // what is left goes fast
	term.enter("echo exit $?").until("exit 130")
	said := regexp.MustCompile(`interrupted; ([\d,]+) of 12,000 jobs requeued. Run the same command again to continue`).FindStringSubmatch(term.read())
	if said == nil {
		t.Fatalf("it does not print how far it came:\n%s", term.read())
	}
	first := number(t, said[1])
	if waiting, dead := onBoth(t, store); first <= 0 || first >= deadMails || waiting != first || dead != deadMails+1-first {
		t.Errorf("%d jobs were requeued; %d wait, and %d are dead", first, waiting, dead)
	}

	rest := format.Count(deadMails - first)
	term.enter(requeue).until("Requeue " + rest + " jobs (" + rest + " dead; on").answer("y").until(rest + " jobs requeued.")
	term.enter("chime queues resume mail; echo exit $?").until("Resumed mail.", "exit 0")
	if waiting, dead := onBoth(t, store); waiting != deadMails || dead != 1 {
		t.Errorf("%d jobs wait, and %d are dead; want all mails to wait, and the invoice to be dead", waiting, dead)
	}

	var mu sync.Mutex
	ran := map[string]int{}
	workAll(t, store, deadMails, func(job *chime.Job) error {
		mu.Lock()
		defer mu.Unlock()
		ran[job.ID]++
		return nil
	})
	for id, times := range ran {
		if times != 1 {
			t.Errorf("%s ran %d times", id, times)
		}
	}
	if waiting, dead := onBoth(t, store); len(ran) != deadMails || waiting != 0 || dead != 1 {
		t.Errorf("%d jobs ran, %d wait and %d are dead; want %d, 0 and 1", len(ran), waiting, dead, deadMails)
	}
	shownIn(t, "../../../../docs/operating.md", term.read())
}

// shownIn checks that the terminal has shown the session of a page line by line, except for numbers, instants and names of workers. An ellipsis on
// the page stands for lines that it leaves out.
func shownIn(t *testing.T, page, screen string) {
	t.Helper()
	_, text, _ := strings.Cut(string(must(os.ReadFile(page))(t)), "```console\n")
	text, _, found := strings.Cut(text, "```\n")
	if !found {
		t.Fatalf("%s has no session", page)
	}
	seen := strings.Split(alike(screen), "\n")
	for line := range strings.Lines(text) {
		want := strings.TrimSpace(alike(line))
		if want == "…" {
			continue
		}
		at := slices.IndexFunc(seen, func(line string) bool { return strings.TrimSpace(line) == want })
		if at < 0 {
			t.Fatalf("%s shows %q, which does not follow here:\n%s\nThe terminal has shown\n%s", page, want, strings.Join(seen, "\n"), screen)
		}
		seen = seen[at+1:]
	}
}

// The patterns of what differs between sessions, each with its replacement.
var different = []struct {
	pattern *regexp.Regexp
	becomes string
}{
	{regexp.MustCompile(`\b(app-1|` + thisHost() + `):\d+\b`), "WORKER"},
	{regexp.MustCompile(`\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b`), ""},
	{regexp.MustCompile(`\bin (\d+[dhms] ?)+`), "in # "},
	{regexp.MustCompile(`<?\d[\d,.:]*(ms|s|m)?\b`), "#"},
	{regexp.MustCompile(` +`), " "},
}

// thisHost returns a pattern of the host, which the pages call app-1.
func thisHost() string {
	host, _ := os.Hostname()
	return regexp.QuoteMeta(host)
}

// alike returns a text without what differs between sessions.
func alike(text string) string {
	for _, d := range different {
		text = d.pattern.ReplaceAllString(text, d.becomes)
	}
	return text
}

// onBoth is how many jobs wait, and are dead, on both queues.
func onBoth(t *testing.T, store chime.Store) (waiting, dead int) {
	t.Helper()
	for _, name := range []string{"mail", "news"} {
		queue := must(chime.NewQueues(store).Get(t.Context(), name))(t)
		waiting, dead = waiting+int(queue.Waiting), dead+int(queue.Dead)
	}
	return waiting, dead
}

// number reads a number with commas.
func number(t *testing.T, text string) int {
	t.Helper()
	return must(strconv.Atoi(strings.ReplaceAll(text, ",", "")))(t)
}
