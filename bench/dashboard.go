package main

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"regexp"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard"
	"github.com/chimejobs/chime/redisstore"
)

const (
	pageViewers = 50
	pageCosts   = 7                // pages of each kind whose cost is read: the median counts
	pageTimes   = 40               // of each kind that are timed while viewers look
	lookedFor   = time.Minute      // the server is measured for this time with viewers and without; a quarter of it in the short form
	viewersGone = 13 * time.Second // after the last viewer: the poller continues for 10 s, and may then be in the middle of a turn
	nobodyLooks = 30 * time.Second
	noteworthy  = time.Millisecond // a command that takes longer is in the slow log

	// The suffixes of figure names, after the kind of page.
	// Commands are those that the server executes, those of scripts too; calls are what the dashboard sends, and the call of a script is one.
	pageTime, pageCPU, pageCommands, pageSends, pageSent = ": p95", ": server CPU", ": commands", ": calls", ": sent"
)

const dashboardName = "dashboard" // of the measure

// dashboardMeasure opens the dashboard of a large store, as its users do.
var dashboardMeasure = measure{
	name: dashboardName, group: "watched", only: []string{"chime"}, slow: true,
	about: fmt.Sprintf("a store with 1,000,000 jobs, of each state some, and %d schedules that have run %d times (a fifth of that in the short form), while a scheduler "+
		"and a worker run some six of them each second, and the dashboard, its viewers and Redis share the cores. A page costs what it does right after "+
		"somebody has changed something, so that it reads all that it shows but the list of all schedules, which is read for all pages and counted apart: the "+
		"median of %d pages of a kind, what reading the figures itself costs left out. Pages are timed one after the other, %d of each kind, while %d viewers have pages of all "+
		"kinds open; what these cost is the difference to the same server before, each %v long. Nobody looks %v after the last viewer has "+
		"gone, when scheduler and worker have ended", loadSchedules, loadRuns, pageCosts, pageTimes, pageViewers, lookedFor, viewersGone),
	run: func(ctx context.Context, r *testbed, _ peer) (figures []figure, err error) {
		l, err := openLoad(ctx, r)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, l.close()) }()
		p, err := servePages(ctx, l)
		if err != nil {
			return nil, err
		}
		defer p.close()
		for _, part := range []func(context.Context) ([]figure, error){p.listing, p.costs, p.looked, p.assets, p.longest} {
			more, err := part(ctx)
			if err != nil {
				return nil, err
			}
			figures = append(figures, more...)
		}
		return figures, nil
	},
}

// servePages serves a dashboard of a load, and finds the pages to request.
func servePages(ctx context.Context, l *load) (*openPages, error) {
	p, err := openDashboard(l)
	if err != nil {
		return nil, err
	}
	if err := p.find(ctx); err != nil {
		p.close()
		return nil, err
	}
	if err := l.client.ConfigSet(ctx, "slowlog-log-slower-than", fmt.Sprint(noteworthy.Microseconds())).Err(); err != nil {
		p.close()
		return nil, err
	}
	return p, l.client.Do(ctx, "SLOWLOG", "RESET").Err()
}

// openDashboard serves a dashboard of a load.
func openDashboard(l *load) (*openPages, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &openPages{load: l, base: "http://" + listener.Addr().String() + "/", client: redis.NewClient(&redis.Options{Addr: l.redis.addr, ClientName: "dashboard"})}
	p.client.AddHook(&p.sent)
	p.dashboard = dashboard.New(redisstore.New(p.client, redisstore.Options{Logger: quiet}), dashboard.Options{
		Write: true, Logger: quiet,
		Authorize: func(r *http.Request) (dashboard.Viewer, error) {
			return dashboard.Viewer{Name: r.Header.Get("Viewer"), Rights: dashboard.View | dashboard.Operate | dashboard.Edit | dashboard.Delete | dashboard.Reveal}, nil
		},
	})
	p.server = &http.Server{Handler: p.dashboard}
	go func() { _ = p.server.Serve(listener) }()
	return p, nil
}

