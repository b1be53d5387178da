package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// conditions describe the machine, the versions and the settings of a run: enough to judge its figures, and nothing that identifies the owner.
type conditions struct {
	Date       string            `json:"date"`               // UTC
	Revision   string            `json:"revision,omitempty"` // of chime's source, as git has it; "unknown"
	Changed    bool              `json:"changed,omitempty"`  // the source differs from that revision
	CPU        string            `json:"cpu"`
	Cores      int               `json:"cores"`
	Kernel     string            `json:"kernel"`
	Go         string            `json:"go"`
	Redis      string            `json:"redis"`
	PostgreSQL string            `json:"postgresql,omitempty"`
	Libraries  map[string]string `json:"libraries"` // module -> version
	Settings   map[string]string `json:"settings"`  // peer -> which options
	Flags      []string          `json:"flags"`
	Seed       uint64            `json:"seed,omitempty"` // of the random order of peers in each round; 0: the order was fixed
}

// unrecorded are the flags that only change the output, not the measurement.
var unrecorded = []string{"out", "json", "markdown", "targets"}

func conditionsNow(ctx context.Context, r *testbed, chosen []peer) (conditions, error) {
	info, err := r.redis.client.InfoMap(ctx, "server").Result()
	if err != nil {
		return conditions{}, err
	}
	c := conditions{
		Date:      time.Now().UTC().Format(time.DateOnly),
		CPU:       processor(),
		Cores:     runtime.NumCPU(),
		Kernel:    strings.Join(strings.Fields(runtime.GOOS+" "+kernel()), " "),
		Go:        strings.TrimPrefix(runtime.Version(), "go"),
		Redis:     info["Server"]["redis_version"],
		Libraries: map[string]string{},
		Settings:  map[string]string{},
		Flags:     []string{},
	}
	if r.postgres != nil {
		if err := r.postgres.pool.QueryRow(ctx, "SHOW server_version").Scan(&c.PostgreSQL); err != nil {
			return conditions{}, err
		}
		c.PostgreSQL, _, _ = strings.Cut(c.PostgreSQL, " ")
	}
	for _, p := range chosen {
		c.Settings[p.name()] = p.about
	}
	c.Revision, c.Changed = sourceRevision(ctx)
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, module := range build.Deps {
			if slices.Contains(compared, module.Path) {
				c.Libraries[module.Path] = module.Version
			}
		}
	}
	flag.Visit(func(f *flag.Flag) {
		if !slices.Contains(unrecorded, f.Name) {
			c.Flags = append(c.Flags, fmt.Sprintf("-%s=%s", f.Name, f.Value))
		}
	})
	return c, nil
}

// sourceRevision returns the revision that this program was built from, and whether the source has changed since. "go build" stores it in
// the program. "go run" does not; then git reports it for the working directory.
func sourceRevision(ctx context.Context) (revision string, changed bool) {
	const digits = 12
	if build, ok := debug.ReadBuildInfo(); ok {
		noted := map[string]string{}
		for _, s := range build.Settings {
			noted[s.Key] = s.Value
		}
		if all := noted["vcs.revision"]; all != "" {
			return all[:min(digits, len(all))], noted["vcs.modified"] == "true"
		}
	}
	head, err := exec.CommandContext(ctx, "git", "rev-parse", "--short="+fmt.Sprint(digits), "HEAD").Output()
	if err != nil {
		return "unknown", false
	}
	// a change of a recording or a document changes no figure
	status, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--", ":/*.go", ":/*.lua", ":/*go.mod", ":/*go.sum").Output()
	return strings.TrimSpace(string(head)), err != nil || len(status) > 0
}

// compared are the modules whose versions affect the figures.
var compared = []string{
	"github.com/redis/go-redis/v9",
	"github.com/hibiken/asynq",
	"github.com/gocraft/work",
	"github.com/gomodule/redigo",
	"github.com/riverqueue/river",
	"github.com/jackc/pgx/v5",
	"github.com/robfig/cron/v3",
	"github.com/teambition/rrule-go",
}

// String has the conditions in a sentence or two.
func (c conditions) String() string {
	var with []string
	for _, module := range slices.Sorted(maps.Keys(c.Libraries)) {
		with = append(with, strings.TrimPrefix(module, "github.com/")+" "+c.Libraries[module])
	}
	servers := "Redis " + c.Redis
	if c.PostgreSQL != "" {
		servers += ", PostgreSQL " + c.PostgreSQL
	}
	if c.Revision != "" {
		source := "chime at " + c.Revision
		if c.Changed {
			source += ", changed since"
		}
		with = append([]string{source}, with...)
	}
	text := fmt.Sprintf("%s, %d cores, %s, Go %s, %s; %s. %s", c.CPU, c.Cores, c.Kernel, c.Go, servers, strings.Join(with, ", "), c.Date)
	if len(c.Flags) > 0 {
		text += ", " + strings.Join(c.Flags, " ")
	}
	return text + "."
}

// processor returns the kernel's name for the CPU model.
func processor() string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.Join(strings.Fields(value), " ")
		}
	}
	return runtime.GOARCH
}

// kernel returns the release of the kernel, without a suffix of the distribution.
func kernel() string {
	release, err := exec.Command("uname", "-r").Output()
	if err != nil {
		return ""
	}
	version, _, _ := strings.Cut(strings.TrimSpace(string(release)), "-")
	return version
}
