//go:build real && unix

// Package rolling_test holds the builds of earlier layouts beside the newest one. It needs the history of the repository.
package rolling_test

import (
	"bufio"
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/redisstore"
)

// A deployment of the newest build replaces one of the last build before a layout, process by process, and is replaced by it in turn; some processes are
// killed. As soon as a newer process has written, the older ones take nothing and log the reason. No accepted job is lost, no job is done twice, and every
// instant of the schedule runs.
//
// The older builds are those of this repository's history: the newest one always, the others with the tag long.
func TestALayoutBesideTheNextOne(t *testing.T) {
	newest := buildRolling(t, repository(t), "newest")
	for layout := knownLayout(t) - 1; layout > 0; layout-- {
		older := buildOf(t, layout, "", "", "")
		t.Run(fmt.Sprint("layout ", layout), func(t *testing.T) { roll(t, older, newest) })
		if !long.Enabled {
			return
		}
	}
}

// The test above can fail: an older build that does not compare the layout takes jobs from a queue that a newer one has written.
func TestAnOlderBuildThatComparesNoLayoutIsFound(t *testing.T) {
	const compares = "if version and version > tonumber(LAYOUT) and version < 1e6 then"
	older := buildOf(t, knownLayout(t)-1, "redisstore/scripts/lib/layout.lua", compares, "if false then")
	d := deployment{t: t, server: redistest.Start(t, redistest.Options{}), older: older}
	a := d.start(older)
	d.works(a, 20)
	d.works(d.start(buildRolling(t, repository(t), "newest")), 20)
	if err := d.refusal(a); err == nil {
		t.Errorf("%s was found to refuse its work, although it compares no layout", a.name)
	} else {
		t.Log(err)
	}
}

// repository returns the root of the repository.
func repository(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

var layoutLine = regexp.MustCompile(`local LAYOUT = '\d+'`)

// knownLayout returns the layout that this build writes.
func knownLayout(t *testing.T) int {
	t.Helper()
	for _, script := range redisstore.Scripts() {
		if line := layoutLine.FindString(script); line != "" {
			layout, err := strconv.Atoi(strings.Trim(strings.TrimPrefix(line, "local LAYOUT = "), "'"))
			if err != nil {
				t.Fatal(err)
			}
			return layout
		}
	}
	t.Fatalf("no script has the line %s any more: change it here", layoutLine)
	return 0
}

// git returns the output of a command of git.
func git(t *testing.T, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", append([]string{"-c", "safe.directory=*", "-C", repository(t)}, args...)...)
	output, err := command.Output()
	if err != nil {
		t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return string(output)
}

// buildOf builds the program rolling with the library of the last revision that had a layout: the one before the commit that raised it. It uses the
// dependencies of today, so that no network is needed. In one of its files it replaces a text, if that is not empty.
func buildOf(t *testing.T, layout int, file, text, by string) string {
	t.Helper()
	if strings.HasPrefix(git(t, "rev-parse", "--is-shallow-repository"), "true") {
		t.Fatal("this clone is shallow, and the test builds an older revision: clone with the whole history, or run git fetch --unshallow")
	}
	raised := strings.Fields(git(t, "log", "--reverse", "--format=%H", fmt.Sprintf("-G(layout|LAYOUT) = ['\"]%d['\"]", layout+1), "--extended-regexp", "--", "redisstore"))
	if len(raised) == 0 {
		t.Fatalf("no commit of the history has raised the layout to %d", layout+1)
	}
	folder := t.TempDir()
	unpack := exec.CommandContext(t.Context(), "tar", "-x", "-C", folder)
	unpack.Stdin = strings.NewReader(git(t, "archive", raised[0]+"~1"))
	if output, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("unpack the revision before %s: %v\n%s", raised[0], err, output)
	}
	for _, file := range []string{"go.mod", "go.sum", "tests/rolling/testdata/rolling/main.go"} {
		text, err := os.ReadFile(filepath.Join(repository(t), filepath.FromSlash(file)))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(folder, filepath.FromSlash(file))), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, filepath.FromSlash(file)), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if text != "" {
		path := filepath.Join(folder, filepath.FromSlash(file))
		source, err := os.ReadFile(path)
		if err == nil && strings.Count(string(source), text) != 1 {
			err = fmt.Errorf("%s of layout %d does not have %q once", file, layout, text)
		}
		if err == nil {
			err = os.WriteFile(path, []byte(strings.Replace(string(source), text, by, 1)), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return buildRolling(t, folder, fmt.Sprint("layout", layout))
}

// buildRolling builds the program rolling with the library in a folder.
func buildRolling(t *testing.T, folder, name string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), name)
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-o", binary, "./tests/rolling/testdata/rolling")
	build.Dir, build.Env = folder, append(os.Environ(), "GOWORK=off", "GOPROXY=off")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, output)
	}
	return binary
}

