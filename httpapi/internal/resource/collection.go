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

// A Collection is the writable part of a collection, with its defaults.
type Collection struct {
	Location    string            `json:"location,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
	SKU         string            `json:"sku,omitempty"` // Free, Standard, P10Premium, P20Premium; empty: none
	State       string            `json:"-"`             // Enabled or Disabled; empty: not given
	Prefix      string            `json:"-"`             // prefix of the paths in the client's body: "properties." or nothing
	Owner       string            `json:"-"`             // chime.owner; empty: not given
	Quota       Quota             `json:"quota"`
	Queue       string            `json:"queue,omitempty"`       // chime.queue; empty: the first
	Group       string            `json:"group,omitempty"`       // chime.group of its jobs; empty: none
	Description string            `json:"description,omitempty"` // chime.description
	Jobs        []string          `json:"jobs,omitempty"`        // chime.jobs: the entries that permit job actions
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

// A sku is a price level of the old service; only its limits are used here.
type sku struct {
	name     string
	jobs     int // default of maxJobCount
	mostJobs int // maximum of maxJobCount
	shortest string
}

// SKUs are in the order of their limits; the first one is for a collection without a sku.
var skus = []sku{
	{"", 1000, 100_000, "Minute"},
	{"Free", 5, 5, "Hour"},
	{"Standard", 50, 50, "Minute"},
	{"P10Premium", 50, 50, "Minute"},
	{"P20Premium", 1000, 1000, "Minute"},
}

// quotaOf is the default quota of a sku.
func quotaOf(name string) Quota {
	plan := skus[max(0, slices.IndexFunc(skus, func(s sku) bool { return s.name == name }))]
	return Quota{MaxJobCount: plan.jobs, MaxFrequency: plan.shortest, MaxInterval: 1}
}

// FreeSKU is the sku whose jobs may not have authentication.
const FreeSKU = "Free"

// frequencies are the units of maxRecurrence; a month counts as the shortest month.
var frequencies = map[string]time.Duration{
	"Minute": time.Minute, "Hour": time.Hour, "Day": 24 * time.Hour, "Week": 7 * 24 * time.Hour, "Month": 28 * 24 * time.Hour,
}

const (
	maxTags        = 50
	maxTag         = 256 // maximum characters of a name, and of a value
	maxDescription = 1024
	maxEntries     = 100
	maxQuotaTime   = 1000 // of an interval
	maxOccurrences = 1<<31 - 1
	maxData        = 16 << 10 // bytes of a collection as it is stored
)

// Shortest is the minimum time between two runs.
func (c *Collection) Shortest() time.Duration {
	return frequencies[c.Quota.MaxFrequency] * time.Duration(c.Quota.MaxInterval)
}

// MaxJobs is the maximum number of jobs.
func (c *Collection) MaxJobs() int { return c.Quota.MaxJobCount }

// ReadCollection reads the body of a PUT. name is the path's name; a different name in the body is a mistake.
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
			Detail: "tags, description and chime.jobs have " + strconv.Itoa(n) + " bytes together: want at most 16384"})
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

// shortest reads maxRecurrence, which may not be below the minimum of the sku.
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

var ownerForm = regexp.MustCompile(`^[^"\\\pC]{1,100}$`)

// IsOwner reports whether a text may be the owner of a collection.
func IsOwner(text string) bool { return utf8.ValidString(text) && ownerForm.MatchString(text) }

// entryForm is the form of an entry of chime.jobs: a job name with * for any characters, and optionally a queue.
var entryForm = regexp.MustCompile(`^[A-Za-z0-9_.:*-]{1,100}(@[A-Za-z0-9_.:*-]{1,100})?$`)

func (f *form) collectionExtensions(c *Collection) {
	in := f.content.Object("chime")
	c.Queue, c.Owner, c.Description, c.Jobs = in.Text("queue"), in.Text("owner"), in.Text("description"), in.Texts("jobs")
	c.Group = group(in)
	if c.Owner != "" && !IsOwner(c.Owner) {
		in.Wrong("owner", "owner_value", "want 1 to 100 characters without control characters, quotes and backslashes")
	}
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

// Encode returns the stored form of the collection, as canonical JSON; equal collections have equal bytes. The state is not part of it.
func (c *Collection) Encode() []byte { return appendJSON(nil, c) }

// DecodeCollection reads the output of Encode.
func DecodeCollection(data []byte) (*Collection, error) {
	var c Collection
	err := json.Unmarshal(data, &c)
	return &c, err
}
