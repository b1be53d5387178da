package resource

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/chimejobs/chime/httpapi/internal/body"
	"github.com/chimejobs/chime/httpapi/internal/problem"
)

// A Collection is what a client can write of a collection, with its defaults.
type Collection struct {
	Location    string            `json:"location,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
	SKU         string            `json:"sku,omitempty"` // Free, Standard, P10Premium, P20Premium; empty: none
	State       string            `json:"-"`             // Enabled or Disabled; empty: not said
	Prefix      string            `json:"-"`             // of the paths in the client's body: "properties." or nothing
	Quota       Quota             `json:"quota"`
	Queue       string            `json:"queue,omitempty"`       // chime.queue; empty: the first
	Description string            `json:"description,omitempty"` // chime.description
	Jobs        []string          `json:"jobs,omitempty"`        // chime.jobs: the entries of what job actions may name
}

// A Quota bounds the jobs of a collection.
type Quota struct {
	MaxJobCount      int    `json:"maxJobCount"`
	MaxJobOccurrence int    `json:"maxJobOccurrence,omitempty"` // 0: no bound
	MaxFrequency     string `json:"maxFrequency"`               // of maxRecurrence: Minute, Hour, Day, Week, Month
	MaxInterval      int    `json:"maxInterval"`                // of maxRecurrence
}

// The states of a collection.
const (
	CollectionEnabled  = "Enabled"
	CollectionDisabled = "Disabled"
	CollectionDeleted  = "Deleted"
)

// A sku is a price of the old service, of which the limits are left.
type sku struct {
	name     string
	jobs     int // default of maxJobCount
	mostJobs int // its bound
	shortest string
}

// SKUs are in the order of their limits; the first is none.
var skus = []sku{
	{"", 1000, 100_000, "Minute"},
	{"Free", 5, 5, "Hour"},
	{"Standard", 50, 50, "Minute"},
	{"P10Premium", 50, 50, "Minute"},
	{"P20Premium", 1000, 1000, "Minute"},
}

// quotaOf is what a sku stands for where a body says no more.
func quotaOf(name string) Quota {
	plan := skus[max(0, slices.IndexFunc(skus, func(s sku) bool { return s.name == name }))]
	return Quota{MaxJobCount: plan.jobs, MaxFrequency: plan.shortest, MaxInterval: 1}
}

// FreeSKU is the one whose jobs have no authentication.
const FreeSKU = "Free"

// frequencies are those of maxRecurrence; a month counts as the shortest one.
var frequencies = map[string]time.Duration{
	"Minute": time.Minute, "Hour": time.Hour, "Day": 24 * time.Hour, "Week": 7 * 24 * time.Hour, "Month": 28 * 24 * time.Hour,
}

const (
	maxTags        = 50
	maxTag         = 256 // characters of a name, and of a value
	maxDescription = 1024
	maxEntries     = 100
	maxQuotaTime   = 1000 // of an interval
	maxOccurrences = 1<<31 - 1
	maxData        = 16 << 10 // bytes of a collection as it is stored
)

// Shortest is the shortest time between two runs that the quota allows.
func (c *Collection) Shortest() time.Duration {
	return frequencies[c.Quota.MaxFrequency] * time.Duration(c.Quota.MaxInterval)
}

// MaxJobs is the quota of jobs.
func (c *Collection) MaxJobs() int { return c.Quota.MaxJobCount }

// ReadCollection reads the body of a PUT. Name is that of the path; what contradicts it is a mistake.
func ReadCollection(text []byte, name string) (*Collection, []problem.Mistake) {
	v, mistakes := parse(text)
	if mistakes != nil {
		return nil, mistakes
	}
	return readCollection(v, name)
}

func readCollection(v *body.Value, name string) (*Collection, []problem.Mistake) {
	f := newForm(v, "sku", "state", "quota", "chime")
	f.name(name, "")
	c := &Collection{Location: f.outer.Text("location"), Tags: f.outer.NamedTexts("tags"), Prefix: f.prefix}
	if utf8.RuneCountInString(c.Location) > maxTag {
		f.outer.Wrong("location", "location_size", "want at most 256 characters")
	}
	f.tags(c.Tags)
	f.content.Ignore("provisioningState")
	c.State = word(f.content.Text("state"), CollectionEnabled, CollectionDisabled, CollectionDeleted, "Suspended")
	switch c.State {
	case "", CollectionEnabled, CollectionDisabled, CollectionDeleted:
	default:
		f.content.Wrong("state", "state_value", "want Enabled or Disabled")
	}
	f.quota(c)
	f.collectionExtensions(c)
	mistakes := f.done()
	if n := len(c.Encode()); n > maxData && len(mistakes) == 0 {
		mistakes = append(mistakes, problem.Mistake{Code: "collection_size", Field: "body",
			Detail: "the collection has " + strconv.Itoa(n) + " bytes: want at most 16384, tags, description and chime.jobs together"})
	}
	return c, mistakes
}

func (f *form) tags(tags map[string]string) {
	if len(tags) > maxTags {
		f.outer.Wrong("tags", "tags_size", "want at most 50 tags")
	}
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		if utf8.RuneCountInString(name) > maxTag || utf8.RuneCountInString(tags[name]) > maxTag {
			f.outer.Wrong("tags", "tags_size", "want names and values of at most 256 characters")
			return
		}
	}
}

func (f *form) quota(c *Collection) {
	plan := skus[0]
	if in := f.content.Object("sku"); in.There() {
		name := in.Text("name")
		at := slices.IndexFunc(skus, func(s sku) bool { return strings.EqualFold(s.name, name) })
		if name == "" || at < 0 {
			in.Wrong("name", "sku_value", "want Free, Standard, P10Premium or P20Premium")
		} else {
			plan = skus[at]
		}
		in.Done()
	}
	c.SKU, c.Quota = plan.name, quotaOf(plan.name)
	in := f.content.Object("quota")
	if n, set := in.Whole("maxJobCount", 1, plan.mostJobs, "quota_value"); set {
		c.Quota.MaxJobCount = n
	}
	if n, set := in.Whole("maxJobOccurrence", 1, maxOccurrences, "quota_value"); set {
		c.Quota.MaxJobOccurrence = n
	}
	if limit := in.Object("maxRecurrence"); limit.There() {
		f.shortest(limit, c, plan)
	}
	in.Done()
}

// shortest reads maxRecurrence, which is not below that of the sku.
func (f *form) shortest(in *body.ObjectReader, c *Collection, plan sku) {
	defer in.Done()
	frequency := word(in.Text("frequency"), "Minute", "Hour", "Day", "Week", "Month")
	n, set := in.Whole("interval", 1, maxQuotaTime, "quota_value")
	if !set {
		n = 1
	}
	if frequencies[frequency] == 0 {
		in.Wrong("frequency", "quota_value", "want Minute, Hour, Day, Week or Month")
		return
	}
	c.Quota.MaxFrequency, c.Quota.MaxInterval = frequency, n
	if c.Shortest() < frequencies[plan.shortest] {
		in.Wrong("frequency", "quota_value", "want at least 1 "+plan.shortest+" with this sku")
	}
}

// entryForm is an entry of chime.jobs: a job name with * for any characters, and a queue or none.
var entryForm = regexp.MustCompile(`^[A-Za-z0-9_.:*-]{1,100}(@[A-Za-z0-9_.:*-]{1,100})?$`)

func (f *form) collectionExtensions(c *Collection) {
	in := f.content.Object("chime")
	c.Queue, c.Description, c.Jobs = in.Text("queue"), in.Text("description"), in.Texts("jobs")
	if utf8.RuneCountInString(c.Description) > maxDescription {
		in.Wrong("description", "description_size", "want at most 1024 characters")
	}
	if len(c.Jobs) > maxEntries {
		in.Wrong("jobs", "jobs_size", "want at most 100 entries")
	}
	for i, entry := range c.Jobs {
		if !entryForm.MatchString(entry) {
			in.Wrong("jobs", "jobs_value", "entry "+strconv.Itoa(i)+": want a job name, or name@queue, of A-Z a-z 0-9 _ . : -, with * for any of them")
		}
	}
	in.Done()
}

// Encode is how the collection is stored, as canonical JSON; equal collections have equal bytes. The state is not part of it.
func (c *Collection) Encode() []byte { return appendJSON(nil, c) }

// DecodeCollection reads what Encode has written.
func DecodeCollection(data []byte) (*Collection, error) {
	var c Collection
	err := json.Unmarshal(data, &c)
	return &c, err
}
