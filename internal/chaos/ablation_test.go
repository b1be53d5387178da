//go:build unix

package chaos

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A guard is a check of the store without which it would lose or double something. off is the replacement that switches it off, and
// what follows finds that: a test, or the checker after a few seconds of chaos.
type guard struct {
	name  string
	file  string
	on    string
	off   string
	in    string // the package of the test; empty: chaos
	finds string // the test, or what the checker says
}

var guards = []guard{
	{"cursor of a placement", "redisstore/scripts/place.lua", " or now_cursor ~= plan.cursor", "", "redisstore", "TestAnOccurrenceIsPlacedOnce"},
	{"revision of a placement", "redisstore/scripts/place.lua", " or h.revision ~= plan.revision", "", "redisstore", "TestPlacingForAnEarlierRevisionIsLost"},
	{"session before a write", "redisstore/scripts/work.lua", "if not last and (header or number ~= 1 or settled > 0 or redis.call('ZSCORE', KEYS[17], session)) then", "if false then", "redisstore", "TestASessionBeingReapedCannotStartAgain"},
	{"number of a session's call", "redisstore/scripts/work.lua", "local again = last == number", "local again = false", "redisstore", "TestARepeatedWorkCallGetsTheSameAnswerAndWritesNothing"},
	{"number of a caller's call", "redisstore/scripts/enqueue.lua", "local again = ahead == 0", "local again = false", "", "doubled"},
	{"fence of a settlement", "redisstore/scripts/work.lua", "if holds ~= fence and holds ~= '-' .. fence then", "if not holds then", "redisstore", "TestASettlementNeedsTheFence"},
	{"second look before reaping", "redisstore/scripts/reap.lua", " or tonumber(lapse) ~= tonumber(ARGV[2])", "", "redisstore", "TestReapingNeedsTheLapseThatWasSeen"},
	{"working at maxmemory", "redisstore/scripts/postpone.lua", "redis.call('ZREM', KEYS[1], '')", "", "redisstore", "TestAtMaxmemoryLapsedSessionsAreReportedAndTheLeaderKeepsItsLease"},
	{"crash cap", "internal/work/admit.go", "case taken.Crashes >= a.config.MaxCrashes:", "case false:", ".", "TestAJobWhoseWorkersVanishedThreeTimesIsDead"},
	{"clamp of lapses", "redisstore/scripts/lib/lapse.lua", "if lapse ~= ms then", "lapse = ms or lapse\n  if false then", "redisstore", "TestALapseTooFarAheadIsCorrected"},
	{"limit of bytes", "redisstore/scripts/lib/bytes.lua", "bytes > CALL_BYTES", "false", "redisstore", "TestATakeReturnsAboutAMebibyteAtMost"},
	{"an ID stands in the list once", "redisstore/scripts/enqueue.lua", "local list = void[id] and revived or ready", "local list = ready", "redisstore", "TestACancelledIDThatIsEnqueuedAgainHasItsOldPlace"},
}

// TestASwitchedOffGuardIsFound switches each guard off in a copy of its file, and has the go command build with the copy. A guard whose
// absence nothing finds may be missing already.
func TestASwitchedOffGuardIsFound(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range guards {
		t.Run(g.name, func(t *testing.T) {
			overlay := g.switchOff(t, root)
			args := []string{"test", "-vet=off", "-count=1", "-overlay", overlay}
			if g.in == "" {
				args = append(args, "./internal/chaos", "-run", "^TestChaos$", "-for", "6s", "-seed", "1", "-pace", "3", "-loss", "10", "-patience", "2s")
			} else {
				args = append(args, "./"+g.in, "-run", "^"+g.finds+"$")
			}
			command := exec.CommandContext(t.Context(), "go", args...)
			command.Dir = root
			output, err := command.CombinedOutput()
			want := "--- FAIL: " + g.finds
			if g.in == "" {
				want = ": " + g.finds + ": "
			}
			if err == nil || !strings.Contains(string(output), want) {
				t.Errorf("with %s switched off, go %s: %v; want a failure with %q; it printed\n%s", g.name, strings.Join(args, " "), err, want, output)
			}
		})
	}
}

// switchOff writes a copy of the file without the guard, and returns the overlay that has the go command use it.
func (g guard) switchOff(t *testing.T, root string) (overlay string) {
	t.Helper()
	file := filepath.Join(root, filepath.FromSlash(g.file))
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(text), g.on) == 0 {
		t.Fatalf("%s has no %q: say in the table how the guard is switched off now", g.file, g.on)
	}
	folder := t.TempDir()
	copied, overlay := filepath.Join(folder, filepath.Base(file)), filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(copied, []byte(strings.ReplaceAll(string(text), g.on, g.off)), 0o600); err != nil {
		t.Fatal(err)
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {file: copied}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		t.Fatal(err)
	}
	return overlay
}
