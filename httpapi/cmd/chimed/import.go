package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime/httpapi/arm"
)

const importUsage = `chimed import FILE… imports collections and jobs exported from Azure Scheduler: a resource group's template,
a list {"value": […]} or one resource. FILE - is standard input.

Jobs are created disabled. Existing jobs and collections are not changed, so an import can be run again. Jobs that have
ended are skipped. A job without its secrets is refused: an export never contains secrets.

  -url URL              the address of chimed, or CHIMED_URL; default http://127.0.0.1:8080
  -token-file FILE      a file with the token, or the token itself in CHIMED_TOKEN
  -collection OLD=NEW   the new name of a collection; can be repeated
  -secrets FILE         JSON: {"collection/job/action.request.authentication.password": "…"}, with the names in FILE
  -parameters FILE      JSON: {"parameters": {"name": {"value": …}}}, the values of a template's parameters;
                        like the files of -token-file and -secrets it must not be readable by every user
  -enable               creates jobs enabled if they were enabled
  -dry-run              prints the results without changing anything; quotas are not checked
  -json                 prints one JSON object per line

Each line has the result for one resource: imported, exists, skipped or refused, with the reason. After imported come
the next three runs, and in brackets the next run from the export.
The exit code is 0, 1 if a resource was refused or the import has stopped, or 2 for wrong flags or files.
`

// importSettings are the flags of import.
type importSettings struct {
	url, tokenFile, secrets, parameters string
	rename                              names
	enable, dry, json                   bool
}

func (p process) importFiles(ctx context.Context) error {
	s := importSettings{rename: names{}}
	f := newFlags("import")
	f.StringVar(&s.url, "url", "http://127.0.0.1:8080", "")
	f.StringVar(&s.tokenFile, "token-file", "", "")
	f.StringVar(&s.secrets, "secrets", "", "")
	f.StringVar(&s.parameters, "parameters", "", "")
	f.Var(s.rename, "collection", "")
	f.BoolVar(&s.enable, "enable", false, "")
	f.BoolVar(&s.dry, "dry-run", false, "")
	f.BoolVar(&s.json, "json", false, "")
	paths, err := f.parse(p, importUsage, "url", "token-file")
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return badUsage("import needs a file; chimed import -h has the details")
	}
	token := p.env("CHIMED_TOKEN")
	if s.tokenFile != "" {
		text, err := readSecretFile(s.tokenFile)
		if err != nil {
			return badUsage("-token-file: %w", err)
		}
		token = string(text)
	}
	remote, err := newRemote(s.url, strings.TrimSpace(token))
	if err != nil {
		return err
	}
	options, err := s.options()
	if err != nil {
		return err
	}
	files, err := p.read(paths, options)
	if err != nil {
		return err
	}
	if err := s.check(p, options, files); err != nil {
		return err
	}
	out := &results{out: p.out, json: s.json, dry: s.dry, counts: map[string]int{}}
	err = (&importer{remote: remote, dry: s.dry, say: out.say}).run(ctx, files)
	fmt.Fprintf(p.err, "chimed import: %s\n", out.summary())
	switch {
	case err != nil:
		return fmt.Errorf("the import has stopped; it can be run again: %w", err)
	case out.counts[refusal] > 0:
		return errRefused
	}
	return nil
}

func (s *importSettings) options() (arm.Options, error) {
	options := arm.Options{Rename: s.rename, Enable: s.enable}
	if s.secrets != "" {
		text, err := readSecretFile(s.secrets)
		if err == nil {
			options.Secrets, err = arm.ReadSecrets(text)
		}
		if err != nil {
			return options, badUsage("-secrets: %w", err)
		}
	}
	if s.parameters != "" {
		text, err := readSecretFile(s.parameters) // a parameter may be a password
		if err == nil {
			options.Parameters, err = arm.ReadParameters(text)
		}
		if err != nil {
			return options, badUsage("-parameters: %w", err)
		}
	}
	return options, nil
}

