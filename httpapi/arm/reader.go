package arm

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	collectionType = "microsoft.scheduler/jobcollections"
	jobType        = "microsoft.scheduler/jobcollections/jobs"
)

// The names that the API accepts.
var (
	collectionName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$`)
	jobName        = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)
)

// Read reads an export. The error is about the whole file: it is not JSON, with line and column, or none of the three forms. Mistakes of one
// resource are in Export.Refused.
func Read(data []byte, options Options) (*Export, error) {
	file, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("arm: %w", err)
	}
	r := &reader{options: options, export: &Export{}, used: map[string]bool{}, others: map[string]bool{}, seen: map[string]string{}}
	list, isList := at(file, "value").([]any)
	resources, isTemplate := at(file, "resources").([]any)
	switch {
	case isList:
		r.template.literal = true
		r.export.More = textAt(file, "nextLink")
		r.all(list, "value", "")
	case textAt(file, "type") != "" || textAt(file, "id") != "":
		r.template.literal = true
		r.one(file, "$", "")
	case isTemplate:
		r.template.parameters, r.template.given = objectAt(file, "parameters"), options.Parameters
		r.all(resources, "resources", "")
	default:
		return nil, errors.New(`arm: want a template with "resources", a list {"value": […]} or one resource with its "type"`)
	}
	r.export.Used = slices.Sorted(maps.Keys(r.used))
	r.export.Others = slices.Sorted(maps.Keys(r.others))
	return r.export, nil
}

// A reader reads the resources of a file.
type reader struct {
	options  Options
	template template
	export   *Export
	used     map[string]bool
	others   map[string]bool
	seen     map[string]string // the first place of a name
}

// all reads resources. within is the old name of the collection that contains them; empty: none.
func (r *reader) all(resources []any, place, within string) {
	for i, item := range resources {
		here := fmt.Sprintf("%s[%d]", place, i)
		resource, ok := item.(object)
		if !ok {
			r.refuse(refused(here, "want a resource, an object"), "")
			continue
		}
		r.one(resource, here, within)
	}
}

// one reads a resource and its nested resources.
func (r *reader) one(resource object, place, within string) {
	kind := r.typeOf(resource, within)
	switch strings.ToLower(kind) {
	case collectionType, jobType:
	default:
		r.others[cmp.Or(kind, "(none)")] = true
		return
	}
	name, bad := r.nameOf(resource, place, within)
	if bad != nil {
		r.refuse(bad, within)
		return
	}
	collection, job, isJob := strings.Cut(name, "/")
	if isJob {
		bad = r.job(resource, place, collection, job)
	} else {
		bad = r.collection(resource, place, collection)
	}
	if bad != nil {
		r.refuse(bad, name)
	}
	if nested, ok := at(resource, "resources").([]any); ok && !isJob {
		r.all(nested, place+".resources", collection)
	}
}

func (r *reader) refuse(bad *Refusal, name string) {
	bad.Name = name
	r.export.Refused = append(r.export.Refused, *bad)
}

// typeOf is the full type of a resource: nested ones have only its last word. Some lists have the type only in the ID.
func (r *reader) typeOf(resource object, within string) string {
	kind := textAt(resource, "type")
	if within != "" && strings.EqualFold(kind, "jobs") {
		return jobType
	}
	if kind == "" {
		switch _, names := fromID(textAt(resource, "id")); names {
		case 1:
			return collectionType
		case 2:
			return jobType
		}
	}
	return kind
}

// nameOf is "collection" or "collection/job", with the names in the file.
func (r *reader) nameOf(resource object, place, within string) (string, *Refusal) {
	given, bad := r.template.value(at(resource, "name"), place+".name")
	if bad != nil {
		return "", bad
	}
	name, _ := given.(string)
	isJob := strings.EqualFold(r.typeOf(resource, within), jobType)
	if known, names := fromID(textAt(resource, "id")); !strings.Contains(name, "/") && (isJob && names == 2 || !isJob && names == 1) {
		name = known
	}
	if isJob && within != "" && !strings.Contains(name, "/") {
		name = within + "/" + name
	}
	parts := strings.Split(name, "/")
	switch {
	case name == "":
		return "", refused(place, "it has no name")
	case isJob && len(parts) != 2:
		return "", refused(place+".name", "%q does not contain the job's collection: want collection/job", name)
	case !isJob && len(parts) != 1:
		return "", refused(place+".name", "%q is not the name of a collection", name)
	}
	return name, nil
}

// fromID is the name at the end of an Azure ID, and the number of its parts: 1 for a collection, 2 for a job, 0 for something else.
func fromID(id string) (name string, parts int) {
	words := strings.Split(id, "/")
	for i, word := range words {
		if !strings.EqualFold(word, "jobCollections") || i+1 >= len(words) {
			continue
		}
		switch rest := words[i+1:]; {
		case len(rest) == 1:
			return rest[0], 1
		case len(rest) == 3 && strings.EqualFold(rest[1], "jobs"):
			return rest[0] + "/" + rest[2], 2
		}
	}
	return "", 0
}

// renamed is the new name of a collection, checked against the API's rules.
func (r *reader) renamed(collection, place string) (string, *Refusal) {
	name := cmp.Or(r.options.Rename[collection], collection)
	if !collectionName.MatchString(name) {
		return "", refused(place+".name", "collection %q: want 1 to 40 of A-Z a-z 0-9 _ -, starting with a letter or digit; rename it", name)
	}
	return name, nil
}

// once refuses a duplicate in the file.
func (r *reader) once(name, place string) *Refusal {
	if first, ok := r.seen[name]; ok {
		return refused(place, "%s is already in the file, at %s", name, first)
	}
	r.seen[name] = place
	return nil
}

func (r *reader) collection(resource object, place, old string) *Refusal {
	name, bad := r.renamed(old, place)
	if bad != nil {
		return bad
	}
	if bad := r.once(old, place); bad != nil {
		return bad
	}
	body := object{}
	for _, field := range []string{"location", "tags", "properties"} {
		v, bad := r.template.value(at(resource, field), place+"."+field)
		switch {
		case bad != nil:
			return bad
		case v != nil:
			body[field] = v
		}
	}
	if properties := objectAt(body, "properties"); properties != nil {
		switch strings.ToLower(textAt(properties, "state")) {
		case "suspended": // by the service for an unpaid subscription: its jobs did not run
			set(properties, "state", "Disabled")
		case "deleted":
			return refused(place+".properties.state", "the collection was deleted")
		}
	}
	r.export.Collections = append(r.export.Collections, Collection{Name: name, Place: place, Body: encode(body)})
	return nil
}

func (r *reader) job(resource object, place, oldCollection, name string) *Refusal {
	collection, bad := r.renamed(oldCollection, place)
	if bad != nil {
		return bad
	}
	if !jobName.MatchString(name) {
		return refused(place+".name", "job %q: want 1 to 100 of A-Z a-z 0-9 _ . -, starting with a letter or digit", name)
	}
	if bad := r.once(collection+"/"+name, place); bad != nil {
		return bad
	}
	properties := objectAt(resource, "properties")
	if properties == nil {
		return refused(place, "it has no properties")
	}
	job := Job{Collection: collection, Name: name, Place: place}
	job.State = strings.ToLower(textAt(properties, "state"))
	job.Next = instant(textAt(properties, "status", "nextExecutionTime"))
	if job.Ended() {
		r.export.Jobs = append(r.export.Jobs, job)
		return nil
	}
	filled, bad := r.filled(properties, place, oldCollection+"/"+name, &job)
	if bad != nil {
		return bad
	}
	job.Enabled = r.options.Enable && job.State != "disabled"
	drop(filled, "status")
	set(filled, "state", "disabled")
	if job.Enabled {
		set(filled, "state", "enabled")
	}
	job.Body = encode(object{"properties": filled})
	r.export.Jobs = append(r.export.Jobs, job)
	return nil
}

// filled is a job's properties with evaluated expressions and with its secrets. A given secret overrides an expression in its
// place. Without a given one, an expression whose parameter has no value is a missing secret: exports never contain values of secrets.
func (r *reader) filled(properties object, place, old string, job *Job) (object, *Refusal) {
	properties = cloned(properties).(object)
	given, unknown := r.options.secretsOf(old), map[string]bool{}
	for _, s := range slots(objectAt(properties, "action"), "action") {
		_, ok := given[strings.ToLower(s.path)]
		_, bad := r.template.value(at(s.within, s.key), place)
		if ok || bad != nil {
			set(s.within, s.key, nil)
		}
		unknown[s.path] = bad != nil
	}
	made, bad := r.template.value(properties, place+".properties")
	if bad != nil {
		return nil, bad
	}
	filled := made.(object)
	for _, s := range slots(objectAt(filled, "action"), "action") {
		if key, ok := given[strings.ToLower(s.path)]; ok {
			set(s.within, s.key, r.options.Secrets[key])
			r.used[key] = true
		} else if unknown[s.path] || !s.optional && s.empty() {
			job.Missing = append(job.Missing, old+"/"+s.path)
		}
	}
	return filled, nil
}

// cloned is a deep copy.
func cloned(v any) any {
	switch v := v.(type) {
	case object:
		made := make(object, len(v))
		for key, item := range v {
			made[key] = cloned(item)
		}
		return made
	case []any:
		made := make([]any, len(v))
		for i, item := range v {
			made[i] = cloned(item)
		}
		return made
	}
	return v
}

// instant is a time in the service's format; some of its answers left out the zone, which was UTC.
func instant(text string) time.Time {
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05"} {
		if at, err := time.Parse(form, text); err == nil {
			return at.UTC()
		}
	}
	return time.Time{}
}