// listing is what it costs to read all schedules once.
func (p *openPages) listing(ctx context.Context) ([]figure, error) {
	for range 10 { // the first answers are of a list that is still being read
		if _, err := p.read(ctx, pageKinds[0], 0); err != nil {
			return nil, err
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return nil, err
		}
	}
	before, err := p.load.redis.usage(ctx)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, err := range chime.NewSchedules(p.load.store).List(ctx, chime.ScheduleFilter{}) {
		if err != nil {
			return nil, err
		}
		n++
	}
	after, err := p.load.redis.usage(ctx)
	if n != p.load.schedules {
		return nil, fmt.Errorf("%d of %d schedules are listed", n, p.load.schedules)
	}
	return []figure{{name: "reading all schedules, server CPU", unit: "ms", value: micros(after.since(before).cpu) / 1e3, less: true}}, err
}

// costs are what pages of each kind cost the server.
func (p *openPages) costs(ctx context.Context) ([]figure, error) {
	own, err := p.costOf(ctx, func() error { return nil })
	if err != nil {
		return nil, err
	}
	var figures []figure
	var calls, commands, sizes, cpus, looking []float64
	for _, kind := range pageKinds {
		var sent []float64
		each, err := p.costOf(ctx, func() error {
			page, err := p.read(ctx, kind, len(sent))
			sent = append(sent, float64(page.sent)/1e3)
			return err
		})
		if err != nil {
			return nil, err
		}
		cpu, largest := max(0, each.cpu-own.cpu), slices.Max(sent)
		calls, commands = append(calls, each.sent), append(commands, each.commands)
		if sizes = append(sizes, largest); kind.looks {
			looking = append(looking, cpu)
		} else {
			cpus = append(cpus, cpu)
		}
		figures = append(figures,
			figure{name: kind.name + pageCPU, unit: "ms", value: cpu, less: true},
			figure{name: kind.name + pageCommands, value: each.commands, less: true},
			figure{name: kind.name + pageSends, value: each.sent, less: true},
			figure{name: kind.name + pageSent, unit: "KB", value: largest, less: true})
	}
	return append([]figure{
		{name: "page, server CPU", unit: "ms", value: slices.Max(cpus), less: true},
		{name: "page that looks through jobs, server CPU", unit: "ms", value: slices.Max(looking), less: true},
		{name: "page, calls", value: slices.Max(calls), less: true},
		{name: "page, commands", value: slices.Max(commands), less: true},
		{name: "page, sent", unit: "KB", value: slices.Max(sizes), less: true},
	}, figures...), nil
}

// A pageCost is what a page cost the server.
type pageCost struct{ cpu, commands, sent float64 } // CPU in ms

// costOf is the median of what do costs, each time right after a change.
func (p *openPages) costOf(ctx context.Context, do func() error) (pageCost, error) {
	var cpus, commands, sent []float64
	for range pageCosts {
		if err := p.change(ctx); err != nil {
			return pageCost{}, err
		}
		before, err := p.load.redis.usage(ctx)
		calls := p.sent.all.Load()
		if err == nil {
			err = do()
		}
		if err != nil {
			return pageCost{}, err
		}
		after, err := p.load.redis.usage(ctx)
		if err != nil {
			return pageCost{}, err
		}
		used := after.since(before)
		cpus, commands, sent = append(cpus, micros(used.cpu)/1e3), append(commands, float64(used.commands)), append(sent, float64(p.sent.all.Load()-calls))
	}
	return pageCost{middle(cpus), middle(commands), middle(sent)}, nil
}