// read reads all files before it sends anything, so a wrong file is found while nothing has changed.
func (p process) read(paths []string, options arm.Options) ([]file, error) {
	var files []file
	var bad []error
	for _, path := range paths {
		var text []byte
		var err error
		if path == "-" {
			text, err = io.ReadAll(p.in)
		} else {
			text, err = os.ReadFile(path)
		}
		var export *arm.Export
		if err == nil {
			export, err = arm.Read(text, options)
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("%s: %w", path, err))
			continue
		}
		files = append(files, file{name: path, export: export})
	}
	if len(bad) > 0 {
		return nil, usageError{errors.Join(bad...)}
	}
	return files, nil
}

// check refuses a new name for a collection that is in no file, and prints what else was not used.
func (s *importSettings) check(p process, options arm.Options, files []file) error {
	unused := maps.Clone(options.Secrets)
	there := map[string]bool{}
	for _, f := range files {
		for _, key := range f.export.Used {
			delete(unused, key)
		}
		for _, c := range f.export.Collections {
			there[c.Name] = true
		}
		for _, j := range f.export.Jobs {
			there[j.Collection] = true
		}
		for _, r := range f.export.Refused {
			collection, _, _ := strings.Cut(r.Name, "/")
			there[s.rename[collection]] = true
		}
		if f.export.More != "" {
			fmt.Fprintf(p.err, "chimed import: %s: the list continues at %s, which is not in the file\n", f.name, printable(f.export.More))
		}
		for _, kind := range f.export.Others {
			fmt.Fprintf(p.err, "chimed import: %s: resources of type %s are skipped\n", f.name, printable(kind))
		}
	}
	for _, old := range slices.Sorted(maps.Keys(s.rename)) {
		if !there[s.rename[old]] {
			return badUsage("-collection %s=%s: no file has a collection %s", old, s.rename[old], old)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(unused)) {
		fmt.Fprintf(p.err, "chimed import: %s: no job in the files uses %q\n", s.secrets, key)
	}
	return nil
}

// results print the result for each resource.
type results struct {
	out       io.Writer
	json, dry bool
	counts    map[string]int
}

func (r *results) say(one result) {
	r.counts[one.Result]++
	if r.json {
		line, _ := json.Marshal(one) // texts and times
		fmt.Fprintf(r.out, "%s\n", line)
		return
	}
	line := []string{one.word(r.dry)}
	if one.Kind != "" {
		line = append(line, one.Kind)
	}
	if one.Name != "" {
		line = append(line, printable(one.Name))
	}
	if one.State != "" {
		line = append(line, one.State)
	}
	fmt.Fprint(r.out, strings.Join(line, " "))
	if one.Why != "" {
		fmt.Fprintf(r.out, ": %s", printable(one.Why))
	}
	if len(one.Missing) > 0 {
		fmt.Fprintf(r.out, ": %s", strings.Join(one.Missing, ", "))
	}
	if one.Result == refusal {
		fmt.Fprintf(r.out, " (%s, %s)", one.File, one.Place)
	}
	if one.Result == imported && one.Kind == "job" {
		fmt.Fprintf(r.out, ": next %s", instants(one.Next))
		if one.Was != nil {
			fmt.Fprintf(r.out, " [export: %s]", one.Was.Format(time.RFC3339))
		}
	}
	fmt.Fprintln(r.out)
}

func (r result) word(dry bool) string {
	if dry && r.Result == imported {
		return "would be imported"
	}
	return r.Result
}

func instants(all []time.Time) string {
	if len(all) == 0 {
		return "never"
	}
	var texts []string
	for _, at := range all {
		texts = append(texts, at.UTC().Format(time.RFC3339))
	}
	return strings.Join(texts, ", ")
}

func (r *results) summary() string {
	var parts []string
	for _, word := range []string{imported, exists, skipped, refusal} {
		parts = append(parts, fmt.Sprintf("%d %s", r.counts[word], result{Result: word}.word(r.dry)))
	}
	return strings.Join(parts, ", ")
}
