package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimeseal"
	"github.com/chimejobs/chime/cmd/chime/internal/connect"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/keyring"
)

func (s *session) keys() *cobra.Command {
	c := &cobra.Command{
		Use: "keys", Short: "Make and rotate the keys that seal data in Redis", GroupID: groupTools, Args: cobra.NoArgs,
		Long: "Make and rotate the keys that seal data in Redis. A file has one or more keys: the first one seals, and all of them open. docs/sealing.md\n" +
			"has the steps of a rotation. Whoever has the file can open everything: keep it as secret as a password, and keep a copy of it.",
	}
	c.AddCommand(s.keysMake(), s.keysList(), s.keysRotate(), s.keysUses(), s.keysReseal())
	return c
}

func (s *session) keysMake() *cobra.Command {
	name, ids := "", false
	c := &cobra.Command{
		Use: "make FILE", Short: "Create a file with a key, or add a key that opens", Args: cobra.ExactArgs(1),
		Long: "Create a file with a random key, which seals. If the file exists, add a random key at its end: it opens and does not seal, until rotate moves\n" +
			"it to the front. With --ids the file also gets the key that the option ArgsID needs.",
		Example: "  chime keys make /etc/billing/keys --ids",
		RunE: func(_ *cobra.Command, args []string) error {
			ring, err := readRing(args[0])
			if errors.Is(err, fs.ErrNotExist) {
				ring, err = new(keyring.Ring), nil
			}
			if err != nil {
				return err
			}
			if !ids || ring.ID != nil || name != "" || len(ring.Keys) == 0 { // --ids alone adds the key of IDs to a file that has none
				if _, err = ring.Add(name); err != nil {
					return usage("%w", err)
				}
			}
			if ids {
				ring.AddID()
			}
			if err := writeRing(args[0], ring); err != nil {
				return err
			}
			return s.printer().List(ringTable(ring))
		},
	}
	c.Flags().StringVar(&name, "name", "", "`name` of the key, 1 to 32 of A-Z a-z 0-9 _ - (default the first free one of k1, k2, …)")
	c.Flags().BoolVar(&ids, "ids", false, "add the key of IDs, unless the file has one")
	return s.changes(c)
}

func (s *session) keysList() *cobra.Command {
	return &cobra.Command{
		Use: "list FILE", Short: "List the names of the keys in a file", Args: cobra.ExactArgs(1),
		Long: "List the names of the keys in a file, and what each of them does. The keys themselves are not shown.",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 { // chime keys alone
				return usage("chime keys list FILE: the file is missing")
			}
			ring, err := readRing(args[0])
			if err != nil {
				return err
			}
			return s.printer().List(ringTable(ring))
		},
	}
}

func (s *session) keysRotate() *cobra.Command {
	c := &cobra.Command{
		Use: "rotate FILE [NAME]", Short: "Let another key of a file seal", Args: cobra.RangeArgs(1, 2),
		Long: "Move a key to the front of a file: it seals from now on, and the others open. Without NAME it is the last key, which make has added. All programs\n" +
			"must have that key already: a worker without it parks what it seals.",
		RunE: func(_ *cobra.Command, args []string) error {
			ring, err := readRing(args[0])
			if err != nil {
				return err
			}
			name := ring.Keys[len(ring.Keys)-1].Name
			if len(args) > 1 {
				name = args[1]
			}
			if len(ring.Keys) == 1 && len(args) == 1 {
				return exit(exitRefused, "the file has one key only: chime keys make %s adds another one", args[0])
			}
			if err := ring.First(name); err != nil {
				return exit(exitNotFound, "%w", err)
			}
			if err := writeRing(args[0], ring); err != nil {
				return err
			}
			return s.printer().List(ringTable(ring))
		},
	}
	return s.changes(c)
}

// A keyJSON is a key of a file.
type keyJSON struct {
	Key  string `json:"key"`
	Does string `json:"does"` // seals, opens or ids
}

func ringTable(ring *keyring.Ring) output.List {
	list := output.List{Columns: []output.Column{{Title: "KEY"}, {Title: "DOES"}}}
	add := func(name, does, text string) {
		list.Items = append(list.Items, output.Item{Name: name, Cells: []string{name, text}, Value: keyJSON{name, does}})
	}
	for i, key := range ring.Keys {
		if i == 0 {
			add(key.Name, "seals", "seals and opens")
		} else {
			add(key.Name, "opens", "opens")
		}
	}
	if ring.ID != nil {
		add("@ids", "ids", "makes the IDs of ArgsID")
	}
	return list
}

// readRing reads a file of keys, with the checks of chimeseal.
func readRing(file string) (*keyring.Ring, error) {
	if _, err := chimeseal.ReadFile(file); errors.Is(err, fs.ErrNotExist) {
		return nil, exit(exitFailed, "%w: chime keys make %s creates it", err, file)
	} else if err != nil {
		return nil, exit(exitFailed, "%w", err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, exit(exitFailed, "%w", err)
	}
	return keyring.Parse(string(text))
}

// writeRing replaces a file of keys in one step: a process that reads it gets the old keys or the new ones. It keeps the mode of the file.
func writeRing(file string, ring *keyring.Ring) error {
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(file); err == nil {
		mode = info.Mode().Perm()
	}
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
	}
	next, err := os.CreateTemp(filepath.Dir(file), ".keys-*") // its mode is 0600
	if err != nil {
		return exit(exitFailed, "cannot write %s: its folder needs to exist, and a file to be created there: %w", file, err)
	}
	defer os.Remove(next.Name())
	_, err = next.WriteString(ring.Text())
	err = errors.Join(err, next.Chmod(mode), next.Sync(), next.Close())
	if err != nil {
		return err
	}
	return os.Rename(next.Name(), file)
}