// looked is what viewers cost while they have pages open, how long pages take then, and what happens when they have gone.
func (p *openPages) looked(ctx context.Context) ([]figure, error) {
	r, d := p.load.testbed, lookedFor
	if r.sizes.short {
		d /= 4
	}
	if err := pause(ctx, viewersGone); err != nil {
		return nil, err
	}
	without, err := r.idleFor(ctx, d)
	if err != nil {
		return nil, err
	}
	all, err := p.openViewers(ctx, pageViewers)
	if err != nil {
		return nil, err
	}
	defer all.close()
	if err := pause(ctx, idleSettle); err != nil {
		return nil, err
	}
	with, err := r.idleFor(ctx, d)
	if err != nil {
		return nil, err
	}
	more := with.since(without)
	figures := []figure{
		{name: "50 viewers, server CPU", unit: "ms/s", value: micros(more.cpu) / 1e3 / d.Seconds(), less: true},
		{name: "50 viewers, commands/s", unit: "1/s", value: float64(more.commands) / d.Seconds(), less: true},
		{name: "server CPU without", unit: "ms/s", value: micros(without.cpu) / 1e3 / d.Seconds(), less: true},
	}
	times, err := p.times(ctx)
	if err != nil {
		return nil, err
	}
	all.close()
	if err := p.load.end(); err != nil {
		return nil, err
	}
	if err := pause(ctx, viewersGone); err != nil {
		return nil, err
	}
	nobody, err := r.idleFor(ctx, nobodyLooks)
	return append(append(figures, times...), figure{name: "nobody looks, commands in 30 s", value: float64(nobody.commands), less: true}), err
}

// times are how long pages of each kind take.
func (p *openPages) times(ctx context.Context) ([]figure, error) {
	var figures []figure
	slowest := 0.0
	for _, kind := range pageKinds {
		times := make([]float64, pageTimes)
		for i := range times {
			page, err := p.read(ctx, kind, i)
			if err != nil {
				return nil, err
			}
			times[i] = micros(page.took) / 1e3
		}
		slices.Sort(times)
		p95 := percentile(times, 95)
		slowest = max(slowest, p95)
		figures = append(figures, figure{name: kind.name + pageTime, unit: "ms", value: p95, less: true})
	}
	return append([]figure{{name: "page, p95", unit: "ms", value: slowest, less: true}}, figures...), nil
}

// assets are how large the scripts and styles are that a page has, before they are compressed.
func (p *openPages) assets(ctx context.Context) ([]figure, error) {
	sizes, left := map[string]float64{}, []string{""}
	for seen := map[string]bool{}; len(left) > 0; left = left[1:] {
		address := left[0]
		if seen[address] {
			continue
		}
		seen[address] = true
		text, err := p.text(ctx, address)
		if err != nil {
			return nil, err
		}
		sizes[path.Ext(address)] += float64(len(text)) / 1e3
		for _, found := range assetOf.FindAllStringSubmatch(text, -1) {
			if found[2] != "" { // a script that another one imports
				found[1] = path.Join(path.Dir(address), found[2])
			}
			left = append(left, found[1])
		}
	}
	return []figure{
		{name: "scripts", unit: "KB", value: sizes[".js"], less: true},
		{name: "styles", unit: "KB", value: sizes[".css"], less: true},
	}, nil
}

// assetOf finds the scripts and styles in a page, and the scripts that a script imports.
var assetOf = regexp.MustCompile(`(?:src|href)="(assets/[^"]*\.(?:js|css))"|from "\./([^"]*\.js)"`)

// text is what is at an address, not compressed.
func (p *openPages) text(ctx context.Context, address string) (string, error) {
	response, err := p.request(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body := io.Reader(response.Body)
	if response.Header.Get("Content-Encoding") == "gzip" {
		if body, err = gzip.NewReader(body); err != nil {
			return "", err
		}
	}
	text, err := io.ReadAll(body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: status %d", address, response.StatusCode)
	}
	return string(text), err
}

// longest is how long the longest command of the dashboard took since it was opened, and how many it has sent of those that read all of
// something, however much that is.
func (p *openPages) longest(ctx context.Context) ([]figure, error) {
	log, err := p.load.client.SlowLogGet(ctx, 1000).Result()
	if err != nil {
		return nil, err
	}
	longest := time.Duration(0)
	for _, entry := range log {
		if entry.ClientName == "dashboard" {
			longest = max(longest, entry.Duration)
		}
	}
	return []figure{
		{name: "longest command", unit: "ms", value: micros(longest) / 1e3, less: true},
		{name: "commands that read all of something", value: float64(p.sent.unbounded.Load()), less: true},
	}, nil
}