// A rolling is a process of the program rolling.
type rolling struct {
	name   string
	older  bool
	cmd    *exec.Cmd
	read   chan struct{} // closed when all its events are read
	killed bool

	mu     sync.Mutex
	events []string
}

func startRolling(t *testing.T, binary, name string, args ...string) *rolling {
	t.Helper()
	p := &rolling{name: name, cmd: exec.Command(binary, args...), read: make(chan struct{})}
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.mu.Lock()
			p.events = append(p.events, lines.Text())
			p.mu.Unlock()
		}
	}()
	t.Cleanup(func() { p.end(syscall.SIGKILL) })
	return p
}

// end sends a signal and waits until the process has ended.
func (p *rolling) end(signal syscall.Signal) {
	if p.cmd.ProcessState != nil {
		return
	}
	p.killed = signal == syscall.SIGKILL
	_ = p.cmd.Process.Signal(signal)
	<-p.read
	_ = p.cmd.Wait()
}

// has returns the events that begin with some word.
func (p *rolling) has(word string) (found []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, event := range p.events {
		if strings.HasPrefix(event, word+" ") {
			found = append(found, event)
		}
	}
	return found
}

// refused reports whether the process has logged that it must be upgraded.
func (p *rolling) refused() bool {
	return slices.ContainsFunc(p.has("log"), func(line string) bool { return strings.Contains(line, "upgrade it") })
}

// A deployment is a server and the processes around it.
type deployment struct {
	t      *testing.T
	server *redistest.Server
	older  string // the older build
	all    []*rolling
}

// start starts a process of a build.
func (d *deployment) start(binary string) *rolling {
	name := fmt.Sprintf("p%d", len(d.all))
	p := startRolling(d.t, binary, name, d.server.Addr(), name)
	p.older = binary == d.older
	d.all = append(d.all, p)
	return p
}

// works waits until a process has done some more jobs.
func (d *deployment) works(p *rolling, n int) {
	d.t.Helper()
	before := len(p.has("ended"))
	until(d.t, p.name+" has done jobs", func() bool { return len(p.has("ended")) >= before+n })
}

// maxLate is how many jobs an older process may begin after a newer one has done some: those that it holds or has taken ahead.
const maxLate = 40

// refusal waits until a process logs that it must be upgraded. It returns an error if the process goes on working.
func (d *deployment) refusal(p *rolling) error {
	d.t.Helper()
	before, late := len(p.has("began")), 0
	until(d.t, p.name+" logs that it must be upgraded", func() bool {
		late = len(p.has("began")) - before
		return p.refused() || late > maxLate
	})
	if !p.refused() {
		return fmt.Errorf("%s has begun %d jobs after a newer process had written, and has not logged that it must be upgraded", p.name, late)
	}
	return nil
}

// roll replaces older processes by newer ones, then newer ones by older ones, and once more, and judges what the processes have printed.
func roll(t *testing.T, older, newer string) {
	processes := deployment{t: t, server: redistest.Start(t, redistest.Options{}), older: older}
	start, works := processes.start, processes.works
	refuses := func(p *rolling) {
		t.Helper()
		if err := processes.refusal(p); err != nil {
			t.Fatal(err)
		}
	}

	a, b, c := start(older), start(older), start(older)
	works(a, 20)
	works(b, 20)
	works(c, 20)

	d := start(newer) // forwards: the first one raises the layout
	works(d, 20)
	refuses(a)
	refuses(b)
	refuses(c)
	a.end(syscall.SIGTERM)
	e := start(newer)
	works(e, 20)
	b.end(syscall.SIGKILL)
	d.end(syscall.SIGKILL)
	works(e, 20)

	f, g := start(older), start(older) // back: they may not work, also when they are alone
	refuses(f)
	e.end(syscall.SIGTERM)
	refuses(g)
	ran := len(f.has("began")) + len(g.has("began"))
	f.end(syscall.SIGKILL)

	again := time.Now()
	h, i := start(newer), start(newer) // forwards again
	works(h, 20)
	g.end(syscall.SIGTERM)
	h.end(syscall.SIGKILL)
	works(i, 20)
	until(t, "the schedule has caught up", func() bool {
		instants := instantsOf(t, processes.all)
		return len(instants) > 0 && instants[len(instants)-1] > again.Unix()
	})
	i.end(syscall.SIGTERM)
	c.end(syscall.SIGTERM)

	client := redis.NewClient(&redis.Options{Addr: processes.server.Addr()})
	defer client.Close()
	store := redisstore.New(client, redisstore.Options{})
	if err := chime.NewSchedules(store).Pause(t.Context(), "tick"); err != nil {
		t.Fatal(err)
	}
	drain := startRolling(t, newer, "drain", processes.server.Addr(), "drain", "drain")
	processes.all = append(processes.all, drain)
	var info *chime.QueueInfo
	until(t, "no job is left", func() (done bool) {
		var err error
		info, err = chime.NewQueues(store).Get(t.Context(), "default")
		return err == nil && info.Waiting+info.Delayed+info.InFlight()+info.Parked == 0
	})
	drain.end(syscall.SIGTERM)
	if ran > 0 {
		t.Errorf("older processes that were alone ran %d jobs", ran)
	}
	judgeRolling(t, processes.all, int(info.Done))
	judgeInstants(t, processes.all)
}