// sealedWith describes the key of data that cannot be opened.
func sealedWith(key string) string {
	if key == "" {
		return ""
	}
	if key == "?" {
		return "with an unknown key: set --keys FILE to a file that has it"
	}
	return "with key " + key + ": set --keys FILE to a file that has it, or the data were changed or moved"
}

// A keyUse counts what a key has sealed.
type keyUse struct {
	Key       string `json:"key"` // empty: in clear
	Schedules int    `json:"schedules"`
	Jobs      int    `json:"jobs"`
}

func (s *session) keysUses() *cobra.Command {
	return &cobra.Command{
		Use: "uses", Short: "Count the jobs and schedules that each key has sealed", Args: cobra.NoArgs,
		Long: "Count the jobs and schedules that each key has sealed, and those in clear. It reads all of them and needs no key. The\n" +
			"histories of schedules are not counted. The next occurrence of a schedule counts as a job too.",
		RunE: func(c *cobra.Command, _ []string) error {
			if _, err := s.store(); err != nil {
				return err
			}
			uses, err := keyUses(c.Context(), s.opened.Bare)
			if err != nil {
				return err
			}
			right := func(title string) output.Column { return output.Column{Title: title, Right: true} }
			list := output.List{Columns: []output.Column{{Title: "KEY"}, right("SCHEDULES"), right("JOBS")}}
			for _, use := range uses {
				list.Items = append(list.Items, output.Item{Name: cmp.Or(use.Key, "-"), Value: use, Cells: []string{
					cmp.Or(use.Key, "in clear"), format.Count(use.Schedules), format.Count(use.Jobs),
				}})
			}
			return s.printer().List(list)
		},
	}
}

// keyUses reads the store without its codec.
func keyUses(ctx context.Context, store chime.Store) ([]*keyUse, error) {
	byKey := map[string]*keyUse{}
	of := func(key string) *keyUse {
		if byKey[key] == nil {
			byKey[key] = &keyUse{Key: key}
		}
		return byKey[key]
	}
	for schedule, err := range chime.NewSchedules(store).List(ctx, chime.ScheduleFilter{}) {
		if schedule == nil {
			return nil, err
		}
		if err == nil {
			of(schedule.Sealed).Schedules++
		}
	}
	queues, err := chime.NewQueues(store).List(ctx)
	if err != nil {
		return nil, err
	}
	for _, queue := range queues {
		for _, state := range []chime.JobState{chime.JobWaiting, chime.JobDelayed, chime.JobRetrying, chime.JobRunning, chime.JobTaken, chime.JobParked, chime.JobDead, chime.JobDone} {
			for job, err := range chime.NewJobs(store).List(ctx, chime.JobFilter{Queue: queue.Name, State: state}) {
				if job == nil {
					return nil, err
				}
				if job.Err == nil {
					of(job.Sealed).Jobs++
				}
			}
		}
	}
	return slices.SortedFunc(maps.Values(byKey), func(a, b *keyUse) int { return cmp.Compare(a.Key, b.Key) }), nil
}

func (s *session) keysReseal() *cobra.Command {
	c := &cobra.Command{
		Use: "reseal", Short: "Seal all schedules with the first key", Args: cobra.NoArgs,
		Long: "Seal all schedules again that another key than the first of --keys has sealed, and those in clear. All programs must have that key already.\n" +
			"Jobs get the new key when they are enqueued or fail. A schedule is reported and not changed if the file does not have its key.",
		RunE: func(c *cobra.Command, _ []string) error {
			if _, err := s.store(); err != nil {
				return err
			}
			if s.opened.Ring == nil {
				return usage("reseal needs --keys or CHIME_KEYS")
			}
			changed, err := reseal(c.Context(), s.opened)
			text := fmt.Sprintf("sealed with key %s: %s\n", s.opened.Ring.Names()[0], format.Plural(changed, "schedule", "schedules"))
			return errors.Join(s.printer().Item(fmt.Sprint(changed), map[string]any{"changed": changed, "key": s.opened.Ring.Names()[0]}, text), err)
		},
	}
	return s.changes(c)
}

// maxReseals is how often a schedule is read again that others change meanwhile.
const maxReseals = 4

// reseal seals the schedules that the first key has not sealed. It returns how many it has changed, and an error for each that it could not change.
func reseal(ctx context.Context, opened *connect.Connection) (changed int, err error) {
	bare := chime.NewSchedules(opened.Bare)
	renewing := chime.NewSchedules(chime.WithCodec(opened.Bare, opened.Ring, chime.CodecOptions{Renew: true}))
	var failed []error
	for schedule, err := range bare.List(ctx, chime.ScheduleFilter{}) {
		if schedule == nil {
			return changed, errors.Join(append(failed, err)...)
		}
		if err == nil && schedule.Sealed != opened.Ring.Names()[0] {
			if err = resealOne(ctx, renewing, schedule.Name); err == nil {
				changed++
			}
		}
		if err != nil && !errors.Is(err, chime.ErrNotFound) {
			failed = append(failed, fmt.Errorf("reseal %q: %w", schedule.Name, err))
		}
	}
	return changed, errors.Join(failed...)
}

func resealOne(ctx context.Context, all *chime.Schedules, name string) error {
	for tries := 1; ; tries++ {
		schedule, err := all.Get(ctx, name)
		if err != nil {
			return err
		}
		_, err = all.Put(ctx, name, schedule.Recurrence, append(schedule.Options(), chime.IfRevision(schedule.Revision))...)
		if !errors.Is(err, chime.ErrConflict) || tries == maxReseals {
			return err
		}
	}
}
