//go:build unix

package chaos

import "fmt"

// A Rule is a condition that must hold after every run.
type Rule string

const (
	Lost        Rule = "lost"        // an accepted job neither finished nor is dead
	Doubled     Rule = "doubled"     // a job ran again without a cause, or two completions of it were counted
	Undeserved  Rule = "undeserved"  // a job is dead without a reason, or with a reason that the history does not confirm
	Unaccounted Rule = "unaccounted" // an instant of a schedule was not run, missed or skipped, or was counted twice
	Unplanned   Rule = "unplanned"   // an occurrence ran at an instant that its schedule does not have
	Vanished    Rule = "vanished"    // an occurrence began, but neither finished nor is dead
	Overlapped  Rule = "overlapped"  // two occurrences of a schedule ran at once against its policy
	Overtaken   Rule = "overtaken"   // a job ran before another one of its ordered group had ended
	Exceeded    Rule = "exceeded"    // more jobs of a group ran or started than its rule permits
	Early       Rule = "early"       // a batch ended before one of its members, or is done although a member is dead
	Refenced    Rule = "refenced"    // a fence was drawn twice
	Stuck       Rule = "stuck"       // work was left, and no job began any more
	Homeless    Rule = "homeless"    // a schedule lives in no queue, or in several, or lives although it was deleted
	Orphaned    Rule = "orphaned"    // a key was left
	Broken      Rule = "broken"      // a process ended by itself, or the history is not readable
)

// A Finding is one violation of a rule.
type Finding struct {
	Rule Rule
	Text string
}

func (f Finding) String() string { return string(f.Rule) + ": " + f.Text }

// Findings are the violations that a check has found.
type Findings []Finding

func (f *Findings) add(rule Rule, format string, args ...any) {
	*f = append(*f, Finding{rule, fmt.Sprintf(format, args...)})
}

// count returns the number of findings of a rule.
func (f Findings) count(rule Rule) int {
	n := 0
	for _, finding := range f {
		if finding.Rule == rule {
			n++
		}
	}
	return n
}