// judgeRolling requires that every accepted job is done, that the server has counted each job once, and that a job ran again only if its process was killed, had
// to stop, or has lost its session.
func judgeRolling(t *testing.T, all []*rolling, counted int) {
	t.Helper()
	type run struct {
		by    *rolling
		fence int64
	}
	runs, done, accepted := map[string][]run{}, map[string]bool{}, 0
	for _, p := range all {
		for _, event := range p.has("began") {
			words := strings.Fields(event)
			fence, _ := strconv.ParseInt(words[2], 10, 64)
			runs[words[1]] = append(runs[words[1]], run{p, fence})
		}
		for _, event := range p.has("ended") {
			done[strings.Fields(event)[1]] = true
		}
	}
	for _, p := range all {
		for _, event := range p.has("accepted") {
			accepted++
			if id := strings.Fields(event)[1]; !done[id] {
				t.Errorf("%s was accepted from %s and is not done; its runs: %v", id, p.name, runs[id])
			}
		}
	}
	again := 0
	for id, of := range runs {
		slices.SortFunc(of, func(a, b run) int { return cmp.Compare(a.fence, b.fence) })
		for i, r := range of[:len(of)-1] {
			again++
			if r.fence == of[i+1].fence {
				t.Errorf("%s ran twice with fence %d", id, r.fence)
			}
			lost := slices.ContainsFunc(r.by.has("log"), func(line string) bool { return strings.Contains(line, "event=session.") })
			if !r.by.killed && !r.by.older && !lost {
				t.Errorf("%s ran on %s and again on %s without a cause", id, r.by.name, of[i+1].by.name)
			}
		}
	}
	if counted != len(done) {
		t.Errorf("the server has counted %d jobs that are done, and the processes have done %d", counted, len(done))
	}
	for _, p := range all {
		t.Logf("%s (older: %v, killed: %v): %d accepted, %d refused, %d runs", p.name, p.older, p.killed, len(p.has("accepted")), len(p.has("refused")), len(p.has("began")))
	}
	t.Logf("%d jobs accepted, %d done with occurrences, %d runs again", accepted, len(done), again)
}

// judgeInstants requires that every second between the first and the last occurrence has run.
func judgeInstants(t *testing.T, all []*rolling) {
	t.Helper()
	instants := instantsOf(t, all)
	if len(instants) < 5 {
		t.Fatalf("%d occurrences are done, want more", len(instants))
	}
	t.Logf("%d occurrences", len(instants))
	for at := instants[0]; at < instants[len(instants)-1]; at++ {
		if _, done := slices.BinarySearch(instants, at); !done {
			t.Errorf("the occurrence of %s is not done", time.Unix(at, 0).UTC().Format(time.RFC3339))
		}
	}
}

// instantsOf returns the planned instants of the occurrences that are done, in seconds, in order.
func instantsOf(t *testing.T, all []*rolling) []int64 {
	t.Helper()
	seen := map[int64]bool{}
	for _, p := range all {
		for _, event := range p.has("ended") {
			if _, instant, ok := strings.Cut(strings.Fields(event)[1], "@"); ok {
				at, err := time.Parse(time.RFC3339, instant)
				if err != nil {
					t.Fatal(err)
				}
				seen[at.Unix()] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// until waits for a condition of the store, and checks it every 20 ms.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(3 * time.Minute) // real time: a condition that never holds fails the test
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("not within three minutes: %s", what)
		case <-tick.C:
		}
	}
}
