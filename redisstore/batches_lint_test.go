package redisstore

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// endsNoMember are the scripts that remove envelopes of jobs and count no member of a batch, and why.
var endsNoMember = map[string]string{
	"jobs/enqueue_one":         "it undoes an addition of its own",
	"queues/delete_queue":      "a partition with jobs is not deleted",
	"repair/verify_job":        "it removes marks of cancelled occurrences only",
	"schedules/delete_waiting": "it ends jobs of schedules, which are no members",
	"schedules/place":          "it removes marks of cancelled occurrences only",
	"sessions/work_few":        "the end of a member goes to sessions/work: work_few.go does not send it, and the state of a partition with batches has a field more",
	"schedules/remove":         "it removes the mark of a cancelled occurrence only",
}

var removesJobs = regexp.MustCompile(`redis\.p?call\('(?:HDEL|DEL|UNLINK)', (?:\w+, )*(JOBS|jobs|KEYS\[\d+\])\b`)

// A member of a batch that a script removes without counting it would be left for ever. Every script that removes envelopes counts members, or is in the
// list above.
func TestEveryScriptThatEndsAJobCountsMembers(t *testing.T) {
	for name := range endsNoMember {
		if !slices.Contains(scripts.Names(), name) {
			t.Errorf("endsNoMember has %s, which is not a script", name)
		}
	}
	found := 0
	for name, script := range loadAll(t) {
		title, _ := readTitle(name, script.Text)
		removes := false
		for _, m := range removesJobs.FindAllStringSubmatch(script.Text, -1) {
			at := strings.TrimSuffix(strings.TrimPrefix(m[1], "KEYS["), "]")
			removes = removes || !strings.HasPrefix(m[1], "KEYS[") || title.keys[number(at)].name == "jobs"
		}
		counts := strings.Contains(script.Text, "save_members(")
		switch why := endsNoMember[name]; {
		case removes && !counts && why == "":
			t.Errorf("%s removes envelopes of jobs and does not count members of batches (lib/members.lua)", name)
		case why != "" && counts:
			t.Errorf("%s counts members, and is in endsNoMember", name)
		}
		if removes {
			found++
		}
	}
	if found < 10 {
		t.Errorf("%d scripts remove envelopes of jobs: the lint does not find them", found)
	}
}

// number reads a number.
func number(text string) (n int) {
	for _, digit := range text {
		n = 10*n + int(digit-'0')
	}
	return n
}
