package command

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/plain"
)

// ruleDone is the result of a change of the rule for all groups, as JSON.
type ruleDone struct {
	Queue string          `json:"queue"`
	Verb  string          `json:"action"`
	Rule  chime.GroupRule `json:"rule"`
}

func (s *session) queuesRule() *cobra.Command {
	var flags groupRuleFlags
	c := &cobra.Command{
		Use: "rule QUEUE", Short: "Set the rule of a queue for all of its groups: their weight, limits and order", Args: cobra.ExactArgs(1),
		Long: "Set the rule of a queue for all of its groups; chime queues group set overrides it for one of them. Lower limits and order apply from the next job\n" +
			"that starts, higher limits within seconds. " + groupRuleHelp + "\n0 removes a part of the rule.",
		Example: "  chime queues rule exports --running 2 --starts 100/1m\n  chime queues rule webhooks --ordered on\n" +
			"  chime queues rule exports --weight 0 --running 0 --starts 0 --ordered 0 --waiting 0",
		ValidArgsFunction: s.completeFirstQueue,
		RunE: func(c *cobra.Command, args []string) error {
			if err := flags.given(c); err != nil {
				return err
			}
			ctx, cancel := s.limited(c.Context())
			defer cancel()
			queues, queue, err := s.ruled(ctx, args[0])
			if err != nil {
				return err
			}
			rule, err := flags.read(c, queue.Groups.Rule)
			if err != nil {
				return err
			}
			if err := queues.SetGroups(ctx, queue.Name, rule); err != nil {
				return err
			}
			return s.printer().Item(queue.Name, ruleDone{queue.Name, "rule", rule}, "Rule of all groups of "+queue.Name+": "+groupRuleText(rule)+".\n")
		},
	}
	flags.add(c)
	return s.changes(c)
}

const groupRuleHelp = "A flag that is not given changes nothing.\nnone means that there is no such limit."

// groupRuleFlags are the flags of the fields of a rule.
type groupRuleFlags struct {
	weight                            int
	running, starts, ordered, waiting string
}

var groupRuleNames = []string{"weight", "running", "starts", "ordered", "waiting"}

func (f *groupRuleFlags) add(c *cobra.Command) {
	c.Flags().IntVar(&f.weight, "weight", 0, "the share of the slots, relative to other groups, 1 to 1000; 0: not set")
	c.Flags().StringVar(&f.running, "running", "", "the `number` of jobs at once, over all workers; none: no limit; 0: not set")
	c.Flags().StringVar(&f.starts, "starts", "", "the number of starts in a time, `N/D` as 100/1m; none: no limit; 0: not set")
	c.Flags().StringVar(&f.ordered, "ordered", "", "`on`: a job starts only when the one before has ended for good; off; 0: not set")
	c.Flags().StringVar(&f.waiting, "waiting", "", "the `number` of jobs that may wait, further ones are refused; none: no limit; 0: not set")
	complete(c, "ordered", "on", "off", "0")
}

// given returns an error if no flag of a rule is given.
func (f *groupRuleFlags) given(c *cobra.Command) error {
	for _, name := range groupRuleNames {
		if c.Flags().Changed(name) {
			return nil
		}
	}
	return usage("want at least one of --%s; 0 removes a part of the rule", strings.Join(groupRuleNames, ", --"))
}

// read returns a rule with the changes of the given flags.
func (f *groupRuleFlags) read(c *cobra.Command, rule chime.GroupRule) (chime.GroupRule, error) {
	given := c.Flags().Changed
	if given("weight") {
		rule.Weight = f.weight
	}
	for _, n := range []struct {
		flag, text string
		to         *int
	}{{"running", f.running, &rule.Running}, {"waiting", f.waiting, &rule.Waiting}} {
		if !given(n.flag) {
			continue
		}
		number, err := strconv.Atoi(n.text)
		switch {
		case n.text == "none":
			number = chime.NoLimit
		case err != nil || number < 0:
			return rule, usage("--%s %q: want a number, none for no limit, or 0", n.flag, n.text)
		}
		*n.to = number
	}
	if given("starts") {
		var err error
		switch f.starts {
		case "none":
			rule.Starts, rule.Per = chime.NoLimit, 0
		default:
			if rule.Starts, rule.Per, err = readStarts(f.starts); err != nil || rule.Starts < 0 {
				return rule, usage("--starts %q: want a number and a time as 100/1m, none for no limit, or 0", f.starts)
			}
		}
	}
	if given("ordered") {
		order, known := map[string]chime.Switch{"on": chime.On, "off": chime.Off, "0": 0}[f.ordered]
		if !known {
			return rule, usage("--ordered %q: want on, off or 0", f.ordered)
		}
		rule.Ordered = order
	}
	return rule, nil
}

// groupRuleText formats the parts of a rule that are set; none if no part is.
func groupRuleText(r chime.GroupRule) string {
	var parts []string
	if r.Weight > 0 {
		parts = append(parts, "weight "+format.Count(r.Weight))
	}
	if text := plain.GroupRule(r); text != "" {
		parts = append(parts, text)
	}
	for _, of := range []struct {
		is   bool
		text string
	}{
		{r.Ordered == chime.Off, "in no order"}, {r.Running == chime.NoLimit, "any number at once"}, {r.Starts == chime.NoLimit, "any number of starts"},
		{r.Waiting == chime.NoLimit, "any number waiting"},
	} {
		if of.is {
			parts = append(parts, of.text)
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
