package service

import (
	"crypto/rand"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

var (
	collectionName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$`)
	jobName        = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)
)

func checkCollectionName(name string) error {
	if collectionName.MatchString(name) {
		return nil
	}
	return mistake("name", "name", name, "want 1 to 40 of A-Z a-z 0-9 _ -, the first a letter or a digit")
}

func checkJobName(n resource.JobName) error {
	if err := checkCollectionName(n.Collection); err != nil {
		return err
	}
	if jobName.MatchString(n.Job) {
		return nil
	}
	return mistake("name", "name", n.Job, "want 1 to 100 of A-Z a-z 0-9 _ . -, the first a letter or a digit")
}

// jobOf is the job whose schedule has a name.
func jobOf(schedule string) resource.JobName {
	collection, job, _ := strings.Cut(schedule, ":")
	return resource.JobName{Collection: collection, Job: job}
}

// prefixOf is how the names of a collection's schedules begin.
func prefixOf(collection string) string { return collection + ":" }

// A reservedName is what stands for a job in its collection: the job, "#", when it was reserved, "-", and a random text. So it is one schedule's
// alone: the next schedule of that job has another one. "#" sorts before all that jobs' names have, so reserved names sort as these do.
//
// Two requests that create the same job at the same time have two names for that moment; the one that comes second gives its own back.
//
// The time is about that of the store's clock. It tells names whose schedule may still be under way from those whose writer is gone.
type reservedName string

func newReservedName(job string, now time.Time) reservedName {
	return reservedName(job + "#" + strconv.FormatInt(now.Unix(), 36) + "-" + rand.Text()[:10])
}

// job is the job that the name stands for.
func (r reservedName) job() string {
	job, _, _ := strings.Cut(string(r), "#")
	return job
}

// strayAge is how old a name without a schedule is before a sweep releases it.
const strayAge = 2 * maxUnderWay

// maxUnderWay is the age at which the schedule of a name has been put, or never will be. The time of a name is wrong by a third of that at most; then
// its writer has putTime, and the rest is for what is on its way to the store when he gives up.
const (
	maxUnderWay = 30 * time.Second
	putTime     = 10 * time.Second
)

// at is when the name was reserved; zero if it is not written as these are: then it is old.
func (r reservedName) at() time.Time {
	_, made, _ := strings.Cut(string(r), "#")
	seconds, _, _ := strings.Cut(made, "-")
	at, err := strconv.ParseInt(seconds, 36, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(at, 0)
}

// olderThan reports whether the name was reserved longer than an age before an instant.
func (r reservedName) olderThan(age time.Duration, now time.Time) bool {
	return r.at().Add(age).Before(now)
}

// A storeClock is about the store's time. The store tells it with each reservation; until then it is that of this machine.
type storeClock struct{ ahead atomic.Int64 } // of this machine's, ns

func (c *storeClock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *storeClock) set(now time.Time) { c.ahead.Store(int64(time.Until(now))) }

// afterJob is where the names behind those of a job begin.
func afterJob(job string) string {
	if job == "" {
		return ""
	}
	return job + "#~"
}

// mistake is a problem with one field.
func mistake(code, field, value, wanted string) error {
	return problem.Invalid([]problem.Mistake{{Code: code, Field: field, Value: value, Detail: wanted}})
}
